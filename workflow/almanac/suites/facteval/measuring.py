"""FactEval of one model on one dataset: verdicts in both modes, outcomes, measures."""

from collections.abc import Mapping

from almanac.suites.facteval.judging import Answer, Scorer, answers_of, outcomes, verdicts
from almanac.suites.facteval.measures import measure
from almanac.suites.facteval.options import FactEvalOptions
from almanac.suites.method import Answered, Measured

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
    found = verdicts(answered.model, questions, answers, Scorer.of(options), options.modes)
    rows = measure(answered.dataset, answered.items, questions, found, answered.data.facts, answered.exposures)
    return Measured(outcomes(found, answers, options.modes[0]), rows, {VERDICTS: found})
