"""The facts that ship: enough of them, true to what their tables say of themselves, and possible."""

import json
import re
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from almanac import tables
from almanac.dataset.multiple_choice import build
from almanac.dataset.names import ObjectNames
from almanac.dataset.options import DatasetOptions
from almanac.dataset.text import normalise
from almanac.rows import Rating
from almanac.sources.files import read_folder
from almanac.suites.belief.names import EntityNames
from almanac.suites.belief.templates import shipped
from almanac.suites.data import Data
from almanac.suites.facteval.reading.names import fold
from almanac.tables import hash_order

FOLDER = Path(__file__).parents[2] / "resources" / "facts"
SHIPPED = read_folder(FOLDER, "shipped")
LABELS = {entity.entity_id: entity.label for entity in SHIPPED.entities}
OBJECTS: dict[tuple[str, str], set[str]] = defaultdict(set)
for one in SHIPPED.facts:
    OBJECTS[one.relation_id, one.subject_id].add(one.object_key)
CONTINENTS = {entity.entity_id for entity in SHIPPED.entities if entity.type == "continent"}
CODES = {"US"}  # asked for in capitals


def pairs(relation: str) -> dict[str, set[str]]:
    return {subject: objects for (name, subject), objects in OBJECTS.items() if name == relation}


def test_there_are_enough_of_every_kind():
    assert len(SHIPPED.relations) >= 24
    assert len(SHIPPED.facts) >= 2000
    assert {relation.cardinality for relation in SHIPPED.relations} == {"1-1", "N-1", "N-M"}
    assert {"date", "quantity"} <= {fact.datatype for fact in SHIPPED.facts}
    assert {fact.relation_id for fact in SHIPPED.facts} == {relation.relation_id for relation in SHIPPED.relations}


@pytest.mark.parametrize("relation", SHIPPED.relations, ids=lambda relation: relation.relation_id)
def test_the_cardinality_is_that_of_the_facts(relation):
    objects = pairs(relation.relation_id)
    if relation.cardinality in ("1-1", "N-1"):
        assert [subject for subject, found in objects.items() if len(found) > 1] == []
    if relation.cardinality == "1-1":
        counts = Counter(key for found in objects.values() for key in found)
        assert [key for key, count in counts.items() if count > 1] == []


@pytest.mark.parametrize("relation", SHIPPED.relations, ids=lambda relation: relation.relation_id)
def test_every_relation_can_be_said_in_four_ways_asked_in_two_and_begun_in_one(relation):
    own = [template for template in SHIPPED.templates if template.relation_id == relation.relation_id]
    assert Counter(template.style for template in own) == {"statement": 4, "question": 2, "prefix": 1}
    assert len({template.text for template in own}) == 7
    for template in own:
        assert template.text.count("[Y]") == (template.style == "statement"), template.text
        assert template.text.endswith("?") == (template.style == "question"), template.text
        if template.style == "prefix":
            assert template.text == template.text.rstrip(" .")


# Names that are right for each of their bearers: none of these is a wrong choice for another (`exclude_true`).
SHARED = {
    *("bass", "cfa franc", "football", "rouble", "skiing"),
    *("frederick iii", "hans holbein", "henry iv", "johann strauss"),
}


def test_two_things_of_one_type_share_a_name_only_where_it_is_right_for_both():
    bearers = defaultdict(set)
    for entity in SHIPPED.entities:
        for name in (entity.label, *entity.aliases):
            bearers[entity.type, normalise(name)].add(entity.entity_id)
    units = {entity.label.split()[-1] for entity in SHIPPED.entities if entity.type == "currency"}
    shared = {name for (_, name), ids in bearers.items() if len(ids) > 1}
    assert {normalise(label) for label in LABELS.values()}.isdisjoint(shared - units)
    assert shared - units == SHARED
    kinds = defaultdict(set)
    for kind, name in bearers:
        kinds[name].add(kind)
    assert sum(len(found) > 1 for found in kinds.values()) == 39, "names of several types; docs/facts.md says how many"


@pytest.mark.parametrize("relation", SHIPPED.relations, ids=lambda relation: relation.relation_id)
def test_no_two_subjects_of_a_relation_are_called_the_same(relation):
    named = Counter(normalise(LABELS[subject]) for subject in pairs(relation.relation_id))
    assert [name for name, count in named.items() if count > 1] == []


# Words that stand in answers which say nothing: a name that is one would be found in them.
WORDS = frozenset(
    (
        *("yes", "no", "not", "can", "cannot", "could", "may", "might", "will", "would", "do", "does", "who", "whom"),
        *("what", "which", "when", "where", "why", "how", "here", "there", "it", "is", "was", "are", "be", "been"),
        *("am", "this", "that", "these", "those", "the", "a", "an", "and", "or", "but", "if", "so", "as", "of", "in"),
        *("on", "at", "to", "for", "from", "by", "with", "i", "you", "he", "she", "we", "they", "me", "him", "her"),
        *("us", "them", "my", "your", "his", "its", "our", "their", "one", "two", "first", "last", "new", "old"),
        *("good", "best", "male", "female", "man", "woman", "king", "queen", "love", "air", "rare", "common"),
        *("television", "europe", "journey", "run", "boss", "ye", "song", "band", "city", "country", "year", "name"),
    )
)


def test_no_name_of_an_object_is_a_word_of_any_answer():
    """Yes is a band and Malé a city: an answer that holds the word does not mean them. Codes are read as codes."""
    objects = {fact.object_id for fact in SHIPPED.facts}
    asked = [entity for entity in SHIPPED.entities if entity.entity_id in objects - CONTINENTS]
    names = {(entity.label, name) for entity in asked for name in (entity.label, *entity.aliases) if name not in CODES}
    assert {(label, name) for label, name in names if fold(name) in WORDS} == set()


def test_an_object_is_known_by_its_name_without_accents_too():
    objects = {fact.object_id for fact in SHIPPED.facts}
    marked = [
        one
        for one in SHIPPED.entities
        if one.entity_id in objects and fold(one.label).isascii() and not one.label.isascii()
    ]
    assert len(marked) > 100
    assert [one.label for one in marked if fold(one.label) not in map(normalise, one.aliases)] == []


def test_no_name_is_a_slur():
    assert not any("nigg" in fold(name) for one in SHIPPED.entities for name in (one.label, *one.aliases))


def test_a_name_that_takes_an_article_has_it_and_no_template_begins_with_it():
    countries = {entity.entity_id: entity for entity in SHIPPED.entities if entity.type == "country"}
    articled = {key for key, entity in countries.items() if entity.label.startswith("the ")}
    assert len(articled) == 18
    assert all(countries[key].label.removeprefix("the ") in countries[key].aliases for key in articled)
    begun = {"[X]": {fact.relation_id for fact in SHIPPED.facts if fact.subject_id in articled}}
    begun["[Y]"] = {fact.relation_id for fact in SHIPPED.facts if fact.object_id in articled}
    belief = [(one.template_id.split("/")[0], one.text) for own in shipped("shipped").values() for one in own]
    texts = [*((one.relation_id, one.text) for one in SHIPPED.templates), *belief]
    wrong = [text for relation, text in texts for slot in begun if relation in begun[slot] and text.startswith(slot)]
    assert wrong == []


@pytest.mark.parametrize(
    ("relation", "kind", "said"),
    [
        ("P577", "book", "book"),
        ("P577.film", "film", "film"),
        ("P57", "film", "film"),
        ("P50", "book", "books? (or|and) play"),
        ("P195", "painting", "painting"),
    ],
)
def test_a_template_says_what_its_subject_is_where_other_things_are_called_the_same(relation, kind, said):
    own = [template.text for template in SHIPPED.templates if template.relation_id == relation]
    assert [text for text in own if not re.search(said, text)] == []
    assert {subject.partition(":")[0] for subject in pairs(relation)} == {kind}


def test_what_changes_says_of_which_year_it_is():
    dated = {fact.relation_id for fact in SHIPPED.facts if fact.qualifiers}
    assert dated == {"P159", "P195", "P36", "P37", "P38", "P47"}
    assert {fact.qualifiers for fact in SHIPPED.facts if fact.relation_id in dated} == {("P585=2024",)}


def test_every_entity_has_a_type_and_a_fact():
    used = {fact.subject_id for fact in SHIPPED.facts} | {fact.object_id for fact in SHIPPED.facts}
    assert [entity.entity_id for entity in SHIPPED.entities if not entity.type or entity.entity_id not in used] == []


@pytest.mark.parametrize("relation", SHIPPED.relations, ids=lambda relation: relation.relation_id)
def test_objects_are_of_the_type_that_the_relation_names(relation):
    kind = {entity.entity_id: entity.type for entity in SHIPPED.entities}
    found = {
        kind[fact.object_id] for fact in SHIPPED.facts if fact.relation_id == relation.relation_id and fact.object_id
    }
    assert found <= set((relation.object_type or "").split(","))


@pytest.mark.parametrize("name", ["entities", "facts", "relations", "templates"])
def test_the_files_are_canonical(name):
    raw = (FOLDER / f"{name}.jsonl").read_bytes()
    assert raw.endswith(b"\n")
    assert b"\r" not in raw
    lines = raw.decode().split("\n")[:-1]
    assert lines == sorted(set(lines))
    for line in lines:
        assert json.dumps(json.loads(line), sort_keys=True, ensure_ascii=False, separators=(",", ":")) == line


def laureates() -> set[str]:
    return pairs("P166").keys() & pairs("P569").keys() & pairs("P166.P585").keys()


def test_at_least_200_laureates_have_a_prize_its_year_and_a_year_of_birth():
    assert len(laureates()) >= 200


def test_laureates_are_honoured_at_an_age_of_15_to_100_years_and_not_before_1901():
    for person in laureates():
        (born,) = pairs_of_years("P569", person)
        for year in pairs_of_years("P166.P585", person):
            assert 15 <= year - born <= 100, person
            assert 1901 <= year <= 2025, person


def pairs_of_years(relation: str, subject: str) -> list[int]:
    return [int(year) for year in OBJECTS[relation, subject]]


def test_every_award_has_its_year():
    assert pairs("P166").keys() == pairs("P166.P585").keys()
    assert all(len(pairs("P166.P585")[person]) >= len(prizes) for person, prizes in pairs("P166").items())


def test_dates_are_years_that_have_been():
    for fact in SHIPPED.facts:
        if fact.datatype == "date":
            assert fact.precision == "year"
            assert 1000 <= int(fact.value or "") <= 2025, fact.fact_id


def test_quantities_are_whole_numbers_and_the_elements_are_numbered_without_a_gap():
    assert all((fact.value or "").isdecimal() for fact in SHIPPED.facts if fact.datatype == "quantity")
    assert sorted(int(key) for found in pairs("P1086").values() for key in found) == list(range(1, 119))


def test_a_border_has_two_sides():
    borders = pairs("P47")
    one_sided = [
        (one, other) for one in borders for other in borders[one] & borders.keys() if one not in borders[other]
    ]
    assert one_sided == []
    assert not any(country in others for country, others in borders.items())


@pytest.mark.parametrize(
    ("relation", "subject", "objects"),
    [
        ("P36", "France", {"Paris"}),
        ("P246", "Gold", {"Au"}),
        ("P1086", "Oxygen", {"8"}),
        ("P569", "Marie Curie", {"1867"}),
        ("P166.P585", "Marie Curie", {"1903", "1911"}),
        ("P47", "Portugal", {"Spain"}),
    ],
)
def test_some_facts_that_anyone_can_check(relation, subject, objects):
    label = {entity.entity_id: entity.label for entity in SHIPPED.entities}
    found = [
        {label.get(key, key) for key in keys}
        for one, keys in pairs(relation).items()
        if label[one].casefold() == subject.casefold()
    ]
    assert found == [objects]


def test_the_second_readers_verdicts_ship_and_what_was_doubted_does_not():
    folder = Path(__file__).resolve().parents[2] / "resources" / "facts"
    ratings = tables.read_jsonl(folder / "checked" / "ratings.jsonl", Rating)
    assert len(ratings) == len({row.item for row in ratings}) == 300
    assert {row.value for row in ratings} <= {"true", "false", "doubtful"}
    shipped = {fact.fact_id for fact in read_folder(folder, "shipped").facts}
    assert {row.item for row in ratings if row.value == "true"} <= shipped
    assert not {row.item for row in ratings if row.value != "true"} & shipped


def test_datasets_and_belief_call_the_same_facts_guessable():
    """One rule, LAMA-UHN's first: carbon's symbol, C, stands in its name, and gold's, Au, does not."""
    options = DatasetOptions(min_facts=1, min_objects=2, train=0, test=10_000, choices=2)
    made = build(SHIPPED.relations, SHIPPED.facts, SHIPPED.entities, options)
    names = EntityNames(Data.of(facts=made.facts, entities=SHIPPED.entities, relations=SHIPPED.relations))
    asked = [fact for fact in made.facts if fact.split == "test"]
    guessable = [fact.fact_id for fact in asked if names.guessable(fact)]
    assert sum(count.guessable for count in made.counts) == len(guessable) > 100
    assert "P246|element:carbon|C" in guessable
    assert "P246|element:gold|Au" not in guessable
    left = build(SHIPPED.relations, SHIPPED.facts, SHIPPED.entities, options.model_copy(update={"guessable": False}))
    assert {row.fact_id for row in left.refused if "name" in row.reason} >= set(guessable)


def test_what_the_last_reading_found_is_mended():
    rows = [
        json.loads(line) for line in (FOLDER / "checked" / "reading.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    found = {row["fact_id"]: row for row in rows}
    assert len(found) == len(rows) == 800
    assert Counter(row["sample"] for row in rows) == {"again": 400, "fresh": 400}
    facts = {fact.fact_id: fact for fact in SHIPPED.facts}
    assert found.keys() <= facts.keys()
    assert all(row["true"] for row in rows)
    options = DatasetOptions(min_facts=1, min_objects=2, train=0, test=10_000, choices=20, fewer_choices=True)
    made = build(SHIPPED.relations, SHIPPED.facts, SHIPPED.entities, options)
    offered = {row.fact_id: row.labels for row in made.choices}
    names = ObjectNames.of(SHIPPED.entities)
    for key, row in found.items():
        true = OBJECTS[facts[key].relation_id, facts[key].subject_id]
        assert {*row["refused"]} <= {name for one in true for name in names.names(one)}, key
        assert {*row["true_choices"]}.isdisjoint(offered.get(key, ())), key


def test_the_fresh_facts_are_those_that_the_data_card_draws(capsys):
    card = (FOLDER.parents[1] / "docs" / "facts.md").read_text(encoding="utf-8")
    [code] = re.findall(r"```python\n(.*?)```", card, re.DOTALL)
    exec(compile(code.replace('"resources/facts"', repr(str(FOLDER))), "facts.md", "exec"), {})
    assert len(capsys.readouterr().out.splitlines()) == 450
    rows = [
        json.loads(line) for line in (FOLDER / "checked" / "reading.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    again = {row["fact_id"] for row in rows if row["sample"] == "again"}
    drawn = hash_order(sorted(fact.fact_id for fact in SHIPPED.facts), "reading", 2026)[:450]
    assert {row["fact_id"] for row in rows if row["sample"] == "fresh"} == {
        *[key for key in drawn if key not in again][:400]
    }
