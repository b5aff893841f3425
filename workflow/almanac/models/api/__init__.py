"""Models behind OpenAI-compatible servers: vLLM, SGLang, llama.cpp, a vendor."""

from almanac.models.api.answerer import ApiAnswerer

__all__ = ["ApiAnswerer"]
