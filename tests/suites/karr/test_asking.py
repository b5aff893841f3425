"""What is drawn and asked: worked sentences, draws that depend on the fact alone, refusals that name their template."""

from dataclasses import replace

import pytest
from tests.suites.karr import worlds
from tests.suites.karr.worlds import World

from almanac.errors import AlmanacError
from almanac.rows import Choices, Entity, Fact, Relation, Template
from almanac.suites.data import Data
from almanac.suites.karr import strings
from almanac.suites.karr.asking import FACTS as TRUE
from almanac.suites.karr.asking import NULL, SPURIOUS
from almanac.suites.karr.baselines import PARAREL
from almanac.suites.karr.draws import FactDraw, Pools, pools_of, sentences, usable
from almanac.suites.karr.estimator import OFFICIAL, PAPER
from almanac.suites.karr.options import KarrOptions

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
    return worlds.asked(World(facts, entities, list(relations), templates, choices), KarrOptions(**options))


def linked(found):
    """Return the requests that serve any item."""
    return {link.request_id for links in found.links.values() for link in links}


OBAMA = FactDraw(
    templates=("[X] was born in [Y].",),
    names=("Obama", "Barack Obama"),
    objects=("Honolulu",),
    subjects={"Bach": ("Bach",)},
    relations=({"nation": ("[X] lives in [Y] .",)}, {"nation": ("[X] lives in [Y] .",)}),
)


def test_a_draw_can_be_read_from_its_rows_in_any_order():
    drawn = replace(OBAMA, subjects={"Bach": ("Bach", "J. S. Bach", "Johann Sebastian"), "Ada": ("Ada", "Lovelace")})
    rows = drawn.rows(7)
    assert FactDraw.of(rows) == FactDraw.of(rows[::-1]) == drawn
    assert len({(row.item, row.role, row.position) for row in rows}) == len(rows)


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
    texts = [(request.text, request.span_starts) for request in found.requests.values()]
    assert len(texts) == len(set(texts))
    wanted = sum(len(list(strings.Sentences().requests(drawn, PAPER))) for drawn in found.draws.values())
    assert len(texts) < wanted  # facts with one object share their denominators
    assert linked(found) == set(found.requests)


def test_the_formulas_ask_for_the_object_alone_where_the_released_code_reads_nothing():
    def spans_of(**options):
        return [one for one in asked(**options).requests.values() if one.kind == "spans" and not one.pieces]

    for request in spans_of(modes=("paper",)):
        [start] = request.span_starts
        assert request.text[start:].strip() in {*BORN.values(), *ALIASES["Honolulu"]}
        assert not request.per_token
    for request in spans_of(modes=("official",)):
        assert request.span_starts[0] == 0 and request.per_token
    found = asked()
    assert linked(found) == set(found.requests)
    both = spans_of()
    assert len({(one.text, one.span_starts[-1]) for one in both}) == len(both)  # what both read is asked once
    assert any(one.span_starts[0] > 0 for one in both)


def test_a_draw_depends_on_its_fact_alone():
    whole, part = asked().draws, asked(sample=1).draws
    assert len(part) < len(whole)
    assert all(whole[name] == drawn for name, drawn in part.items())
    backwards = asked(facts=FACTS[::-1], templates=TEMPLATES[::-1], entities=ENTITIES[::-1])
    assert backwards.draws == whole
    assert asked(seed=1).draws != whole


def test_a_file_names_the_false_object_of_each_relation(tmp_path):
    """Every fact of the relation is asked with it, but those of which it is true."""
    path = tmp_path / "objects.jsonl"
    path.write_text('{"relation_id": "a", "object": "AO3"}\n{"relation_id": "b", "object": "Atlantis"}\n', "utf-8")
    data, _ = worlds.world()
    found = worlds.asked(data, KarrOptions(spurious_objects=str(path), modes=("paper",), null=False))
    accepted = {name[2]: names for name, names in found.accepted.items() if name[:2] == ("paper", SPURIOUS)}
    true = {fact.fact_id for fact in data.facts if fact.object_id == "ao3"}
    assert accepted == {
        fact.fact_id: ("ao3",) if fact.relation_id == "a" else ("Atlantis",)
        for fact in data.facts
        if fact.fact_id not in true
    }
    refused = {row.thing: row.reason for row in found.refused}
    assert set(refused) == {f"fact {fact_id}, spurious" for fact_id in true}
    assert all("which is true of its subject" in reason for reason in refused.values())
    with pytest.raises(ValueError, match="leave out one of them"):
        KarrOptions(spurious=True, spurious_objects=str(path))
    path.write_text('{"relation_id": "c", "object": "x"}\n', "utf-8")
    with pytest.raises(AlmanacError, match=r"objects\.jsonl: c: the dataset has no such relation; it has a, b"):
        worlds.asked(data, KarrOptions(spurious_objects=str(path)))


def test_what_there_is_to_ask_is_counted():
    """The paper's Table 1: relations with templates, things with their names."""
    data, _ = worlds.world(aliases=2)
    rows = {row.what: (row.count, row.names) for row in pools_of(data.data, KarrOptions())[0].coverage(5)}
    assert rows == {
        "relations": (2, 4),
        "facts": (72, None),
        "asked": (5, None),
        "subjects": (72, 3 * 72),
        "objects": (24, 3 * 24),
    }


def test_the_label_is_always_drawn_in_the_paper_and_may_be_lost_in_the_code():
    lost = 0
    for seed in range(30):
        drawn = asked(seed=seed, baselines=False, null=False).draws
        names = {mode: drawn[mode, TRUE, "born|Obama|Honolulu"].names for mode in ("paper", "official")}
        assert names["paper"][0] == "Obama"
        assert len(names["paper"]) == len(names["official"]) == 4
        lost += "Obama" not in names["official"]
    assert 0 < lost < 20  # one in five is expected


def test_a_subject_without_aliases_has_its_label_alone():
    drawn = asked().draws["paper", TRUE, "born|Bach|Eisenach"]
    assert drawn.names == ("Bach",)
    assert drawn.objects == ("Eisenach",)
    assert "born" in drawn.relations[0]


def test_the_null_asks_an_object_that_is_not_true():
    null = {fact_id: names for (_, of, fact_id), names in asked().accepted.items() if of == NULL}
    assert null.keys() == {one.fact_id for one in FACTS}
    assert all(one.object_id not in null[one.fact_id] for one in FACTS)


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
    texts = {request.text for request in asked(templates=[alias], property_aliases=True).requests.values()}
    assert "Obama birth city Honolulu" in texts


def test_a_relation_without_a_template_gets_one_of_its_label_and_without_both_is_not_asked():
    usable, _ = sentences(TEMPLATES[2:4], RELATIONS)
    assert usable["born"] == ("The birthplace of [X] is [Y].",)
    found = asked(templates=TEMPLATES[-1:], relations=())
    assert {row.thing for row in found.refused} == {f"fact {one.fact_id}" for one in FACTS if one.relation_id == "born"}
    assert {item.relation_id for item in found.items.values()} == {"nation"}


@pytest.mark.parametrize(
    ("text", "good"),
    [
        ("[X] was born in [Y].", True), ("[X] was born in [Y] .", True), ("[X], [Y]", True),
        ("[X]生于[Y]。", True), ("[X]は[Y]で生まれた。", False),
        ("[X] was born in [Y] once.", False), ("[Y] bore [X].", False), ("born in [Y].", False),
        ("[X] and [X] in [Y]", False),
    ],
)  # fmt: skip
def test_which_templates_end_in_their_object(text, good):
    assert usable(text) is good


def test_relations_are_filled_up_by_the_objects_type():
    templates = {"born": ("a",), "nation": ("b",), "zoo": ("c",)}
    pools = Pools(Data.of(facts=FACTS, entities=ENTITIES), templates, KarrOptions())
    assert set(pools.drawn_relations(FACTS[3], "Warsaw")) == {"born", "nation", "zoo"}
    two = replace(pools, options=KarrOptions(relations=2))
    assert set(two.drawn_relations(FACTS[3], "Warsaw")) == {"born", "nation"}  # zoo has no object of its type


def test_lama_asks_the_first_template_and_pararel_all_of_them_without_other_true_objects():
    facts = [*FACTS, fact("born", "Obama", "Warsaw")]
    found = asked(facts=facts)
    [lama] = found.links["lama_at_1", TRUE, "born|Obama|Honolulu"]
    assert len(found.links[PARAREL, TRUE, "born|Obama|Honolulu"]) == 2
    request = found.requests[lama.request_id]
    assert request.text in ("Obama was born in [MASK]", "The cradle of Obama stood in [MASK]")
    assert request.choices[lama.index] == "Honolulu"
    assert "Warsaw" in request.exclude
    others = [
        one if one.entity_id != "Warsaw" else Entity("Warsaw", "Warsaw", ("Warszawa",), "city") for one in ENTITIES
    ]
    again = asked(facts=facts, entities=others)
    [lama] = again.links["lama_at_1", TRUE, "born|Obama|Honolulu"]
    assert {"Warsaw", "Warszawa"} <= {*again.requests[lama.request_id].exclude}


def test_only_lamas_blank_asks_for_ranks_unless_a_run_may_make_any_of_them_lamas():
    """Ranks among all tokens cost more than a blank's choices, and ParaRel reads the choices alone."""
    for resamples, ranked in ((0, [True, False]), (2, [True, True])):
        found = asked(resamples=resamples)
        links = found.links[PARAREL, TRUE, "born|Obama|Honolulu"]
        blanks = [found.requests[link.request_id] for link in sorted(links, key=lambda link: link.role)]
        assert [request.top_k is not None for request in blanks] == ranked
        assert [bool(request.exclude) for request in blanks] == ranked
        assert len({request.choices for request in blanks}) == 1


def test_a_dataset_of_which_nothing_can_be_asked_gives_no_item_and_no_number():
    world = World(FACTS[:2], ENTITIES)
    asking = worlds.answered(world, None, lambda text, shown: -1.0, KarrOptions())
    assert len(worlds.asked(world).refused) == 2
    assert asking.measured().rows == []
