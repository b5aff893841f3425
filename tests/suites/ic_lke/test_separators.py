"""Words between subject and object: what an infix is, where it stands, and what it changes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.suites.ic_lke.small_world import tables, world
from tests.suites.support import Trial, number, picks, silent

from almanac.errors import AlmanacError
from almanac.rows import Evidence, Template
from almanac.suites.data import Data
from almanac.suites.ic_lke.options import SeparatorOptions
from almanac.suites.ic_lke.separators import Separators, infix_of, layout_of

OPTIONS = SeparatorOptions(shots=3)


def template(number, text, style="statement", origin="written"):
    return Template(f"born/{style}/{number}", "born", text, style, origin, None, ())


@pytest.fixture
def ask(tmp_path):
    """Ask a dataset, some of its tables replaced."""
    return lambda options=OPTIONS, **rows: Trial(tmp_path, Separators(), Data.of(**tables() | rows), options).ask()


def by_separator(asked):
    """The questions of each separator, in the order of its facts."""
    found = {one.separator: [] for one in asked.settings().values()}
    for question in sorted(asked.questions(), key=lambda one: one.item.item):
        found[question.setting.separator].append(question)
    return found


@pytest.mark.parametrize(
    ("text", "infix"),
    [
        ("[X] was born in [Y].", " was born in "),
        ("The capital of [X] is [Y]", " is "),
        ("[X]'s home is [Y].", "'s home is "),
        ("[Y] is the capital of [X].", None),
        ("Where was [X] born?", None),
        ("[X] [Y]", None),
    ],
)
def test_an_infix_is_what_stands_between_subject_and_object(text, infix):
    assert infix_of(text) == infix


@given(st.text(alphabet="ab ,'", min_size=1, max_size=9).filter(str.strip))
def test_examples_and_questions_read_alike_and_no_cut_stands_behind_a_space(infix):
    layout = layout_of(infix)
    question = layout.question("Rome", False)
    assert question + layout.before_choice + "Italy" == layout.context([("Rome", "Italy")]) == f"Rome{infix}Italy"
    assert layout.before_choice.startswith(" ") or " " not in infix


def test_the_space_the_released_codes_marks_and_each_infix_are_asked_of_the_same_facts(ask):
    texts = ("[X] was born in [Y].", "[X] is from [Y].", "[X] was born in [Y], they say.", "[Y] bore [X].")
    asked = ask(templates=[template(*row) for row in enumerate(texts)])
    found = by_separator(asked)
    assert list(found) == ["space", "code", "written 1", "written 2"]
    text = {name: questions[0].text for name, questions in found.items()}
    assert text["written 1"].count(" was born in ") == 3
    assert text["written 1"].endswith(" Smith was born in")
    assert text["written 1"].replace(" was born in ", " ").removesuffix(" was born in") == text["space"]
    assert text["code"].count(" : ") == 3 + 1
    for question in asked.questions():
        assert question.request.choices[-1].split()[-1] in question.item.accepted
    assert len({tuple(one.item.fact_id for one in questions) for questions in found.values()}) == 1
    assert {name: questions[0].setting.infix for name, questions in found.items()} == {
        "space": False,
        "code": False,
        "written 1": True,
        "written 2": True,
    }
    assert [(row.separator, row.text) for row in asked.own("infixes")] == [
        ("written 1", " was born in "),
        ("written 2", " is from "),
    ]


def test_mined_infixes_come_from_texts_of_facts_that_are_not_asked(ask):
    rows = tables()
    names = {entity.entity_id: entity.label for entity in rows["entities"]}
    texts = {"train": "{} grew up in {}.", "test": "{} owns half of {}."}
    evidence = [
        Evidence(one.fact_id, texts[one.split].format(names[one.subject_id], names[one.object_key]))
        for one in rows["facts"]
    ]
    infixes = ask(evidence=evidence).own("infixes")
    assert [row.text for row in infixes if row.separator.startswith("mined")] == [" grew up in "]


def test_published_infixes_stand_between_as_their_file_has_them(ask, tmp_path):
    path = tmp_path / "prompts.jsonl"
    path.write_text(
        '{"relation_id":"born","kind":"hgp","text":"[X] saw the light in [Y] ."}\n'
        '{"relation_id":"born","kind":"mmp","text":"[X] , son of [Y]"}\n'
        '{"relation_id":"born","kind":"mmp","text":"[X] 113"}\n',
        "utf-8",
    )
    asked = ask(OPTIONS.model_copy(update={"published": str(path)}))
    found = {row.separator: row.text for row in asked.own("infixes")}
    assert {name: text for name, text in found.items() if not name.startswith(("written", "mined"))} == {
        "hgp 1": " saw the light in ",
        "mmp 1": " , son of ",  # the other has no object to stand before
    }
    assert by_separator(asked)["hgp 1"][0].text.endswith(" Smith saw the light in")


def test_a_relation_without_an_infix_is_listed_and_still_asked_with_a_space(ask):
    asked = ask(templates=[template(0, "Where was [X] born?", "question")])
    assert set(by_separator(asked)) == {"space", "code"}
    reason = "no template of it has words between [X] and [Y]; only other separators are asked"
    assert asked.refused() == [("relation born", reason)]


def test_a_relation_that_is_not_there_is_named(ask):
    with pytest.raises(AlmanacError, match="lke_separators: relations: 'bron' is not in the dataset, which has born"):
        ask(OPTIONS.model_copy(update={"relations": ("bron",)}))


def test_differences_are_a_separators_accuracy_less_the_spaces_on_facts_that_both_answered(tmp_path):
    hits = {"space": (1, 0, 0, 1), "code": (0, 0, 0, 1), "written 1": (1, 1, 1, None)}
    data = world(12, 4)
    facts = sorted(fact.fact_id for fact in data.facts if fact.split == "test")

    def reply(question):
        hit = hits[question.setting.separator][facts.index(question.item.fact_id)]
        return silent("failed") if hit is None else picks(-1 if hit else 0)(question)

    rows = Trial(tmp_path, Separators(), data, OPTIONS).ask().answer(reply).measures()
    assert number(rows, "accuracy", separator="space").value == 0.5
    assert number(rows, "difference", separator=("code", "space")).value == -0.25
    assert number(rows, "difference", separator=("code", "space"), relation="born").value == -0.25
    written = number(rows, "accuracy", separator="written 1")
    assert (written.value, written.n_error) == (1, 1)
    assert number(rows, "difference", separator=("written 1", "space")).value == pytest.approx(2 / 3)
    assert number(rows, "accuracy", infix=True).value == 1
    assert number(rows, "infix_difference", separator=("written 1", "space")).value == pytest.approx(2 / 3)
    assert number(rows, "deviation", infix=True).value is None, "one infix has none"


def test_of_several_infixes_a_facts_answers_are_averaged(tmp_path):
    rows = tables(12, 4)
    rows["templates"] = [template(0, "[X] was born in [Y]."), template(1, "[X] is from [Y].")]
    facts = sorted(fact.fact_id for fact in rows["facts"] if fact.split == "test")
    hits = {"space": "+---", "code": "----", "written 1": "++--", "written 2": "+-+-"}

    def reply(question):
        right = hits[question.setting.separator][facts.index(question.item.fact_id)] == "+"
        return picks(-1 if right else 0)(question)

    found = Trial(tmp_path, Separators(), Data.of(**rows), OPTIONS).ask().answer(reply).measures()
    both = number(found, "accuracy", infix=True)
    assert (both.value, both.n) == (0.5, 8)  # 1, ½, ½ and 0
    assert number(found, "infix_difference", separator=("written 1", "written 2", "space")).value == 0.25
    assert number(found, "deviation", infix=True).value == 0
