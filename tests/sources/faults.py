"""Every fault of public servers × every query: rows expected, rows got or the error. No cell may have fewer rows.

    python tests/sources/faults.py                 # --quick: at three requests of each query only
    python tests/sources/faults.py --queries items dates --faults 500 429      # a part of the table

A real server (Oxigraph) holds the facts that ship, written as Wikidata's RDF, behind a proxy. Each fault strikes once,
at each request of a query in turn; then at every request.
"""

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).resolve().parents[2] / folder) for folder in ("workflow", ".")]

from tests.sources.sparql_servers import FAULTS, LETS_WAIT, Proxy, oxigraph, proxy
from tests.sources.wikidata_rdf import WikidataShape, shipped

from almanac.errors import AlmanacError
from almanac.sources import paging
from almanac.sources import wikidata_queries as queries
from almanac.sources.options import Manners
from almanac.sources.sparql import Client

RELATIONS = ("P36", "P1086", "P569", "P166", "P166.P585", "P61")
QUICK = Manners(pause=0, attempts=3, wait=0.01, max_wait=0.05)
# Where a server lets its client wait, not to wait long; on a busy machine a good answer may be late, too, a few times.
HASTY = Manners(pause=0, attempts=5, wait=0.01, max_wait=0.05, timeout=1, deadline=0.4)
PATIENT = Manners(pause=0)
Query = Callable[[Client], list[paging.Row]]


def queries_of(shape: WikidataShape) -> dict[str, Query]:
    """Every form of question that a pull asks, by name."""
    ids = [f"wd:{one}" for one in sorted(shape.ids.values())][:120]

    def relation(pattern: paging.Pattern, page: int = 150) -> Query:
        return lambda client: paging.gather(client, pattern, page)

    def batches(pattern: paging.Pattern, of: list[str]) -> Query:
        return lambda client: paging.batched(client, pattern, of, 50)

    return {
        "items": relation(queries.statements("P36", None, "WikibaseItem")),
        "quantities": relation(queries.statements("P1086", None, "Quantity")),
        "dates": relation(queries.statements("P569", None, "Time")),
        "qualifiers": relation(queries.statements("P166", "P585", "Time")),
        "laureates": relation(queries.LAUREATES, 1000),
        "properties": batches(queries.PROPERTIES, ["wd:P36", "wd:P569"]),
        "labels": batches(queries.LABELS, ids),
        "aliases": batches(queries.ALIASES, ids),
        "sitelinks": batches(queries.SITELINKS, ids),
    }


@dataclass(frozen=True)
class Cell:
    """What a query brought under a fault: rows or errors of all runs, and whether any row was missing or wrong.

    ``requests`` are those at which the fault struck once, each in a run of its own.
    """

    expected: int
    requests: int
    once: str
    always: str
    fewer: bool

    def __str__(self) -> str:
        wrong = "   FEWER OR OTHER ROWS" if self.fewer else ""
        return f"{self.expected} in {self.requests} / {self.once} / {self.always}{wrong}"


def outcome(server: Proxy, query: Query, whole: list[paging.Row], manners: Manners) -> tuple[str, bool]:
    """Ask under the proxy's script: (rows or error, whether something is missing without an error)."""
    client = Client(server.url, "test@example.org", manners)
    try:
        rows = query(client)
    except AlmanacError as error:
        return f"error: {str(error).removeprefix(f'{server.url}: ').splitlines()[0][:60]}", False
    return str(len(rows)), _sorted(rows) != _sorted(whole)


def _sorted(rows: list[paging.Row]) -> list[list[tuple[str, str]]]:
    return sorted(sorted(row.items()) for row in rows)


def cell(server: Proxy, query: Query, fault: str, whole: list[paging.Row], positions: list[int]) -> Cell:
    """Let a fault strike once, at each of some requests in turn, then always."""
    once, fewer = set(), False
    manners = HASTY if fault in LETS_WAIT else QUICK
    for position in positions:
        server.script(lambda number, at=position: fault if number == at else None)
        text, wrong = outcome(server, query, whole, manners)
        once.add(text)
        fewer |= wrong
    server.script(lambda number: fault)
    always, wrong = outcome(server, query, whole, manners)
    return Cell(len(whole), len(positions), " or ".join(sorted(once)), always, fewer or wrong)


def table(
    faults: tuple[str, ...] = FAULTS, names: tuple[str, ...] = (), positions: int | None = None
) -> Iterator[tuple[str, str, Cell]]:
    """Yield (query, fault, cell). With ``positions`` a fault strikes at so many requests of a query only."""
    shape = WikidataShape(shipped(*RELATIONS))
    with oxigraph(shape.triples()) as url, proxy(url) as server:
        for name, query in queries_of(shape).items():
            if names and name not in names:
                continue
            server.script(lambda number: None)
            whole = query(Client(server.url, "test@example.org", PATIENT))
            assert whole
            last = len(server.seen) - 1
            struck = list(range(last + 1))
            if positions is not None:
                struck = sorted({min(1, last), 0, last}, key=lambda place: place != min(1, last))[:positions]
            for fault in faults:
                yield name, fault, cell(server, query, fault, whole, struck)


def main() -> int:
    """Print the table; exit 1 if a cell has fewer rows."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="at three requests of each query only")
    parser.add_argument("--queries", nargs="+", default=(), metavar="NAME", help="these queries only")
    parser.add_argument("--faults", nargs="+", default=FAULTS, choices=FAULTS, metavar="NAME", help="these faults only")
    asked = parser.parse_args()
    print("rows expected in so many requests / got, or the error, when the fault strikes once / at every request")
    count = runs = bad = 0
    before = None
    for name, fault, one in table(tuple(asked.faults), tuple(asked.queries), 3 if asked.quick else None):
        if name != before:
            print(f"\n{name}")
        before = name
        print(f"  {fault:<24}{one}", flush=True)
        count, runs, bad = count + 1, runs + one.requests + 1, bad + one.fewer
    print(f"\n{count} cells of {runs} runs, {bad} with fewer or other rows")
    return int(bool(bad))


if __name__ == "__main__":
    raise SystemExit(main())
