"""What is drawn and asked: worked sentences, draws that depend on the fact alone, refusals that name their template."""

from dataclasses import replace

import pytest

from almanac.dataset.names import ObjectNames
from almanac.errors import AlmanacError
from almanac.rows import Choices, Draw, Entity, Fact, Relation, Template
from almanac.suites.karr import strings
from almanac.suites.karr.draws import Drawn, Pools, check, final, sentences
from almanac.suites.karr.estimator import OFFICIAL, PAPER
from almanac.suites.karr.options import KarrOptions
from almanac.suites.karr.requests import NULL, PARAREL, ask, ask_drawn

BORN = {"Obama": "Honolulu", "Bach": "Eisenach", "Gauss": "Brunswick", "Curie": "Warsaw", "Goethe": "Frankfurt"}
NATION = {"Obama": "Honolulu", "Bach": "Eisenach"}  # of another relation, with objects in common
ALIASES = {"Obama": ("Barack Obama", "B. Obama", "President Obama", "Mr. Obama"), "Honolulu": ("Honolulu County",)}


def fact(relation, subject, found, split="test"):
    return Fact(f"{relation}|{subject}|{found}", relation, subject, found, None, None, None, (), split, "x")


FACTS = [fact("born", *pair) for pair in BORN.items()] + [fact("nation", *pair) for pair in NATION.items()]
ENTITIES = [
    Entity(name, name, ALIASES.get(name, ()), "city" if name in BORN.values() else None)
    for name in sorted({*BORN, *BORN.values()})
]
RELATIONS = [Relation(name, label, *[None] * 4) for name, label in (("born", "birthplace"), ("nation", "home"))]


def template(number, text, style="statement", relation="born"):
    return Template(f"{relation}/{number}", relation, text, style, "written", None, ())


TEMPLATES = [template(1, "[X] was born in [Y]."), template(2, "The cradle of [X] stood in", "prefix"),
             template(3, "[Y] is where [X] was born."), template(4, "Where was [X] born?", "question"),
             template(1, "[X] lives in [Y].", relation="nation")]  # fmt: skip


def asked(facts=FACTS, templates=TEMPLATES, entities=ENTITIES, relations=RELATIONS, **options):
    choices = [Choices(one.fact_id, ("Warsaw",), ("Warsaw",)) for one in facts]
    return ask(facts, entities, relations, templates, choices, KarrOptions(**options))


def draws_of(found):
    by_item = {}
    for row in found.draws:
        by_item.setdefault(row.item_id, []).append(row)
    return {item_id: Drawn.of(rows) for item_id, rows in by_item.items()}


OBAMA = Drawn(
    templates=("[X] was born in [Y].",),
    names=("Obama", "Barack Obama"),
    objects=("Honolulu",),
    subjects={"Bach": ("Bach",)},
    relations=({"nation": ("[X] lives in [Y] .",)}, {"nation": ("[X] lives in [Y] .",)}),
)


def test_a_gamma_is_its_beta_and_the_object_behind_it():
    plan = strings.plan(OBAMA, PAPER)
    assert [beta.text for beta in plan.own] == ["Obama was born in", "Barack Obama was born in"]
    gamma = plan.own[0].gammas[0]
    assert (gamma.text, gamma.text[gamma.start :]) == ("Obama was born in Honolulu", " Honolulu")
    assert [[beta.text for beta in betas] for betas in plan.subjects] == [["Bach was born in"]]
    assert plan.relations[0][0][0].gammas[0].text == "Obama lives in Honolulu"


def test_the_released_code_also_collects_what_holds_a_beta_anywhere_and_counts_other_tokens_there():
    # "Obama was born in" stands in "Barack Obama was born in Honolulu"; what is left of that is two words.
    own = strings.plan(OBAMA, OFFICIAL).own
    assert [[gamma.rest for gamma in beta.gammas] for beta in own] == [["Honolulu", "Barack  Honolulu"], ["Honolulu"]]
    assert [len(beta.gammas) for beta in strings.plan(OBAMA, PAPER).own] == [1, 1]


def test_the_released_code_scores_the_other_relations_words_and_full_stop():
    [[[beta]], _] = strings.plan(OBAMA, OFFICIAL).relations
    assert beta.text == "Obama"
    assert (beta.gammas[0].text, beta.gammas[0].rest) == ("Obama lives in Honolulu .", "lives in Honolulu .")


def test_an_object_that_begins_another_is_scored_by_itself():
    drawn = replace(OBAMA, objects=("Niger", "Nigeria"))
    for beta in strings.plan(drawn, PAPER).all():
        assert [gamma.text[gamma.start :] for gamma in beta.gammas] == [" Niger", " Nigeria"]


def test_equal_strings_are_asked_once_and_serve_every_fact():
    found = asked(modes=("paper",), null=False, baselines=False)
    texts = [(request.text, request.span_starts) for request in found.asked.requests.values()]
    assert len(texts) == len(set(texts))
    wanted = sum(len(list(strings.requests(drawn, PAPER))) for drawn in draws_of(found).values())
    assert len(texts) < wanted  # facts with one object share their denominators
    assert {link.request_id for link in found.asked.links} == set(found.asked.requests)


def test_the_formulas_ask_for_the_object_alone_where_the_released_code_reads_nothing():
    def spans_of(**options):
        return [one for one in asked(**options).asked.requests.values() if one.kind == "spans" and not one.pieces]

    for request in spans_of(modes=("paper",)):
        [start] = request.span_starts
        assert request.text[start:].strip() in {*BORN.values(), *ALIASES["Honolulu"]}
        assert not request.per_token
    for request in spans_of(modes=("official",)):
        assert request.span_starts[0] == 0 and request.per_token
    found = asked()
    assert {link.request_id for link in found.asked.links} == set(found.asked.requests)
    both = spans_of()
    assert len({(one.text, one.span_starts[-1]) for one in both}) == len(both)  # what both read is asked once
    assert any(one.span_starts[0] > 0 for one in both)


def test_a_draw_depends_on_its_fact_alone():
    whole, part = draws_of(asked()), draws_of(asked(sample=1))
    assert len(part) < len(whole)
    assert all(whole[item_id] == drawn for item_id, drawn in part.items())
    backwards = asked(facts=FACTS[::-1], templates=TEMPLATES[::-1], entities=ENTITIES[::-1])
    assert draws_of(backwards) == whole
    assert draws_of(asked(seed=1)) != whole


def test_the_label_is_always_drawn_in_the_paper_and_may_be_lost_in_the_code():
    lost = 0
    for seed in range(30):
        drawn = draws_of(asked(seed=seed, baselines=False, null=False))
        names = {mode: drawn[f"karr/{mode}/facts/born|Obama|Honolulu"].names for mode in ("paper", "official")}
        assert names["paper"][0] == "Obama"
        assert len(names["paper"]) == len(names["official"]) == 4
        lost += "Obama" not in names["official"]
    assert 0 < lost < 20  # one in five is expected


def test_a_subject_without_aliases_has_its_label_alone():
    drawn = draws_of(asked())["karr/paper/facts/born|Bach|Eisenach"]
    assert drawn.names == ("Bach",)
    assert drawn.objects == ("Eisenach",)
    assert "born" in drawn.relations[0]


def test_the_null_asks_an_object_that_is_not_true():
    found = asked()
    for item in found.asked.items:
        if item.setting == NULL:
            true = next(one.object_id for one in FACTS if one.fact_id == item.fact_id)
            assert item.accepted[0] != true
    assert sum(item.setting == NULL for item in found.asked.items) == 2 * len(FACTS)


def test_templates_that_do_not_end_in_the_object_are_refused_by_name():
    usable, refused = sentences(TEMPLATES, RELATIONS)
    assert usable["born"] == ("[X] was born in [Y].", "The cradle of [X] stood in [Y].")
    assert [(row.thing, row.reason) for row in refused] == [
        ("template born/3", "'[Y] is where [X] was born.' does not end in [Y]")
    ]
    assert asked().refused == refused


def test_a_propertys_other_names_are_drawn_where_they_are_wanted():
    alias = Template("born/alias/0", "born", "[X] birth city [Y].", "alias", "property_alias", None, ())
    assert sentences([*TEMPLATES, alias], RELATIONS)[0] == sentences(TEMPLATES, RELATIONS)[0]
    usable, _ = sentences([alias], RELATIONS, property_aliases=True)
    assert usable["born"] == ("[X] birth city [Y].",)
    texts = {request.text for request in asked(templates=[alias], property_aliases=True).asked.requests.values()}
    assert "Obama birth city Honolulu" in texts


def test_a_relation_without_a_template_gets_one_of_its_label_and_without_both_is_not_asked():
    usable, _ = sentences(TEMPLATES[2:4], RELATIONS)
    assert usable["born"] == ("The birthplace of [X] is [Y].",)
    found = asked(templates=TEMPLATES[-1:], relations=())
    assert {row.thing for row in found.refused} == {f"fact {one.fact_id}" for one in FACTS if one.relation_id == "born"}
    assert {item.relation_id for item in found.asked.items} == {"nation"}


@pytest.mark.parametrize(
    ("text", "good"),
    [
        ("[X] was born in [Y].", True), ("[X] was born in [Y] .", True), ("[X], [Y]", True),
        ("[X] was born in [Y] once.", False), ("[Y] bore [X].", False), ("born in [Y].", False),
        ("[X] and [X] in [Y]", False),
    ],
)  # fmt: skip
def test_which_templates_end_in_their_object(text, good):
    assert final(text) is good


def test_relations_are_filled_up_by_the_objects_type():
    pools = Pools(FACTS, ObjectNames.of(ENTITIES), {"born": ("a",), "nation": ("b",), "zoo": ("c",)}, KarrOptions())
    assert set(pools.drawn_relations(FACTS[3], "Warsaw")) == {"born", "nation", "zoo"}
    two = replace(pools, options=KarrOptions(relations=2))
    assert set(two.drawn_relations(FACTS[3], "Warsaw")) == {"born", "nation"}  # zoo has no object of its type


def test_lama_asks_the_first_template_and_pararel_all_of_them_without_other_true_objects():
    facts = [*FACTS, fact("born", "Obama", "Warsaw")]
    found = asked(facts=facts)
    links = {}
    for link in found.asked.links:
        links.setdefault(link.item_id, []).append(link)
    [lama] = links["karr/lama_at_1/facts/born|Obama|Honolulu"]
    assert len(links[f"karr/{PARAREL}/facts/born|Obama|Honolulu"]) == 2
    request = found.asked.requests[lama.request_id]
    assert request.text in ("Obama was born in [MASK]", "The cradle of Obama stood in [MASK]")
    assert request.choices[lama.index] == "Honolulu"
    assert "Warsaw" in request.exclude


def test_only_lamas_blank_asks_for_ranks_unless_a_run_may_make_any_of_them_lamas():
    """Ranks among all tokens cost more than a blank's choices, and ParaRel reads the choices alone."""
    item_id = f"karr/{PARAREL}/facts/born|Obama|Honolulu"
    for resamples, ranked in ((0, [True, False]), (2, [True, True])):
        found = asked(resamples=resamples)
        links = sorted((link.role, link.request_id) for link in found.asked.links if link.item_id == item_id)
        blanks = [found.asked.requests[request_id] for _, request_id in links]
        assert [request.top_k is not None for request in blanks] == ranked
        assert [bool(request.exclude) for request in blanks] == ranked
        assert len({request.choices for request in blanks}) == 1


def test_a_mode_that_is_named_twice_is_asked_once():
    once, twice = asked(modes=("official",)), asked(modes=("official", "official"))
    assert (once.asked.items, once.asked.links, once.draws) == (twice.asked.items, twice.asked.links, twice.draws)


def test_given_draws_are_asked_and_nothing_else():
    rows = [row for row in asked(baselines=False).draws if row.item_id.endswith("Obama|Honolulu")]
    again = ask_drawn(check(rows, "draws.jsonl"))
    assert again.draws == rows
    whole = asked().asked.requests
    assert set(again.asked.requests) <= set(whole)
    assert {item.experiment for item in again.asked.items} == {"paper", "official"}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (Draw("karr/paper/facts/f", "template", 0, None, None, "[Y] bore [X]."), "'[Y] bore [X].' does not end in [Y]"),
        (Draw("karr/paper/facts/f", "word", 0, None, None, "x"), "word is no role; allowed are template, name"),
        (Draw("karr/paper/facts/f", "subject", 0, None, None, "x"), "lacks `of`"),
        (Draw("karr/paper/facts/f", "name", 0, None, None, " "), "the text is empty"),
        (Draw("karr/mine/facts/f", "name", 0, None, None, "x"), "write karr/MODE/SETTING/FACT"),
        (Draw("karr/paper/facts/f", "name", 0, None, None, "x"), "has no row of the role template or object"),
        (
            Draw("karr/paper/facts/born|Obama|Honolulu", "relation", 99, "r", "Else", "[X] [Y]"),
            "is none of the subject",
        ),
    ],
)
def test_a_wrong_draw_is_refused_by_its_item(row, message):
    good = [one for one in asked(null=False).draws if one.item_id == row.item_id]
    with pytest.raises(AlmanacError) as error:
        check([*good, row], "draws.jsonl")
    assert message in str(error.value) and row.item_id in str(error.value)
