"""How answers in English are read: about a thousand lines of rules, frozen in scope.

They are held by the tests of `tests/suites/facteval/`; a new kind of answer is no reason to add to them.

    values      numbers with units, dates: equal however they are written
    text        words of a text with their places; where in an answer a name is mentioned, and not denied
    longer      names of other objects that hold a true one's (`New York Times`)
    abstention  phrases by which a model declines
    scoring     mode `strict`: verdict, choice or objects of an answer, and whether they are right
    published   modes `paper` (the paper's match of short answers) and `official` (what the released scorer makes of it)

Each imports those above it.
"""
