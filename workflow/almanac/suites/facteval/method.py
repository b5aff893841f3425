"""FactEval as the house knows it."""

from collections.abc import Callable

from almanac.rows import FactEvalVerdict, Question, QuestionTexts
from almanac.suites.asking import Asked
from almanac.suites.facteval import answers, behind, measures, requests
from almanac.suites.facteval.analyses import texts
from almanac.suites.facteval.measuring import VERDICTS, measured
from almanac.suites.facteval.options import FactEvalOptions
from almanac.suites.facteval.questions import SUITE
from almanac.suites.facteval.requests import QUESTIONS
from almanac.suites.method import Data, Method

TEXTS = "texts"


def ask(data: Data, options: FactEvalOptions, on_step: Callable[[], object]) -> Asked:
    """Ask a dataset (`requests.ask`) and say how much the questions repeat each other."""
    asked = requests.ask(data, options, on_step)
    asked.beside[TEXTS] = texts(asked.beside[QUESTIONS])
    return asked


METHOD = Method(
    name=SUITE,
    summary="judge, choose and answer questions made from facts",
    options=FactEvalOptions,
    ask=ask,
    measure=measured,
    asked_beside={QUESTIONS: Question, TEXTS: QuestionTexts},
    measured_beside={VERDICTS: FactEvalVerdict},
    recovers=measures.recovers,
    chances=measures.chances,
    behind=behind.behind,
    marks=behind.marks,
    readings=behind.readings,
    given=answers.measure,
)
