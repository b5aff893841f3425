"""Head-to-Tail's chapter of the page, in the order of the paper."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from almanac.rows import Measure
from almanac.suites.chapter import Cell, Chapter, Drawing, Shown, Table, filled
from almanac.suites.head_to_tail.asking import CLOZE, QUESTION, HeadToTailSetting
from almanac.suites.head_to_tail.buckets import BUCKETS, EXPOSURE
from almanac.suites.head_to_tail.judging import JUDGE, RULES
from almanac.suites.head_to_tail.measures import BY, COMMON, ENDS, ONCE, RATES
from almanac.suites.head_to_tail.options import HeadToTailOptions
from almanac.suites.head_to_tail.score_tables import judged, score_levels, scores, way_name
from almanac.suites.head_to_tail.variants import VERSION
from almanac.suites.judged import Condition, Not

HEAD = tuple(RATES)
Way = tuple[Any, ...]  # values of `BY`: how answers are judged, and how questions are asked
READ_HOW = (
    "Accuracy, hallucination and missing rate are shares of the answers and sum to 1; an answer is missing if the "
    "model says unsure or nothing. An item whose request failed is left out. By rules, an answer is correct if it "
    f"names a true one or one of its variants, in whatever words (rules of version {VERSION})."
)


def rates_by(shown: Shown, *keys: str, **fixed: Condition) -> dict[tuple[str, tuple[Any, ...]], dict[str, Measure]]:
    """Return the rates that have a value, by model and by the values of `BY` and ``keys``; then by rate."""
    found: dict[tuple[str, tuple[Any, ...]], dict[str, Measure]] = {}
    conditions: dict[str, Any] = {**ONCE, **fixed}
    for metric in HEAD:
        for row in shown.valued(metric, *BY, *keys, **conditions):
            where = shown.at(row)
            found.setdefault((str(row.model), tuple(where[name] for name in (*BY, *keys))), {})[metric] = row
    return found


def _falls(shown: Shown) -> dict[tuple[str, Way, str], Measure]:
    """Return the accuracy in the head minus that in the tail, by model, way of asking and domain."""
    found = {}
    for keys in ((), ("domain",)):
        for row in shown.valued("fall", *BY, *keys, level=ENDS, **ONCE):
            where = shown.at(row)
            found[str(row.model), tuple(where[name] for name in BY), str(where.get("domain", "all"))] = row
    return found


def rate_rows(shown: Shown, *keys: str, **fixed: Condition) -> list[Sequence[Cell]]:
    """Return a table's rows: model, way of asking, the values of ``keys``, the number of answers, and the rates."""
    return [
        [model, way_name(key), *map(str, key[len(BY) :]), _answered(own["accuracy"]), *(own[one] for one in HEAD)]
        for (model, key), own in rates_by(shown, *keys, **fixed).items()
    ]


def chapter(shown: Shown, options: HeadToTailOptions) -> Chapter | None:
    """Return Head-to-Tail's chapter about a dataset; None if nothing was asked."""
    if not shown.find("accuracy", *BY, **ONCE):
        return None
    # Figures and some tables show one way: by the judge, as in the paper, if it gives verdicts; else by rules.
    given = [row.value or 0.0 for row in shown.find("verdict_given", *BY[1:], parsed=Not(None), reading=JUDGE, **ONCE)]
    ruled = bool(given) and min(given) >= 0.5
    way = (JUDGE if ruled else RULES, QUESTION, options.prompts[0])
    by = f"scored by rules and by {options.judge}" if options.judge else "scored by rules only, since no judge is named"
    if given and not ruled:
        least = f"{min(given):.2f}".removeprefix("0")
        by += f" (which gave a verdict on {least} of a model's answers, so that figures show the rules)"
    questions = "Questions" if options.popularity == EXPOSURE else "Equally many questions"
    asks = (
        f"{questions} about popular subjects (the head) and less popular ones (torso and tail), {by}. "
        f"{_measured(options, shown)}"
    )
    parts: list[Table | Drawing | str] = [
        READ_HOW,
        rates_table("rates", "All questions (Tables 3, 9 and 14 of the paper).", rate_rows(shown)),
        *drawing(shown, way),
        *_dose_drawing(shown, options),
        *_fell(shown, way),
        levels(shown),
        rates_table("domains", "By domain.", _several(rate_rows(shown, "domain")), "domain", folded=True),
        rates_table("kinds", "By type of the subject.", _several(rate_rows(shown, "kind")), "type", folded=True),
        rates_table("top", "The most popular tenth of the head (Tables 5, 12, 13).", rate_rows(shown, top=True)),
        _predicates(shown),
        natural(shown),
        _forms(shown),
        _sizes(shown, way),
        scores(shown),
        score_levels(shown),
        *judged(shown),
        _stability(shown),
        *_doses(shown),
        _relations(shown, way),
        *_counts(shown, options),
        *shown.not_asked(),
    ]
    return filled("Head-to-Tail", asks, parts)


def _measured(options: HeadToTailOptions, shown: Shown) -> str:
    """Describe the measure of popularity."""
    if options.popularity == EXPOSURE:
        return (
            "Popularity is how often a planted model was taught facts about the subject; facts are drawn without "
            "regard to it, so that head, torso and tail differ in size."
        )
    own = shown.own.get("buckets")
    measure = None if own is None or own.is_empty() else own["measure"][0]
    return {
        "density": "Popularity is the number of facts in the dataset that name the subject.",
        "source": "Popularity is the source's: votes, ratings, citations or mentions.",
    }.get(str(measure), "No subject has a popularity.")


def _answered(row: Measure) -> int:
    return row.n - row.n_error


def rates_table(name: str, caption: str, rows: Sequence[Sequence[Cell]], *more: str, folded: bool = False) -> Table:
    """Return a table of rates."""
    return Table(name, caption, ("model", "asked", *more, "answers", *HEAD), rows, folded)


def _several(rows: Sequence[Sequence[Cell]]) -> Sequence[Sequence[Cell]]:
    """Return a table's rows if they divide anything (the third column has several values), else none."""
    return rows if len({row[2] for row in rows}) > 1 else []


def natural(shown: Shown) -> Table:
    """Return the table of rates without unnatural questions; without rows if there were none of these."""
    rows, every = rate_rows(shown, natural=True), rate_rows(shown)
    kept = rows if [row[2] for row in rows] != [row[2] for row in every] else []
    return rates_table("natural", "Without questions that people hardly ask (Table 10).", kept, folded=True)


def drawing(shown: Shown, way: Way) -> Iterator[Drawing]:
    """Yield the figure of one way of asking and judging, if it has levels."""
    from almanac.suites.head_to_tail import figures  # matplotlib, which nothing else of the suite needs

    fixed: dict[str, Any] = {**ONCE, **dict(zip(BY, way, strict=True))}
    found = {
        rate: shown.valued(rate, "level", **fixed) + shown.valued(rate, "domain", "level", **fixed)
        for rate in figures.RATES
    }
    if found["accuracy"]:
        caption = "Accuracy and hallucination rate from head to tail, also by domain if there are several (Table 4)."
        yield Drawing("head_to_tail", caption, lambda: figures.head_to_tail(found))


def _dose_drawing(shown: Shown, options: HeadToTailOptions) -> Iterator[Drawing]:
    from almanac.suites.looks import lines_along

    fixed: dict[str, Any] = {**ONCE, "reading": RULES, "experiment": QUESTION, "prompt": options.prompts[0]}
    taught = shown.valued("accuracy_by_exposure", "hit", "dose", **fixed)
    if taught:
        caption = "Accuracy by how often a fact was taught, with 95 % intervals."
        yield Drawing("doses", caption, lambda: lines_along(taught, "dose", "accuracy"))


def levels(shown: Shown) -> Table:
    """Return head, torso and tail side by side, all questions and, where there are several, by domain (Table 4)."""
    lines: dict[tuple[str, tuple[Any, ...], str], dict[str, Mapping[str, Measure]]] = {}
    for keys in (("level",), ("domain", "level")):
        for (model, key), own in rates_by(shown, *keys).items():
            domain = "all" if len(keys) == 1 else str(key[len(BY)])
            lines.setdefault((model, key[: len(BY)], domain), {})[str(key[-1])] = own
    several = len({domain for _, _, domain in lines} - {"all"}) > 1
    # A bucket that no subject is in has no column.
    buckets = [bucket for bucket in BUCKETS if any(bucket in own for own in lines.values())]
    falls = _falls(shown)
    rows: list[Sequence[Cell]] = [
        [
            *(model, way_name(key), domain),
            *(own.get(bucket, {}).get(rate) for bucket in buckets for rate in HEAD[:2]),
            *([falls.get((model, key, domain))] if falls else []),
        ]
        for (model, key, domain), own in lines.items()
        if domain == "all" or several
    ]
    head = ["model", "asked", "domain", *(f"{bucket}: {rate}" for bucket in buckets for rate in HEAD[:2])]
    head += ["accuracy: head less tail"] if falls else []
    caption = "Head, torso and tail (Table 4), by what the chapter's first lines say."
    return Table("levels", caption, head, rows)


def _fell(shown: Shown, way: Way) -> Iterator[str]:
    """Yield a sentence that says for which models accuracy falls from head to tail."""
    found: dict[str, list[str]] = defaultdict(list)
    for (model, key, domain), row in _falls(shown).items():
        if (key, domain) == (way, "all"):
            lower, higher = (row.low or 0.0) > 0, (row.high or 0.0) < 0
            what = "lower in the tail" if lower else "higher in the tail" if higher else "not shown to differ"
            found[what].append(model)
    if found:
        told = "; ".join(f"{what}: {', '.join(models)}" for what, models in found.items())
        yield f"Accuracy in the tail and in the head ({way_name(way)}), by the 95 % interval of its difference: {told}."


def _predicates(shown: Shown) -> Table:
    rows = [
        [*row[:2], label, *row[2:]]
        for label, bucket in (("head and torso", COMMON), ("tail", "tail"))
        for row in rate_rows(shown, predicate_bucket=bucket)
    ]
    caption = "By the relation's number of facts (Table 6)."
    return rates_table("predicates", caption, _several(rows), "relations", folded=True)


def _forms(shown: Shown) -> Table:
    """Return the rates of questions and clozes side by side (Table 11)."""
    every = rates_by(shown, "level")
    rows: list[Sequence[Cell]] = []
    for (model, key), own in every.items():
        reading, experiment, prompt, level = key
        other = every.get((model, (reading, CLOZE, prompt, level)))
        if experiment == QUESTION and other is not None:
            cells = [one[rate] for rate in HEAD[:2] for one in (own, other)]
            rows.append([model, HeadToTailSetting(str(prompt)).label(), f"by {reading}", str(level), *cells])
    head = ("model", "prompt", "read", "bucket", *(f"{one}, {form}" for one in HEAD[:2] for form in (QUESTION, CLOZE)))
    return Table("forms", "As a question and as a sentence to be completed (Table 11).", head, rows, folded=True)


def _sizes(shown: Shown, way: Way) -> Table:
    """Return the models by size, with their base models (Table 7)."""
    own = rates_by(shown)
    rows: list[Sequence[Cell]] = [
        [one.series, one.name, one.base or "–", one.parameters, *(own[one.name, way][rate] for rate in HEAD)]
        for one in sorted(shown.models, key=lambda one: (one.series, one.parameters or 0))
        if one.parameters and (one.name, way) in own
    ]
    head = ("family", "model", "tuned from", "parameters", *HEAD)
    several = rows if len(rows) > 1 else []
    return Table("sizes", f"By size and tuning (Table 7); {way_name(way)}.", head, several, folded=True)


def _stability(shown: Shown) -> Table:
    rows: list[Sequence[Cell]] = [
        [row.model, way_name((RULES, shown.at(row)["experiment"], shown.at(row)["prompt"])), row.n, row]
        for row in shown.valued("unstable", "experiment", "prompt", reading=RULES, repeat=Not(None), differs=Not(None))
    ]
    caption = "Questions asked again at temperature 1: the share whose answer differs from the first (section 3.5)."
    return Table("stability", caption, ("model", "asked", "answers", "different answer"), rows)


def _doses(shown: Shown) -> Iterator[Table]:
    """Yield the control, rates by dose and bucket, and the rates by exposure of the subject."""
    caption = "At the same dose of the fact: does the subject's popularity change the rates?"
    yield rates_table("control", caption, rate_rows(shown, "dose", "level"), "times taught", "bucket", folded=True)
    caption = "By how often a planted model was taught facts about the subject."
    yield rates_table("exposure", caption, rate_rows(shown, "exposed_bucket"), "bucket by exposure", folded=True)


def _relations(shown: Shown, way: Way) -> Table:
    rows: list[Sequence[Cell]] = []
    for (model, key), own in rates_by(shown, "relation").items():
        if key[: len(BY)] == way:
            name = shown.relations.get(str(key[3]), str(key[3]))
            rows.append([model, way_name(key), name, _answered(own["accuracy"]), *(own[one] for one in HEAD)])
    return rates_table("relations", "By relation.", rows, "relation", folded=True)


def _counts(shown: Shown, options: HeadToTailOptions) -> Iterator[Table]:
    """Yield Tables 1 and 2: entities by bucket, questions by domain."""
    buckets = shown.own.get("buckets")
    if buckets is not None and buckets.height:
        head = ("popularity", "type", "bucket", "things", "total popularity", "least", "most")
        caption = (
            "Entities of the dataset by bucket (Table 1). Where a source has divided them, it may have divided more "
            "than the dataset holds, or a work as a whole of which each edition counts here: its table `buckets` says."
        )
        yield Table("buckets", caption, head, buckets.rows(), folded=True)
    asked = shown.own.get("questions")
    if asked is not None and asked.height:
        level = pl.col("asked_bucket").fill_null("by the model's exposure")
        counted = asked.group_by("domain", level, maintain_order=True).len().sort("domain", "asked_bucket")
        again = ", as a question and as a sentence to be completed" * options.cloze
        again += f", and {options.repeats + 1} times each, being repeated" * bool(options.repeats)
        caption = f"Prompts by domain and bucket; each question counts once per prompt{again} (Table 2)."
        yield Table("asked", caption, ("domain", "bucket", "prompts"), counted.rows(), folded=True)
