"""The chapters of IC-LKE and its experiments on the page, as returned by `Suite.chapter`."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from almanac.rows import Measure
from almanac.suites.chapter import Cell, Chapter, Drawing, Shown, Table, filled, silent
from almanac.suites.ic_lke.options import (
    EicOptions,
    GeneratedOptions,
    IcLkeOptions,
    PositionOptions,
    PromptsOptions,
    SeparatorOptions,
    SweepOptions,
)
from almanac.suites.judged import Not, Range

ASKED = ("experiment", "shots", "draw")
BEHIND = {"examples": "in context", "hgp": "human-generated prompts", "mmp": "machine-mined prompts"}
EXPERIMENTS = {"in_context": "in context", "cloze": "cloze"}
LOOKED_FOR = {
    "names": "any name of a true object",
    "label": "the object's label",
    "official": "the label, as the released code matches",
    "begins": "any name, at the beginning",
    "wrong": "control: the label of a wrong choice",
}
PROMPTS = {
    "written_clean": "Written prompts",
    "written_mangled": "Written prompts, mangled",
    "mined_clean": "Mined prompts",
    "mined_mangled": "Mined prompts, mangled",
    "hgp": "Human-generated prompts",
    "mmp": "Machine-mined prompts",
}
RECOVERED = {
    "recovery_auc": "AUC",
    "prior_auc": "AUC of the prior",
    "recovery_spearman": "ρ of dose and correctness",
    "never_accuracy": "accuracy, never taught",
    "accuracy_by_exposure": "accuracy",
}
AGREEMENT = {  # metrics by column title
    "same choice": "same_prediction",
    "minus IC-LKE's": "accuracy_difference",
    "κ": "kappa",
    "r": "pearson",
}
COSTS = {"texts": "texts", "characters": "characters", "distinct": "distinct_characters"}


def ic_lke(shown: Shown, options: IcLkeOptions) -> Chapter | None:
    """Return the results of IC-LKE: accuracy, also by relation and by confidence, and recovery."""
    from almanac.suites.comparison_figures import heat_map
    from almanac.suites.ic_lke import figures
    from almanac.suites.looks import lines_along

    every, boards = shown.find("accuracy", *ASKED), shown.valued("accuracy", *ASKED)
    relations = shown.valued("accuracy", *ASKED, "relation")
    chance = _chance(shown)
    spread = [
        (row.model, EXPERIMENTS[shown.at(row)["experiment"]], shown.at(row)["shots"], row)
        for row in shown.find("deviation_over_draws", "experiment", "shots")
    ]
    parts: list[Any] = [
        Table(
            "accuracy",
            "Accuracy, and the probability of the true object among the choices, both means over relations. Where "
            "sure: accuracy on the facts that the model answered with a confidence of at least .5.",
            ("model", "asked", "accuracy", "probability", "where sure", "no answer"),
            [_board(shown, row) for row in boards],
        ),
        Table(
            "draws",
            f"Standard deviation of the accuracy over {options.draws} draws of the examples.",
            ("model", "asked", "examples", "deviation"),
            spread,
        ),
    ]
    missing = [row for row in every if row.value is None]
    if missing:
        names = "; ".join(f"{row.model} {_asked(shown, row)} ({silent(row)} without an answer)" for row in missing)
        parts.append(f"Not applicable: {names}.")
    taught = _of_first_draw(shown, shown.valued("accuracy_by_exposure", *ASKED, "hit", "dose"))
    if taught:

        def way(row: Measure) -> str:
            experiment = shown.at(row)["experiment"]
            return "" if experiment == "in_context" else EXPERIMENTS[experiment]

        caption = "Accuracy by how often a fact was taught, with 95 % intervals."
        parts.append(
            Drawing("exposure", caption, lambda: lines_along(taught, "dose", "accuracy", way=way, chance=chance))
        )
    for experiment in dict.fromkeys(shown.at(row)["experiment"] for row in boards):
        rows = [row for row in _of_first_draw(shown, relations) if shown.at(row)["experiment"] == experiment]
        models = {row.model for row in rows}
        sure = shown.find("accuracy_at_k", "shots", "draw", "confidence", experiment=experiment)
        levels = [row for row in _of_first_draw(shown, sure) if row.model in models]
        name = EXPERIMENTS[experiment]
        parts += [
            Drawing(
                f"{experiment}-relations",
                f"Accuracy in percent by relation and model, {name}; best relation first.",
                partial(heat_map, rows, shown.relations),
            ),
            Drawing(
                f"{experiment}-confidence",
                f"Accuracy over the facts answered with a confidence of at least K, and their number; {name}.",
                partial(figures.accuracy_at_k, levels, chance),
            ),
        ]
    parts += [
        _recovery(shown),
        shown.by_relation(
            "relations",
            "Accuracy by relation.",
            ((row, _asked(shown, row)) for row in relations),
            ("asked", "accuracy", "facts"),
        ),
    ]
    code = options.layout == "code"
    written = "subject : object , subject : object , …" if code else "subject object subject object …"
    asks = (
        f"After {options.shots} examples of a relation, written as “{written}” with no word of the relation, the model "
        f"sees a subject and must prefer its object among {shown.choices}"
        f"{' or fewer' if chance * shown.choices > 1.001 else ''}."
    )
    if options.cloze:
        asks += " Masked models fill a blank in a sentence from the same choices (cloze)."
    return filled("IC-LKE", asks, parts)


def _chance(shown: Shown) -> float:
    """Return the accuracy of guessing: relations with few objects may offer fewer choices than others."""
    found = (row.value for row in shown.measures if row.metric == "chance")
    return max((one for one in found if one is not None), default=1 / shown.choices)


def _recovery(shown: Shown) -> Table:
    """Return the table of recovered planted knowledge."""
    rows = [
        (row.model, _asked(shown, row), name, str(at["dose"]) if metric == "accuracy_by_exposure" else "", row, row.n)
        for metric, name in RECOVERED.items()
        for row in shown.find(metric, *ASKED, "hit", "dose")
        for at in [shown.at(row)]
    ]
    caption = "How much is recovered of what the models were taught. Taught: how often the row's facts were taught."
    return Table("recovery", caption, ("model", "asked", "number", "taught", "value", "facts"), rows, folded=True)


def eic(shown: Shown, options: EicOptions) -> Chapter | None:
    """Return EIC-LKE compared with IC-LKE: accuracy, agreement and cost."""
    from almanac.suites.ic_lke import figures

    rows = []
    for row in shown.find("accuracy", "experiment"):
        experiment, model = shown.at(row)["experiment"], str(row.model)
        both = {"experiment": experiment, "hit": Not(None), "in_context_hit": Not(None)}
        agreement = [shown.one(metric, model, **both) for metric in AGREEMENT.values()]
        costs = [_whole(shown.one(metric, model, experiment=experiment)) for metric in COSTS.values()]
        asked = f"in context, {options.first} examples" if experiment == "in_context" else experiment
        rows.append((model, asked, row, *agreement, *costs, silent(row)))
    caption = (
        "Compared with IC-LKE (in context, with as many examples as stand before the first test fact) on the facts "
        "that both answered: how often they make the same choice, the accuracy "
        "minus IC-LKE's, Cohen's κ of correctness, Pearson's r of the accuracies over relations. Distinct "
        "characters: a context that several texts share is counted once."
    )
    asks = (
        "Sequence: test facts are inserted between train facts, and each text contains one choice of each of its "
        "test facts. Isolated: the same positions, without other test facts before."
    )
    parts: list[Any] = [
        Table("accuracy", caption, ("model", "asked", "accuracy", *AGREEMENT, *COSTS, "no answer"), rows)
    ]
    by_relation = shown.valued("accuracy", "experiment", "relation")
    if {shown.at(row)["experiment"] for row in by_relation} > {"in_context"}:
        said = "Accuracy of each relation by IC-LKE (across) and in a text of many facts (up)."
        parts.append(Drawing("against", said, lambda: figures.against(by_relation)))
    return filled("EIC-LKE, many facts in one text", asks, [*parts, *shown.not_asked()])


def sweep(shown: Shown, options: SweepOptions) -> Chapter | None:
    """Return accuracy by the number of examples, and how many examples are enough."""
    from almanac.suites.ic_lke import figures

    rows = shown.find("accuracy_at_shots", "shots")
    enough = {str(row.model): row for row in shown.find("enough_shots", "shots")}
    answered = shown.valued("accuracy_at_shots", "shots")
    parts: list[Any] = []
    if answered:
        least = {model: row.value for model, row in enough.items()}
        caption = (
            "Accuracy by the number of examples, averaged over draws, with 95 % intervals. Dashed: the fewest that "
            f"reach {options.enough:.0%} of the accuracy with most examples. Dotted: chance."
        )
        parts.append(Drawing("examples", caption, lambda: figures.by_shots(answered, least, _chance(shown))))
        models = {row.model for row in answered}
        sure = [row for row in shown.find("accuracy_at_k", "shots", "draw", "confidence") if row.model in models]
        if sure:
            caption = (
                "Accuracy over the facts answered with a confidence of at least K, and their number; with most "
                "examples, first draw."
            )
            parts.append(Drawing("confidence", caption, lambda: figures.accuracy_at_k(sure, _chance(shown))))
    parts.append(
        Table(
            "enough",
            f"The fewest examples that reach {options.enough:.0%} of the accuracy with most examples. Where accuracies "
            "lie close together within their intervals, other facts might give another number.",
            ("model", "examples", "no answer with most examples"),
            [(model, _whole(row), silent(row)) for model, row in enough.items()],
        )
    )
    listed = [
        (row.model, shots, row, shown.one("deviation_at_shots", row.model, shots=shots), silent(row))
        for row in rows
        for shots in [shown.at(row)["shots"]]
    ]
    head = ("model", "examples", "accuracy", "deviation over draws", "no answer")
    parts += [Table("shots", "Accuracy by the number of examples.", head, listed, folded=True), *shown.not_asked()]
    asks = "IC-LKE's questions with an increasing number of examples."
    return filled("How many examples are enough", asks, parts)


def separators(shown: Shown, options: SeparatorOptions) -> Chapter | None:
    """Return accuracy by separator, and its difference from the space."""
    rows: list[Sequence[Cell]] = []
    for row in shown.find("accuracy", "separator"):
        name, model = shown.at(row)["separator"], str(row.model)
        difference = shown.one("difference", model, separator=(name, "space"))
        rows.append((model, name, row, difference, None, silent(row)))
    for row in shown.find("accuracy", "infix"):
        difference = shown.one("infix_difference", row.model, "separator")
        spread = shown.one("deviation", row.model, infix=True)
        rows.append((row.model, "all infixes", row, difference, spread, silent(row)))
    head = ("model", "separator", "accuracy", "minus the space's", "deviation", "no answer")
    words = [
        (shown.relations.get(relation_id, relation_id), separator, text)
        for relation_id, separator, text in shown.own["infixes"].select("relation_id", "separator", "text").rows()
    ]
    caption = (
        "Space: as in IC-LKE. Code: colon and commas, as in the released code. The others are infixes, words from "
        "templates. All infixes: a fact's answers with each of them are averaged. Minus the space's: the difference "
        "on the facts that were answered with both. Deviation: the standard deviation of the infixes' accuracies, "
        "averaged over relations."
    )
    by_relation = ((row, shown.at(row)["separator"]) for row in shown.find("accuracy", "separator", "relation"))
    parts: list[Any] = [
        Table("accuracy", caption, head, rows),
        Table("words", "The words between subject and object.", ("relation", "separator", "words"), words, folded=True),
        shown.by_relation("relations", "Accuracy by relation.", by_relation, ("separator", "accuracy")),
        *shown.not_asked(),
    ]
    asks = "IC-LKE's questions with other separators between subject and object, in the examples and before the choice."
    return filled("Separators between subject and object", asks, parts)


def positions(shown: Shown, options: PositionOptions) -> Chapter | None:
    """Return the probability of objects by position, for replaced pairs, pairs right after these, and other pairs."""
    from almanac.suites.ic_lke import figures

    keys = ("experiment", "arrangement")
    at = [row for name in figures.LOOKS for row in shown.find(name, "pair", *keys, "place")]
    correct = shown.find("probability_correct", "pair", *keys)
    rows = []
    for row in correct:
        where = {key: shown.at(row)[key] for key in keys}
        others = [
            shown.one(f"probability_{name}", row.model, "pair", **where) for name in ("following", "rest", "replaced")
        ]
        rows.append((row.model, figures.arranged(**where), row, *others, silent(row)))
    head = ("model", "text", "true pairs", "after a replaced one", "other true pairs", "replaced", "no answer")
    parts: list[Any] = []
    if any(row.value is not None for row in at):
        caption = "Probability of each object by its position in the text. The line is the mean of the true pairs."
        parts.append(Drawing("places", caption, lambda: figures.by_place(at, correct)))
    parts.append(Table("probability", "Mean probability of the object in the text.", head, rows))
    by_dose = shown.find("probability_in_bin", "pair", "experiment", "arrangement", "part", "dose")
    if by_dose:
        cells = {(row.model, shown.at(row)["dose"], shown.at(row)["part"]): row for row in by_dose}
        listed = [
            (model, dose, *(cells.get((model, dose, start)) for start in options.starts))
            for model, dose in dict.fromkeys((model, dose) for model, dose, _ in cells)
        ]
        caption = "The same by how often a fact was taught and by its position, in texts without replaced pairs."
        columns = ("model", "taught", *(f"from position {start}" for start in options.starts))
        parts.append(Table("doses", caption, columns, listed))
    asks = (
        "Pairs of one relation in one long text, read in one pass. In some texts pairs are replaced by unknown ones "
        "(an invented name with an object) or incorrect ones (another object), either distributed or contiguous."
    )
    return filled("Unknown and incorrect examples", asks, [*parts, *shown.not_asked()])


def generated(shown: Shown, options: GeneratedOptions) -> Chapter | None:
    """Return how often the generated text contains the object."""
    from almanac.suites.ic_lke import figures

    rows: list[Sequence[Cell]] = []
    points: dict[str, dict[str, figures.Point]] = defaultdict(dict)
    for row in shown.find("present", "behind", "experiment", "shots"):
        behind, experiment = shown.at(row)["behind"], shown.at(row)["experiment"]
        rows.append((row.model, BEHIND[behind], LOOKED_FOR[experiment], row, silent(row)))
        if experiment == "official" and row.value is not None:
            spread = shown.one("present_deviation", row.model, behind=behind, experiment=experiment)
            points[str(row.model)][behind] = figures.Point(row.value, None if spread is None else spread.value)
    caption = (
        "Share of facts whose text contains what is looked for. After: what the model continued. The released code "
        "ignores case and finds a label within another word, too. Control: how often the text contains a wrong object."
    )
    parts: list[Any] = [Table("present", caption, ("model", "after", "looked for", "present", "no answer"), rows)]
    if any(len(own) > 1 for own in points.values()):
        said = (
            "Share of texts with the object's label, as the released code matches; bars: standard deviation over a "
            "relation's prompts."
        )
        parts.append(Drawing("generated", said, lambda: figures.by_prompts(points, BEHIND, None)))
    asks = "The model continues the examples and the subject, or a prompt with the subject filled in."
    return filled("Generated text", asks, [*parts, *shown.not_asked()])


def prompts(shown: Shown, options: PromptsOptions) -> Chapter | None:
    """Return the accuracy of each kind of prompt, with the deviation over prompts."""
    from almanac.suites.ic_lke import figures

    every = shown.find("accuracy", "experiment")
    rows: list[Sequence[Cell]] = []
    points: dict[str, dict[str, figures.Point]] = defaultdict(dict)
    for row in shown.valued("accuracy", "experiment"):
        experiment = shown.at(row)["experiment"]
        spread = shown.one("accuracy_deviation", row.model, experiment=experiment)
        deviation = None if spread is None else spread.value
        rows.append((row.model, PROMPTS[experiment], row, deviation))
        points[str(row.model)][experiment] = figures.Point(row.value or 0.0, deviation)
    caption = (
        "Accuracy: the mean over a relation's prompts, averaged over relations. Deviation: the standard deviation over "
        "a relation's prompts."
    )
    parts: list[Any] = [Table("accuracy", caption, ("model", "prompts", "accuracy", "deviation"), rows)]
    if points:
        caption = (
            "Accuracy by model and kind of prompt; bars are the standard deviation over the prompts of a relation."
        )
        parts.append(Drawing("prompts", caption, lambda: figures.by_prompts(points, PROMPTS, _chance(shown))))
    silent_models = sorted({str(row.model) for row in every} - set(points))
    if silent_models:
        parts.append(f"Not applicable: {', '.join(silent_models)}.")
    by_relation = shown.valued("accuracy", "experiment", "relation")
    named = ((row, PROMPTS[shown.at(row)["experiment"]]) for row in by_relation)
    parts.append(shown.by_relation("relations", "Accuracy by relation.", named, ("prompts", "accuracy")))
    asks = (
        "The choices of IC-LKE after a prompt instead of examples: written prompts are the dataset's own templates "
        "up to the object; mined ones are the strings that connect most pairs of subject and object in the "
        "dataset's texts. Mangled: sentences with the object deleted, as in the prompts of Wu et al."
    )
    return filled("Prompts instead of examples", asks, [*parts, *shown.not_asked()])


def _of_first_draw(shown: Shown, rows: Iterable[Measure]) -> list[Measure]:
    """Return the numbers of the first draw of examples, and those without examples."""
    return [row for row in rows if shown.at(row)["draw"] in (0, None)]


def _whole(row: Measure | None) -> int | None:
    return None if row is None or row.value is None else int(row.value)


def _board(shown: Shown, row: Measure) -> Sequence[Cell]:
    where = {key: shown.at(row)[key] for key in ASKED}
    mass = shown.one("probability_mass", row.model, **where)
    sure = shown.one("accuracy_at_k", row.model, confidence=Range(least=0.5), **where)
    return row.model, _asked(shown, row), row, mass, sure, silent(row)


def _asked(shown: Shown, row: Measure) -> str:
    """Describe how the items of a number were asked."""
    where = shown.at(row)
    examples = (f"{name} {where[name]}" for name in ("shots", "draw") if where[name] is not None)
    return ", ".join([EXPERIMENTS[where["experiment"]], *examples])
