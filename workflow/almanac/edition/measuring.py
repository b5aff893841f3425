"""From an edition's responses to its measures; both measuring and verifying use this code."""

import math
import os
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from statistics import mode
from typing import Any

import numpy as np
import polars as pl

from almanac import sealed, tables
from almanac.columns import columns
from almanac.config import Asking, EditionConfig
from almanac.config.models import ModelConfig
from almanac.edition.layout import Layout
from almanac.edition.pairs import compared
from almanac.errors import AlmanacError, did_you_mean, noted
from almanac.frames import read_frame
from almanac.planting.options import TrainingOptions
from almanac.rows import Exposure, Link, Measure, NotAsked, Outcome, Relation
from almanac.statistics.intervals import Estimate, combined
from almanac.suites import headline
from almanac.suites.agreement import Called, agreements, called, of_facts, on_same_facts
from almanac.suites.answers import Answers
from almanac.suites.chapter import Entrant, Shown
from almanac.suites.comparison import Board, compare
from almanac.suites.data import Data
from almanac.suites.headline import Finding
from almanac.suites.joining import concatenated, join
from almanac.suites.judged import OUTCOMES, Judged, conditions_of, order
from almanac.suites.listing import SUITES, method_labels
from almanac.suites.standings import ALL, CHOICES, FORMAT, CalledFacts, called_facts, standings
from almanac.suites.suite import BarResult, Judgements, Suite
from almanac.suites.validation import validate
from almanac.versions import MAKER, VERSIONS, maker_of

PART = "almanac.part"  # metadata key of outcomes and measures: a digest of what they depend on


def judge(
    suite: Suite[Any],
    options: Any,
    answers: Answers,
    data: Data,
    folder: Path,
    some_items: bool = False,
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Judge a model's answers: write its outcomes and the other tables that the suite declares ``at='judged'``.

    Args:
        suite: the suite that asked.
        options: the suite's options.
        answers: the answers of one model.
        data: the dataset.
        folder: where the tables go.
        some_items: whether the suite may leave out items, since this model was not asked all of them.
        metadata: metadata of every table; see `tables.read_metadata`.

    Raises:
        AlmanacError: a request has no response; the suite does not judge every item once per reading, in order; or it
            yields an unknown outcome, reading or table.
    """
    declared = suite.tables("judged")
    readings = suite.readings(options)
    per_item = len(readings)
    done = 0
    with ExitStack() as stack:
        outcomes, *others = (
            stack.enter_context(tables.writing(folder / f"{name}.parquet", row, metadata))
            for name, row in {"outcomes": Outcome, **declared}.items()
        )
        writers = dict(zip(declared, others, strict=True))
        yielded = set[str]()
        for judgements in suite.judge(answers, data, options) or ():
            if not isinstance(judgements, Judgements):
                raise _unfit(
                    suite.name, f"its `judge` yields Judgements(outcomes, tables), found {type(judgements).__name__}"
                )
            yielded.update(judgements.own)
            if judgements.outcomes.height:
                frame = _whole(suite.name, judgements.outcomes)
                if not frame["item"].dtype.is_integer():
                    raise _unfit(suite.name, f"items are whole numbers, found {frame['item'].dtype}")
                items, due = frame["item"].to_numpy(), done + np.arange(frame.height) // per_item
                if not some_items and (other := np.flatnonzero(items != due)).size:
                    at = other[0]
                    text = f"expected an outcome of item {due[at]}, found one of item {items[at]}"
                    raise _unfit(suite.name, text)
                if frame["reading"].to_list() != [*readings] * (frame.height // per_item):
                    found_instead = frame["reading"].head(per_item).to_list()
                    raise _unfit(suite.name, f"the readings of an item are {[*readings]}, found {found_instead}")
                if unknown := sorted({*frame["outcome"].unique()} - {*OUTCOMES}):
                    raise _unfit(suite.name, f"there is no outcome {unknown[0]!r}{did_you_mean(unknown[0], OUTCOMES)}")
                outcomes.add(frame.to_arrow())
                done += frame.height // per_item
            for name, rows in judgements.own.items():
                if name not in writers:
                    raise AlmanacError(f"suite {suite.name}: `own` declares no table {name!r} at='judged'")
                if not isinstance(rows, pl.DataFrame):
                    what = f"`judge` must yield a polars DataFrame, found a {type(rows).__name__}"
                    raise AlmanacError(f"suite {suite.name}: table {name}: {what}")
                writers[name].add(rows.to_arrow())
        if lacking := sorted(writers.keys() - yielded) if done else ():
            raise AlmanacError(
                f"suite {suite.name}: `own` declares a table {lacking[0]!r} at='judged' that `judge` never yields"
            )
        if not some_items and done != answers.count:
            raise _unfit(suite.name, f"{done} of {answers.count} items are judged{_without_link(answers)}")


def _without_link(answers: Answers) -> str:
    """Say which item is the first without a request, which `judge` never sees; empty if every item has one."""
    linked = set[int]().union(
        *(read_frame(one.folder / "links.parquet", Link, ["item"])["item"] for one in answers.rounds)
    )
    lacking = next((item for item in range(answers.count) if item not in linked), None)
    return "" if lacking is None else f" (`ask` links no request to item {lacking}, so that `judge` does not see it)"


def _unfit(suite: str, what: str) -> AlmanacError:
    return AlmanacError(
        f"suite {suite}: {what}; its `judge` must yield one outcome per item and reading, in the order of the items"
    )


def _whole(suite: str, outcomes: pl.DataFrame) -> pl.DataFrame:
    """Return outcomes with all columns of `Outcome`, optional ones filled; refuse impossible scores and confidences."""
    more = {"reading": pl.lit(""), "prediction": pl.lit(None, pl.String)}
    found = outcomes.with_columns(**{name: value for name, value in more.items() if name not in outcomes.columns})
    if lacking := [name for name in columns(Outcome) if name not in found.columns]:
        raise AlmanacError(f"suite {suite}: its `judge` yields outcomes without the column {lacking[0]!r}")
    for name, most in (("score", math.inf), ("confidence", 1.0 + 1e-6)):
        value = pl.col(name).cast(pl.Float64)
        wrong = found.filter(~value.is_finite() | (value > most) | ((value < 0) & (name == "confidence")))
        if wrong.height:
            item, given = wrong.select("item", name).row(0)
            allowed = "a number" if name == "score" else "0 to 1"
            raise AlmanacError(
                f"suite {suite}: item {item}: {name} is {given}; give {allowed}, or null where there is none"
            )
    return found.select(columns(Outcome))


def measure(suite: Suite[Any], options: Any, answers: Answers, data: Data, folder: Path) -> list[Measure]:
    """Return a model's measures by one suite, sorted; ``folder`` has the tables that `judge` wrote."""
    own_tables = {name: read_frame(folder / f"{name}.parquet", row) for name, row in suite.tables("judged").items()}
    judged = join(suite, options, answers, data, read_frame(folder / "outcomes.parquet", Outcome), own_tables)
    own_tables |= {name: answers.own(name) for name in suite.tables("asked")}
    predictions = read_frame(folder / "outcomes.parquet", Outcome, ["item", "reading", "prediction"])
    predictions = predictions.with_columns(pl.col("item").cast(pl.UInt32))
    found: Any = suite.measure(judged, own_tables, options)
    rows = list(found) if isinstance(found, Iterable) else [found]
    if other := [row for row in rows if not isinstance(row, Measure)]:
        raise AlmanacError(f"suite {suite.name}: its `measure` must return a list of Measure, found {other[0]!r}")
    rows += headline.measures(suite, options, judged, predictions, answers, data)
    return sorted(rows, key=lambda row: (row.metric, order(row.where), row.where))


def measure_model(layout: Layout, model: str) -> Iterator[tuple[Asking, int | None]]:
    """Judge and measure a model's answers to every suite and dataset; results whose inputs are unchanged are kept.

    Yields:
        The suite and dataset, with the number of measures, or None where they were kept.

    Raises:
        AlmanacError: as `judge`.
    """
    _one_model(layout, model)
    for asking in layout.config.asked(model):
        suite, options = SUITES[asking.suite], layout.options(asking)
        part, folder, path = part_of(layout, asking), layout.judged(asking, "outcomes").parent, layout.measures(asking)
        made = (*layout.judgements(asking), path)
        # Check each file: a run that was killed in between leaves files of two runs.
        if all(tables.says(one, PART, part) for one in made):
            for one in made:
                os.utime(one)
            yield asking, None
            continue
        answers, data = layout.answers(asking), layout.data(asking.dataset)
        with noted(f"in suite {asking.suite}, dataset {asking.dataset}, model {model}"):
            judge(suite, options, answers, data, folder, metadata={PART: part})
            rows = measure(suite, options, answers, data, folder)
        yield asking, tables.write(path, Measure, rows, {PART: part})


def _one_model(layout: Layout, model: str) -> None:
    """Refuse responses of two different models under one name, because its weights were changed or damaged in between.

    Raises:
        AlmanacError: the response files have different model digests.
    """
    rounds = (one for one in layout.every_round() if one.answerer == model)
    found: dict[str, Path] = {}
    for path in (path for one in rounds for path in one.responses if path.is_file()):
        if digest := tables.read_metadata(path).get("almanac.model"):
            found.setdefault(digest, path)
    if len(found) > 1:
        listed = ", ".join(f"{path} ({digest[:12]}…)" for digest, path in found.items())
        raise AlmanacError(
            f"model {model}: its responses are of {len(found)} models: {listed}; its weights, tokenizer or settings "
            "have changed in between: bring the right ones back, delete the responses of the others and run again"
        )


def part_of(layout: Layout, asking: Asking) -> str:
    """Return a digest of everything that a model's outcomes and measures by one suite depend on."""
    digests = list(map(sealed.sha256, layout.made_of(asking)))
    return tables.identity([VERSIONS["measure"], asking, layout.options(asking).how(), digests])


def outdated(layout: Layout, suspected: bool = False) -> list[str]:
    """Return a message for each table of measures that does not belong to the present responses (a run was stopped).

    With ``suspected``, only tables older than one of their inputs are checked, which is fast. Then measures that cannot
    be checked are passed over: the page was made by other code, or a file named in the settings is not on this machine.
    """
    if suspected and layout.page().is_file() and maker_of(layout.page()) != MAKER:
        return []
    made = ((layout.measures(asking), asking) for asking in layout.config.asked())
    there = ((path, asking) for path, asking in made if path.is_file() and not (suspected and _older(layout, asking)))
    found = [path for path, asking in there if not _is_of(path, layout, asking)]
    return [f"{path}: does not match the responses that are there; run again, whole" for path in found]


def _is_of(path: Path, layout: Layout, asking: Asking) -> bool:
    """Whether measures belong to the present responses; false if one of their inputs is missing."""
    try:
        return tables.says(path, PART, part_of(layout, asking))
    except FileNotFoundError:
        return False


def _older(layout: Layout, asking: Asking) -> bool:
    """Whether all existing inputs of a model's measures, and the recorded configuration, are no newer than these.

    Also true if a file named in the settings is missing, since then it cannot be told.
    """
    made_at, inputs = layout.measures(asking).stat().st_mtime, (layout.record(), *layout.made_of(asking))
    if not all(map(os.path.isfile, layout.options(asking).files("measure"))):
        return True
    return all(one.stat().st_mtime <= made_at for one in inputs if one.is_file())


def joined(suite: Suite[Any]) -> dict[str, type]:
    """Return a suite's tables that are joined with the outcomes of its items, with their row classes."""
    return {name: row for name, row in suite.tables("judged").items() if suite.own[name].of != "free"}


def judged_of(layout: Layout, asking: Asking) -> Judged:
    """Return a model's items with their outcomes (see `join`)."""
    suite, answers = SUITES[asking.suite], layout.answers(asking)
    own_tables = {name: read_frame(layout.judged(asking, name), row) for name, row in joined(suite).items()}
    outcomes = read_frame(layout.judged(asking, "outcomes"), Outcome)
    return join(suite, layout.options(asking), answers, layout.data(asking.dataset), outcomes, own_tables)


def measure_across(layout: Layout) -> dict[str, list[Any]]:
    """Compare models and methods: return the rows of each table of `BETWEEN`, by its name."""
    rows: list[Measure] = []
    calls_by_model: dict[tuple[str, str], list[Called]] = defaultdict(list)
    on_first: list[CalledFacts] = []  # on the first dataset of each world (`_variant`)
    on_own_first: list[CalledFacts] = []  # by suites that are not asked the first dataset of a world
    pooled_datasets: dict[str, dict[str, Mapping[str, Judged]]] = defaultdict(dict)
    participants = layout.config.participants()
    wanted = compared({asking.model for asking in layout.config.asked()}, layout.config.compare)
    for suite, dataset, askings in layout.askings():
        choices, world = layout.config.datasets[dataset].choices, layout.config.datasets[dataset].world
        judged = {asking.model: judged_of(layout, asking) for asking in askings}
        if dataset in pooled(layout, suite):
            pooled_datasets[suite.name][dataset] = judged
        models = [entrant(layout, asking) for asking in askings]
        options, chapter = layout.options(askings[0]), shown(layout, suite, dataset, askings)
        methods = suite.counted(options)
        for method in methods:
            able = [model for model in models if model.understands(method.format)]
            comparable = suite.comparable(method, {model.name: judged[model.name] for model in able}, chapter)
            rows += (row for board in Board.each(comparable, able, method) for row in compare(board, wanted))
        rows += suite.across(judged, chapter, options)
        for model in models:
            items, participant = judged[model.name], participants[model.name]
            calls = list(called(items, [method for method in methods if model.understands(method.format)]))
            calls_by_model[dataset, model.name] += (call for call in calls if call.followed)
            recipe = participant.model
            if recipe.planted is not None and not recipe.control and world == participant.world:
                decoder = recipe.planted.architecture == "llama"
                variants = [_variant(layout, recipe, dataset, first_of) for first_of in (None, suite.name)]
                for into, variant in zip((on_first, on_own_first), dict.fromkeys(variants), strict=False):
                    if variant is not None:
                        into.extend(
                            called_facts(calls, items, str(world), recipe.name, choices, *variant, decoder=decoder)
                        )
    others = of_other_passes(layout.config)
    rows += [row for name, judged in pooled_datasets.items() for row in SUITES[name].over(concatenated(judged))]
    rows += [row for key, calls in calls_by_model.items() for row in on_same_facts(*key, calls)]
    return {
        "across": rows,
        "validation": validate([*on_first, *on_own_first], layout.config.validation),
        "agreements": [row for key, calls in calls_by_model.items() for row in agreements(*key, calls)],
        "knowledge": [row for key, calls in calls_by_model.items() for row in of_facts(*key, calls)],
        "standings": standings([facts for facts in on_first if facts.model not in others]),
    }


def of_other_passes(config: EditionConfig) -> list[str]:
    """Return the planted decoders trained for more or fewer passes than the most common number, so at other doses."""
    planted = [(one.name, one.planted) for one in config.models if one.planted is not None]
    passes = {name: own.passes for name, own in planted if own.architecture == "llama" and not own.permuted}
    return [name for name, own in passes.items() if own != mode(passes.values())]


def pooled(layout: Layout, suite: Suite[Any]) -> list[str]:
    """Return the datasets over which a suite computes pooled measures: those of sources, if there are at least two.

    Datasets of invented worlds are not pooled, since each model was taught a world of its own.
    """
    if not suite.pools:
        return []
    found = [name for name in layout.config.used_datasets(suite.name) if layout.config.datasets[name].world is None]
    return found if len(found) > 1 else []


def _variant(layout: Layout, model: ModelConfig, dataset: str, suite: str | None = None) -> tuple[str, str] | None:
    """Return how a planted model on a dataset differs from the standard condition: `CalledFacts.axis` and ``level``.

    The standard condition is the first dataset of the world that is asked (by ``suite``, or by any), and a model that
    read the usual kinds of documents. Methods are compared on the first dataset of any suite, and held against bars on
    the first of their own suite. None if both model and dataset differ, or the dataset has as many choices as the first
    and so differs in something else.
    """
    config = layout.config
    world = config.datasets[dataset].world
    first = next(name for name in config.used_datasets(suite) if config.datasets[name].world == world)
    assert model.planted is not None
    unread = set(TrainingOptions().kinds) - set(model.planted.kinds)
    if dataset == first:
        return (FORMAT, model.name) if unread else (ALL, "")
    choices = config.datasets[dataset].choices
    return None if unread or choices == config.datasets[first].choices else (CHOICES, str(choices))


def measures_of(layout: Layout) -> list[Measure]:
    """Return the measures of all models whose tables exist."""
    paths = [path for asking in layout.config.asked() if (path := layout.measures(asking)).is_file()]
    return [row for path in paths for row in layout.read(path, Measure)]


def findings_of(layout: Layout, measures: Sequence[Measure] | None = None) -> list[Finding]:
    """Return each method's finding on each model, in the order of the configuration; planted models come last.

    ``measures``: the edition's measures, if they have been read already.
    """
    measures = measures_of(layout) if measures is None else measures
    found = headline.findings(
        [row for row in measures if row.model],
        {name: suite.methods for name, suite in SUITES.items()},
        {asking.model: entrant(layout, asking) for asking in layout.config.asked()},
    )
    labels = {
        dataset: method_labels(_key(one) for one in found if one.known.dataset == dataset)
        for dataset in layout.config.used_datasets()
    }
    found = [one._replace(method=replace(one.method, label=labels[one.known.dataset][_key(one)])) for one in found]
    everybody, datasets, suites = layout.config.participants(), list(layout.config.datasets), list(SUITES)
    models = sorted(everybody, key=lambda name: everybody[name].model.planted is not None)

    def place(one: Finding) -> tuple[int, int, int]:
        return models.index(str(one.known.model)), datasets.index(one.known.dataset), suites.index(one.known.suite)

    return sorted(found, key=place)


def _key(one: Finding) -> tuple[str, str, str]:
    """Return the key of a method among those that are asked the same facts."""
    return one.known.suite, one.method.name, one.known.where


def bar_results(layout: Layout) -> Iterator[tuple[str, BarResult]]:
    """Yield whether planted models meet the bars that each suite sets; a null must miss them.

    If a recipe is asked the same in several invented worlds, each measure is the mean over these worlds, since one
    alone may have too few facts to show an effect.

    Yields:
        The suite, datasets and model in words, and the result of one bar.
    """
    participants, everything = layout.config.participants(), set(layout.config.asked())
    groups: dict[tuple[str, ...], list[Asking]] = defaultdict(list)
    for asking in layout.config.asked():
        suite, planted = SUITES[asking.suite], participants[asking.model].model.planted
        if planted is None or planted.architecture not in suite.held_architectures:
            continue
        if layout.exposures(asking) is None or (planted.permuted and not suite.nulls_miss):
            continue
        settings = layout.options(asking).model_dump_json()
        apart = asking if layout.config.datasets[asking.dataset].world is None else ()
        groups[asking.suite, participants[asking.model].model.name, settings, *apart].append(asking)
    for askings in groups.values():
        suite, model = SUITES[askings[0].suite], participants[askings[0].model].model
        options, null = layout.options(askings[0]), model.control
        measures = _mean_of_worlds(
            _planned(layout, one) if null else layout.read(layout.measures(one), Measure) for one in askings
        )
        measures = _understood(measures, suite, entrant(layout, askings[0]))
        what = f"{suite.name} of {', '.join(one.dataset for one in askings)}, "
        what += model.name if len(askings) > 1 else askings[0].model
        for one in suite.bars(measures, options):
            yield what, BarResult(f"{one.found} (a null, which must miss)", not one.met) if null else one
        before = [one._replace(model=entrant(layout, one).base or "") for one in askings]
        if everything.issuperset(before):
            base = _mean_of_worlds(layout.read(layout.measures(one), Measure) for one in before)
            for one in suite.tuned_bars(measures, base, options):
                yield what, one


def _mean_of_worlds(worlds: Iterable[Sequence[Measure]]) -> list[Measure]:
    """Return the measures that all worlds have, each the mean over worlds, with its interval (`combined`)."""
    found = list(worlds)
    if len(found) == 1:
        return list(found[0])
    same: dict[tuple[str, str], list[Measure]] = defaultdict(list)
    for row in (row for measures in found for row in measures):
        same[row.metric, row.where].append(row)
    return [
        replace(
            rows[0], **combined([(1 / len(rows), Estimate(one.value, one.low, one.high)) for one in rows])._asdict()
        )
        for rows in same.values()
        if len(rows) == len(found)
    ]


def _planned(layout: Layout, asking: Asking) -> list[Measure]:
    """Return a null's measures, judged and measured as if it had been taught its world's unpermuted facts."""
    suite, options, data = SUITES[asking.suite], layout.options(asking), layout.data(asking.dataset)
    answers = replace(layout.answers(asking), exposures=data.frame("exposures", Exposure))
    with tempfile.TemporaryDirectory() as name:  # its outcomes in the edition say that it was taught nothing
        judge(suite, options, answers, data, Path(name))
        return measure(suite, options, answers, data, Path(name))


def _understood(rows: Sequence[Measure], suite: Suite[Any], model: Entrant) -> list[Measure]:
    """Return a model's measures without those of methods whose format it was not taught."""
    unknown = [method.where.items() for method in suite.methods if not model.understands(method.format)]
    return [row for row in rows if not any(items <= conditions_of(row).items() for items in unknown)]


def shown(
    layout: Layout, suite: Suite[Any], dataset: str, askings: Sequence[Asking], between: Sequence[Measure] = ()
) -> Shown:
    """Return the content of a suite's chapter on a dataset; ``between``: measures that compare models, if wanted."""
    config = layout.config.datasets[dataset]
    measures = [row for asking in askings for row in layout.read(layout.measures(asking), Measure)]
    folders = list(dict.fromkeys(one.folder for asking in askings for one in layout.rounds(asking)))
    refused = [row for folder in folders for row in layout.read(folder / "refused.parquet", NotAsked)]
    own_tables = {
        name: pl.concat(read_frame(folder / f"{name}.parquet", row) for folder in folders)
        for name, row in suite.tables("asked").items()
    }
    return Shown(
        dataset=dataset,
        choices=config.choices,
        models=[entrant(layout, asking) for asking in askings],
        relations={row.relation_id: row.label for row in layout.read(layout.dataset(dataset, "relations"), Relation)},
        measures=[*measures, *(row for row in between if (row.suite, row.dataset) == (suite.name, dataset))],
        refused=refused,
        own=own_tables,
    )


def entrant(layout: Layout, asking: Asking) -> Entrant:
    """Return a model as it is shown and compared; the base of a planted model is the one planted in the same world."""
    participants = layout.config.participants()
    participant = participants[asking.model]
    origin = participant.model.base, participant.world
    bases = [one.name for one in participants.values() if (one.model.name, one.world) == origin]
    null = layout.config.null_of(asking)
    return Entrant(
        name=asking.model,
        series=participant.model.series or asking.model,
        base=bases[0] if bases else None,
        parameters=layout.parameters(asking.model),
        null=None if null is None else null.model,
        permuted=participant.model.control,
        read=None if participant.model.planted is None else participant.model.planted.kinds,
        world=participant.world,
    )
