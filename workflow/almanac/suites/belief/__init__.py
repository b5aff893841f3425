"""BELIEF and BELIEF-ICL: what a model knows, asked in many wordings of each fact (Zhao et al.)."""
