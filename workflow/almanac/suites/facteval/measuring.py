"""FactEval of one model on one dataset: verdicts in both modes, outcomes, measures."""

from almanac.suites.facteval.judging import Scorer, answers_of, outcomes, verdicts
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
    questions = answered.beside["questions"]
    answers = answers_of(answered.model, answered.items, answered.links, answered.responses)
    found = verdicts(answered.model, questions, answers, Scorer.of(options))
    rows = measure(answered.dataset, answered.items, questions, found, answered.data.facts, answered.exposures)
    return Measured(outcomes(found, answers), rows, {VERDICTS: found})
