"""EIC-LKE: many test facts in one text (Wu et al., section 3, "efficient in-context learning").

The train facts of a relation form one sequence, into which a test fact is inserted every few pairs. Each sequence holds
one choice of each of its test facts, so that as many sequences as a fact has choices score many facts at once. Subjects
and choices are tokenised separately and their ids joined. The paper does not state the positions; ours are after 50,
55, … 95 of 100 train facts, ten per sequence. What follows the last test fact cannot affect the scores of a causal
model and is left out.

A choice is read after the choices of earlier test facts, most of them wrong. The control is ``isolated``: the same
positions, after train facts only.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import polars as pl

from almanac.frames import as_frame, frame_of
from almanac.rows import Fact, Measure, Request
from almanac.statistics.agreement import cohens_kappa
from almanac.statistics.correlation import pearson
from almanac.statistics.intervals import Estimate
from almanac.statistics.paired import macro_difference
from almanac.suites.answers import Answers
from almanac.suites.asked import Batch
from almanac.suites.data import Data
from almanac.suites.ic_lke import chapter as chapters
from almanac.suites.ic_lke.choices import ChoiceSuite, judge_choices, of_choices
from almanac.suites.ic_lke.options import EicOptions
from almanac.suites.ic_lke.questions import LAYOUTS, OFFERED, Questioner, draw_examples
from almanac.suites.ic_lke.suite import IN_CONTEXT
from almanac.suites.judged import RELATION, SUBJECT, Judged, Not
from almanac.suites.suite import Judgements, Method, Own, Round
from almanac.tables import hash_order

SEQUENCE, ISOLATED = "sequence", "isolated"
CHOICE = "choice "  # the prefix of a link's role in sequences, before the number of the choice
GLUE = {"comma": ", ", "space": " "}  # between pairs
INSIDE = " "  # within a pair
WANTED = (
    *("experiment", "role", "index", "choices", "pieces"),
    *("status", "logprobs", "token_counts"),
)
# A request has several choices, or one text in pieces.
CHARACTERS = pl.coalesce("choices", "pieces").list.eval(pl.element().str.len_chars()).list.sum().alias("characters")


@dataclass(frozen=True, slots=True)
class ReadingCost:
    """What a model reads in an experiment.

    Attributes:
        texts: how many texts.
        characters: how many characters they have together.
        distinct: the same with each shared context counted once.
    """

    KEY: ClassVar = ("experiment",)
    experiment: str
    texts: int
    characters: int
    distinct: int


class EicSetting(NamedTuple):
    """How many examples precede the subject or, for sequences, how many test facts a sequence has."""

    shots: int | None = None
    slots: int | None = None

    def label(self) -> str:
        """Describe the setting to a reader."""
        return f"{self.shots} examples" if self.slots is None else f"{self.slots} facts a text"


class Eic(ChoiceSuite[EicOptions]):
    """Test facts in sequences, isolated, and by IC-LKE after the same first examples."""

    name = "eic_lke"
    label = "EIC-LKE"
    summary = "many facts in one text, a choice of each; and each by itself"
    options = EicOptions
    setting = EicSetting
    chapter = staticmethod(chapters.eic)
    reads_predictions = True
    own: ClassVar[Mapping[str, Own]] = {**OFFERED, "costs": Own(ReadingCost)}
    methods = (
        Method("sequence", "EIC-LKE", {"experiment": SEQUENCE}, ("slots",)),
        Method("isolated", "EIC-LKE, isolated", {"experiment": ISOLATED}, ("slots",)),
    )

    def ask(self, at: Round, data: Data, options: EicOptions, before: Answers | None) -> Iterator[Batch]:
        """Ask each fact in each experiment; in sequences an item has one link a choice, whose ``index`` is its piece.

        Raises:
            AlmanacError: a relation has fewer train facts than ``examples``.
        """
        questioner = Questioner(self, data, options)
        costs = [frame_of(ReadingCost, ())]
        for _, facts, tested in questioner.relations():
            examples = draw_examples(facts, options.examples, options.seed, 0, "examples")
            first = EicSetting(shots=options.first)
            questioner.ask_in_context(examples[: options.first], tested, LAYOUTS["paper"], IN_CONTEXT, first)
            _Sequences(questioner, examples, options).ask(tested)
            batch = questioner.asked.take()
            costs.append(_costs(batch))
            yield batch
        whole = pl.concat(costs).group_by("experiment").sum().sort("experiment")
        questioner.asked.own["costs"] += [ReadingCost(*row) for row in whole.iter_rows()]
        yield questioner.asked.take()

    def judge(self, answers: Answers, data: Data, options: EicOptions) -> Iterator[Judgements]:
        """Judge every item; in sequences, by the fact's choices in all of them."""
        for part in answers.parts(WANTED):
            links = part.links
            choice_by_choice = pl.col("role").cast(pl.String).str.starts_with(CHOICE)
            whole, by_choice = links.filter(~choice_by_choice), _as_choices(links.filter(choice_by_choice))
            judged = [judge_choices(some) for some in (whole, by_choice) if some.height]
            yield Judgements(pl.concat(judged).sort("item"), {})

    def derived(self, frame: pl.DataFrame, options: EicOptions) -> pl.DataFrame:
        """Add, for each fact, ``in_context_hit`` (IC-LKE is right) and ``same`` (its prediction equals IC-LKE's)."""
        in_context = frame.filter(pl.col("experiment") == IN_CONTEXT)
        theirs = in_context.select("fact", pl.col("hit").alias("in_context_hit"), pl.col("prediction").alias("theirs"))
        found = super().derived(frame, options).join(theirs, on="fact", how="left", maintain_order="left")
        return found.with_columns((pl.col("prediction") == pl.col("theirs")).alias("same")).drop("theirs")

    def measure(self, judged: Judged, own: Mapping[str, pl.DataFrame], options: EicOptions) -> list[Measure]:
        """Compute every number of one model.

        Returns:
            `of_choices` by experiment; for ``sequence`` and ``isolated`` the `agreement` with IC-LKE; and by experiment
            what a model reads: ``texts``, ``characters`` and ``distinct_characters``.
        """
        rows = of_choices(judged, "experiment")
        costs = {row["experiment"]: row for row in own["costs"].iter_rows(named=True)}
        for group in judged.groups("experiment"):
            experiment = str(group.conditions["experiment"])
            if experiment != IN_CONTEXT:
                rows += agreement(group)
            cost = costs[experiment]
            for metric, name in (("texts", "texts"), ("characters", "characters"), ("distinct_characters", "distinct")):
                rows.append(group.measure(metric, cost[name]))
        return rows


@dataclass(frozen=True)
class _Sequences:
    """Asks the test facts of one relation in sequences and, as a control, isolated."""

    questioner: Questioner
    examples: Sequence[Fact]
    options: EicOptions

    def ask(self, tested: Sequence[Fact]) -> None:
        """Ask the test facts in groups of as many as a sequence has slots."""
        facts = {fact.fact_id: fact for fact in tested}
        order = hash_order(facts, self.options.seed, "slots")
        slots = self.options.slots
        for at in range(0, len(order), len(slots)):
            placed = [(slot, facts[name]) for slot, name in zip(slots, order[at : at + len(slots)], strict=False)]
            self._together(placed)
            if self.options.isolated:
                self._isolated(placed)

    def _together(self, placed: Sequence[tuple[int, Fact]]) -> None:
        """Ask a group of test facts, each after its number of train facts, in sequences with one choice of each fact.

        The choices of each fact are shuffled. In table order, where the true choice is last, all true choices would be
        in the same sequence, and they alone would be read after true choices.
        """
        questioner, options, glue = self.questioner, self.options, GLUE[self.options.between]
        apart = options.separators == "apart"
        begin = self.examples[: options.first]
        context_id = None if apart else questioner.asked.context(self._text(begin))
        setting = EicSetting(slots=len(options.slots))
        items = [questioner.item(fact, SEQUENCE, setting) for _, fact in placed]
        labels = [questioner.labels(fact) for _, fact in placed]
        orders = [
            hash_order(map(str, range(len(choices))), options.seed, "choices", fact.fact_id)
            for choices, (_, fact) in zip(labels, placed, strict=True)
        ]
        for number in range(max(map(len, labels))):
            pieces = self._apart(begin) if apart else []
            carried: list[tuple[int, str, int]] = []
            for place, (slot, fact) in enumerate(placed):
                if place:
                    more = self.examples[placed[place - 1][0] : slot]
                    pieces += [glue, *self._apart(more)] if apart else [glue + self._text(more)]
                if number < len(orders[place]):
                    choice = orders[place][number]
                    subject, label = questioner.subject(fact), labels[place][int(choice)]
                    pieces += [glue, subject, INSIDE, label] if apart else [glue + subject, INSIDE + label]
                    carried.append((items[place], f"{CHOICE}{choice}", len(pieces) - 1))
            request = Request("", "spans", context_id, "", pieces=tuple(pieces))
            for item, role, index in carried:
                questioner.asked.link(item, role, request, index)

    def _isolated(self, placed: Sequence[tuple[int, Fact]]) -> None:
        """Ask each test fact by itself after the train facts that precede its slot, tokenised as in sequences."""
        questioner, glue = self.questioner, GLUE[self.options.between]
        setting = EicSetting(slots=len(self.options.slots))
        for slot, fact in placed:
            before, subject = self.examples[:slot], questioner.subject(fact)
            if self.options.separators == "apart":
                item, pieces = questioner.item(fact, ISOLATED, setting), [*self._apart(before), glue, subject, INSIDE]
                for number, label in enumerate(questioner.labels(fact)):
                    request = Request("", "spans", None, "", pieces=(*pieces, label))
                    questioner.asked.link(item, f"{CHOICE}{number}", request, len(pieces))
            else:
                context_id = questioner.asked.context(self._text(before))
                questioner.add(fact, ISOLATED, setting, Request("", "choices", context_id, glue + subject))

    def _text(self, facts: Sequence[Fact]) -> str:
        return "".join(self._apart(facts))

    def _apart(self, facts: Sequence[Fact]) -> list[str]:
        """Return train facts as a list of names and separators."""
        out: list[str] = []
        for subject, label in map(self.questioner.pair, facts):
            out += [*([GLUE[self.options.between]] if out else []), subject, INSIDE, label]
        return out


def _costs(batch: Batch) -> pl.DataFrame:
    """Return what a model reads in each experiment; a request that serves several facts counts once."""
    items, links, requests, contexts = map(as_frame, (batch.items, batch.links, batch.requests, batch.contexts))
    texts = pl.col("choices").list.len().fill_null(1).cast(pl.Int64)  # pieces form one text
    own = texts * pl.col("text").str.len_chars() + CHARACTERS
    requests = requests.select("request_id", "context_id", texts.alias("texts"), own.alias("own"))
    contexts = contexts.select("context_id", pl.col("text").str.len_chars().cast(pl.Int64).alias("context"))
    read = links.join(items, on="item").select("experiment", "request_id").unique().join(requests, on="request_id")
    read = read.join(contexts, on="context_id", how="left").with_columns(pl.col("context").fill_null(0))
    shared = pl.col("context").filter(pl.col("context_id").is_first_distinct())
    return read.group_by("experiment").agg(
        pl.col("texts").sum(),
        (pl.col("own") + pl.col("context") * pl.col("texts")).sum().alias("characters"),
        (pl.col("own").sum() + shared.sum()).alias("distinct"),
    )


def _as_choices(links: pl.DataFrame) -> pl.DataFrame:
    """Return facts that had one text for each choice as if one request had offered all choices, the true one last.

    Args:
        links: one a choice: its number is in ``role``, its text is the piece ``index`` of ``pieces``. A fact without
            an answer to one of its choices counts as unanswered.
    """
    own = links.with_columns(
        pl.col("role").cast(pl.String).str.strip_prefix(CHOICE).cast(pl.Int32).alias("choice"),
        pl.col("logprobs").list.get(pl.col("index"), null_on_oob=True).alias("logprob"),
        pl.col("pieces").list.get(pl.col("index"), null_on_oob=True).alias("text"),
    ).sort("item", "choice")
    return own.group_by("item", maintain_order=True).agg(
        pl.when((pl.col("status") == "refused").any())
        .then(pl.lit("refused"))
        .when(((pl.col("status") == "ok") & pl.col("logprob").is_not_null()).all())
        .then(pl.lit("ok"))
        .otherwise(pl.lit("failed"))
        .alias("status"),
        (pl.len() - 1).cast(pl.Int32).alias("index"),
        pl.col("logprob").alias("logprobs"),
        pl.col("text").alias("choices"),
    )


def agreement(judged: Judged) -> list[Measure]:
    """Return how well an experiment agrees with IC-LKE on the facts that both answered.

    Returns:
        ``same_prediction`` (share of equal choices), ``accuracy_difference`` (its accuracy minus IC-LKE's), ``kappa``
        (Cohen's, of correctness) and ``pearson`` (of the accuracies over relations).
    """
    answered = judged.where(hit=Not(None), in_context_hit=Not(None))
    ours, theirs = answered.frame["hit"].to_list(), answered.frame["in_context_hit"].to_list()
    means = answered.frame.group_by("relation", maintain_order=True).agg(
        pl.col("hit", "in_context_hit").cast(pl.Float64).mean()
    )
    estimates: dict[str, Estimate] = {
        "accuracy_difference": macro_difference(answered.frame, "hit", "in_context_hit", RELATION, SUBJECT),
        "kappa": cohens_kappa(ours, theirs),
        "pearson": pearson(means["hit"].to_list(), means["in_context_hit"].to_list()),
    }
    rows, of = answered.measures("same_prediction", "macro", "same"), ("hit", "in_context_hit")
    return rows + [answered.measure(metric, estimate, of=of) for metric, estimate in estimates.items()]
