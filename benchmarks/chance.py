"""How often a model that knows nothing is called above chance, and one that knows a little is.

    python -m benchmarks.chance

An edition of 200 models is simulated: each has its own liking of objects, follows how common they are, or both, and
knows a share of the facts. Relations' objects are skewed (a Zipf distribution). Printed are the share of models that
are called above chance, that of models of which any relation is, adjusted for all of their relations, and of whole
editions of twelve rows adjusted together: with all facts of the relations asked, and with two of each, whose answers
are held against the others all the same. Then models that pick any of the choices they are offered, or the commonest;
models that name anything at all where each fact of a relation has an object of its own, some asked in several
wordings, or of subjects that relations share; models that have scores for objects, and are asked each fact with a false
one too; models that are shown a true and a false statement of each fact; and models that go by the commonest object
where subjects have several. These are held against the level of the first of 70 rows that are adjusted together as
well. Last, how often the interval of what is above chance holds the truth, by designs with few hits or few facts of a
relation, of five times as many models: above its upper end more may have been missed than is said; and the same of
draws of facts asked of one model that has scores for objects.
"""

import argparse
import itertools
from collections.abc import Sequence

import numpy as np

from almanac.rows import Measure
from almanac.suites.chance import ABOVE, GIVEN, OF_RELATION
from almanac.suites.headline import LEVEL, holm
from benchmarks.simulated import (
    FACTS,
    LIKINGS,
    SEVERAL,
    above,
    by_names,
    judges,
    likings,
    model,
    names_anything,
    over_all,
    picks,
    scores,
    several,
)

ROWS = 12
CHOICES = ((3, 40, False), (4, 8, False), (4, 8, True), (10, 100, True), (20, 60, True), (20, 1000, False))
# Relations, facts of each and objects; what is known, and what else is answered.
INTERVALS = (
    ((6, 10, 200), 0.05, "any object"), ((36, 3, 200), 0.05, "any object"), ((17, 12, 200), 0.02, "any object"),
    ((6, 10, 20), 0.2, "the common"), ((36, 4, 20), 0.1, "common, wavering"), ((10, 20, 20), 0.3, "a favourite"),
    ((10, 20, 20), 0.6, "any object"), ((6, 10, 20), 0.95, "any object"),
)  # fmt: skip
# Relations, facts asked of the 20 of each, vocabulary, wordings, and relations that have the same subjects.
NAMING = (
    (10, 20, 100, 1, 1), (10, 20, 1000, 1, 1), (10, 6, 1000, 1, 1), (10, 20, 3000, 1, 1), (36, 6, 3000, 1, 1),
    (10, 20, 100, 5, 1), (10, 20, 3000, 5, 1), (10, 20, 3000, 10, 1), (10, 20, 3000, 1, 5), (10, 20, 3000, 5, 5),
)  # fmt: skip
SCORED = ((20, 5, 100, 40), (10, 10, 400, 40), (36, 2, 100, 20), (10, 20, 400, 20))  # relations, facts, of, objects


def called(models: Sequence[Sequence[Measure]]) -> str:
    """Return the shares of models above chance over all relations, of the first of 70 rows too, and in any relation."""
    ps = np.array([over_all(rows).p for rows in models])
    of_relations = [[row.p for row in rows if row.metric == OF_RELATION and row.p is not None] for rows in models]
    any_relation = [min(holm(own), default=1.0) <= LEVEL for own in of_relations]
    return f"{np.mean(ps <= LEVEL):>12.3f}{np.mean(ps <= LEVEL / 70):>14.3f}{np.mean(any_relation):>14.3f}"


def holding(found: Sequence[Measure], truth: float | None = None) -> tuple[float, float, float]:
    """Return how often intervals hold the truth, how often that lies above their upper end, and their values' bias.

    Without a truth it is the values' mean: that of the design, not of one draw of its objects.
    """
    value, low, high = (np.array([getattr(row, of) for row in found]) for of in ("value", "low", "high"))
    mean = value.mean()
    truth = mean if truth is None else truth
    return float(np.mean((low <= truth) & (truth <= high))), float(np.mean(high < truth)), float(mean - truth)


def verdicts(rng: np.random.Generator, count: int) -> None:
    """Print how often so many models of each kind are called above chance."""
    shares = f"{'p <= .025':>12}{'p <= .025/70':>14}{'any relation':>14}"
    print(f"{'likes':<18}{'asked':>7}{'knows':>7}{shares}{f'of {ROWS} rows':>12}")
    for asked, knows in itertools.product((FACTS, 2), (0.0, 0.02, 0.05)):
        for name, liking in LIKINGS.items():
            models = [model(rng, liking, knows, asked) for _ in range(count)]
            ps = [over_all(rows).p or 0.0 for rows in models]
            whole = [min(holm(ps[at : at + ROWS])) <= LEVEL for at in range(0, count - ROWS + 1, ROWS)]
            print(f"{name:<18}{asked:>7}{knows:>7.2f}{called(models)}{np.mean(whole):>12.3f}")
    print(f"\n{'choices':<9}{'of objects':>11}{'skewed':>8}{'picks':>14}{'knows':>7}{shares}")
    for kind in CHOICES:
        for (picking, prior), knows in itertools.product({"any": None, "the commonest": 1.0}.items(), (0.0, 0.05)):
            models = [picks(rng, kind, prior, knows) for _ in range(count)]
            print(f"{kind[0]:<9}{kind[1]:>11}{kind[2]!s:>8}{picking:>14}{knows:>7.2f}{called(models)}")
    print(f"\n{'relations':<12}{'asked of 20':>12}{'vocabulary':>12}{'wordings':>10}{'share subjects':>16}{shares}")
    for design in NAMING:
        models = [names_anything(rng, *design) for _ in range(10 * count)]
        print("{:<12}{:>12}{:>12}{:>10}{:>16}".format(*design) + called(models))
    print(f"\n{'scores of':<12}{'knows':>7}{shares}")
    for per_relation, knows in itertools.product((5, 20), (0.0, 0.1)):
        liked = (likings(rng, 20, 20 * per_relation, 40) for _ in range(count))
        models = [scores(rng, one, per_relation, knows) for one in liked]
        print(f"{20 * per_relation:<12}{knows:>7.2f}{called(models)}")
    print(f"\n{'says correct':<14}{'knows':>7}{shares}")
    for agrees, knows in itertools.product((0.5, 0.8, 1.0, None), (0.0, 0.05, 0.1)):
        name = "of the common" if agrees is None else f"{agrees:.1f}"
        print(f"{name:<14}{knows:>7.2f}{called([judges(rng, agrees, knows) for _ in range(count)])}")
    head = f"{'have one':<10}{'others':>7}{'objects':>9}{'choices':>9}{'asks':>12}{'knows':>7}"
    print(f"\n{head}{shares}{'above':>8}{'over 0':>8}")
    for design, asks, knows in itertools.product(SEVERAL, ("choices", "statements", "scores"), (0.0, 0.1)):
        models = [several(rng, design, asks, knows) for _ in range(count)]
        found = [over_all(rows) for rows in models]
        above_it, sure = np.mean([row.value for row in found]), np.mean([(row.low or 0.0) > 0 for row in found])
        print(
            "{:<10}{:>7}{:>9}{:>9}".format(*design)
            + f"{asks:>12}{knows:>7.2f}{called(models)}{above_it:>8.3f}{sure:>8.3f}"
        )
    print(f"\n{'goes by names':<15}{'give away':>10}{'p <= .025':>12}{'beyond names':>14}")
    for asks, share in itertools.product(("open", "choices", "scores"), (0.2, 0.4, 0.6)):
        models = [by_names(rng, asks, share) for _ in range(count)]
        sure, beyond = (
            np.mean([(row.p or 0.0) <= LEVEL for rows in models for row in rows if row.metric == metric])
            for metric in (ABOVE, GIVEN)
        )
        print(f"{asks:<15}{share:>10.1f}{sure:>12.3f}{beyond:>14.3f}")


def intervals(rng: np.random.Generator, count: int) -> None:
    """Print how often the interval of what is above chance holds the truth, of so many models of each kind."""
    print(f"\n{'relations':<12}{'facts':>7}{'objects':>9}{'likes':>18}{'knows':>7}{'holds':>8}{'truth above':>13}")
    for design, knows, name in INTERVALS:
        found = [over_all(model(rng, LIKINGS[name], knows, design[1], design)) for _ in range(count)]
        holds, above_it, _ = holding(found)
        print(f"{design[0]:<12}{design[1]:>7}{design[2]:>9}{name:>18}{knows:>7.2f}{holds:>8.3f}{above_it:>13.3f}")
    print(
        f"\n{'relations':<12}{'facts':>7}{'of':>7}{'objects':>9}{'knows':>7}{'holds':>8}{'truth above':>13}{'bias':>8}"
    )
    for (relations, asked, facts, objects), knows in itertools.product(SCORED, (0.0, 0.5)):
        one = likings(rng, relations, facts, objects)
        found = [over_all(scores(rng, one, asked, knows)) for _ in range(count)]
        holds, above_it, bias = holding(found, above(one, knows))
        print(f"{relations:<12}{asked:>7}{facts:>7}{objects:>9}{knows:>7.2f}{holds:>8.3f}{above_it:>13.3f}{bias:>8.3f}")


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.chance", description=__doc__)
    parser.add_argument("--models", type=int, default=200, metavar="N", help="models of a kind [200]")
    count = parser.parse_args(arguments).models
    verdicts(np.random.default_rng(0), count)
    intervals(np.random.default_rng(0), 5 * count)


if __name__ == "__main__":
    main()
