"""A whole suite in one file: a model picks an object of three, and another model is asked whether it picks the same.

`docs/adding_a_suite.md` walks through it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, NamedTuple

import polars as pl
from pydantic import Field

from almanac.rows import Fact, Measure, Request
from almanac.suites.answers import Answers
from almanac.suites.asked import Asked, Batch
from almanac.suites.chapter import Chapter, Drawing, Shown, Table
from almanac.suites.data import Data
from almanac.suites.judged import Judged
from almanac.suites.options import MODEL, Sample, SuiteOptions
from almanac.suites.recovery import recovery
from almanac.suites.suite import Judgements, Method, Own, Round, Suite

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PICK, CHECK = "pick", "check"  # what a request is to its item
ALONE, CHECKED = "alone", "checked"  # the readings: what the model picks; and only where the other agrees


class ToyOptions(SuiteOptions):
    """How facts are asked."""

    orders: Annotated[int, Field(ge=1, description="orders of the choices, each asked")] = 1
    checker: Annotated[
        str | None, MODEL, Field(description="the model that is asked whether it would pick the same")
    ] = None
    sample: Sample = None
    seed: Annotated[int, Field(ge=0, description="seed of the sample")] = 0

    def tokens(self, facts: int, choices: int, relations: int) -> int:
        """Return the tokens that a model reads, about."""
        return relations * min(self.sample or facts, facts) * self.orders * 20


class ToySetting(NamedTuple):
    """In which order the choices stand."""

    order: int

    def label(self) -> str:
        """Say it to a reader."""
        return f"order {self.order}"


@dataclass(frozen=True, slots=True)
class Offer:
    """Where the true object stands among the choices of an item."""

    KEY: ClassVar = ("item",)
    item: int
    place: int


@dataclass(frozen=True, slots=True)
class Disagreement:
    """An item of which the checker would have picked something else."""

    KEY: ClassVar = ("item",)
    item: int
    picked: str


class Toy(Suite[ToyOptions]):
    """Pick the object of a fact out of three."""

    name = "toy"
    label = "Toy"
    summary = "pick one object of three"
    options = ToyOptions
    setting = ToySetting
    rounds = (
        Round("picks"),
        Round("checks", answered_by="checker", about_one=True, wanted=lambda options: options.checker is not None),
    )
    own: ClassVar[Mapping[str, Own]] = {
        "offers": Own(Offer, of="item"),
        "disagreements": Own(Disagreement, at="judged"),
    }
    methods = (
        Method("alone", "Toy", {"reading": ALONE, "order": 0}, guess=1 / 3),
        Method("checked", "Toy, checked", {"reading": CHECKED, "order": 0}, guess=1 / 9, by_answer=False),
    )

    def readings(self, options: ToyOptions) -> tuple[str, ...]:
        """Return what the model picks and, with a checker, what both do."""
        return (ALONE,) if options.checker is None else (ALONE, CHECKED)

    def counted(self, options: ToyOptions) -> tuple[Method, ...]:
        """Return both methods or, without a checker, the first."""
        return super().counted(options)[: len(self.readings(options))]

    def offered(self, method: Method, answers: Answers, data: Data, options: ToyOptions) -> pl.DataFrame:
        """Return the three choices of each fact."""
        return data.offered.with_columns(pl.col("offered").list.gather([0, 1, -1]))

    def ask(self, at: Round, data: Data, options: ToyOptions, before: Answers | None) -> Iterator[Batch]:
        """Ask the facts; then, of one model, the checker for what the model has picked."""
        if before is not None:
            yield from _checks(before)
            return
        asked = Asked({"offers": Offer})
        wrong = {row.fact_id: row.labels[:2] for row in data.choices}
        for facts in data.tested(options.sample, options.seed).values():
            for fact in facts:
                for order in range(options.orders):
                    _pick(asked, data, fact, wrong[fact.fact_id], order)
            yield asked.take()

    def judge(self, answers: Answers, data: Data, options: ToyOptions) -> Iterator[Judgements]:
        """Judge every item by the pick, and again by pick and check."""
        readings = self.readings(options)
        for part in answers.parts(("role", "status", "choices", "logprobs"), own=("offers",)):
            found, disagreements = [], []
            for item, own in part.links.group_by("item", maintain_order=True):
                rows = {row["role"]: row for row in own.iter_rows(named=True)}
                picked, score = _picked(rows[PICK])
                true = part.own["offers"].filter(pl.col("item") == item[0])["place"][0]
                for reading in readings:
                    agreed = reading == ALONE or (CHECK in rows and _picked(rows[CHECK])[0] == 0)
                    if picked is None:
                        verdict = "missing" if rows[PICK]["status"] == "refused" else "error"
                    else:
                        verdict = "correct" if picked == true and agreed else "incorrect"
                    text = None if picked is None else rows[PICK]["choices"][picked].strip()
                    found.append((item[0], reading, text, verdict, score[true] if score else None, None))
                    if not agreed and text is not None:
                        disagreements.append((item[0], text))
            columns = {"item": pl.Int64, "reading": pl.String, "prediction": pl.String, "outcome": pl.String}
            schema = columns | {"score": pl.Float64, "confidence": pl.Float64}
            yield Judgements(
                pl.DataFrame(found, schema, orient="row"),
                {"disagreements": pl.DataFrame(disagreements, {"item": pl.Int64, "picked": pl.String}, orient="row")},
            )

    def measure(self, judged: Judged, own: Mapping[str, pl.DataFrame], options: ToyOptions) -> list[Measure]:
        """Compute accuracy by reading, order, place of the true object, and popularity."""
        by = ("reading", "order")
        rows = judged.measures("accuracy", "macro", "hit", by=by)
        for column in ("place", "bucket"):
            rows += judged.measures("accuracy", "mean", "hit", by=(*by, column))
        return rows + recovery(judged, *by)

    def chapter(self, shown: Shown, options: ToyOptions) -> Chapter | None:
        """Return a table of the accuracies, a figure, and those of popular and unpopular subjects."""
        rows = shown.find("accuracy", "reading", "order")
        buckets = shown.find("accuracy", "reading", "order", "bucket")
        return Chapter(
            "Toy",
            "The subject is followed by three objects, one of them true.",
            (
                Table("accuracy", "Accuracy, a mean over relations.", ("model", "read", "accuracy"), [
                    (str(row.model), f"{shown.at(row)['reading']}", row) for row in rows
                ]),
                Table("popularity", "Accuracy by popularity.", ("model", "popularity", "accuracy"), [
                    (str(row.model), str(shown.at(row)["bucket"]), row) for row in buckets
                ], folded=True),
                Drawing("models", "Accuracy by model.", lambda: _figure(rows)),
                *shown.not_asked(),
            ),
        )  # fmt: skip


def _pick(asked: Asked, data: Data, fact: Fact, wrong: tuple[str, ...], order: int) -> None:
    """Ask a fact with its choices in one order."""
    labels = [data.names.label(fact.object_key), *wrong]
    place = order % len(labels)
    shown = labels[len(labels) - place :] + labels[: len(labels) - place]
    item = asked.item("toy", ToySetting(order), fact, labels[:1])
    asked.own["offers"].append(Offer(item, place))
    choices = tuple(f" {label}" for label in shown)
    asked.link(item, PICK, Request("", "choices", None, data.names.label(fact.subject_id), choices=choices), place)


def _checks(before: Answers) -> Iterator[Batch]:
    """Ask the checker for the same choices, the one that the model has picked first; where it picked none, nothing."""
    asked = Asked({"offers": Offer}, first=before.count)
    for part in before.parts(("status", "text", "choices", "logprobs")):
        for row in part.links.iter_rows(named=True):
            picked, _ = _picked(row)
            if picked is not None:
                choices = (row["choices"][picked], *row["choices"][:picked], *row["choices"][picked + 1 :])
                asked.link(row["item"], CHECK, Request("", "choices", None, row["text"], choices=choices))
        yield asked.take()


def _picked(row: Mapping[str, object]) -> tuple[int | None, list[float] | None]:
    """Return the place of the likeliest choice, and the log-probabilities; none without an answer."""
    found = row["logprobs"]
    if row["status"] != "ok" or not isinstance(found, list):
        return None, None
    return found.index(max(found)), found


def _figure(rows: list[Measure]) -> "Figure":
    from matplotlib.figure import Figure  # loaded by what draws alone

    figure = Figure(figsize=(4, 2))
    figure.subplots().bar([str(row.model) for row in rows], [row.value or 0.0 for row in rows])
    return figure
