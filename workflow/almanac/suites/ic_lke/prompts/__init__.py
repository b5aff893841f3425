"""Prompt baselines: the choices of IC-LKE behind human-written and machine-mined prompts, without examples."""
