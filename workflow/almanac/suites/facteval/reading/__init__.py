"""How answers in English are read: some 900 lines of rules, frozen in scope.

They are held by the tests of `tests/suites/facteval/`; a new kind of answer is no reason to add to them.

    values   numbers with units, dates: equal however they are written (`dataset/values.py`: chance reads them, too)
    names    words of a text with their places; where in an answer a name is mentioned, not denied, and no part of the
             name of another object (`New York Times`)
    scoring  phrases by which a model declines; mode `strict`: verdict, choice or objects of an answer, and whether they
             are right

Each imports those above it. The modes `paper` and `official`, and which mode judges, are in `judging`.
"""
