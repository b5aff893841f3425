"""What became of each dataset's facts: how many are asked, which are left out and why, and what the questions are."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from textwrap import indent

import polars as pl

from almanac.dataset.templates import SHIPPED, worded
from almanac.edition.layout import Layout
from almanac.frames import read_frame
from almanac.report.lines import share, shortened
from almanac.rows import Exposure, Fact, Item, Measure, NotAsked, Refused, Relation, RelationCount
from almanac.suites.answers import Answers
from almanac.suites.asked_texts import asked_texts
from almanac.suites.chapter import Table
from almanac.suites.headline import FEW
from almanac.suites.judged import conditions_of
from almanac.suites.recovery import BY_DOSE

TOLD = 3  # with at most so many datasets, each has a sentence
NAMED = 4  # relations named in a sentence, at most
LISTED = 12  # relations named in a note, at most
WORDINGS = 6  # templates of a relation with a printed question, at most
ENDS = 600  # characters printed of a question, at most: its end, since examples come first
PAIR = ("relation_id", "subject_id")
ITEM = ("fact_id", "relation_id", "template_id")
FOLDED = 12  # rows from which the table is folded
CAPTION = (
    "Left out and never asked: relations with too few facts or objects, and facts that could not be asked. Each reason "
    "says what was found and what the dataset's configuration requires; the dataset's file refused.parquet lists every "
    "fact."
)


@dataclass(frozen=True)
class FactsAsked:
    """What became of the facts of one dataset.

    Attributes:
        dataset: its name.
        counts: a row for each relation.
        refused: what is left out, and why.
        unlabelled: relations that are asked by their id (`Relation.without_words`, `Suite.by_label`).
        labelled: the labels of other relations that some suite asks by their label.
        of_properties: how many relations are asked in the sentences shipped for Wikidata's properties.
        doses: for real facts, how often each planted model was taught each test fact in its corpus (0: only its names).
        source: the source or world of the facts.
        asked: how many of the test facts each suite asks.
        asked_often: the same, of the test facts that a planted model was taught most often.
        raised: for each suite that does not ask all facts, the setting that makes it ask more if it is raised.
    """

    dataset: str
    counts: Sequence[RelationCount]
    refused: Sequence[Refused] = ()
    unlabelled: Sequence[str] = ()
    labelled: Sequence[str] = ()
    of_properties: int = 0
    doses: Sequence[Sequence[int]] = ()
    source: str = ""
    asked: Mapping[str, int] = field(default_factory=dict)
    asked_often: Mapping[str, int] = field(default_factory=dict)
    raised: Mapping[str, str] = field(default_factory=dict)

    @property
    def facts(self) -> int:
        """The number of facts."""
        return sum(row.facts for row in self.counts)

    @property
    def tested(self) -> int:
        """The number of test facts; a suite may ask a sample of them."""
        return sum(row.test for row in self.counts)

    @property
    def guessable(self) -> int:
        """The number of test facts whose true objects are all contained in the subject's name."""
        return sum(row.guessable for row in self.counts)

    def __str__(self) -> str:
        """Return how many facts are test facts, serve as examples, are not drawn, and are left out."""
        train, surplus = sum(row.train for row in self.counts), sum(row.surplus for row in self.counts)
        # A relation that does not qualify is left out with all its facts.
        left_out = sum(row.refused if row.qualifies else row.facts for row in self.counts)
        left = f", {left_out:,} {'is' if left_out == 1 else 'are'} left out" if left_out else ""
        return (
            f"{self.tested:,} of {self.facts:,} facts are test facts, {train:,} serve as examples, "
            f"{surplus:,} are not drawn{left}"
        )

    def dropped(self) -> list[str]:
        """Return the relations that are left out entirely, each with the reason."""
        labels = {row.relation_id: row.label for row in self.counts}
        whole = (row for row in self.refused if row.fact_id is None)
        return [f"{labels.get(row.relation_id, row.relation_id)} ({row.reason})" for row in whole]

    def taught(self, measures: Sequence[Measure]) -> str | None:
        """Return a sentence on the facts that planted models were taught; none if these are all facts, or no facts."""
        counts = sorted({sum(map(bool, own)) for own in self.doses})
        doses = [dose for own in self.doses for dose in own if dose]
        if not doses or counts[0] >= self.tested:
            return None
        rows = (row for row in measures if (row.metric, row.dataset) == (BY_DOSE, self.dataset))
        enough = (row for row in rows if min(row.n, self.asked_often.get(row.suite, 0)) >= FEW)
        most = [row for row in enough if conditions_of(row)["dose"] == max(doses)]
        right = [row.value for row in most if row.value is not None]
        ends = " to ".join(dict.fromkeys(share(end) for end in (min(right), max(right)))) if right else ""
        known = (
            f"; of those taught most often {ends} are known, by model and method "
            f"(of those that were asked {FEW} of them at least)"
            if right
            else ""
        )
        many = " to ".join(f"{count:,}" for count in dict.fromkeys((counts[0], counts[-1])))
        return (
            f"The planted models were taught {many} of the test facts of {self.dataset}, "
            f"{min(doses)} to {max(doses)} times each{known}. They can tell objects that they have read from choices "
            "that they have not read, so a result above chance here need not be knowledge."
        )

    def asked_by_id(self) -> str:
        """Return a note on the relations that are asked by their id, with a remedy."""
        return (
            f"Relations of {self.dataset} without a label: {shortened(self.unlabelled, most=LISTED)}. Methods without "
            f"templates of their own ask them by their id, as in “The {self.unlabelled[0]} of …”, and their verdicts "
            "say little; a label in the table of relations changes that."
        )

    def asked_by_label(self) -> str:
        """Return a note on the relations that are asked by their label, with a remedy."""
        return (
            f"Relations of {self.dataset} without a question or a statement of their own that every method can use: "
            f"{shortened(self.labelled, most=LISTED)}. What lacks one is asked by the label, in English, as in "
            f"“{worded(self.labelled[0])[1].replace('[X]', '…')}”, or not at all where a method says so. A "
            "table of templates changes that; some statements must end in [Y] (docs/facts.md)."
        )


def facts_asked(layout: Layout) -> list[FactsAsked]:
    """Return what became of the facts of each dataset that is asked."""
    told: dict[str, set[Path]] = defaultdict(set)
    for asking in layout.config.asked():
        path, planted = layout.exposures(asking), layout.config.participants()[asking.model].model.planted
        real = layout.config.datasets[asking.dataset].world is None
        if real and path is not None and planted is not None and not planted.permuted:
            told[asking.dataset].add(path)
    found = []
    for name in layout.config.used_datasets():
        relations = layout.read(layout.dataset(name, "relations"), Relation)
        counts = layout.read(layout.dataset(name, "counts"), RelationCount)
        here = [(suite, askings[0]) for suite, dataset, askings in layout.askings() if dataset == name]
        data, options = layout.data(name), {suite.name: layout.options(own) for suite, own in here}
        by_label = {relation for suite, _ in here for relation in suite.by_label(data, options[suite.name])}
        unlabelled = [row.relation_id for row in relations if row.without_words() and row.relation_id in by_label]
        labelled = [row.label for row in relations if row.relation_id in by_label - {*unlabelled}]
        facts = read_frame(layout.dataset(name, "facts"), Fact, ["fact_id", "split", *PAIR])
        tested = facts.filter(pl.col("split") == "test")
        paths = {suite.name: layout.rounds(own)[0].folder / "items.parquet" for suite, own in here}
        items = {suite: read_frame(path, Item, ITEM).unique() for suite, path in paths.items()}
        asked = {suite: tested.join(own, on="fact_id", how="semi") for suite, own in items.items()}
        ships = {row.template_id: row.relation_id for row in data.templates if row.origin == SHIPPED}
        used = {ships[one] for own in items.values() for one in own["template_id"].unique() if one in ships}
        exposures = [read_frame(path, Exposure).join(tested, on="fact_id", how="semi") for path in sorted(told[name])]
        doses = [own["dose"].to_list() for own in exposures]
        highest = max(chain(*doses), default=0)
        often = {
            suite: max(own.filter(dose=highest).join(of, on="fact_id", how="semi").height for own in exposures)
            for suite, of in asked.items()
            if highest
        }
        refused = layout.read(layout.dataset(name, "refused"), Refused)
        source = layout.config.datasets[name].world or layout.config.datasets[name].source or name
        # An asked fact counts for all facts of its subject in its relation.
        counted = {suite: tested.join(of, on=PAIR, how="semi").height for suite, of in asked.items()}
        raised = {}
        for suite, _ in here:
            key = suite.raised(items[suite.name], asked[suite.name].height, counts, options[suite.name])
            if key is not None:
                of = f"datasets.{name}" if key == "test" else f"suites.{suite.name}.{name}"
                raised[suite.name] = f"{of}.{key}"
        found.append(
            FactsAsked(name, counts, refused, unlabelled, labelled, len(used), doses, source, counted, often, raised)
        )
    return found


def sentences(found: Sequence[FactsAsked], answered: Mapping[str, int] | None = None) -> list[str]:
    """Return sentences on how many facts are asked, which relations are not, and which are asked by their ids.

    Args:
        found: the facts of each dataset; with many datasets, test facts are counted in one sentence for all.
        answered: the largest number of facts that a model answered to one method, by dataset, where it is known.
    """
    if len(found) > TOLD:
        largest = {one.source or one.dataset: one for one in sorted(found, key=lambda one: one.tested)}.values()
        tested, facts = sum(one.tested for one in largest), sum(one.facts for one in largest)
        once = f" of {len(largest)} sources and worlds, each counted once" * (len(largest) < len(found))
        out = [f"Of {len(found)} datasets{once}, {tested:,} of {facts:,} facts are test facts."]
    else:
        out = []
        for one in found:
            sampled, most = max(one.asked.values(), default=one.tested) < one.tested, (answered or {}).get(one.dataset)
            samples = f"; methods ask samples, of which a model answered up to {most:,}" if sampled and most else ""
            out.append(f"Dataset {one.dataset}: {one}{samples}.")
    for one in found:
        if dropped := one.dropped():
            more = f"; {len(dropped) - NAMED} more, listed on the page under “left out”" * (len(dropped) > NAMED)
            names = "; ".join(dropped[:NAMED])
            out.append(f"Relations of {one.dataset} that are not asked: {names}{more}.")
        if one.unlabelled:
            out.append(one.asked_by_id())
        if one.labelled:
            out.append(one.asked_by_label())
        if one.of_properties:
            out.append(
                f"Relations of {one.dataset} that lack sentences of their own, and are asked in English ones that ship "
                f"for Wikidata's properties: {one.of_properties}."
            )
    return out


def table(found: Iterable[FactsAsked]) -> Table | None:
    """Return the table of what is left out, by relation and reason; none if nothing is."""
    rows: list[tuple[str, str, int, str, str]] = []
    for asked in found:
        counts = {row.relation_id: row for row in asked.counts}
        by_reason: dict[tuple[str, str], list[str | None]] = defaultdict(list)
        for row in asked.refused:
            why = f"the whole relation: {row.reason}" if row.fact_id is None else row.reason
            by_reason[row.relation_id, why].append(row.fact_id)
        for (relation, why), facts in by_reason.items():
            first = facts[0] or ""  # empty for a whole relation
            count = len(facts) if first else counts[relation].facts
            rows.append((asked.dataset, counts[relation].label, count, why, first))
    head = ("of", "relation", "facts", "why", "the first")
    return Table("left-out", CAPTION, head, rows, len(rows) > FOLDED) if rows else None


def questions(layout: Layout) -> Iterator[str]:
    """Yield some questions of each suite and dataset with the right answers, whether or not a model has answered.

    Shown are the first questions of each relation in its first `WORDINGS` templates, and one for each setting.
    """
    for suite, dataset, askings in layout.askings():
        answers = Answers(askings[0].model, dataset, layout.rounds(askings[0])[:1], suite.setting)
        ways = dict(answers.settings.select("setting", pl.col("setting_label").cast(pl.String)).iter_rows())
        labels = {row.relation_id: row.label for row in layout.read(layout.dataset(dataset, "relations"), Relation)}
        texts, seen, worded_by = asked_texts(answers), set[str](), defaultdict[str, set[str]](set)
        yield f"{suite.label}, dataset {dataset}: {answers.count:,} question{'s' * (answers.count != 1)}"
        yield from _not_asked(layout.read(answers.rounds[0].folder / "refused.parquet", NotAsked))
        wanted = ["item", "relation_id", "template_id", "setting", "accepted"]
        items = read_frame(answers.rounds[0].folder / "items.parquet", Item, wanted)
        for item, relation, template, setting, accepted in items.iter_rows():
            own = worded_by[relation]
            known = template in own or len(own) >= WORDINGS
            if item not in texts or (known and setting in seen):
                continue
            seen.add(setting)
            own.add(template)
            text = texts[item] if len(texts[item]) <= ENDS else f"… {texts[item][-ENDS:]}"
            head = ", ".join(filter(None, (labels.get(relation, relation), ways[setting])))
            right = f"\n  right: {shortened(accepted, '; ')}" if accepted else ""
            yield f"{head}\n{indent(text.strip(), '  | ', lambda _: True)}{right}"


def _not_asked(refused: Sequence[NotAsked]) -> Iterator[str]:
    """Yield what a suite could not ask, grouped by reason."""
    things: dict[str, list[str]] = defaultdict(list)
    for row in refused:
        things[row.reason].append(row.thing)
    yield from (f"not asked: {shortened(listed, '; ', NAMED)} ({reason})" for reason, listed in things.items())
