"""What FactEval's questions cost to make: invented facts in numbers that double, so that growth can be seen.

python benchmarks/facteval.py                            # up to 100,000 facts: questions, CPU seconds, peak memory
python benchmarks/facteval.py --facts 10000 --contexts none relevant irrelevant antifactual
"""

import argparse
import resource
import time
from random import Random

from almanac.options import add_flags, from_flags
from almanac.rows import Entity, Fact, Relation
from almanac.suites.data import Data
from almanac.suites.facteval.options import FactEvalOptions
from almanac.suites.facteval.suite import FactEval

RELATIONS = 20


def invented(count: int) -> Data:
    """Return a dataset of about as many facts: N-M relations, objects in several, each thing under three names."""
    random = Random(0)
    facts: dict[str, Fact] = {}
    for number in range(count):
        relation, subject = f"r{number % RELATIONS}", f"s{random.randrange(count)}"
        found = f"o{random.randrange(count // 4)}"
        key = f"{relation}|{subject}|{found}"
        facts[key] = Fact(key, relation, subject, found, None, None, None, (), "test", "invented")
    names = sorted({name for row in facts.values() for name in (row.subject_id, str(row.object_id))})
    entities = [
        Entity(name, f"The name of {name}", (f"alias {name}", f"other {name}"), f"type {name[-1]}") for name in names
    ]
    relations = [Relation(f"r{n}", f"label {n}", None, "N-M", None, None) for n in range(RELATIONS)]
    return Data.of(entities=entities, relations=relations, facts=list(facts.values()))


def main() -> None:
    """Time the questions of an eighth, a quarter, a half and all of the facts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--facts", type=int, default=100_000, metavar="INT", help="the largest number of facts [100000]"
    )
    add_flags(parser, FactEvalOptions, "FactEval")
    arguments = parser.parse_args()
    options = from_flags(arguments, FactEvalOptions)
    for part in (8, 4, 2, 1):
        data = invented(arguments.facts // part)
        suite, questions, refused = FactEval(), 0, 0
        start = time.process_time()
        for batch in suite.ask(suite.rounds[0], data, options, None):
            questions += batch.items.num_rows
            refused += batch.refused.num_rows
        seconds = time.process_time() - start
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
        print(
            f"{len(data.facts):>8} facts {questions:>9} questions {refused:>6} refused "
            f"{seconds:>7.1f} CPU s {peak:>6.2f} GiB at most",
            flush=True,
        )


if __name__ == "__main__":
    main()
