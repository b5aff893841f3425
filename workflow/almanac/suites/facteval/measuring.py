"""FactEval of one model on one dataset: verdicts in both modes, outcomes, measures."""

from collections.abc import Mapping, Sequence

from almanac.dataset.names import ObjectNames
from almanac.rows import Question
from almanac.suites.facteval.judging import Answer, Scorer, answers_of, outcomes, verdicts
from almanac.suites.facteval.longer import LongerNames
from almanac.suites.facteval.measures import measure
from almanac.suites.facteval.options import FactEvalOptions
from almanac.suites.facteval.questions import SAQ
from almanac.suites.method import Answered, Data, Measured

VERDICTS = "verdicts"


def measured(answered: Answered, options: FactEvalOptions) -> Measured:
    """Judge a model's answers and measure them.

    Args:
        answered: what was asked and answered, with the questions beside.
        options: the settings; of these the lists of abstentions are read.

    Raises:
        AlmanacError: a request has no response, or a list cannot be read.
    """
    answers = answers_of(answered.model, answered.items, answered.links, answered.responses)
    return scored(answered, answers, options)


def scored(answered: Answered, answers: Mapping[str, Answer], options: FactEvalOptions) -> Measured:
    """Judge and measure answers, wherever they come from.

    Args:
        answered: what was asked, with the questions beside; its requests and responses are not read.
        answers: one an item.
        options: modes and lists of abstentions. Outcomes are those of the first mode.
    """
    questions = answered.beside["questions"]
    longer = longer_names(answered.data, questions)
    found = verdicts(answered.model, questions, answers, Scorer.of(options, longer), options.modes)
    rows = measure(answered.dataset, answered.items, questions, found, answered.data.facts, answered.exposures)
    return Measured(outcomes(found, answers, options.modes[0]), rows, {VERDICTS: found})


def longer_names(data: Data, questions: Sequence[Question]) -> LongerNames:
    """Return the names of a dataset's objects that hold what short answers are accepted, or what passages state."""
    names = ObjectNames.of(data.entities)
    objects = sorted({fact.object_id for fact in data.facts if fact.object_id is not None})
    accepted = {name for question in questions if question.type == SAQ for name in question.gold}
    stated = {question.stated for question in questions if question.stated is not None}
    called: dict[str, tuple[str, ...]] = {}
    for key in objects:
        if (label := names.label(key)) in stated:
            called[label] = (*called.get(label, ()), *names.names(key))
    return LongerNames.of(accepted | stated, (name for key in objects for name in names.names(key)), called)
