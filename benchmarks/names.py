"""What rules that know nothing and go by spelling are found to know of each relation.

    make own MODEL=.real-model/smollm2-135m-instruct SUITES=ic_lke
    python -m benchmarks.names results/own

Each rule chooses in a model's place, of the choices that IC-LKE offered it: that which is most like the subject's name,
of several one at random; or only one that is as like as a rule asks, and else the object that most facts have. Where
names give facts away, such a rule is right more often than by chance; beyond names it should not be.
"""

import argparse
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import takewhile
from pathlib import Path

import numpy as np
import polars as pl

from almanac.dataset.names import likeness
from almanac.edition.layout import Layout
from almanac.edition.measuring import judged_of
from almanac.rows import Measure
from almanac.suites.chance import GIVEN_OF_RELATION, OF_RELATION, against_others
from almanac.suites.headline import LEVEL, holm, p_of
from almanac.suites.judged import RELATION, conditions_of
from almanac.suites.listing import SUITES
from almanac.suites.truths import Truths, objects_of

SUITE = "ic_lke"


def threes(subject: str, found: str) -> float:
    """Return the share of an object's groups of three letters that its subject has too."""
    own, other = ({f" {name} ".lower()[at : at + 3] for at in range(len(name))} for name in (found, subject))
    return len(own & other) / max(1, len(own))


def longest(subject: str, found: str) -> float:
    """Return how long a run of letters both have, for an object of such a length."""
    match = SequenceMatcher(None, subject.lower(), found.lower(), autojunk=False).find_longest_match()
    return float(match.size / len(found) ** 0.5)


def beginning(subject: str, found: str) -> float:
    """Return how many letters both begin with."""
    return sum(1 for _ in takewhile(lambda two: two[0] == two[1], zip(subject.lower(), found.lower(), strict=False)))


# How like a choice is, and how like it must be; where none is, that is chosen which most facts have.
RULES: dict[str, tuple[Callable[[str, str], float], float]] = {
    "pairs of letters": (likeness, 0),
    "groups of three letters": (threes, 0),
    "the longest run of letters": (longest, 0),
    "the first letters": (beginning, 0),
    "half of the pairs, or commonest": (likeness, 0.5),
    "three first letters, or commonest": (beginning, 3),
    "the commonest": (likeness, 2),
}


def choosing(layout: Layout, dataset: str) -> Iterator[tuple[str, float, list[Measure]]]:
    """Yield for each rule the share of facts that it has right, and its numbers by relation."""
    asking = next(one for one in layout.config.asked() if (one.suite, one.dataset) == (SUITE, dataset))
    suite, options, data, answers = SUITES[SUITE], layout.options(asking), layout.data(dataset), layout.answers(asking)
    method = suite.counted(options)[0]
    own = next(iter(judged_of(layout, asking).where(method.where).groups(*method.by)))
    asked = own.frame.filter(pl.col("fact").is_not_null())
    truths = Truths.of(answers, suite.offered(method, answers, data, options), objects_of(data))
    facts = {fact.fact_id: fact for of in data.split_facts.values() for fact in of}
    offered = dict(data.offered.with_columns(pl.col("fact").cast(pl.String)).iter_rows())
    label, rng = data.names.label, np.random.default_rng(0)
    common = Counter((relation, label(key)) for relation, _, key in data.triples.iter_rows())
    for name, (like, least) in RULES.items():
        said, right = [], []
        for one in asked["fact"].cast(pl.String):
            fact, choices = facts[one], list(rng.permutation(offered[one]))
            scores = [like(label(fact.subject_id), choice) for choice in choices]
            if max(scores) < least:
                scores = [common[fact.relation_id, choice] for choice in choices]
            said.append(choices[int(np.argmax(scores))])
            right.append(said[-1] == label(fact.object_key))
        chosen = asked.with_columns(pl.Series("prediction", said), pl.Series("hit", right))
        yield name, sum(right) / len(right), list(against_others(own, chosen, truths))


def above(rows: Sequence[Measure], metric: str) -> set[str]:
    """Return the relations that are above chance by the p of a metric, adjusted for all."""
    own = [row for row in rows if row.metric == metric and row.value is not None]
    ps = holm(list(map(p_of, own)))
    return {str(conditions_of(row)[RELATION]) for row, p in zip(own, ps, strict=True) if p <= LEVEL}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.names", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("edition", type=Path, help="a finished edition that asks IC-LKE, such as results/own")
    parser.add_argument("--dataset", default="facts", help="of it [facts]")
    given = parser.parse_args(arguments)
    layout = Layout.open(given.edition)
    labels = {row.relation_id: row.label for row in layout.data(given.dataset).relations}
    print(f"{'goes by':<35}{'right':>7}{'above chance':>14}{'beyond names':>14}  above chance in")
    for name, right, rows in choosing(layout, given.dataset):
        sure = above(rows, OF_RELATION)
        beyond = len(sure & above(rows, GIVEN_OF_RELATION))
        print(f"{name:<35}{right:>7.3f}{len(sure):>14}{beyond:>14}  {', '.join(sorted(labels[one] for one in sure))}")


if __name__ == "__main__":
    main()
