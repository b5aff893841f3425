"""What the page says of requests that failed: how many, of which model, and the commonest reason."""

import torch
from tests.edition.test_makers import CONFIGURATION
from tests.report import editions
from tests.report.test_answer import finding
from tests.suites.ic_lke.small_world import tiny_model

from almanac.cli import main
from almanac.models.answering import LocalAnswerer
from almanac.report.answer import sentences
from almanac.report.failing import NOT_FINITE, Failures
from almanac.rows import Entity, Relation, Template
from almanac.suites.headline import ABOVE_CHANCE, TOO_FEW


def test_the_page_names_a_model_whose_weights_are_no_numbers(tmp_path, capsys):
    broken = tiny_model.__wrapped__()
    with torch.no_grad():
        for weights in broken.network.parameters():
            weights.fill_(torch.nan)
    entities = [Entity(f"{kind}{at}", f"{kind}{at}", (), None) for kind in "QO" for at in range(60)]
    template = Template("t", "P1", "[X] was made by [Y].", "statement", "x", None, ())
    known = editions.Known([Relation("P1", "maker", *[None] * 4)], editions.facts_of(["P1"]), entities, [template])
    config = CONFIGURATION | {
        "sources": {"real": {"path": "facts"}},
        "datasets": {"invented": {"source": "real", **editions.SIZES}},
        "models": [{"name": "nan", "path": "nan"}],
    }
    layout = editions.asked(tmp_path, config, known)
    editions.answered(layout, lambda _: LocalAnswerer(broken))
    editions.measure(layout)
    said = "requests of nan failed: log-probability 1 of 6 is nan, which is no finite number of nats; " + NOT_FINITE
    assert f"All 4 {said}" in layout.page().read_text("utf-8")
    assert main(["report", "found", "--edition", str(layout.root)]) == 0
    printed = capsys.readouterr().out
    assert said in printed
    assert "answered up to 0" not in printed


def test_requests_that_failed_are_counted_and_a_model_without_any_answer_is_no_model_of_another_kind():
    some = Failures({"the server is busy.": 2, "no token": 1}, 240)
    rows = [finding("m", "asking", ABOVE_CHANCE), finding("n", "asking", TOO_FEW, facts=0)]
    found = sentences(rows, failed={"m": some, "n": Failures({"is nan, no finite number": 8}, 8)})
    assert found.found[1:] == [
        "3 of 240 requests of m failed, most often: the server is busy.",
        f"All 8 requests of n failed: is nan, no finite number; {NOT_FINITE}",
    ]
