"""FactEval as the house knows it."""

from almanac.rows import FactEvalVerdict, Question
from almanac.suites.facteval import measures
from almanac.suites.facteval.measuring import VERDICTS, measured
from almanac.suites.facteval.options import FactEvalOptions
from almanac.suites.facteval.questions import SUITE
from almanac.suites.facteval.requests import QUESTIONS, ask
from almanac.suites.method import Method

METHOD = Method(
    name=SUITE,
    summary="judge, choose and answer questions made from facts",
    options=FactEvalOptions,
    ask=ask,
    measure=measured,
    asked_beside={QUESTIONS: Question},
    measured_beside={VERDICTS: FactEvalVerdict},
    recovers=measures.recovers,
    chances=measures.chances,
)
