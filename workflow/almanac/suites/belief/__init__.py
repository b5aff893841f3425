"""BELIEF and BELIEF-ICL: what a model knows, asked in many paraphrases of each fact (Zhao et al.)."""
