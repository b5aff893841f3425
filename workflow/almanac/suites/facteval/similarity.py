"""How alike questions from templates and those that a model has written are, asked of the same facts."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from almanac.rows import Item, Question, QuestionSimilarity
from almanac.suites.facteval.analyses import Similarity
from almanac.suites.facteval.questions import SAQ, TEMPLATE, TFQ, WRITTEN


class Pair(NamedTuple):
    """Two wordings of one question: by a template, by a model."""

    style: str
    relation_id: str
    template: str
    written: str


def pairs(items: Iterable[Item], questions: Iterable[Question]) -> list[Pair]:
    """Return the pairs of wordings of each fact: true statements, sentences with a blank, Wh-questions.

    False statements are left out: what they say depends on the wrong object, not on the wording. A blank or a question
    is the same text in multiple choice and short answer, and is taken once; where a relation has several templates a
    pair stands for each.
    """
    fact_of = {item.item_id: item.fact_id for item in items}
    found: dict[tuple[str, str, str], dict[str, dict[str, None]]] = defaultdict(lambda: defaultdict(dict))
    for question in questions:
        if (question.type == TFQ and question.truth) or question.type == SAQ:
            key = (question.style, question.relation_id, fact_of[question.item_id])
            found[key][question.origin][question.text] = None
    return [
        Pair(style, relation_id, template, written)
        for (style, relation_id, _), own in sorted(found.items())
        for template in own[TEMPLATE]
        for written in own[WRITTEN]
    ]


def similarity(found: Sequence[Pair], compare: Callable[[str, str], Similarity]) -> list[QuestionSimilarity]:
    """Return the similarity by style and relation, then the unweighted mean over relations.

    Args:
        found: the pairs.
        compare: BERTScore of the written wording against the template's.
    """
    groups: dict[str, dict[str, list[Similarity]]] = defaultdict(lambda: defaultdict(list))
    for pair in found:
        groups[pair.style][pair.relation_id].append(compare(pair.written, pair.template))
    rows = []
    for style, relations in groups.items():
        means = {relation: _mean(own) for relation, own in relations.items()}
        total = sum(map(len, relations.values()))
        rows.append(QuestionSimilarity(style, None, total, *_mean(list(means.values()))))
        rows += [QuestionSimilarity(style, one, len(relations[one]), *mean) for one, mean in means.items()]
    return rows


def _mean(values: Sequence[Similarity]) -> Similarity:
    return Similarity(*(math.fsum(column) / len(values) for column in zip(*values, strict=True)))
