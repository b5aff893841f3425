"""FactEval: questions made from facts, in many forms and contexts, and how their answers are scored (Luo et al.)."""
