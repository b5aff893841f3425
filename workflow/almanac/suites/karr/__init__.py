"""KaRR: how much likelier a subject and a relation make their object (Dong et al., NeurIPS 2023)."""
