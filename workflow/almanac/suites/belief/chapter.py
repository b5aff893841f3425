"""BELIEF's chapter of the page: accuracy and its variation, consistency, calibration, and analyses of paraphrases."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import polars as pl

from almanac.rows import Measure
from almanac.suites.belief.asking import CANDIDATES, ICL, VOCABULARY, BeliefSetting
from almanac.suites.belief.calibration import LEAST
from almanac.suites.belief.measures import AGREEMENTS, BY, CONFIDENCES, ELSEWHERE
from almanac.suites.belief.options import BeliefOptions
from almanac.suites.belief.prompts import FORMATS
from almanac.suites.chapter import NOT_TAUGHT, Cell, Chapter, Drawing, Shown, Table, board, filled, silent
from almanac.suites.judged import Not

ASKS = (
    "Each pair of subject and relation is asked in many paraphrases. Masked models fill a blank; causal models "
    "answer in one word, without examples or after four. Any name of any true object is accepted."
)
ACCURACY = (
    "Accuracy: the mean over all prompt sets, each with one answered prompt per pair. UHN (LAMA-UHN, “unhelpful "
    "names”): without the pairs whose object the subject's name gives away. SD and range: over drawn sets{resample}. "
    "Consistency: the share of pairs of prompts that are answered alike. Overconfidence: mean confidence minus "
    "accuracy, over the answers that have a confidence; their number is in the next column, and of fewer than "
    f"{LEAST} nothing is said. ECE: expected calibration "
    "error, the mean distance of confidence and accuracy over bins, by answers (overconfidence is by pairs), where "
    f"each bin has {LEAST} subjects or more; if calibrated: what it would be on average, at most, if the confidences "
    "were right, "
    "since bins are small. Control: how often the same texts would be right if a wrong object were the true one. "
    "Not judged: without an answer, or, where any token may fill the blank, without a true name of one token. "
    "If a planted model read no text in a format, its answers in that format say nothing."
)
RESAMPLED = {"relation": ", one template drawn per relation", "pair": ", one prompt drawn per pair"}
TEMPLATES = (
    "Accuracy with the worst and with the best template of each relation; maximum: also with the best name of each "
    "subject; oracle: the share of pairs that some prompt gets right. SD by pair: standard deviation over sets "
    "with one prompt drawn per pair. Templates that are equally good differ too, by which pairs each happens to get "
    "right: with few pairs a relation that makes SD and range larger and parts the best from the worst."
)
AGREEMENT = (
    "Consistency between paraphrases of one written template (inner) and of different ones (inter). A relation with "
    "one template has none."
)
ANSWERS = (
    "One word: the share of texts whose first line is a single word. Unsafe: the share that is right only by a name "
    "that is a stop word or has at most two letters. Extended: the share of blanks where another name of a true object "
    "is likelier than its label."
)
# What a caption adds where a table has the column.
ABOUT = {
    "between names": "Between names: of the subject, with the same template.",
    "between templates": "Between templates: with the same name of the subject.",
    "written": "Written: accuracy with the templates that are no paraphrase; paraphrased: with the others.",
    "rank": "Rank: of the written templates among their paraphrases, 0 the most accurate, 1 the least.",
    "by label": "By label, by other names: accuracy of the prompts with the subject's label, and with its other names.",
    "by a name of others": "By a name of others: accuracy of the prompts with a name that is another entity's label.",
    "overconfidence by probability": "Overconfidence by probability: the text's own probability taken as confidence.",
    "samples v. probability": (
        "Samples v. probability: the mean distance between the share of samples that match the text, which is the "
        "confidence elsewhere, and the text's own probability."
    ),
}
BIAS = (
    "How strongly some objects are preferred when the subject has no content: one minus the entropy over the "
    "relation's objects, divided by its maximum. Single: the mean over templates; multi: their distributions are "
    "averaged first."
)
FEW = (
    "Accuracy with the fewest templates, equally many per relation, that keep every other model's accuracy within "
    ".01 of that with all."
)
SHARED = (
    "Of the prompts that one model gets right and another answers, the share that the other gets right too; or, of "
    "those that are asked in another way too, the share that the model itself gets right then."
)
Untaught = dict[tuple[str | None, str | None], list[Mapping[str, Any]]]  # ways of asking, by model and style
Column = Callable[[str, Mapping[str, Any]], Cell]  # returns the cell of a model and a way of asking


def chapter(shown: Shown, options: BeliefOptions) -> Chapter | None:
    """Return BELIEF's chapter about a dataset; None without metrics."""
    if not shown.measures:
        return None
    untaught = _untaught(shown)
    shown = replace(shown, measures=[row for row in shown.measures if not _is_of(row, shown, untaught)])
    parts: list[Table | Drawing | str] = [
        _accuracy(shown, options, untaught),
        *_drawings(shown),
        _templates(shown),
        _agreement(shown),
        _answers(shown),
        _bias(shown),
        _grid(shown),
        _few(shown),
        _shared(shown),
        _relations(shown),
        *shown.not_asked(),
    ]
    return filled("BELIEF", ASKS, parts)


def _untaught(shown: Shown) -> Untaught:
    """Return the ways of asking, by model and style, in formats that a planted model never read in training."""
    models = {one.name: one for one in shown.models}
    found: Untaught = {}
    for row in shown.valued("accuracy", *BY):
        where = shown.at(row)
        if not models[str(row.model)].understands(FORMATS.get(where["style"])):
            found.setdefault((row.model, where["style"]), []).append(where)
    return found


def _is_of(row: Measure, shown: Shown, untaught: Untaught) -> bool:
    style = shown.at(row).get("style")
    return (row.model, style) in untaught or (row.other, style) in untaught


def asked(where: Mapping[str, Any]) -> str:
    """Describe a way of asking to a reader of the page."""
    if where["prompting"] is not None:
        return BeliefSetting(where["prompting"], where["style"]).label()
    return {VOCABULARY: "a blank, any token", CANDIDATES: "a blank, objects ranked"}.get(where["experiment"], "a blank")


def _one(shown: Shown, metric: str, **more: Any) -> Column:
    """Return the column of a metric, with further conditions ``more``."""
    return lambda model, where: shown.one(metric, model, **where, **more)


def _ways(shown: Shown, metric: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield each model with each way of asking for which it has a value of the metric."""
    for entrant in shown.models:
        for row in shown.valued(metric, *BY, model=entrant.name):
            yield entrant.name, shown.at(row)


def _table(shown: Shown, name: str, caption: str, columns: Mapping[str, Column], by: str = "accuracy") -> Table:
    """Return a table with a row for each model and way of asking that has a value of the metric ``by``."""
    rows = (
        {"model": model, "asked": asked(where), **{title: cell(model, where) for title, cell in columns.items()}}
        for model, where in _ways(shown, by)
    )
    found = board(name, caption, rows)
    return replace(found, caption=" ".join((caption, *(text for title, text in ABOUT.items() if title in found.head))))


def _accuracy(shown: Shown, options: BeliefOptions, untaught: Untaught) -> Table:
    def control(model: str, where: Mapping[str, Any]) -> Cell:
        return shown.one("control", model, **{**where, "experiment": "control"}) if where["experiment"] == ICL else None

    def confidences(model: str, where: Mapping[str, Any]) -> Cell:
        row = shown.one("overconfidence", model, **where, **known)
        return None if row is None or row.value is None else row.n

    def overconfident(model: str, where: Mapping[str, Any]) -> Cell:
        row = shown.one("overconfidence", model, **where, **known)
        return row if row is not None and row.n >= LEAST else None

    known = {"confidence": Not(None), "hit": Not(None)}
    columns: dict[str, Column] = {
        "accuracy": _one(shown, "accuracy"),
        "UHN": _one(shown, "accuracy", guessable=False),
        "SD": _one(shown, "deviation"),
        "range": _one(shown, "range"),
        "consistency": _one(shown, "consistency"),
        "overconfidence": overconfident,
        "confidences": confidences,
        "ECE": _one(shown, "calibration_error", **known),
        "if calibrated": _one(shown, "calibration_error_if_calibrated", **known),
        "control": control,
        "not judged": lambda model, where: silent(shown.one("accuracy", model, **where)),
    }
    found = _table(shown, "accuracy", ACCURACY.format(resample=RESAMPLED[options.resample]), columns)
    head = found.head or ("model", "asked", "accuracy")
    empty = [None] * (len(head) - 3)
    rows = [[model, asked(where), NOT_TAUGHT, *empty] for (model, _), ways in untaught.items() for where in ways]
    return replace(found, head=head, rows=[*found.rows, *rows])


def _templates(shown: Shown) -> Table:
    columns = {
        "worst": _one(shown, "worst_templates"),
        "mean": _one(shown, "accuracy"),
        "best": _one(shown, "best_templates"),
        "maximum": _one(shown, "maximum"),
        "oracle": _one(shown, "oracle"),
        "SD by pair": _one(shown, "deviation_by_pair"),
    }
    if shown.find("accuracy", *BY, written=False):  # else all are written, and their accuracy is the mean
        columns |= {
            "written": _one(shown, "accuracy", written=True),
            "paraphrased": _one(shown, "accuracy", written=False),
            "rank": _one(shown, "written_rank"),
        }
    return _table(shown, "templates", TEMPLATES, columns)


def _agreement(shown: Shown) -> Table:
    titles = ("all", "inner", "inter", "between names", "between templates")
    columns = {title: _one(shown, metric) for title, metric in zip(titles, AGREEMENTS, strict=True)}
    return _table(shown, "agreement", AGREEMENT, columns)


def _answers(shown: Shown) -> Table:
    columns = {
        "one word": _one(shown, "one_word"),
        "unsafe": _one(shown, "right_by_unsafe_name"),
        "extended": _one(shown, "extended_above_label"),
    }
    if shown.find("accuracy", *BY, alias=True) or shown.find("accuracy", *BY, ambiguous=True):
        columns |= {
            "by label": _one(shown, "accuracy", alias=False),
            "by other names": _one(shown, "accuracy", alias=True),
            "by a name of others": _one(shown, "accuracy", ambiguous=True),
        }
    columns |= {
        "overconfidence by probability": _one(shown, "overconfidence", sequence=Not(None), hit=Not(None)),
        "samples v. probability": _one(shown, "sampled_against_sequence", confidence=Not(None), sequence=Not(None)),
    }
    return _table(shown, "answers", ANSWERS, columns)


def _bias(shown: Shown) -> Table:
    columns = {"single": _one(shown, "bias_single"), "multi": _one(shown, "bias_multi")}
    return _table(shown, "bias", BIAS, columns, by="bias_single")


def _grid(shown: Shown) -> Table:
    grid = shown.own.get("grid", pl.DataFrame())
    counts = ("pairs", "triples", "names", "derived", "prompts", "guessable", "ambiguous", "unsafe")
    rows: list[list[Cell]] = []
    for row in grid.iter_rows(named=True):
        name = shown.relations.get(row["relation_id"], row["relation_id"])
        rows.append([name, row["source"], row["templates"], *(row[count] for count in counts)])
    if rows:
        rows.insert(0, [f"{grid.height} relations", "", None, *(int(grid[name].sum()) for name in counts)])
    caption = (
        "What was asked: pairs of subject and relation, triples, names of subjects, triples counted with every name "
        "of both ends, and prompts. Guessable pairs are those that UHN leaves out; ambiguous names are another "
        "entity's label; unsafe names are names of objects that are stop words or have at most two letters."
    )
    return Table("grid", caption, ("relation", "templates from", "templates", *counts), rows, folded=True)


def _few(shown: Shown) -> Table:
    rows: list[list[Cell]] = []
    for row in shown.find("accuracy_of_few", *BY, "template"):
        where = shown.at(row)
        way = {key: where[key] for key in BY}
        own = shown.find("accuracy_of_template", "relation", "template", model=row.model, **way)
        apart = shown.one("few_against_all", row.model, **where)
        every = shown.one("accuracy", row.model, **way)
        rows.append([row.model, asked(way), len(where["template"]), len(own), row, every, apart])
    head = ("model", "asked", "templates", "of", "accuracy", "with all", "apart")
    return Table("few", FEW, head, rows, folded=True)


def _shared(shown: Shown) -> Table:
    rows = [[row.model, asked(shown.at(row)), row.other, row] for row in shown.valued("shared", *BY, "hit")]
    for way, column in ELSEWHERE.items():
        for row in shown.find(f"shared_with_{way}", *BY, "hit", column):
            other = asked({**shown.at(row), "prompting": way})
            rows.append([row.model, asked(shown.at(row)), f"{row.model}, {other}", row])
    return Table("shared", SHARED, ("model", "asked", "other", "shared"), rows, folded=True)


def _relations(shown: Shown) -> Table:
    rows = ((row, asked(shown.at(row))) for row in shown.valued("accuracy", *BY, "relation"))
    return shown.by_relation("accuracy_by_relation", "Accuracy by relation.", rows)


def _drawings(shown: Shown) -> Iterator[Drawing]:
    """Yield the figures that there is data for."""
    from almanac.suites.belief import figures  # matplotlib, which nothing else of the suite needs
    from almanac.suites.looks import lines_along

    spread = [
        (f"{model}, {asked(where)}", *numbers)
        for model, where in _ways(shown, "accuracy")
        if None not in (numbers := _spread(shown, model, where))
    ]
    if spread:
        caption = (
            "Accuracy, its standard deviation over prompt sets, and its range from each relation's worst to its "
            "best template."
        )
        yield Drawing("fluctuation", caption, lambda: figures.fluctuation(spread))
    lines = {f"{model}, {asked(where)}": _bins(shown, model, where) for model, where in _ways(shown, "accuracy")}
    lines = {name: bins for name, bins in lines.items() if bins}
    if lines:
        caption = (
            "Accuracy by confidence, in bins with equally many answers; below the dashed line a model is overconfident."
        )
        yield Drawing("calibration", caption, lambda: figures.calibration(lines))

    def way(row: Measure) -> str:
        return asked(shown.at(row))

    by_dose = {
        "exposure": ("accuracy", shown.valued("accuracy_by_exposure", *BY, "dose", "hit")),
        "consistency_by_exposure": ("consistency", shown.valued("consistency", *BY, "dose")),
    }
    for name, (what, taught) in by_dose.items():
        if taught:
            caption = f"{what.capitalize()} by how often a fact was taught, with 95 % intervals."
            yield Drawing(name, caption, partial(lines_along, taught, "dose", what, way=way))


def _spread(shown: Shown, model: str, where: Mapping[str, Any]) -> tuple[Any, ...]:
    found = [
        shown.one(metric, model, **where) for metric in ("accuracy", "deviation", "worst_templates", "best_templates")
    ]
    return tuple(None if row is None else row.value for row in found)


def _bins(shown: Shown, model: str, where: Mapping[str, Any]) -> list[tuple[Measure, Measure]]:
    """Return confidence and accuracy by bin, for the first kind of confidence that has a calibration error."""
    for column, bins in CONFIDENCES.items():
        known = {**where, column: Not(None), "hit": Not(None)}
        error = shown.one("calibration_error", model, **known)
        if error is None or error.value is None:
            continue
        accuracy = {shown.at(row)[bins]: row for row in shown.find("accuracy_of_bin", bins, model=model, **known)}
        found = shown.find("confidence_of_bin", bins, model=model, **known)
        return [(row, accuracy[shown.at(row)[bins]]) for row in found]
    return []
