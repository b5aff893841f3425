"""From a model's responses, or answers from elsewhere, to verdicts in both modes and outcomes in mode `paper`."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from almanac.rows import FactEvalVerdict, Item, Link, Outcome, OutcomeKind, Question, Response
from almanac.suites.facteval import official, scoring
from almanac.suites.facteval.abstention import Abstentions, load
from almanac.suites.facteval.longer import NO_LONGER, LongerNames
from almanac.suites.facteval.options import FactEvalOptions
from almanac.suites.facteval.scoring import Verdict
from almanac.suites.facteval.text import mentions
from almanac.suites.judging import responses_of

PAPER, OFFICIAL = "paper", "official"
MODES = (PAPER, OFFICIAL)


@dataclass(frozen=True)
class Answer:
    """What a model said to a question: a text, or why there is none (``missing`` where it refused, else ``error``)."""

    text: str | None
    outcome: OutcomeKind = "error"
    reason: str | None = None


@dataclass(frozen=True)
class Scorer:
    """Both modes with their lists of abstentions.

    Attributes:
        own: the phrases of mode ``paper``.
        published: those of mode ``official``.
        separator: at what the released scorer reads choices back out of the prompt.
        longer: names of the dataset's objects in which a true one's name does not count, in mode ``paper``.
    """

    own: Abstentions
    published: Abstentions
    separator: official.Separator = "dash"
    longer: LongerNames = NO_LONGER

    @classmethod
    def of(cls, options: FactEvalOptions, longer: LongerNames = NO_LONGER) -> "Scorer":
        """Return the scorer that the settings describe; without a published list the own one serves, less `beyond`."""
        own = load(Path(options.abstentions) if options.abstentions else None)
        published = load(Path(options.official_abstentions)) if options.official_abstentions else own.released()
        return cls(own, published, options.official_choices, longer)

    def judge(self, mode: str, question: Question, answer: str) -> Verdict:
        """Judge an answer in a mode."""
        if mode == PAPER:
            return scoring.judge(question, answer, self.own, self.longer)
        return official.judge(question, answer, self.published, self.separator)


def answers_of(
    model: str, items: Sequence[Item], links: Iterable[Link], responses: Iterable[Response]
) -> dict[str, Answer]:
    """Return a model's answers by item.

    Raises:
        AlmanacError: a request has no response.
    """
    request_of = {link.item_id: link.request_id for link in links}
    answered = responses_of(model, set(request_of.values()), responses)
    out = {}
    for item in items:
        response = answered[request_of[item.item_id]]
        if response.status == "ok" and response.texts:
            out[item.item_id] = Answer(response.texts[0])
        else:
            refused = response.status == "refused"
            out[item.item_id] = Answer(None, "missing" if refused else "error", response.reason or response.status)
    return out


def verdicts(
    model: str,
    questions: Sequence[Question],
    answers: Mapping[str, Answer],
    scorer: Scorer,
    modes: Sequence[str] = MODES,
) -> list[FactEvalVerdict]:
    """Judge every question in every mode, in the order of the questions."""
    rows = []
    for question in questions:
        answer = answers[question.item_id]
        for mode in dict.fromkeys(modes):
            names = (model, question.item_id, mode)
            if answer.text is None:
                credit = 0.0 if answer.outcome == "missing" else None
                rows.append(FactEvalVerdict(*names, answer.outcome, None, answer.reason, credit, None, None, None))
            else:
                found = scorer.judge(mode, question, answer.text)
                follows = _follows(question, answer.text, scorer.longer if mode == PAPER else NO_LONGER)
                measured = (found.credit, found.precision, found.recall)
                rows.append(FactEvalVerdict(*names, found.outcome, found.said, found.reason, *measured, follows))
    return rows


def _follows(question: Question, answer: str, longer: LongerNames) -> bool | None:
    """Whether an answer names the wrong object that the passage states, other than within the name of another.

    None where there is no such object.
    """
    stated = question.stated
    if stated is None or question.type == "tfq":
        return None
    said = scoring.of_lines(scoring.own_turn(question, answer))
    right = [span for name in question.gold for span in mentions(name, said)]
    others = longer.beside((stated, *longer.called.get(stated, ())))
    return any(
        not scoring.within_longer(span, right) and not others.hold(span, said) for span in mentions(stated, said)
    )


def outcomes(found: Iterable[FactEvalVerdict], answers: Mapping[str, Answer], mode: str = PAPER) -> list[Outcome]:
    """Return the verdicts of one mode as outcomes.

    The prediction is the whole answer. The score is the credit: 1 for correct, of a short answer F1 over objects, 0
    for whatever else was answered or not, none for an error.
    """
    return [
        Outcome(row.model, row.item_id, answers[row.item_id].text, row.outcome, row.credit, None)
        for row in found
        if row.mode == mode
    ]
