"""The findings as sentences, with which the page begins and a run's output ends."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from almanac import tables
from almanac.config import Asking
from almanac.edition.layout import Layout
from almanac.edition.measuring import entrant, shown
from almanac.report import asked, comparing
from almanac.report.asked import FactsAsked
from almanac.report.failing import Unanswered, unanswered
from almanac.report.known import RelationsFound
from almanac.report.lines import NAMES, share, shortened
from almanac.rows import Item, Measure
from almanac.suites.chapter import NOT_TAUGHT
from almanac.suites.headline import ABOVE_CHANCE, FEW, LEVEL, NO_FORMAT, TESTED, TOO_FEW, UNDEFINED, Finding, holm, p_of
from almanac.suites.listing import SUITES

SILENT = 0.2  # share of answers without words from which a note says so
TOLD = 2  # with more groups of models that left the same methods unanswered, only their number is told


class Told(NamedTuple):
    """Sentences: ``found`` says what was found, ``notes`` what was not asked, not answered or not tested."""

    found: Sequence[str]
    notes: Sequence[str]


def told(
    layout: Layout,
    found: Sequence[Finding],
    measures: Sequence[Measure],
    between: Sequence[Measure],
    facts: Sequence[FactsAsked],
    relations: Sequence[RelationsFound],
) -> Told:
    """Return the findings as sentences.

    ``measures`` are the numbers of models, ``between`` those between them; ``facts`` and ``relations`` are of datasets.
    """
    entrants = {one.model: entrant(layout, one) for one in layout.config.asked()}
    controls = [name for name, one in entrants.items() if one.permuted]
    planted = {name for name, one in entrants.items() if one.world is not None}
    # Datasets asked of models that were not planted come first: results of planted models only test the methods.
    real = {one.known.dataset for one in found if one.known.model not in planted}
    found = sorted(found, key=lambda one: one.known.dataset not in real)
    taught = [said for one in facts if (said := one.taught(measures)) is not None]
    answered: dict[str, int] = {}
    for one in found:
        answered[one.known.dataset] = max(one.facts, answered.get(one.known.dataset, 0))
    compared = [
        *by_themselves(found, planted),
        *map(str, relations),
        *taught,
        *comparing.sentences(between, controls, layout.config.compare, relations),
    ]
    of_facts = [*asked.sentences(facts, answered), *_asks_nothing(layout), *_by_chat(layout, found)]
    size = layout.config.size if layout.config.model is not None else None
    asks_more = {(suite, one.dataset): _advice(key, size) for one in facts for suite, key in one.raised.items()}
    return sentences(found, compared, of_facts, unanswered(layout), controls, asks_more)


def _advice(key: str, size: str | None) -> str:
    """Return what to raise to ask more facts: a setting or, in a configuration with sizes, the size."""
    sampled = key.startswith("suites.") and not key.endswith(".cap")
    if size is None or size == "all" or not (sampled or key.startswith("datasets.")):
        return f"`{key}`"
    sizes = "full or all" if sampled else "all"
    return f"sample (SIZE={sizes}, --size {sizes})"


def _asks_nothing(layout: Layout) -> Iterator[str]:
    """Yield the suites that ask nothing of a dataset, with the reason."""
    for suite, dataset, askings in layout.askings():
        folders = [one.folder for asking in askings for one in layout.rounds(asking)]
        if not any(tables.count(folder / "items.parquet", Item) for folder in folders):
            why = shown(layout, suite, dataset, askings).not_asked()
            yield " ".join([f"Nothing of dataset {dataset} is asked by {suite.label}.", *why])


def _by_chat(layout: Layout, found: Sequence[Finding]) -> Iterator[str]:
    """Yield a note on models asked by chat and above chance by no method: base models hardly answer chat."""
    above = {one.known.model for one in found if one.verdict == ABOVE_CHANCE}
    models = {asking.model for asking in layout.config.asked()} - above
    served = {name: one.model for name, one in layout.config.participants().items() if name in models}
    if chats := [name for name, one in served.items() if one.api is not None and one.api_generate_with == "chat"]:
        yield (
            f"What {', '.join(chats)} wrote was asked for as chat messages. A server may let a base model chat, "
            "which then answers few questions: ask such a model with `api_generate_with: completions` (docs/api.md)."
        )


def of_weights(layout: Layout) -> Iterator[str]:
    """Yield notes on models with unused weights, and on models with identical weights, as their responses state.

    They are not on the page, which an archive rebuilds without these files.
    """
    answered = {one.answerer: one.responses[0] for one in layout.every_round()}
    alike: dict[str, list[str]] = defaultdict(list)
    for name, path in answered.items():
        said = tables.read_metadata(path)
        if unused := said.get("almanac.unused"):
            yield f"The network that {name}'s config.json describes has no place for some of its weights: {unused}."
        if weights := said.get("almanac.weights"):
            alike[weights].append(name)
    for names in alike.values():
        if len(names) > 1:
            yield f"The weights of {', '.join(names)} are the same, to the byte."


def sentences(
    rows: Sequence[Finding],
    compared: Sequence[str] = (),
    facts: Sequence[str] = (),
    missing: Unanswered | None = None,
    controls: Collection[str] = (),
    asks_more: Mapping[tuple[str, str], str] = MappingProxyType({}),
) -> Told:
    """Return the findings as sentences; the first says whether anything is above chance at all.

    Args:
        rows: the findings.
        compared: sentences on taught facts and on comparisons of models.
        facts: sentences on the facts that were asked or left out.
        missing: requests without an answer, and why.
        controls: models that were taught nothing true.
        asks_more: by suite and dataset, what to raise to ask more facts; only where more can be asked.
    """
    missing = missing or Unanswered()
    tested = [one for one in rows if one.verdict in TESTED]
    by_dataset: dict[str, list[Finding]] = defaultdict(list)
    for one in tested:
        by_dataset[one.known.dataset].append(one)
    if not tested:
        out = ["Nothing can be said: no method was answered by enough facts and in the form that was asked for"]
        out[0] += ", with a chance to hold it against." if any(one.verdict == UNDEFINED for one in rows) else "."
    elif not any(one.verdict == ABOVE_CHANCE for one in tested):
        models = shortened(str(one.known.model) for one in tested)
        out = [f"Nothing is distinguishable from chance: {models} ({_methods(tested)})."]
    else:
        out = [_of_dataset(dataset, findings, controls) for dataset, findings in by_dataset.items()]
    scored = [one for one in tested if one.verdict == ABOVE_CHANCE and one.above and (one.above.value or 0.0) <= 0]
    if scored:
        whose = _whose(scored, tested)
        out.append(f"Only scores are above chance, and no more true objects are known than false ones: {whose}.")
    if by_names := [one for one in tested if one.beyond_names is False]:
        whose = _whose(by_names, tested)
        out.append(f"Without the facts that names give away, these are not shown to be above chance: {whose}.")
    failing = [failures.told(model) for model, failures in missing.failed.items()]
    notes = [*facts, *_not_answered(rows, missing), *missing.notes()]
    few: dict[bool, list[tuple[Finding, str]]] = defaultdict(list)  # keyed by whether more can be asked
    for one in rows:
        if one.verdict == TOO_FEW and one.facts:
            larger = asks_more.get((one.known.suite, one.known.dataset), "")
            few[bool(larger)].append((one, larger))
    for more, listed in few.items():
        labels = shortened(_of_few([one for one, _ in listed], rows), "; ")
        larger = shortened(key for _, key in listed)
        advice = f"More are asked with a larger {larger}" if more else "All that can be asked were"
        notes.append(f"Fewer than {FEW} facts, too few for a verdict, were answered to {labels}. {advice}.")
    if untested := _labels([one for one in rows if one.verdict == UNDEFINED], rows):
        notes.append(f"Not tested, since no chance is defined: {shortened(untested, '; ')}.")
    if astray := [one for one in rows if _astray(one, missing)]:
        notes.append(
            "Most answers of a model could not be judged, being in another form than was asked for or of several "
            f"tokens where one is scored: {_whose(astray, rows)}."
        )
    taught = (one for one in rows if one.verdict != NOT_TAUGHT and one.facts >= FEW)
    if silent := [one for one in taught if _share(one.without_words) >= SILENT]:
        notes.append(
            f"At least {100 * SILENT:.0f} % of a model's answers hold no words, or the question's alone. They "
            f"count as wrong or missing, and need not mean that the facts are not known: {_whose(silent, rows)}."
        )
    return Told([*out, *failing, *compared], notes)


def _astray(one: Finding, missing: Unanswered) -> bool:
    """Return whether most answers of a method had another form, though the model supports its requests."""
    return one.verdict == NO_FORMAT and (bool(one.facts) or _asking(one) not in missing.unsupported)


def _share(row: Measure | None) -> float:
    """Return the value of a share; 0 for none."""
    return 0.0 if row is None or row.value is None else row.value


def _asking(one: Finding) -> Asking:
    return Asking(str(one.known.model), one.known.suite, one.known.dataset)


def _whose(rows: Sequence[Finding], tested: Sequence[Finding]) -> str:
    """Return the methods of some of the tested rows, with the models if there are several."""
    several = len({one.known.model for one in tested}) > 1
    return shortened((one.method.label + f" ({one.known.model})" * several for one in rows), "; ")


def _labels(some: Sequence[Finding], rows: Sequence[Finding]) -> list[str]:
    """Return the methods of some of the rows, with the datasets if these are not all that the method has."""
    of_some, of_all = defaultdict[str, dict[str, None]](dict), defaultdict[str, dict[str, None]](dict)
    for datasets, findings in ((of_some, some), (of_all, rows)):
        for one in findings:
            datasets[one.method.label][one.known.dataset] = None
    return [
        label if len(own) == len(of_all[label]) else f"{label} (dataset{'s' * (len(own) > 1)} {', '.join(own)})"
        for label, own in of_some.items()
    ]


def _of_few(some: Sequence[Finding], rows: Sequence[Finding]) -> list[str]:
    """Return the methods of rows with too few facts, with the models where another model answered enough of them."""
    enough = {(one.known.dataset, one.label) for one in rows if one.verdict in TESTED}
    of_some: dict[str, list[str]] = defaultdict(list)
    for one in some:
        if (one.known.dataset, one.label) in enough:
            of_some[one.method.label].append(str(one.known.model))
    others = [one for one in some if (one.known.dataset, one.label) not in enough]
    return [*_labels(others, rows), *(f"{label} ({shortened(models)})" for label, models in of_some.items())]


def _not_answered(rows: Sequence[Finding], missing: Unanswered) -> list[str]:
    """Return which models did not answer which methods at all; of many combinations, how many models.

    Then which models could not answer that were asked about others' answers, as a judge is.

    Those that failed at every request and texts that are too long are told elsewhere.
    """
    told_of = set(missing.too_long) - set(missing.unsupported)
    broken = {model for model, own in missing.failed.items() if own.every}
    silent: dict[str, list[Finding]] = defaultdict(list)
    for one in rows:
        if not (one.facts or _astray(one, missing) or _asking(one) in told_of or one.known.model in broken):
            silent[str(one.known.model)].append(one)
    alike: dict[tuple[tuple[str, str], ...], list[str]] = defaultdict(list)  # models by their methods, with the reason
    for model, own in silent.items():
        by_reason: dict[str, list[Finding]] = defaultdict(list)
        for one in own:
            why = missing.unsupported.get(_asking(one))
            by_reason[f" Why, most often: “{why.commonest}”." if why else ""].append(one)
        every = [one for one in rows if one.known.model == model]
        alike[tuple((shortened(_labels(some, every), "; "), why) for why, some in by_reason.items())].append(model)
    everybody = {one.known.model for one in rows}
    aside = [
        f"{asking.model}, which was to answer for {SUITES[asking.suite].label} (dataset {asking.dataset}), left "
        f"{why.count:,} of {why.of:,} requests without an answer. Why, most often: “{why.commonest}”."
        for asking, why in missing.unsupported.items()
        if asking.model not in everybody
    ]
    if len(alike) > TOLD:
        whole = len(silent) == len(everybody)
        which = "No model answered every method" if whole else f"{len(silent)} models did not answer some methods"
        return [f"{which}; the page says which, below its table of methods.", *aside]
    parts = (
        f"No answers from {shortened(models)} to {labels}.{why}"
        for methods, models in alike.items()
        for labels, why in methods
    )
    return [*([" ".join(parts)] if alike else []), *aside]


def _of_dataset(dataset: str, rows: Sequence[Finding], controls: Collection[str]) -> str:
    """Return by how many methods, and by how much, each model is above chance; models with equal counts are grouped.

    The range of what is known above chance is over the methods that are above chance.
    """
    models = list(dict.fromkeys(str(one.known.model) for one in rows))
    if not any(one.verdict == ABOVE_CHANCE for one in rows):
        whom = f"{shortened(models)} ({_methods(rows)})"
        return f"On {dataset}, nothing is distinguishable from chance over all facts that were asked: {whom}."
    findings_of = {name: [one for one in rows if one.known.model == name] for name in models}
    by_counts: dict[tuple[int, int], list[str]] = defaultdict(list)  # all methods are (1, 1), none are (0, 1)
    for name, found in findings_of.items():
        hit = sum(one.verdict == ABOVE_CHANCE for one in found)
        by_counts[(hit, len(found)) if 0 < hit < len(found) else (bool(hit), 1)].append(name)
    parts: list[tuple[str, list[str]]] = []  # texts, each with its models
    for (hit, of), names in sorted(by_counts.items(), key=lambda one: (-one[0][0] / one[0][1], -one[0][1])):
        names.sort(key=lambda name: name not in controls)  # controls first, so that they are named among many
        sure = [one for name in names for one in findings_of[name] if one.verdict == ABOVE_CHANCE]
        span = _span(sure, named=hit < of and len(names) == 1)
        each = ", each" if len(names) > 1 else ""
        listed = shortened(f"{name} (a control)" if name in controls else name for name in names)
        counts = sorted({len(findings_of[name]) for name in names})
        methods = " to ".join(map(str, dict.fromkeys((counts[0], counts[-1]))))
        if 0 < hit < of:
            of_them = f"{hit} of {of}"
        elif hit:
            of_them = f"all of its {methods}" if counts[-1] > 1 else "its 1"
        else:
            of_them = f"none of its {methods}" if len(counts) > 1 else f"0 of {methods}"
        know = "" if parts else f" know{'s' * (len(names) == 1)} more than chance"  # the first group is above chance
        parts.append((f"{listed}{know}{each} by {of_them} tested method{'s' * (counts[-1] != 1)}{span}", names))
    # Of many groups, the first ones, the last, and those with a control are told.
    middle = parts[NAMES - 2 : -1] if len(parts) > NAMES else []
    counted = [names for _, names in middle if not set(names) & set(controls)]
    told = [text for text, names in parts if names not in counted]
    if counted:
        told.insert(NAMES - 2, f"{sum(map(len, counted))} more models")
    return f"Dataset {dataset}: {'; '.join(told)}."


def _span(sure: Sequence[Finding], named: bool) -> str:
    """Return the range above chance over methods; with ``named``, also the methods."""
    more = [one.above.value or 0.0 for one in sure if one.above]
    ends = list(dict.fromkeys(share(end) for end in (min(more), max(more)))) if more else []
    parts = [shortened((one.method.label for one in sure), "; ")] if named and sure else []
    if ends:
        parts.append(f"{'their estimates: ' if len(ends) > 1 else ''}{' to '.join(ends)} above chance")
    return f" ({'; '.join(parts)})" if parts else ""


def by_themselves(rows: Sequence[Finding], planted: Collection[str]) -> Iterator[str]:
    """Yield which verdicts a model's rows would have on a page of their own, for datasets where more are above chance.

    Verdicts are adjusted for all rows of a page, and so depend on the other models. Planted models are left out, since
    their knowledge is not in question.
    """
    tested = [one for one in rows if one.verdict in TESTED and one.above is not None]
    by_model: dict[str, list[Finding]] = defaultdict(list)
    for one in tested:
        if one.known.model not in planted:
            by_model[str(one.known.model)].append(one)
    more = []
    for model, findings in by_model.items():
        adjusted = list(zip(findings, holm([p_of(one.above) for one in findings]), strict=True))
        for dataset in dict.fromkeys(one.known.dataset for one in findings):
            verdicts = [(one.verdict, p) for one, p in adjusted if one.known.dataset == dataset]
            alone = sum(p <= LEVEL for _, p in verdicts)
            if alone > sum(verdict == ABOVE_CHANCE for verdict, _ in verdicts):
                more.append(f"{model} would be above chance by {alone} of {_tested(len(verdicts))} on {dataset}")
    if more:
        each = f"On a page of its own, {shortened(more, '; ')}."
        yield f"Verdicts are adjusted for all {len(tested)} tested rows of this page. {each}"


def _methods(rows: Sequence[Finding]) -> str:
    return _tested(len({(one.known.suite, one.known.dataset, one.known.where) for one in rows}))


def _tested(count: int) -> str:
    return f"{count} tested method{'s' * (count != 1)}"
