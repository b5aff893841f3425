"""Head-to-Tail: do models know less of what is less popular (Sun et al.).

suite       what the rest of the program sees
options     its settings
rows        its tables
templates   the wordings that ship, and which predicates are left out
buckets     head, torso and tail of subjects, whatever measures popularity
drawing     equal numbers of questions from each bucket
asking      from these to prompts
variants    the forms of an answer that count as it
scores      exact match, token F1 and ROUGE-L
judge       what another model is asked about an answer, and how its verdict is read
judging     from answers to outcomes
measures    the numbers of one model
across      rules against judge, over models
chapter     what the page shows; `figures` draws
"""
