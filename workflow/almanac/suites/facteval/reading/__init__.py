"""How English answers are read: some 900 lines of rules, frozen in scope.

The tests in `tests/suites/facteval/` fix them; a new kind of answer is no reason to add rules.

    values   compares dates and numbers with units by value (in `dataset/values.py`, since chance uses it too)
    names    words of a text with their places; where an answer mentions a name, without denying it, and not as part of
             another object's name (`New York Times`)
    scoring  phrases of abstention; mode `strict`: the verdict, choice or objects of an answer, and whether it is right

Each imports those above it. The modes `paper` and `official`, and the choice of the mode, are in `judging`.
"""
