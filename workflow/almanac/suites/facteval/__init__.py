"""FactEval: questions made from facts, in many forms and contexts, and how their answers are scored (Luo et al.).

suite        what the rest of the program sees
options      its settings
questions    forms, wordings from templates
rows         the suite's own tables
distractors  wrong objects, and what is read before a question
texts        questions that a model writes, for a person to proofread; how alike texts are
asking       from a dataset to questions
reading      what an answer says: rules for English, frozen in scope
judging      from answers to verdicts: our rules, the paper's match, the released scorer
elsewhere    questions and answers of a file
measures     the numbers
chapter      what the page shows; `figures` draws
"""
