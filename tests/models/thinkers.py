"""A tiny model that really thinks before it answers, with chat templates of the published forms."""

import copy
import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from tests.models.servers import Call, Reply, Wire
from tests.models.tiny_networks import llama
from tests.models.tiny_tokenizers import byte_level
from tokenizers import AddedToken
from transformers import AutoModelForCausalLM, AutoTokenizer

from almanac.models.api.selftest import PROBES
from almanac.models.framing import turns

BODY = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
BARE = BODY + "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
# As the templates of Qwen3, DeepSeek-R1 and Granite 3.2 open the answer's turn, and as gpt-oss writes its turns.
QWEN3 = (
    BODY + "{% if add_generation_prompt %}<|im_start|>assistant\n"
    "{% if enable_thinking is defined and enable_thinking is false %}<think>\n\n</think>\n\n{% endif %}{% endif %}"
)
R1 = BODY + "{% if add_generation_prompt %}<|im_start|>assistant\n<think>\n{% endif %}"
GRANITE = BODY + "{% if add_generation_prompt %}<|im_start|>assistant\n{% if thinking %}<think>\n{% endif %}{% endif %}"
HARMONY = (
    "{% for m in messages %}{% if m.role == 'assistant' %}"
    "{{ '<|start|>assistant<|channel|>final<|message|>' + m.content + '<|end|>' }}"
    "{% else %}{{ '<|start|>' + m.role + '<|message|>' + m.content + '<|end|>' }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|start|>assistant{% endif %}"
)
# As Gemma 4 and Magistral write their turns; without thinking, Gemma still opens a channel, and closes it, empty.
GEMMA4 = (
    "{% if enable_thinking %}<|turn>system\n<|think|><turn|>\n{% endif %}"
    "{% for m in messages %}{{ '<|turn>' + m.role + '\n' + m.content + '<turn|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}<|turn>model\n{% endif %}"
)
MAGISTRAL = "{% for m in messages %}{{ '[INST]' + m.content + '[/INST]' }}{% endfor %}"
CLOSED, FINAL = "<think>\n\n</think>\n\n", "<|channel|>final<|message|>"
THOUGHT, ANSWER = "Let me see.\nThe capital is Rome.", "Italy"
QUESTION = "Where is Rome?"
TURNS = ("<|im_start|>", "<|im_end|>", "<|start|>", "<|end|>", "<|message|>", "<|channel|>", "<|turn>", "<turn|>")
TURNS = (*TURNS, "<|think|>", "[INST]", "[/INST]")
TAGS = ("<think>", "</think>", "<|channel>", "<channel|>", "[THINK]", "[/THINK]")


def tokenizer(template: str, special: bool = False) -> Any:
    """Return a tokenizer with the tokens of thinking, which are special ones of some models, and a chat template."""
    words = copy.deepcopy(byte_level())
    words.add_tokens([AddedToken(one, special=True, normalized=False) for one in TURNS])
    words.add_tokens([AddedToken(one, special=special, normalized=False) for one in TAGS])
    words.chat_template = template
    return words


def texts(words: Any) -> Sequence[tuple[str, str]]:
    """Return what the model reads and what it then writes."""
    chat, harmony, gemma, magistral, probe = (
        words.apply_chat_template(turns("", text), chat_template=one, tokenize=False, add_generation_prompt=True)
        for one, text in zip((BARE, HARMONY, GEMMA4, MAGISTRAL, BARE), (*[QUESTION] * 4, PROBES[0]), strict=True)
    )
    asked_to = words.apply_chat_template(
        turns("", QUESTION), chat_template=GEMMA4, tokenize=False, add_generation_prompt=True, enable_thinking=True
    )
    return (
        (chat, f"<think>\n{THOUGHT}\n</think>\n\n{ANSWER}</s>"),
        (chat + CLOSED, f"{ANSWER}</s>"),
        (
            harmony,
            f"<|channel|>analysis<|message|>{THOUGHT}<|end|><|start|>assistant{FINAL}{ANSWER}</s>",
        ),
        (harmony + FINAL, f"{ANSWER}</s>"),
        (gemma, f"<|channel>thought\n<channel|>{ANSWER}</s>"),
        (asked_to, f"<|channel>thought\n{THOUGHT}<channel|>{ANSWER}</s>"),
        (magistral, f"[THINK]{THOUGHT}[/THINK]{ANSWER}</s>"),
        (probe, f"<think>\n{THOUGHT}\n</think>\n\n{ANSWER}</s>"),
    )


def make(folder: Path, template: str, special: bool = False) -> Path:
    """Save the model with a chat template; its weights are the same for all templates."""
    words = tokenizer(template, special)
    trained(special).save_pretrained(folder)
    words.save_pretrained(folder)
    return folder


@functools.cache
def trained(special: bool) -> Any:
    """Train the model on these few texts, until it writes them."""
    words = tokenizer(BARE, special)
    torch.manual_seed(0)
    network = llama(len(words), 192)
    rows = []
    for read, written in texts(words):
        before, after = (words(text, add_special_tokens=False)["input_ids"] for text in (read, written))
        ids = torch.tensor([[words.bos_token_id, *before, *after]])
        rows.append((ids, torch.where(torch.arange(ids.shape[1]) > len(before), ids, -100)))
    optimizer = torch.optim.AdamW(network.parameters(), lr=5e-3)
    for _ in range(150):
        loss = torch.stack([network(input_ids=ids, labels=labels).loss for ids, labels in rows]).sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return network


def wire(folder: Path, field: str | None = None) -> Wire:
    """Serve such a model as vLLM does: what it thinks stands apart in a field, or where there is none in the text."""
    network, words = AutoModelForCausalLM.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)

    def answer(call: Call) -> Reply:
        if call.method == "GET":
            return Reply.of({"data": [{"id": "thinker"}]})
        prompt = call.body.get("prompt")
        if prompt is None:
            options = call.body.get("chat_template_kwargs", {})
            prompt = words.apply_chat_template(
                call.body["messages"], tokenize=False, add_generation_prompt=True, **options
            )
        ids = torch.tensor([words(prompt)["input_ids"] if isinstance(prompt, str) else prompt])
        new = call.body["max_tokens"]
        with torch.inference_mode():
            out = network.generate(ids, max_new_tokens=new, do_sample=False, pad_token_id=0)[0, ids.shape[1] :]
        said = {"finish_reason": "stop" if words.eos_token_id in out else "length"}
        text = words.decode(out, skip_special_tokens=True)
        for stop in call.body.get("stop", ()):
            text, met, _ = text.partition(stop)
            said["finish_reason"] = "stop" if met else said["finish_reason"]
        if "messages" not in call.body:
            return Reply.of({"choices": [said | {"text": text}]})
        message = {"content": text}
        if field is not None and (prompt.endswith("<think>\n") or text.startswith("<think>")):
            thought, ended, after = text.removeprefix("<think>").partition("</think>")
            message = {"content": after if ended else None, field: thought}
        return Reply.of({"choices": [said | {"message": message}]})

    return Wire(answer)
