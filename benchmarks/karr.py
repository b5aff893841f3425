"""What KaRR costs: one packed pass over the distinct strings of all facts, against one string a pass.

The other side runs the model on one row for every string of every fact, with logits everywhere. In the mode `official`
it does so as the released code does: the numerator computed twice, each sentence before an object by itself although
its continuations begin with it, and the likelihood of every other subject's name, which nothing uses.
"""

import argparse
import json
import math
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM

from almanac import tables as files
from almanac.edition.asking import write_asked
from almanac.frames import frame_of
from almanac.models.answering import LocalAnswerer
from almanac.models.registry import Model
from almanac.planting import world
from almanac.planting.options import WorldOptions
from almanac.rows import Item, Link, Request, Response
from almanac.sources.files import FactTables
from almanac.suites.data import Data
from almanac.suites.karr.draws import FactDraw
from almanac.suites.karr.estimator import OFFICIAL, PAPER, VARIANTS, Beta, KarrEstimate, Leaves, estimate
from almanac.suites.karr.numbers import Numbers, Strings
from almanac.suites.karr.options import KarrOptions
from almanac.suites.karr.rows import Draw
from almanac.suites.karr.strings import Planned, plan
from almanac.suites.karr.suite import Karr as Suite
from almanac.tables import hash_order
from benchmarks import checkpoints, ours, workloads
from benchmarks.checkpoints import FULL, TINY, Shape
from benchmarks.measuring import spend
from benchmarks.peers import quietly
from benchmarks.reporting import describe

# The demo's base model, and the bar of each shape: how many times its CPU one string a pass must cost.
DEMO = Shape(layers=2, width=256, heads=4, vocabulary=4096, length=256, inner=512, key_heads=4)
SHAPES = {"8 x 512": (FULL, 10.0), "2 x 256": (DEMO, 20.0)}
# As the demo asks, but for the baselines; and what the released code computes alone.
ASKED = {
    "both modes, with false objects": KarrOptions(baselines=False),
    "official, true objects": KarrOptions(modes=("official",), null=False, baselines=False),
}
PACKED, APART, PLAIN = "one pass", "one pass, no string shared by facts", "one string a pass"
HEADINGS = ("model", "facts", "asked", "way", "n", "passes", "tokens", "CPU ms", "times ours", "log KaRR differs by")
Values = Mapping[int, float | None]
EXAMPLES = """\
examples:
  python -m benchmarks.karr
  python -m benchmarks.karr --models "2 x 256" --worlds invented --facts 60 --plain 10"""


@dataclass(frozen=True)
class Line:
    """What one way cost a fact: passes of one string, tokens that the model read, CPU seconds.

    ``times`` is its CPU by that of the first way, ``difference`` the largest one of a logarithm of KaRR to the first's.
    """

    model: str
    world: str
    asked: str
    way: str
    facts: int
    passes: float | None
    tokens: float
    cpu: float
    times: float
    difference: float


def shipped(each: int) -> FactTables:
    """Return the facts that ship, of each relation so many for test."""
    return choose(workloads.shipped(), each)


def invented(each: int) -> FactTables:
    """Return the demo's invented world, of each relation so many facts for test."""
    made = world.invent(WorldOptions(), 1)
    tables = FactTables(
        entities=list(made.entities),
        relations=list(made.relations),
        facts=list(made.facts),
        templates=list(made.templates),
    )
    return choose(tables, each)


def choose(tables: FactTables, each: int) -> FactTables:
    """Return tables in which so many facts of each relation, drawn by their ids, are for test and the others not."""
    by_relation: dict[str, list[str]] = defaultdict(list)
    for fact in tables.facts:
        by_relation[fact.relation_id].append(fact.fact_id)
    chosen = {fact_id for own in by_relation.values() for fact_id in hash_order(own, "benchmark")[:each]}
    facts = [replace(fact, split="test" if fact.fact_id in chosen else "train") for fact in tables.facts]
    return replace(tables, facts=facts)


@dataclass(frozen=True)
class Asked:
    """What is asked: items, and of each the requests that serve it and what was drawn for it."""

    items: Sequence[Item]
    requests: Mapping[str, Request]
    links: Mapping[int, Sequence[str]]
    draws: Mapping[int, FactDraw]


def asked(tables: FactTables, options: KarrOptions) -> Asked:
    """Ask the facts for test."""
    suite = Suite()
    data = Data.of(
        facts=list(tables.facts),
        entities=list(tables.entities),
        relations=list(tables.relations),
        templates=list(tables.templates),
    )
    links: dict[int, list[str]] = defaultdict(list)
    draws: dict[int, list[Draw]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_asked(folder, suite.ask(suite.rounds[0], data, options, None), suite.tables("asked"), 1)
        items = files.read(folder / "items.parquet", Item)
        requests = {row.request_id: row for row in files.read(folder / "requests-0.parquet", Request)}
        for link in files.read(folder / "links.parquet", Link):
            links[link.item].append(link.request_id)
        for row in files.read(folder / "draws.parquet", Draw):
            draws[row.item].append(row)
    return Asked(items, requests, links, {item: FactDraw.of(rows) for item, rows in draws.items()})


class Packed:
    """Our side: the answerer that `almanac answer` uses, and the values that `almanac measure` computes."""

    def __init__(self, model: Model, found: Asked) -> None:
        self.answerer, self.found = LocalAnswerer(model), found

    def values(self, items: Sequence[Item]) -> dict[int, float | None]:
        """Answer and estimate items in one pass over their distinct strings; return the logarithms of KaRR."""
        ids = dict.fromkeys(request_id for item in items for request_id in self.found.links[item.item])
        asked_now = [self.found.requests[request_id] for request_id in ids]
        responses = frame_of(Response, self.answerer.answer(asked_now, {}))
        strings = Strings.of(frame_of(Request, asked_now).join(responses, on="request_id", maintain_order="left"))
        numbers = {mode: Numbers(strings, variant) for mode, variant in VARIANTS.items()}
        out = {}
        for item in items:
            variant = VARIANTS[item.experiment]
            leaves = numbers[item.experiment].leaves(plan(self.found.draws[item.item], variant))
            out[item.item] = estimate(leaves, variant).karr
        return out

    def apart(self, items: Sequence[Item]) -> dict[int, float | None]:
        """Do the same in passes that hold one fact of each relation, so that no two facts share a denominator."""
        by_relation: dict[str, dict[str, list[Item]]] = defaultdict(lambda: defaultdict(list))
        for item in items:
            by_relation[str(item.relation_id)][str(item.fact_id)].append(item)
        groups = [list(own.values()) for own in by_relation.values()]
        out: dict[int, float | None] = {}
        for at in range(max(map(len, groups))):
            out |= self.values([item for own in groups if at < len(own) for item in own[at]])
        return out


class Plain:
    """The other side: one string a pass."""

    def __init__(self, network: Any, model: Model) -> None:
        self.network, self.tokens = network, model.tokens
        self.passes = 0

    @torch.inference_mode()
    def _logs(self, text: str, last: int | None = None) -> list[float]:
        """Return the log-probabilities of a text's last tokens, or of all that can be scored."""
        self.passes += 1
        ids = torch.tensor([[*self.tokens.prefix, *self.tokens.ids(text)]])
        logs = self.network(ids).logits[0, :-1].log_softmax(-1)
        values = logs.gather(-1, ids[0, 1:, None])[:, 0].tolist()
        return values if last is None else values[-last:]

    def _mean(self, text: str, last: int | None = None) -> float | None:
        values = self._logs(text, last)
        return math.fsum(values) / len(values) if values else None

    def _official(self, one: Planned, weight: float | None) -> Beta:
        counts = [len(self.tokens.ids(f" {gamma.rest}")) for gamma in one.gammas]
        pairs = zip(one.gammas, counts, strict=True)
        return Beta(weight, tuple(self._mean(gamma.text, count) or 0.0 for gamma, count in pairs))

    def _paper(self, one: Planned) -> Beta:
        before = len(self.tokens.ids(one.text))
        counts = [len(self.tokens.ids(gamma.text)) - before for gamma in one.gammas]
        pairs = zip(one.gammas, counts, strict=True)
        return Beta(None, tuple(math.fsum(self._logs(gamma.text, count)) for gamma, count in pairs))

    def karr(self, mode: str, drawn: FactDraw) -> KarrEstimate:
        """Compute one fact's KaRR in a mode."""
        return (self.official if mode == "official" else self.paper)(drawn)

    def paper(self, drawn: FactDraw) -> KarrEstimate:
        """Follow the formulas: every string that they name once."""
        planned = plan(drawn, PAPER)
        own = tuple(map(self._paper, planned.own))
        subjects = tuple(tuple(map(self._paper, betas)) for betas in planned.subjects)
        relations = tuple(tuple(tuple(map(self._paper, betas)) for betas in under) for under in planned.relations)
        return estimate(Leaves(own, subjects, relations), PAPER)

    def official(self, drawn: FactDraw) -> KarrEstimate:
        """Follow the released code, its strings one by one in its order."""
        planned = plan(drawn, OFFICIAL)
        for _ in range(2):
            own = tuple(self._official(one, self._mean(one.text)) for one in planned.own)
        subjects = []
        for (_, names), betas in zip(drawn.subjects.items(), planned.subjects, strict=True):
            found = []
            for at, one in enumerate(betas):
                self._mean(names[at % len(names)])  # The likelihood of the name: computed there and used nowhere.
                found.append(self._official(one, self._mean(one.text)))
            subjects.append(tuple(found))
        relations = []
        for name, under in zip(drawn.names, planned.relations, strict=True):
            weight = self._mean(name)
            relations.append(tuple(tuple(self._official(one, weight) for one in betas) for betas in under))
        return estimate(Leaves(own, tuple(subjects), tuple(relations)), OFFICIAL)


def spread(sizes: Mapping[str, int], count: int) -> list[str]:
    """Return facts whose numbers of strings lie evenly among those of all, so that a few stand for all."""
    ordered = sorted(sizes, key=lambda fact_id: (sizes[fact_id], fact_id))
    count = min(count, len(ordered))
    return [ordered[(2 * at + 1) * len(ordered) // (2 * count)] for at in range(count)]


class Bench:
    """One model on one world, all ways."""

    def __init__(self, folder: Path, name: str, shape: Shape, of: str, tables: FactTables, plain: int) -> None:
        self.name, self.shape, self.of, self.tables, self.plain = name, shape, of, tables, plain
        where = checkpoints.causal(folder / f"{name} {of}", workloads.statements_of(tables), shape)
        self.model = ours.load_model(where)
        self.network = AutoModelForCausalLM.from_pretrained(where).eval()

    def run(self) -> list[Line]:
        """Measure every way on what is asked; the first way of each is what the others are held against."""
        return [line for asked_of, options in ASKED.items() for line in self.ways(asked_of, options)]

    def ways(self, asked_of: str, options: KarrOptions) -> list[Line]:
        """Measure every way on one kind of questions."""
        found = asked(self.tables, options)
        items, draws, packed = found.items, found.draws, Packed(self.model, found)
        sizes: Counter[str] = Counter()
        for item in items:
            sizes[str(item.fact_id)] += len(found.links[item.item])
        chosen = set(spread(sizes, self.plain))
        few = [item for item in items if item.fact_id in chosen]
        plain = Plain(self.network, self.model)
        packed.values(few)  # What runs for the first time is slower.
        plain.karr(few[0].experiment, draws[few[0].item])
        plain.passes = 0
        every: list[tuple[str, Sequence[Item], Callable[[], Values]]] = [
            (PACKED, items, lambda: packed.values(items)),
            (APART, items, lambda: packed.apart(items)),
            (PLAIN, few, lambda: {one.item: plain.karr(one.experiment, draws[one.item]).karr for one in few}),
        ]
        lines: list[Line] = []
        known: Values = {}
        for way, own, work in every:
            network = self.network if way == PLAIN else self.model.network
            values, spent = quietly(spend, work, network, self.shape)
            known = known or values
            facts = len({item.fact_id for item in own})
            cpu = spent.cpu / facts
            lines.append(
                Line(
                    self.name,
                    self.of,
                    asked_of,
                    way,
                    facts,
                    plain.passes / facts if way == PLAIN else None,
                    spent.counts.tokens / facts,
                    cpu,
                    cpu / lines[0].cpu if lines else 1.0,
                    max(_gap(known[item], value) for item, value in values.items()),
                )
            )
            print(row(lines[-1]), flush=True)
        return lines


def _gap(one: float | None, other: float | None) -> float:
    if one is None or other is None:
        return 0.0 if one is other else math.inf
    return abs(one - other)


def row(line: Line) -> str:
    """Return a line of the table."""
    cells = (
        *(line.model, line.world, line.asked, line.way, str(line.facts)),
        "" if line.passes is None else f"{line.passes:.0f}",
        f"{line.tokens:.0f}",
        f"{1000 * line.cpu:.3g}",
        f"{line.times:.3g}",
        f"{line.difference:.0e}" if line.difference else "",
    )
    return f"| {' | '.join(cells)} |"


def told(lines: Sequence[Line]) -> str:
    """Return the ratios in words: against the bars, and the gain by what facts share apart."""
    out = []
    for packed, apart, plain in zip(lines[::3], lines[1::3], lines[2::3], strict=True):
        bar = SHAPES[packed.model][1]
        holds = "holds" if plain.times >= bar else "MISSED"
        out.append(
            f"- {packed.model}, {packed.world}, {packed.asked}: one string a pass costs {plain.times:.3g} times our "
            f"CPU (bar {bar:g}): {holds}; without what facts share, ours costs {apart.times:.3g} times "
            f"({apart.tokens / packed.tokens:.3g} times the tokens)"
        )
    return "\n".join(out)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print a table and the ratios."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.karr",
        description=__doc__,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--models", nargs="+", choices=SHAPES, default=list(SHAPES), help="shapes, LAYERS x WIDTH")
    parser.add_argument("--worlds", nargs="+", choices=WORLDS, default=list(WORLDS), help="whose facts")
    parser.add_argument("--facts", type=int, help="facts of each relation, for us [about a hundred in all]")
    parser.add_argument("--plain", type=int, default=10, help="facts in all, for one string a pass [10]")
    parser.add_argument("--tiny", action="store_true", help="models of 2 layers of 64, few facts: a smoke test")
    parser.add_argument("--output", type=Path, default=Path("results/benchmark/karr.json"), help="[%(default)s]")
    options = parser.parse_args(argv)
    torch.set_num_threads(1)
    plain = 2 if options.tiny else options.plain
    print(f"| {' | '.join(HEADINGS)} |\n|{' --- |' * len(HEADINGS)}")
    lines: list[Line] = []
    with tempfile.TemporaryDirectory() as folder:
        for name in options.models:
            shape = TINY if options.tiny else SHAPES[name][0]
            for of in options.worlds:
                make, usual = WORLDS[of]
                tables = make(1 if options.tiny else options.facts or usual)
                lines += Bench(Path(folder), name, shape, of, tables, plain).run()
    print(f"\n{told(lines)}")
    options.output.parent.mkdir(parents=True, exist_ok=True)
    found = {"where": describe(), "lines": [asdict(line) for line in lines]}
    options.output.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0


WORLDS: dict[str, tuple[Callable[[int], FactTables], int]] = {"shipped": (shipped, 3), "invented": (invented, 10)}

if __name__ == "__main__":
    raise SystemExit(main())
