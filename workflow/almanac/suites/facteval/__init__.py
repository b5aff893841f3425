"""FactEval: questions made from facts, in many forms and contexts, and how their answers are scored (Luo et al.).

suite       what the rest of the program sees
options     its settings
rows        its tables
questions   forms, wordings from templates
distractors wrong objects
passages    what is read before a question
asking      from a dataset to questions
writing     questions that a model writes, for a person to proofread
texts       how much questions repeat each other, how similar two wordings are
reading     what an answer says: rules for English, frozen in scope
judging     from answers to verdicts
elsewhere   questions and answers of a file
measures    the numbers
chapter     what the page shows; `figures` draws
"""
