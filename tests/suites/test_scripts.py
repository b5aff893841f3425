"""Facts whose sentences have no spaces: every suite asks them as they are written."""

import pytest
from tests.suites.support import Trial

from almanac.rows import Choices, Entity, Fact, Relation, Template
from almanac.suites.belief.templates import of_rows
from almanac.suites.data import Data
from almanac.suites.facteval.questions import wordings as facteval_wordings
from almanac.suites.head_to_tail.templates import wordings as head_to_tail_wordings
from almanac.suites.ic_lke.options import IcLkeOptions, PromptsOptions
from almanac.suites.ic_lke.prompts import Prompts
from almanac.suites.ic_lke.suite import IcLke
from almanac.suites.karr.options import KarrOptions
from almanac.suites.karr.suite import Karr

CAPITALS = {"中国": "北京", "法国": "巴黎", "日本": "东京", "韩国": "首尔", "秘鲁": "利马"}
TRAIN = ("中国", "法国")
RELATIONS = [Relation("首都", "首都", None, None, None, None)]
STATEMENT, QUESTION, PREFIX = "[X]的首都是[Y]。", "[X]的首都是哪里？", "[X]有首都"


def template(style, text):
    return Template(f"首都/{style}", "首都", text, style, "written", None, ())


TEMPLATES = [template("statement", STATEMENT), template("question", QUESTION), template("prefix", PREFIX)]
DATA = Data.of(
    entities=[Entity(name, name, (), None) for pair in CAPITALS.items() for name in pair],
    relations=RELATIONS,
    facts=[
        Fact(f"首都|{land}", "首都", land, city, None, None, None, (), "train" if land in TRAIN else "test", "test")
        for land, city in CAPITALS.items()
    ],
    choices=[Choices(f"首都|{land}", ("北京",), ("北京",)) for land in CAPITALS if land not in TRAIN],
    templates=TEMPLATES,
)


@pytest.fixture
def texts(tmp_path):
    """Return what a suite asks: each text with its choices."""

    def asked(suite, options):
        found = Trial(tmp_path, suite, DATA, options).ask().requests().values()
        return {(request.kind, request.text): request.choices for request in found}

    return asked


def test_karr_reads_the_sentences_and_no_label(texts):
    found = texts(Karr(), KarrOptions())
    assert {("spans", "秘鲁的首都是利马"), ("spans", "秘鲁有首都利马"), ("fill", "秘鲁的首都是[MASK]")} <= found.keys()
    assert not any(" " in text for _, text in found)
    assert not Karr().by_label(DATA, KarrOptions())


def test_ic_lke_fills_the_blank_of_its_sentence(texts):
    found = texts(IcLke(), IcLkeOptions(shots=2, cloze=True))
    assert found["fill", "秘鲁的首都是[MASK]。"] == ("北京", "利马")


def test_prompts_take_their_choices_without_a_space(texts):
    found = texts(Prompts(), PromptsOptions(kinds=("written",), variants=("clean",)))
    assert found["choices", "秘鲁的首都是"] == ("北京", "利马")
    assert found["choices", "秘鲁有首都"] == ("北京", "利马")


def test_the_methods_that_ask_questions_find_theirs():
    assert [one.text for one in of_rows(TEMPLATES)["首都"]] == [STATEMENT, f"{QUESTION} [Y]."]
    assert not facteval_wordings(RELATIONS, TEMPLATES, 1)["首都"].by_label
    (wording,), reason = head_to_tail_wordings(RELATIONS[0], TEMPLATES, ())
    assert (wording.question, wording.cloze, reason) == (QUESTION, STATEMENT, None)
