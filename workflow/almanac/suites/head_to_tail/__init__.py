"""Head-to-Tail: do models know less about less popular subjects (Sun et al.)?

suite       what the rest of the program sees
options     its settings
rows        its tables
templates   the shipped templates, and which predicates are left out
buckets     head, torso and tail of subjects, by any measure of popularity
drawing     equal numbers of questions from each bucket
asking      from questions to prompts
variants    the accepted forms of a true answer
scores      whether a true answer is named, exact match, token F1 and ROUGE-L
judge       the request to a judge model, and how its verdict is read
judging     from answers to outcomes
measures    the numbers of one model
across      rules against judge, over models
chapter     what the page shows; `figures` draws
"""
