"""The wordings that ship."""

import json
import re
from collections import Counter

import pytest

from almanac.dataset.templates import with_shipped
from almanac.rows import Relation, Template
from almanac.sources import dblp, goodreads, imdb, papers
from almanac.suites.head_to_tail.templates import FOLDER, shipped, wordings

PAPERS = (*papers.PAPER_RELATIONS, *papers.PLACE_RELATIONS)


def rows(name):
    return [json.loads(line) for line in (FOLDER / f"{name}.jsonl").read_text("utf-8").splitlines()]


def test_there_are_as_many_as_the_paper_has_and_each_asks_once():
    assert [len(rows(name)) for name in ("movie", "book", "academics")] == [13, 4, 13]
    every = [row for name in ("movie", "book", "academics", "dbpedia") for row in rows(name)]
    variants = [own for row in every for own in row.get("variants", {}).values()]
    for row in [*every, *variants]:
        assert row["question"].count("[X]") == 1
        assert row["question"].endswith("?")
        assert row["cloze"].count("[X]") == 1
        assert row["cloze"].endswith("[Y].")
    unfiltered = [row for row in rows("dbpedia") if row["filter"] is None]
    assert len(unfiltered) >= 393


def test_the_relations_that_are_worded_are_those_that_the_sources_write():
    written = {row.relation_id for source in (imdb, goodreads, dblp) for row in source.RELATIONS}
    written |= {row.relation_id for name in ("mag", "openalex") for row in papers.relations(name, *PAPERS)}
    worded = {one for name in ("movie", "book", "academics") for row in rows(name) for one in row["relations"]}
    assert worded <= written
    context = {"imdb.first_known_for", "imdb.first_year", "imdb.namesakes", "goodreads.publication_year"}
    assert written - worded == {*context, "openalex.location"}, "which OpenAlex does not have"


def test_no_frame_has_more_than_a_quarter_of_dbpedias_questions():
    kept = r"\b(?!who|what|which|where|when|is|are|was|were|did|does|of|by)[a-z]+\b"
    asked = [re.sub(kept, "…", row["question"].lower()) for row in rows("dbpedia")]
    frames = Counter(re.sub(r"…( …)+", "…", frame) for frame in asked)
    assert frames.most_common(1)[0][1] <= len(asked) / 4


def test_every_predicate_that_is_left_out_has_one_of_four_kinds_and_a_reason():
    kinds = {"unspecific", "dynamic", "source_specific", "non_textual"}
    assert {row["filter"] for row in rows("filters")} == kinds
    assert all(row["reason"] for row in rows("filters"))
    filtered = {row["predicate"]: row["filter"] for row in rows("filters")}
    assert all(filtered.get(row["predicate"]) == row["filter"] for row in rows("dbpedia"))


def relation(name, domain=None, object_type=None):
    return Relation(name, name, None, None, object_type, domain)


def test_a_relations_own_question_comes_before_what_ships():
    own = [
        Template("b", "starring", "Who plays in [X]?", "question", "written", None, ()),
        Template("a", "starring", "[Y] plays in [X].", "statement", "written", None, ()),
        Template("c", "starring", "[X] stars", "prefix", "written", None, ()),
    ]
    [found], reason = wordings(relation("starring", "film", "person"), own, ())
    assert (found.question, found.cloze, found.domain, found.answer_kind, reason) == (
        "Who plays in [X]?", "[X] stars [Y].", "film", "persons", None,
    )  # fmt: skip
    [found], _ = wordings(relation("starring"), [], (), of_dbpedia=True)
    assert (found.template_id, found.domain, found.single, found.cap) == ("dbpedia/starring", "open", True, 10)
    assert wordings(relation("http://dbpedia.org/ontology/starring"), [], (), of_dbpedia=True)[0] == [found]
    [found], _ = wordings(relation("starring"), [], ("dynamic",))
    assert (found.question, found.cloze) == ("What is the starring of [X]?", "The starring of [X] is [Y].")
    [found], _ = wordings(relation("starring"), own[1:], ())
    assert (found.question, found.cloze) == ("What is the starring of [X]?", "[X] stars [Y].")


def test_a_property_of_many_objects_is_left_out_where_its_question_is_the_one_that_ships():
    twins = Relation("twin", "twin city", "P190", None, None, None)
    ships = with_shipped([], [twins])
    assert wordings(twins, ships, ("unspecific",))[1].startswith("left out as unspecific: A city may have many twins")
    assert wordings(twins, ships, ())[0][0].question == "Which city is twinned with [X]?"
    own = [Template("a", "twin", "Name a twin of [X]?", "question", "written", None, ())]
    assert wordings(twins, own, ("unspecific",))[1] is None


@pytest.mark.parametrize(
    ("name", "cap", "count"), [("imdb.profession", 85, 3), ("goodreads.isbn13", 250, 1), ("mag.doi", 100, 1)]
)
def test_sources_have_the_papers_caps(name, cap, count):
    found, _ = wordings(relation(name), [], ())
    assert [one.cap for one in found] == [cap] * count
    assert all(one.natural for one in found) == (name == "imdb.profession")


def test_a_filtered_predicate_is_left_out_with_its_reason_and_can_be_let_in():
    one = next(row["predicate"] for row in rows("dbpedia") if row["filter"] == "dynamic")
    found, reason = wordings(relation(one), [], ("unspecific", "dynamic"), of_dbpedia=True)
    assert not found
    assert reason.startswith("left out as dynamic: ")
    ships, _ = shipped()
    assert wordings(relation(one), [], ("unspecific",), of_dbpedia=True) == (ships[f"dbpedia/{one}"], None)
    lacking = (), "has no question, and none ships for it"
    assert wordings(relation("nonsense"), [], (), of_dbpedia=True) == lacking
