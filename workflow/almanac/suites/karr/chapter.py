"""KaRR's chapter of the page: the methods compared, false objects, null models, and the analyses."""

from collections.abc import Callable, Iterator
from itertools import product

from almanac.rows import Measure
from almanac.suites.chapter import Cell, Chapter, Drawing, Shown, Table, board, filled, silent, stands
from almanac.suites.karr.asking import FACTS, NULL, SPURIOUS
from almanac.suites.karr.judging import LEAST
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
    "template it is the likeliest of the candidates. K-Prompts: its mean probability after several prompts exceeds "
    "{k_prompts} (a setting). With one template per relation and one name per object, LAMA and K-Prompts have the "
    "same score."
)
ONE_THRESHOLD = (
    "Where thresholds are chosen from planted facts, models are compared at one threshold, the geometric mean of "
    "theirs: each is chosen from few facts, so that models of equal knowledge would differ at their own. The shares "
    "therefore differ from those in the table of methods."
)
METHODS = (
    "Known: the share of facts above the threshold. False: the same share with a false object of the relation. "
    "Null model: the same share, at the same threshold, for a model of the same recipe that was taught permuted "
    "objects. For a taught fact it knows another object, which draws it away from the true one, so its share of facts "
    "never taught says more about false positives. Recall: the same share of the facts taught most often. τ: Kendall's "
    "correlation of score and times taught. Chosen by: the number of facts taught most often, and of facts never "
    f"taught or false, from which the threshold was chosen; with fewer than {LEAST} of either it is set. The "
    "released code weights sentences differently, so its values and its threshold differ. Known, false, null model "
    "and recall count all facts, including those from which the threshold was chosen. Intervals here are of all facts "
    "together (Wilson), those in the page's table of methods of a mean over relations. No interval includes the "
    "choice of the threshold: chosen from other facts, it might give quite another share. Each model here has its own "
    "threshold; elsewhere on the page models are compared at one."
)
HELD_OUT = (
    "The same shares on only the half of the facts from which no threshold was chosen: facts taught most often, facts "
    "never taught, and facts with a false object."
)
EXPECTED = (
    "Each fact with the false object of its relation that is expected most: by the model itself when the subject is "
    "left open, among the hundred most common objects, or the one that the configuration names. SP: the share called "
    "known; true: the same share with the true object; ΔP: SP minus true."
)
DRAWS = (
    "How much the score depends on the draw: standard deviation and variance of the share known over runs that each "
    "replace one template of every relation, or one name of every entity. The threshold stays the same."
)
LABELS = (
    "Agreement with people. Recall: of the facts that people consider known, the share called known. τ: Kendall's "
    "correlation of score and mean label; p: its p-value, for this row alone and too small where relations differ in "
    "both."
)
Find = Callable[..., Measure | None]  # finds a number of one model and method; takes the other arguments of `Shown.one`


def chapter(shown: Shown, options: KarrOptions) -> Chapter | None:
    """Return the chapter of one dataset, or none if there are no numbers."""
    if not shown.measures:
        return None
    parts: list[Table | Drawing | str] = [
        _table(shown, "methods", METHODS, _methods),
        *_silent(shown),
        _table(shown, "held_out", HELD_OUT, _held_out),
        *_drawings(shown, options),
        _table(shown, "expected", EXPECTED, _expected),
        _table(shown, "draws", DRAWS, _draws),
        _table(shown, "labels", LABELS, _labels),
        _relations(shown),
        *_coverage(shown),
        *shown.not_asked(),
    ]
    return filled("KaRR", ASKS.format(k_prompts=f"{options.k_prompts:g}"), parts)


def _silent(shown: Shown) -> Iterator[str]:
    """Yield a sentence that lists the models and methods without any value."""
    found = [
        f"{row.model} {name}"
        for (experiment, name), model in product(NAMES.items(), shown.models)
        for row in shown.find("known", model=model.name, experiment=experiment, asked=FACTS)
        if row.value is None
    ]
    if found:
        yield f"Without any value: {'; '.join(found)}."


def _methods(find: Find) -> dict[str, Cell]:
    known = find("known", asked=FACTS)
    return {
        "known": known,
        "without value": silent(known),
        "false": find("known", asked=NULL),
        "null model": find("null_model_known", asked=FACTS),
        "null, never taught": find("null_model_known_never", asked=FACTS, dose=0),
        "threshold": find("threshold", asked=FACTS) if stands(known) else None,
        "chosen by": _chosen_by(find) if stands(known) else None,
        "AUC": find("recovery_auc", "dose", "hit", asked=FACTS),
        "recall": find("recall", "dose", "hit", asked=FACTS),
        "τ": find("kendall", "dose", "hit", asked=FACTS),
    }


def _chosen_by(find: Find) -> str | None:
    """Return the numbers of facts from which a threshold was chosen, if it was chosen."""
    taught, never = (find(f"threshold_{part}", asked=FACTS) for part in ("taught", "never"))
    return None if taught is None or never is None else f"{taught.value:.0f} and {never.value:.0f}"


def _held_out(find: Find) -> dict[str, Cell]:
    cells: dict[str, Cell] = {}
    for title, part in (("taught most", "taught"), ("never taught", "never"), ("false", "null")):
        rate = find(f"held_out_{part}", "asked", "dose", "hit", calibrating=False)
        cells |= {title: rate, f"{title}: facts": rate and rate.n}
    return cells


def _expected(find: Find) -> dict[str, Cell]:
    spurious = find("known", asked=SPURIOUS, paired=True)
    return {
        "SP": spurious,
        "facts": spurious and spurious.n,
        "true": find("known", asked=FACTS, paired=True),
        "ΔP": find("spurious_delta", "asked", paired=True),
    }


def _draws(find: Find) -> dict[str, Cell]:
    return {
        f"{replaced}: {metric}": find(f"{metric}_over_{replaced}", asked=FACTS)
        for replaced in ("templates", "names")
        for metric in ("deviation", "variance")
    }


def _labels(find: Find) -> dict[str, Cell]:
    tau = find("kendall_labels", "hit", "label", asked=FACTS)
    return {"recall": find("recall_labels", "hit", "label", asked=FACTS), "τ": tau, "p": tau and tau.p}


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
            "What can be asked: relations and their usable templates, all facts and the asked facts, subjects and "
            "objects and their names."
        )
        yield Table("coverage", caption, ("of", "how many", "templates or names"), rows, folded=True)


def _table(shown: Shown, name: str, caption: str, cells: Callable[[Find], dict[str, Cell]]) -> Table:
    """Return a table with a row for each method and model; `board` leaves out those without a number."""

    def find(model: str, experiment: str) -> Find:
        return lambda metric, *keys, **fixed: shown.one(metric, model, *keys, experiment=experiment, **fixed)

    rows = (
        {"model": model.name, "method": method, **cells(find(model.name, experiment))}
        for (experiment, method), model in product(NAMES.items(), shown.models)
    )
    return board(name, caption, rows)


def _drawings(shown: Shown, options: KarrOptions) -> Iterator[Drawing]:
    """Yield the figures that have numbers."""
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
        drawn = next((one for one in modes if shown.valued("known", "relation", experiment=one, asked=FACTS)), None)
        if drawn is not None:
            yield Drawing(
                "relations",
                f"Share of facts that reach each KaRR by relation; {which}.",
                lambda: figures.by_relation(shown, drawn, options.figure_relations),
            )
    known = {row.model for row in shown.valued("known", "experiment", asked=FACTS)}
    if len(known & figures.sizes(shown).keys()) > 1:
        yield Drawing(
            "size",
            "Share called known by the number of parameters, with 95 % intervals. Each model is judged at its own "
            "threshold where it was taught facts to choose it by, so a rise or fall of KaRR may be the threshold's.",
            lambda: figures.by_size(shown, NAMES),
        )
