"""KaRR's chapter of the page: the methods compared, the null, and the analyses."""

from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import Any

from almanac.rows import Measure
from almanac.suites.chapter import Cell, Chapter, Drawing, Shown, Table, board, filled, silent
from almanac.suites.karr.asking import FACTS, NULL, SPURIOUS
from almanac.suites.karr.options import KarrOptions

NAMES = {
    "paper": "KaRR",
    "official": "KaRR, released code",
    "weighted": "KaRR, weighted",
    "lama_at_1": "LAMA@1",
    "lama_at_10": "LAMA@10",
    "pararel": "ParaRel",
    "k_prompts": "K-Prompts",
}
ASKS = (
    "How much likelier do a subject and a relation make their object than other subjects and other relations do, "
    "over many names and templates? A fact counts as known above a threshold. The same facts are asked by the paper's "
    "baselines. LAMA@1 and LAMA@10 (Petroni et al. 2019): the object is the likeliest of all words after a template, "
    "or among the ten likeliest; only objects of one token can be judged. ParaRel (Elazar et al. 2021): after every "
    "template it is the likeliest of the candidates. K-Prompts: its mean probability after several prompts lies above "
    "a threshold. With one template a relation and one name an object LAMA and K-Prompts have the same score."
)
ONE_THRESHOLD = (
    "Where a threshold is chosen by facts that models were taught, models are compared at the geometric mean of "
    "theirs: at their own, each chosen from few facts, models that know the same would differ. The shares then are "
    "other ones than those of the first table."
)
METHODS = (
    "Known: the share of facts above the threshold. False: the same share with another, false object of the relation. "
    "Null model: the same share for a model of the same recipe that was taught permuted objects, at the same "
    "threshold. Recall: the same share of the facts taught most often. τ: Kendall's correlation of score and times "
    "taught. The released code weights sentences differently, so its values and its threshold differ. Known, false, "
    "null model and recall count all facts, also those on which the threshold was chosen. Intervals here take all "
    "facts together (Wilson); the one in the page's first table is of a mean over relations, and so differs. No "
    "interval knows of the threshold's choice: chosen from other facts, known may be quite another share. So each "
    "model's is its own, and models are compared elsewhere on the page, at one threshold."
)
HELD_OUT = (
    "The same shares of only the half of the facts on which no threshold was chosen: of those taught most often, of "
    "those never taught, and with a false object."
)
EXPECTED = (
    "Each fact with the false object that is most expected of its relation: by the model itself when the subject is "
    "left open, among the hundred most common objects, or the one that the configuration names. SP: the share called "
    "known; true: the same share with the true object; ΔP: SP minus that."
)
DRAWS = (
    "How much the score depends on the draw: standard deviation and variance of the share known over runs that each "
    "replace one template of every relation, or one name of every entity. The threshold stays the same."
)
LABELS = (
    "Agreement with people. Recall: of the facts that people consider known, the share called known. τ: Kendall's "
    "correlation of score and mean label; p: of the test that there is none."
)
Column = Callable[[str, str], Cell]  # a cell by model and method


def chapter(shown: Shown, options: KarrOptions) -> Chapter | None:
    """Return what the page shows of a dataset."""
    if not shown.measures:
        return None
    parts = [
        *_methods(shown),
        _held_out(shown),
        *_drawings(shown, options),
        _expected(shown),
        _draws(shown),
        _labels(shown),
        _relations(shown),
        *_coverage(shown),
        *shown.not_asked(),
    ]
    return filled("KaRR", ASKS, parts)


def _number(shown: Shown, metric: str, *keys: str, **fixed: Any) -> Callable[[str, str], Measure | None]:
    """Return the column of the number that was made by exactly these conditions; as `Shown.one`."""
    return lambda model, experiment: shown.one(metric, model, *keys, experiment=experiment, **fixed)


def _methods(shown: Shown) -> Iterator[Table | str]:
    known, limit = _number(shown, "known", asked=FACTS), _number(shown, "threshold", asked=FACTS)

    def threshold(model: str, experiment: str) -> Measure | None:
        row = known(model, experiment)
        return None if row is None or row.value is None else limit(model, experiment)

    columns: dict[str, Column] = {
        "known": known,
        "without value": lambda model, experiment: silent(known(model, experiment)),
        "false": _number(shown, "known", asked=NULL),
        "null model": _number(shown, "null_model_known", asked=FACTS),
        "threshold": threshold,
        "AUC": _number(shown, "recovery_auc", "dose", "hit", asked=FACTS),
        "recall": _number(shown, "recall", "dose", "hit", asked=FACTS),
        "τ": _number(shown, "kendall", "dose", "hit", asked=FACTS),
    }
    yield _table(shown, "methods", METHODS, columns)
    silent_ones = [
        f"{model.name} {name}"
        for (experiment, name), model in product(NAMES.items(), shown.models)
        if (found := known(model.name, experiment)) is not None and found.value is None
    ]
    if silent_ones:
        yield f"Without any value: {'; '.join(silent_ones)}."


def _held_out(shown: Shown) -> Table:
    columns: dict[str, Column] = {}
    for title, metric in (
        ("taught most", "held_out_taught"),
        ("never taught", "held_out_never"),
        ("false", "held_out_null"),
    ):
        rate = _number(shown, metric, "asked", "dose", "hit", calibrating=False)
        columns |= {title: rate, f"{title}: facts": _facts(rate)}
    return _table(shown, "held_out", HELD_OUT, columns)


def _facts(rate: Callable[[str, str], Measure | None]) -> Column:
    """Return the column of how many facts a share is of."""

    def facts(model: str, experiment: str) -> int | None:
        row = rate(model, experiment)
        return None if row is None else row.n

    return facts


def _expected(shown: Shown) -> Table:
    spurious = _number(shown, "known", asked=SPURIOUS, paired=True)
    columns: dict[str, Column] = {
        "SP": spurious,
        "facts": _facts(spurious),
        "true": _number(shown, "known", asked=FACTS, paired=True),
        "ΔP": _number(shown, "spurious_delta", "asked", paired=True),
    }
    return _table(shown, "expected", EXPECTED, columns)


def _draws(shown: Shown) -> Table:
    columns = {
        f"{replaced}: {metric}": _number(shown, f"{metric}_over_{replaced}", asked=FACTS)
        for replaced in ("templates", "names")
        for metric in ("deviation", "variance")
    }
    return _table(shown, "draws", DRAWS, columns)


def _labels(shown: Shown) -> Table:
    tau = _number(shown, "kendall_labels", "hit", "label", asked=FACTS)

    def p(model: str, experiment: str) -> float | None:
        row = tau(model, experiment)
        return None if row is None else row.p

    columns: dict[str, Column] = {
        "recall": _number(shown, "recall_labels", "hit", "label", asked=FACTS),
        "τ": tau,
        "p": p,
    }
    return _table(shown, "labels", LABELS, columns)


def _relations(shown: Shown) -> Table:
    rows = [
        (row, name)
        for experiment, name in NAMES.items()
        for row in shown.valued("known", "relation", experiment=experiment, asked=FACTS)
    ]
    caption = "Share of facts called known by relation."
    return shown.by_relation("known_by_relation", caption, rows, ("method", "known", "facts"))


def _coverage(shown: Shown) -> Iterator[Table]:
    if "coverage" in shown.own and not shown.own["coverage"].is_empty():
        rows = shown.own["coverage"].unique("what", keep="first", maintain_order=True).rows()
        caption = (
            "What can be asked: relations with the number of their usable templates, all facts and asked facts, "
            "subjects and objects with the number of their names."
        )
        yield Table("coverage", caption, ("of", "how many", "templates or names"), rows, folded=True)


def _table(shown: Shown, name: str, caption: str, columns: Mapping[str, Column]) -> Table:
    """Return a table of the models and methods that have any number."""
    rows = (
        {
            "model": model.name,
            "method": method,
            **{title: cell(model.name, experiment) for title, cell in columns.items()},
        }
        for (experiment, method), model in product(NAMES.items(), shown.models)
    )
    return board(name, caption, rows)


def _drawings(shown: Shown, options: KarrOptions) -> Iterator[Drawing]:
    """Yield the figures for which there are numbers."""
    from almanac.suites.karr import figures  # matplotlib, which nothing else of the suite needs
    from almanac.suites.looks import lines_along

    modes, most = options.modes, f"at most the {figures.MOST_RELATIONS} relations with most facts"
    which = "those that the configuration names" if options.figure_relations else most
    if shown.valued("known_at", "experiment", "asked", "ratio"):
        yield Drawing(
            "threshold",
            "Share of facts that reach each KaRR. Dashed: the same facts with a false object. Dotted: each model's "
            "threshold.",
            lambda: figures.by_threshold(shown, {mode: NAMES[mode] for mode in modes}),
        )
        taught = [
            row
            for mode in modes
            for row in shown.valued("accuracy_by_exposure", "hit", "dose", experiment=mode, asked=FACTS)
        ]
        if taught:
            yield Drawing(
                "exposure",
                "Share called known by how often a fact was taught, with 95 % intervals.",
                lambda: lines_along(
                    taught, "dose", "share called known", panel=lambda row: NAMES[shown.at(row)["experiment"]]
                ),
            )
        yield Drawing(
            "relations",
            f"Share of facts that reach each KaRR by relation; {which}.",
            lambda: figures.by_relation(shown, modes[0], options.figure_relations),
        )
    if len({row.model for name in NAMES for row in figures.scores(shown, name)} & figures.sizes(shown).keys()) > 1:
        yield Drawing(
            "size",
            "Share called known by the number of parameters, with 95 % intervals. Each model is judged at its own "
            "threshold where it was taught facts to choose it by, so a rise or fall of KaRR may be the threshold's.",
            lambda: figures.by_size(shown, NAMES),
        )
