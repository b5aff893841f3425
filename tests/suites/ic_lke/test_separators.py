import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_world import answered, text_of, world

from almanac.errors import AlmanacError
from almanac.rows import Evidence, Response, Template
from almanac.suites.ic_lke.separators.measures import measure
from almanac.suites.ic_lke.separators.options import SeparatorOptions
from almanac.suites.ic_lke.separators.requests import ask, infix_of, layout_of

OPTIONS = SeparatorOptions(shots=3)


def template(number, text, style="statement", origin="written"):
    return Template(f"born/{style}/{number}", "born", text, style, origin, None, ())


def by_setting(asked):
    """Return the full text up to the choices, and the choices, of each setting's first item."""
    found = {}
    for item, link in zip(asked.items, asked.links, strict=True):
        request = asked.requests[link.request_id]
        found.setdefault(item.setting, (text_of(asked, link.request_id), request.choices))
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


def test_the_space_the_released_codes_marks_and_each_infix_are_asked_of_the_same_facts():
    texts = ("[X] was born in [Y].", "[X] is from [Y].", "[X] was born in [Y], they say.", "[Y] bore [X].")
    data = dataclasses.replace(world(), templates=tuple(template(*row) for row in enumerate(texts)))
    asked = ask(data, OPTIONS)
    found = by_setting(asked)
    assert list(found) == ["space", "code", "written 1", "written 2"]
    texts = {setting: text for setting, (text, _) in found.items()}
    assert texts["written 1"].count(" was born in ") == 3
    assert texts["written 1"].endswith(" Smith was born in")
    assert texts["written 1"].replace(" was born in ", " ").removesuffix(" was born in") == texts["space"]
    assert texts["code"].count(" : ") == 3 + 1
    for item, link in zip(asked.items, asked.links, strict=True):
        assert asked.requests[link.request_id].choices[-1].split()[-1] in item.accepted
    of_setting = {}
    for item in asked.items:
        of_setting.setdefault(item.setting, set()).add(item.fact_id)
    assert len(set(map(frozenset, of_setting.values()))) == 1
    assert [(row.setting, row.text) for row in asked.beside["infixes"]] == [
        ("written 1", " was born in "),
        ("written 2", " is from "),
    ]


def test_mined_infixes_come_from_texts_of_facts_that_are_not_asked():
    data = world()
    names = {entity.entity_id: entity.label for entity in data.entities}
    texts = {"train": "{} grew up in {}.", "test": "{} owns half of {}."}
    evidence = tuple(
        Evidence(one.fact_id, texts[one.split].format(names[one.subject_id], names[one.object_key]))
        for one in data.facts
    )
    asked = ask(dataclasses.replace(data, evidence=evidence), OPTIONS)
    mined = [row.text for row in asked.beside["infixes"] if row.setting.startswith("mined")]
    assert mined == [" grew up in "]


def test_a_relation_without_an_infix_is_listed_and_still_asked_with_a_space():
    asked = ask(dataclasses.replace(world(), templates=(template(0, "Where was [X] born?", "question"),)), OPTIONS)
    assert set(by_setting(asked)) == {"space", "code"}
    [row] = asked.refused
    assert row.thing == "relation born"
    assert "no template of it has words between [X] and [Y]" in row.reason


def test_a_relation_that_is_not_there_is_named():
    with pytest.raises(AlmanacError, match="lke_separators: relations: 'bron' is not in the dataset, which has born"):
        ask(world(), OPTIONS.model_copy(update={"relations": ("bron",)}))


def test_differences_are_the_settings_accuracy_less_the_spaces_on_facts_that_both_answered():
    data = world(12, 4)
    asked = ask(data, OPTIONS)
    hits = {"space": (1, 0, 0, 1), "code": (0, 0, 0, 1), "written 1": (1, 1, 1, None)}
    responses, seen = [], dict.fromkeys(hits, 0)
    for item, link in zip(asked.items, asked.links, strict=True):
        hit = hits[item.setting][seen[item.setting]]
        seen[item.setting] += 1
        logprobs = (-1.0, -2.0, -3.0, -0.5 if hit else -9.0)
        status = "failed" if hit is None else "ok"
        responses.append(Response(link.request_id, status, None, None if hit is None else logprobs, (1,) * 4))
    found = measure(answered(asked, data, responses), OPTIONS)
    rows = {(row.setting, row.metric): row for row in found.measures if row.relation_id is None}
    assert rows["space", "accuracy"].value == 0.5
    assert rows["code", "difference"].value == -0.25
    assert (rows["written 1", "accuracy"].value, rows["written 1", "accuracy"].n_error) == (1, 1)
    assert rows["written 1", "difference"].value == pytest.approx(2 / 3)
    assert rows["infixes", "accuracy"].value == 1
    assert rows["infixes", "deviation"].value is None  # one infix has none
    by_relation = {(row.setting, row.metric): row.value for row in found.measures if row.relation_id == "born"}
    assert by_relation["code", "difference"] == -0.25
