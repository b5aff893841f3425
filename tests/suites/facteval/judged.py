"""Questions for the tests of FactEval's scoring."""

from almanac.rows import Question


def question(kind, gold=(), choices=None, truth=None, objects=None, item_id="i", **other):
    """Return a question; every name is an object of its own where ``objects`` does not say otherwise."""
    blank = dict.fromkeys(Question.__slots__)
    gold = (gold,) if isinstance(gold, str) else tuple(gold)
    return Question(
        **blank
        | {
            "item_id": item_id,
            "relation_id": "r",
            "type": kind,
            "style": "statement" if kind == "tfq" else "wh",
            "origin": "template",
            "context": "none",
            "text": "?",
            "gold": gold,
            "gold_object": tuple(objects or gold),
            "choices": choices,
            "truth": truth,
        }
        | other
    )
