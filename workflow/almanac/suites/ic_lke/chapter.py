"""The chapters of the page on IC-LKE and its experiments."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from almanac.rows import Measure
from almanac.suites.chapter import Cell, Chapter, Drawing, Shown, Table, silent
from almanac.suites.ic_lke.options import IcLkeOptions, PositionOptions, SweepOptions
from almanac.suites.judged import Not, Range

ASKED = ("experiment", "shots", "draw")
BEHIND = {"examples": "in context", "hgp": "human-generated prompts", "mmp": "machine-mined prompts"}
EXPERIMENTS = {"in_context": "in context", "cloze": "cloze", "as_is": "as it is"}


def ic_lke(shown: Shown, options: IcLkeOptions) -> Chapter | None:
    """Return the boards of IC-LKE, accuracy by relation and by confidence, and the recovery."""
    from almanac.suites.ic_lke import figures

    boards = [row for row in shown.find("accuracy", *ASKED) if row.value is not None]
    relations = [row for row in shown.find("accuracy", *ASKED, "relation") if row.value is not None]
    sure = shown.find("accuracy_at_k", *ASKED, "confidence")
    doses = shown.find("accuracy_by_exposure", *ASKED, "hit", "dose")
    chance = 1 / shown.choices
    parts: list[Any] = [
        Table(
            "accuracy",
            "Accuracy and probability of the true object, as means over relations; and accuracy where the model is "
            "confident (confidence of at least .5).",
            ("model", "asked", "accuracy", "probability", "where sure", "no answer"),
            [_board(shown, row) for row in boards],
        )
    ]
    spread = [
        (str(row.model), EXPERIMENTS[str(shown.at(row)["experiment"])], shown.at(row)["shots"], row)
        for row in shown.find("deviation_over_draws", "experiment", "shots")
    ]
    if spread:
        caption = f"Standard deviation of the accuracy over {options.draws} draws of the examples."
        parts.append(Table("draws", caption, ("model", "asked", "examples", "deviation"), spread))
    missing = [row for row in shown.find("accuracy", *ASKED) if row.value is None]
    if missing:
        names = "; ".join(f"{row.model} {_asked(shown, row)} ({silent(row)} without an answer)" for row in missing)
        parts.append(f"Not applicable: {names}.")
    first = [row for row in doses if shown.at(row)["draw"] in (0, None)]
    if first:
        caption = "Accuracy by the number of times a fact was taught, with 95 % intervals."
        parts.append(Drawing("exposure", caption, lambda: figures.by_exposure(first, chance)))
    for experiment in dict.fromkeys(str(shown.at(row)["experiment"]) for row in boards):
        own, levels = (
            [row for row in rows if shown.at(row)["experiment"] == experiment and shown.at(row)["draw"] in (0, None)]
            for rows in (relations, sure)
        )
        answered = {row.model for row in own}
        levels = [row for row in levels if row.model in answered]
        name = EXPERIMENTS[experiment]
        parts += [
            Drawing(
                f"{experiment}-relations",
                f"Accuracy in percent by relation and model, {name}; best relation first.",
                partial(figures.by_relation, own, shown.relations),
            ),
            Drawing(
                f"{experiment}-confidence",
                f"Accuracy over the facts answered with confidence of at least K, and their number; {name}.",
                partial(figures.accuracy_at_k, levels, chance),
            ),
        ]
    parts += [
        recovery(shown, ASKED),
        Table(
            "relations",
            "Accuracy by relation.",
            ("relation", "model", "asked", "accuracy", "facts"),
            [(shown.relation(row), str(row.model), _asked(shown, row), row, row.n) for row in relations],
            folded=True,
        ),
    ]
    asks = (
        f"After {options.shots} examples of a relation, written as “subject object subject object …” with no word of "
        f"the relation, the model sees a subject and must prefer its object among {shown.choices}."
    )
    if options.cloze:
        asks += " Masked models fill a blank in a sentence from the same choices (cloze)."
    return Chapter("IC-LKE", asks, [part for part in parts if part is not None])


def recovery(shown: Shown, by: Sequence[str]) -> Table | None:
    """Return the table of what was recovered of what was taught; none where nothing was."""
    keys = (*by, "hit", "dose")
    rows: list[Sequence[Cell]] = []
    names = {
        "recovery_auc": "AUC",
        "prior_auc": "AUC of the prior",
        "recovery_spearman": "ρ of dose and correctness",
        "never_accuracy": "accuracy, never taught",
        "accuracy_by_exposure": "accuracy",
    }
    for metric, name in names.items():
        for row in shown.find(metric, *keys):
            dose = shown.at(row)["dose"]
            taught = str(dose) if metric == "accuracy_by_exposure" else ""
            rows.append((str(row.model), _asked(shown, row), name, taught, row, row.n))
    head = ("model", "asked", "number", "taught", "value", "facts")
    return (
        Table("recovery", "How much of what the models were taught is recovered.", head, rows, True) if rows else None
    )


def eic(shown: Shown) -> Chapter | None:
    """Return EIC-LKE against IC-LKE: accuracy, agreement and cost."""
    from almanac.suites.ic_lke import figures

    rows = []
    for row in shown.find("accuracy", "experiment"):
        experiment, model = str(shown.at(row)["experiment"]), str(row.model)
        cells: list[Cell] = [model, experiment.replace("_", " "), row]
        both = {"experiment": experiment, "hit": Not(None), "in_context_hit": Not(None)}
        cells += [
            shown.one(metric, model, **both)
            for metric in ("same_prediction", "accuracy_difference", "kappa", "pearson")
        ]
        for metric in ("texts", "tokens", "distinct_tokens"):
            cost = shown.one(metric, model, experiment=experiment)
            cells.append(None if cost is None or cost.value is None else int(cost.value))
        rows.append((*cells, silent(row)))
    head = (
        "model",
        "asked",
        "accuracy",
        "same choice",
        "less IC-LKE's",
        "κ",
        "r",
        "texts",
        "tokens",
        "distinct",
        "no answer",
    )
    caption = (
        "Compared with IC-LKE on the facts that both answered: how often they make the same choice, the accuracy "
        "minus IC-LKE's, Cohen's κ of correctness, Pearson's r over relations. Distinct tokens count a shared "
        "prefix once."
    )
    asks = (
        "Sequence: test facts are inserted between train facts, and each text contains one choice of each of its "
        "test facts. Isolated: the same positions, without other test facts before."
    )
    parts: list[Any] = [Table("accuracy", caption, head, rows)]
    by_relation = [row for row in shown.find("accuracy", "experiment", "relation") if row.value is not None]
    if {shown.at(row)["experiment"] for row in by_relation} > {"in_context"}:
        said = "Accuracy of each relation by IC-LKE (across) and in one text with other test facts (up)."
        parts.append(Drawing("against", said, lambda: figures.against(by_relation)))
    return Chapter("EIC-LKE, many facts in one text", asks, [*parts, *shown.not_asked()])


def sweep(shown: Shown, options: SweepOptions) -> Chapter | None:
    """Return accuracy by the number of examples, and how many are enough."""
    from almanac.suites.ic_lke import figures

    metric = "accuracy_at_shots"
    rows = shown.find(metric, "shots")
    enough = {str(row.model): row for row in shown.find("enough_shots", "shots")}
    answered = [row for row in rows if row.value is not None]
    parts: list[Any] = []
    if answered:
        least = {model: row.value for model, row in enough.items()}
        caption = (
            "Accuracy by the number of examples, averaged over draws, with 95 % intervals. Dashed: the smallest "
            f"number that reaches {options.enough:.0%} of the accuracy with the most examples. Dotted: chance."
        )
        parts.append(Drawing("examples", caption, lambda: figures.by_shots(answered, least, 1 / shown.choices)))
        models = {row.model for row in answered}
        sure = [row for row in shown.find("accuracy_at_k", "shots", "draw", "confidence") if row.model in models]
        if sure:
            caption = (
                "Accuracy over the facts answered with confidence of at least K, and their number; most examples, "
                "first draw."
            )
            parts.append(Drawing("confidence", caption, lambda: figures.accuracy_at_k(sure, 1 / shown.choices)))
    parts.append(
        Table(
            "enough",
            "How many examples are enough.",
            ("model", "examples", "no answer at the most"),
            [(model, None if row.value is None else int(row.value), silent(row)) for model, row in enough.items()],
        )
    )
    spread = {(row.model, shown.at(row)["shots"]): row for row in shown.find("deviation_at_shots", "shots")}
    listed = [
        (str(row.model), int(shown.at(row)["shots"]), row, spread[row.model, shown.at(row)["shots"]], silent(row))
        for row in rows
    ]
    head = ("model", "examples", "accuracy", "deviation over draws", "no answer")
    parts += [Table("shots", "Accuracy by the number of examples.", head, listed, folded=True), *shown.not_asked()]
    asks = "IC-LKE's questions with an increasing number of examples."
    return Chapter("How many examples are enough", asks, parts)


def separators(shown: Shown) -> Chapter | None:
    """Return accuracy by separator, and less that of the space."""
    rows: list[Sequence[Cell]] = []
    for row in shown.find("accuracy", "separator"):
        name, model = str(shown.at(row)["separator"]), str(row.model)
        less = shown.one("difference", model, separator=(name, "space"))
        rows.append((model, name, row, less, None, silent(row)))
    for row in shown.find("accuracy", "infix"):
        less = next(iter(shown.find("infix_difference", "separator", model=str(row.model))), None)
        spread = shown.one("deviation", str(row.model), infix=True)
        rows.append((str(row.model), "all infixes", row, less, spread, silent(row)))
    head = ("model", "separator", "accuracy", "less the space's", "deviation", "no answer")
    words = [
        (shown.relations.get(row["relation_id"], row["relation_id"]), row["separator"], row["text"])
        for row in shown.own["infixes"].iter_rows(named=True)
    ]
    by_relation = [
        (shown.relation(row), str(row.model), str(shown.at(row)["separator"]), row)
        for row in shown.find("accuracy", "separator", "relation")
    ]
    caption = (
        "Space: as in IC-LKE. Code: the released code's colon and commas. The others are words from templates. All "
        "infixes: a fact's answers are averaged; the deviation is that of the infixes' accuracies, averaged over "
        "relations."
    )
    parts: list[Any] = [
        Table("accuracy", caption, head, rows),
        Table("words", "The words between subject and object.", ("relation", "separator", "words"), words, folded=True),
        Table("relations", "By relation.", ("relation", "model", "separator", "accuracy"), by_relation, folded=True),
        *shown.not_asked(),
    ]
    asks = "IC-LKE's questions with other separators between subject and object, in the examples and before the choice."
    return Chapter("Separators between subject and object", asks, parts)


def positions(shown: Shown, options: PositionOptions) -> Chapter | None:
    """Return the probability of objects by place, of pairs that are replaced, follow replaced ones, or neither."""
    from almanac.suites.ic_lke import figures

    keys = ("experiment", "arrangement")
    at = [*shown.find("probability_at", "pair", *keys, "place"), *shown.find("replaced_at", "pair", *keys, "place")]
    correct = shown.find("probability_correct", "pair", *keys)
    means = {
        (str(row.model), str(shown.at(row)["experiment"]), str(shown.at(row)["arrangement"])): row.value
        for row in correct
        if row.value is not None
    }
    rows = []
    for row in correct:
        where = {key: shown.at(row)[key] for key in keys}
        others: list[Cell] = []
        for name in ("following", "rest", "replaced"):
            found = shown.find(f"probability_{name}", "pair", model=str(row.model), **where)
            others.append(found[0] if found else None)
        asked = f"{EXPERIMENTS.get(str(where['experiment']), where['experiment'])} {where['arrangement']}"
        rows.append((str(row.model), asked, row, *others, silent(row)))
    head = ("model", "text", "true pairs", "after a replaced one", "other true pairs", "replaced", "no answer")
    parts: list[Any] = []
    if any(row.value is not None for row in at):
        caption = "Probability of each object by its position in the text. The line is the mean of the true pairs."
        parts.append(Drawing("places", caption, lambda: figures.by_place(at, means)))
    parts.append(Table("probability", "Mean probability of the object that is shown.", head, rows))
    by_dose = shown.find("probability_in_bin", "pair", "experiment", "arrangement", "part", "dose")
    if by_dose:
        cells = {(row.model, shown.at(row)["dose"], shown.at(row)["part"]): row for row in by_dose}
        listed = [
            (str(model), int(dose), *(cells.get((model, dose, start)) for start in options.starts))
            for model, dose in dict.fromkeys((row.model, shown.at(row)["dose"]) for row in by_dose)
        ]
        caption = "By part of the text and by how often a fact was taught, in texts without replaced pairs."
        columns = ("model", "taught", *(f"from place {start}" for start in options.starts))
        parts.append(Table("doses", caption, columns, listed))
    asks = (
        "Pairs of one relation in one long text, read in one pass. In some texts pairs are replaced by unknown ones "
        "(an invented name with an object) or incorrect ones (another object), either distributed or contiguous."
    )
    return Chapter("Unknown and incorrect examples", asks, [*parts, *shown.not_asked()])


def generated(shown: Shown) -> Chapter | None:
    """Return how often the generated text contains the object."""
    from almanac.suites.ic_lke import figures

    found = shown.find("present", "behind", "experiment", "shots")
    rows = [
        (str(row.model), BEHIND[str(shown.at(row)["behind"])], str(shown.at(row)["experiment"]), row, silent(row))
        for row in found
    ]
    points: dict[str, dict[str, figures.Point]] = defaultdict(dict)
    for row in found:
        where = shown.at(row)
        if where["experiment"] == "official" and row.value is not None:
            spread = shown.find("present_deviation", "experiment", model=str(row.model), behind=where["behind"])
            deviation = spread[0].value if spread else None
            points[str(row.model)][str(where["behind"])] = figures.Point(row.value, deviation)
    caption = (
        "Share of facts whose object is in the text: any name of a true object, only its label, as the released "
        "code matches (official), a true name at the beginning; and, as a control, the label of a wrong choice."
    )
    parts: list[Any] = [Table("present", caption, ("model", "behind", "looked for", "present", "no answer"), rows)]
    if any(len(own) > 1 for own in points.values()):
        said = (
            "Share of texts with the object, as the released code matches; bars: standard deviation over a "
            "relation's prompts."
        )
        parts.append(Drawing("generated", said, lambda: figures.by_prompts(points, BEHIND, None)))
    asks = "The model continues the examples and the subject, or a prompt with the subject filled in."
    return Chapter("Generated text", asks, [*parts, *shown.not_asked()])


def prompts(shown: Shown, labels: Mapping[str, str]) -> Chapter | None:
    """Return the accuracy of each kind of prompt, with the deviation over prompts.

    Args:
        shown: what is known.
        labels: the kinds of prompts, as they are shown.
    """
    from almanac.suites.ic_lke import figures

    overall = [
        (str(row.model), str(shown.at(row)["experiment"]), row)
        for row in shown.find("accuracy", "experiment")
        if row.value is not None
    ]
    spread = {
        (str(row.model), str(shown.at(row)["experiment"])): row.value
        for row in shown.find("accuracy_deviation", "experiment")
    }
    kinds = {key: label for key, label in labels.items() if any(experiment == key for _, experiment, _ in overall)}
    points: dict[str, dict[str, figures.Point]] = defaultdict(dict)
    for model, experiment, row in overall:
        points[model][experiment] = figures.Point(row.value or 0.0, spread.get((model, experiment)))
    rows = [(model, kinds[experiment], row, spread.get((model, experiment))) for model, experiment, row in overall]
    by_relation = [
        (shown.relation(row), str(row.model), kinds[str(shown.at(row)["experiment"])], row)
        for row in shown.find("accuracy", "experiment", "relation")
        if row.value is not None
    ]
    caption = (
        "Mean over the prompts of a relation, averaged over relations; and the standard deviation over a relation's "
        "prompts."
    )
    parts: list[Any] = [Table("accuracy", caption, ("model", "prompts", "accuracy", "deviation"), rows)]
    if points:
        caption = (
            "Accuracy by model and kind of prompt; bars are the standard deviation over the prompts of a relation."
        )
        parts.append(Drawing("prompts", caption, lambda: figures.by_prompts(points, kinds, 1 / shown.choices)))
    silent_models = sorted({str(row.model) for row in shown.find("accuracy", "experiment")} - set(points))
    if silent_models:
        parts.append(f"Not applicable: {', '.join(silent_models)}.")
    parts.append(Table("relations", "By relation.", ("relation", "model", "prompts", "accuracy"), by_relation, True))
    asks = (
        "The choices of IC-LKE after a prompt instead of examples: written prompts are the dataset's own templates "
        "up to the object; mined ones are the strings that connect most pairs of subject and object in the "
        "dataset's texts. Mangled: sentences with the object deleted, as in the prompts of Wu et al."
    )
    return Chapter("Prompts instead of examples", asks, [*parts, *shown.not_asked()])


def _board(shown: Shown, row: Measure) -> Sequence[Cell]:
    where = {key: shown.at(row)[key] for key in ASKED}
    model = str(row.model)
    mass = shown.one("probability_mass", model, **where)
    sure = shown.one("accuracy_at_k", model, confidence=Range(least=0.5), **where)
    return model, _asked(shown, row), row, mass, sure, silent(row)


def _asked(shown: Shown, row: Measure) -> str:
    """Say how a number's items were asked."""
    where = shown.at(row)
    words = [EXPERIMENTS.get(str(where["experiment"]), str(where["experiment"]).replace("_", " "))]
    words += [f"{name} {where[name]}" for name in ("shots", "draw", "prompt") if where.get(name) is not None]
    return ", ".join(words)
