"""Buckets and draws: the paper's example, equal numbers, what tells subjects apart, and what is not asked."""

from collections import Counter
from dataclasses import replace
from operator import attrgetter

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.suites.head_to_tail.world import CITIES, fact, imdb, strict_judge, tables, trial
from tests.suites.support import ok

from almanac.dataset.building import build_tables
from almanac.dataset.options import DatasetOptions
from almanac.frames import frame_of
from almanac.rows import Entity, Evidence, Fact, Item, Popularity, Relation, RelationCount, Template
from almanac.sources.checking import FactColumns
from almanac.suites.data import Data
from almanac.suites.head_to_tail.buckets import bucketed, count, exposed, subjects
from almanac.suites.head_to_tail.drawing import QuestionDrawing
from almanac.suites.head_to_tail.options import HeadToTailOptions
from almanac.suites.head_to_tail.suite import HeadToTail
from almanac.suites.prompts import prompts
from almanac.tables import hash_order


def drawn(rows, **settings):
    """What is drawn of a dataset, by template, and what is refused."""
    refused = {}
    drawing = QuestionDrawing(Data.of(**rows), HeadToTailOptions(**settings), refused.setdefault)
    return {one.wording.template_id: one for one in drawing.askings()}, refused


def _pool(rows, relation, bucket):
    """Everything that could be asked of a relation in a bucket."""
    every = QuestionDrawing(Data.of(**rows), HeadToTailOptions(cap=1000), lambda thing, why: None)
    popular = dict(every.popular.select("subject", "asked_bucket").rows())
    return [row for row in rows["facts"] if row.relation_id == relation and popular.get(row.subject_id) == bucket]


def names(asking):
    return {row.name for row in asking.drawn}


def buckets(scores):
    """The buckets of things of one type by their scores."""
    found = bucketed(frame_of(Popularity, [Popularity(name, "s", "t", score, None) for name, score in scores.items()]))
    return dict(found.select("subject", "asked_bucket").rows())


def test_the_papers_twelve_entities_fall_into_its_buckets():
    scores = dict(zip("ABCDEFGHIJKL", (8, 4, 2, 2, *[1] * 8), strict=True))
    assert buckets(scores) == {"A": "head", **dict.fromkeys("BCD", "torso"), **dict.fromkeys("EFGHIJKL", "tail")}


def test_degenerate_scores_have_no_head():
    assert set(buckets({"a": 100, "b": 1, "c": 1}).values()) == {"tail"}
    assert set(buckets({"a": 3, "b": 3}).values()) == {"tail"}
    assert set(buckets({"a": 0, "b": 0}).values()) == {None}


def test_a_larger_sample_asks_more_only_where_no_smallest_bucket_is_asked_whole():
    """Each relation has 2 subjects in the head, 4 in the torso and 12 in the tail."""
    rows, counts = tables(), [RelationCount(name, name, True, *[18] * 8) for name in ("born", "works")]
    found = {}
    for settings in ({}, {"sample": 1}, {"sample": 2}, {"sample": 9}, {"cap": 1}, {"sample": 1, "at_least": 36}):
        found[str(settings)] = HeadToTail().raised(
            frame_of(
                Item,
                [
                    Item(at, "question", row.fact_id, one.relation.relation_id, template, None, "s", ())
                    for template, one in drawn(rows, **settings)[0].items()
                    for at, row in enumerate(one.drawn)
                ],
            ),
            4,
            counts,
            HeadToTailOptions(**settings),
        )
    assert list(found.values()) == [None, "sample", "sample", None, "cap", None], found


def test_without_popularity_things_count_by_the_facts_that_name_them_within_their_type():
    facts = [fact("knows", f"p{at}", f"p{(at + 1) % 3}") for at in range(3)] + [fact("likes", "p0", "p0")]
    facts += [fact("lives", "p0", "1999", literal=True)]
    people = [Entity(f"p{at}", f"P{at}", (), "person") for at in range(3)]
    found, measured = subjects(Data.of(facts=facts, entities=people), "auto")
    assert measured == "density"
    assert dict(found.select("subject", "popularity").rows()) == {"p0": 5, "p1": 2, "p2": 2}, "a loop counts twice"
    counted = {(row.kind, row.bucket): (row.entities, row.total) for row in count(found, measured)}
    assert counted == {("person", "torso"): (1, 5), ("person", "tail"): (2, 4)}
    given_popularity = [Popularity("p2", "votes", "person", 9, "head")]
    found, measured = subjects(Data.of(facts=facts, entities=people, popularity=given_popularity), "auto")
    assert (measured, found.rows()) == ("source", [("p2", "person", 9, "head")])


def test_what_a_model_was_taught_is_summed_over_a_subjects_facts():
    facts = [fact("r", f"s{at}", f"o{part}") for at in range(4) for part in range(2)]
    entities = [Entity(f"s{at}", f"S{at}", (), "thing") for at in range(4)]
    doses = pl.DataFrame({"fact_id": [row.fact_id for row in facts], "dose": [8, 4, 3, 3, 2, 1, 1, 2]})
    found = exposed(Data.of(facts=facts, entities=entities), doses)
    taught = [(12, "torso"), (6, "tail"), (3, "tail"), (3, "tail")]  # a head would begin past 16 of 24
    assert [found[row.fact_id] for row in facts[::2]] == taught
    assert exposed(Data.of(facts=facts, entities=entities), None) == {}


@pytest.mark.parametrize("cap", [1, 2, 10])
def test_of_each_template_as_many_are_asked_from_head_torso_and_tail(cap):
    found, refused = drawn(tables(), cap=cap)
    for asking in found.values():
        assert Counter(row.bucket for row in asking.drawn) == dict.fromkeys(("head", "torso", "tail"), min(cap, 2))
        assert asking.spare not in asking.drawn
    assert not refused
    sampled = drawn(tables(), cap=cap, sample=1)[0]["born/question"].drawn
    assert len(sampled) == 3
    assert set(sampled) <= set(found["born/question"].drawn), "a sample is a part of what is asked without it"
    parts = 3 * len(tables()["relations"])
    more = drawn(tables(), cap=cap, sample=1, at_least=parts + 1)[0]["born/question"].drawn
    assert len(more) == min(len(found["born/question"].drawn), 6), "two of each part"


@pytest.mark.parametrize("mode", ["unique", "faithful"])
def test_a_question_that_an_instruction_answers_in_an_example_is_not_asked(mode):
    rows = tables()
    told = prompts("head_to_tail")["ask"]["few_shot"]["shots"][0][0]
    asked = [row for row in rows["templates"] if row.style == "question"]
    templates = [replace(row, text="What is the capital of [X]?") for row in asked]
    entities = [replace(row, label="China") if row.entity_id == "born:05" else row for row in rows["entities"]]
    assert told == "What is the capital of China?"
    found, refused = drawn(rows | {"templates": templates, "entities": entities}, prompts=("few_shot",), mode=mode)
    asked = names(found["born/question"])
    assert ("China" in asked) == (mode == "faithful")
    assert list(refused.values()) == ["the instruction answers it"] * (mode != "faithful")
    found, refused = drawn(rows | {"templates": templates, "entities": entities}, prompts=("zero_shot",), mode=mode)
    assert "China" in names(found["born/question"]) and not refused


@given(st.permutations(range(36)))
def test_the_draw_does_not_depend_on_the_order_of_facts(order):
    rows = tables()
    expected = {name: one.drawn for name, one in drawn(rows, cap=1)[0].items()}
    shuffled = rows | {"facts": [rows["facts"][at] for at in order]}
    assert {name: one.drawn for name, one in drawn(shuffled, cap=1)[0].items()} == expected


def test_another_seed_draws_others():
    draws = [drawn(tables(), cap=2, seed=seed)[0]["born/question"].drawn for seed in range(5)]
    assert len({tuple(row.subject for row in one) for one in draws}) > 1


def test_a_template_that_a_bucket_lacks_is_not_asked_and_listed():
    rows = tables()
    heads = {row.entity_id for row in rows["popularity"] if row.score == 60 and row.type == "person born"}
    found, refused = drawn(rows | {"facts": [row for row in rows["facts"] if row.subject_id not in heads]})
    assert not found["born/question"].drawn
    assert refused["relation born, born/question"] == (
        "not every bucket has a question: 0 of the head, 4 of the torso, 12 of the tail"
    )
    assert len(found["works/question"].drawn) == 6


@pytest.mark.parametrize(("mode", "count"), [("unique", 0), ("faithful", 1)])
def test_questions_that_read_alike(mode, count):
    rows = tables()
    alike = {"born:06": "Tom", "born:07": "tom"}
    rows["entities"] = [replace(row, label=alike.get(row.entity_id, row.label)) for row in rows["entities"]]
    drawing = QuestionDrawing(Data.of(**rows), HeadToTailOptions(mode=mode), (refused := {}).setdefault)
    [asking] = [one for one in drawing.askings() if one.relation.relation_id == "born"]
    pool = drawing._pool(asking.relation, asking.wording, drawing._facts.filter(relation_id="born"))
    assert len(pool.filter(pool["name"].str.to_lowercase() == "tom")) == count
    assert refused == {f"relation born, born/question: {2 - count} of 18 questions": "reads like another"}


def test_a_question_is_not_asked_where_its_namesake_is_left_out_for_another_reason():
    rows = tables()
    alike = {"born:06": "Tom", "born:07": "tom"}
    rows["entities"] = [replace(row, label=alike.get(row.entity_id, row.label)) for row in rows["entities"]]
    rows["popularity"] = [row for row in rows["popularity"] if row.entity_id != "born:07"]
    found, refused = drawn(rows)
    assert "Tom" not in names(found["born/question"])
    assert refused["relation born, born/question: 1 of 17 questions"] == "reads like another"


def test_a_question_is_not_asked_where_its_namesake_has_another_profession():
    """Two Ann Lees, an actress and one of the sound department, of whom nothing says what they are known for."""
    rows, people = imdb(), ("nm00", "nm01")
    rows["entities"] = [replace(row, label="Ann Lee") if row.entity_id in people else row for row in rows["entities"]]
    known = "imdb.first_known_for"
    rows["facts"] = [row for row in rows["facts"] if row.relation_id != known or row.subject_id not in people]
    found, _ = drawn(rows, cap=50)
    assert not {"Ann Lee"} & names(found["imdb.profession/name_job"])


def test_all_objects_of_a_subject_are_right_answers():
    rows = tables()
    rows["facts"] = [*rows["facts"], fact("born", "born:00", CITIES[3])]
    asked, _ = drawn(rows)
    assert {row.objects for row in asked["born/question"].drawn if row.subject == "born:00"} == {(CITIES[0], CITIES[3])}


def test_titles_are_told_apart_by_the_year_and_people_by_what_they_are_known_for():
    found, _ = drawn(imdb(), cap=50)
    directed = found["imdb.director/title_director"]
    assert {"Film 0 (1990)", "Film 0 (1991)"} <= names(directed)
    assert any(name == f"Film {at}" for name in names(directed) for at in range(4, 18))
    assert {len(row.objects) for row in directed.drawn if row.subject == "tt00"} == {2}
    assert names(found["imdb.birth_year/name_birth_year"]) >= {"Person 0 (known for Film 0 (1990))"}
    jobs, departments = found["imdb.profession/name_job"], found["imdb.profession/name_department"]
    assert "Person 0 in Film 0 (1990)" in names(jobs)
    assert "Person 1 (known for Film 0 (1991))" in names(departments)
    assert not found["imdb.profession/name_profession"].drawn
    parts = found["imdb.character/title_character"]
    assert "Hero in Film 0 (1990)" in names(parts)
    assert len({row.fact_id for row in parts.drawn}) == len(parts.drawn), "one part of an actor in a title"


def test_the_year_of_a_title_is_asked_of_titles_with_a_name_of_their_own_or_as_released_of_the_others():
    wording = "imdb.release_year/title_release_year"
    found, refused = drawn(imdb(), mode="faithful")
    assert names(found[wording]) <= {"Film 0", "Film 1", "Film 3"}
    assert names(found[wording])
    assert refused[f"relation imdb.release_year, {wording}: 12 of 18 questions"] == "no other title has its name"
    found, refused = drawn(imdb(), mode="unique")
    assert not found[wording].drawn, "both titles of the head share their name with another"
    thing = f"relation imdb.release_year, {wording}"
    assert refused[f"{thing}: 6 of 18 questions"] == "another title has its name, and the year is asked for"
    assert refused[thing].startswith("not every bucket has a question: 0 of the head")


def test_what_cannot_tell_its_subjects_apart_is_not_asked():
    rows = imdb()
    rows["facts"] = [row for row in rows["facts"] if row.relation_id != "imdb.namesakes"]
    found, refused = drawn(rows)
    assert set(found) == {"imdb.known_for/name_known_for"}
    thing = "relation imdb.director, imdb.director/title_director"
    assert refused[thing] == "the dataset lacks imdb.namesakes, which tell its subjects apart"


def test_what_tells_subjects_apart_need_not_be_asked_itself():
    rows = imdb()
    rows["facts"] = [
        replace(row, split="test" if row.relation_id == "imdb.director" else None) for row in rows["facts"]
    ]
    found, refused = drawn(rows, popularity="exposure")
    assert {"Film 0 (1990)", "Film 17"} <= names(found["imdb.director/title_director"])
    assert not refused


def test_a_built_dataset_keeps_what_tells_subjects_apart(tmp_path):
    keys = {"facts": ("relation_id", "fact_id"), "entities": ("entity_id",), "popularity": ("entity_id",)}
    rows = {name: sorted(own, key=attrgetter(*keys.get(name, ("relation_id",)))) for name, own in imdb().items()}
    frames = {
        name: frame_of(row, rows[name])
        for name, row in {"facts": Fact, "entities": Entity, "popularity": Popularity}.items()
    }
    source = FactColumns(**frames, relations=rows["relations"], templates=[], evidence=frame_of(Evidence, []))
    build_tables(source, None, DatasetOptions(min_facts=1, min_objects=2, choices=2, train=0, test=5), tmp_path)
    refused = {}
    options = HeadToTailOptions(mode="faithful")
    built = {
        one.wording.template_id: Counter(row.bucket for row in one.drawn)
        for one in QuestionDrawing(Data(tmp_path), options, refused.setdefault).askings()
    }
    assert built == {
        name: Counter(row.bucket for row in one.drawn) for name, one in drawn(imdb(), mode="faithful")[0].items()
    }
    assert not any(thing.startswith("relation imdb.first_") for thing in refused), "what is no question is no refusal"


def books_and_theses():
    """Books and doctors, each with what tells it apart."""
    facts, names_of, popular = [], [], []
    for at in range(18):
        book, doctor, paper, score = f"b{at}", f"d{at}", f"p{at}", 60 if at < 2 else 30 if at < 6 else 10
        for key, label in ((book, f"Book {at}"), (doctor, f"Ann {at}"), (paper, f"On {at}")):
            names_of.append(Entity(key, label, (), key[0]))
            popular.append(Popularity(key, "s", key[0], score, None))
        facts += [
            fact("goodreads.publisher", book, f"Press {at}", literal=True),
            fact("goodreads.publication_year", book, "2001", literal=True),
            fact("dblp.phd_title", doctor, f"Trees {at}", literal=True),
            fact("dblp.phd_school", doctor, "ETH, Switzerland", literal=True),
            fact("dblp.phd_year", doctor, "1999", literal=True),
            fact("openalex.venue", paper, "Nature", literal=True),
        ]
    relations = [Relation(name, name, None, None, None, None) for name in {row.relation_id for row in facts}]
    return {"entities": names_of, "facts": facts, "popularity": popular, "relations": relations}


def test_books_theses_and_papers_are_named_as_the_paper_names_them():
    found, _ = drawn(books_and_theses(), cap=50)
    assert "Book 0 (published in 2001)" in names(found["goodreads.publisher/book_publisher"])
    assert "Ann 0 from ETH, Switzerland in 1999" in names(found["dblp.phd_title/phd_title"])
    assert "Ann 0 (thesis: Trees 0)" in names(found["dblp.phd_year/phd_year"])
    assert '"On 0"' in names(found["openalex.venue/paper_venue"])


def test_years_after_the_last_are_not_asked():
    found, refused = drawn(imdb(), mode="faithful", last_year=1993)
    years = {int(row.objects[0]) for row in found["imdb.release_year/title_release_year"].drawn}
    assert not years or max(years) <= 1993
    thing = "relation imdb.release_year, imdb.release_year/title_release_year: 14 of 18 questions"
    assert refused[thing] == "the year is after 1993"


def dbpedia(**changed):
    """Films with a director, in DBpedia's form; one has two, one's question names him, one's is a nameless record."""
    facts, names_of, popular = [], [], []
    for at in range(18):
        film, person = f"Film_{at}", f"Person_{at}"
        label = changed.get(person, f"Person {at}")
        names_of += [Entity(film, changed.get(film, f"Film {at}"), (), None), Entity(person, label, (), None)]
        facts.append(replace(fact("director", film, person), source="dbpedia"))
        popular.append(Popularity(film, "dbpedia", "thing", 60 if at < 2 else 30 if at < 6 else 10, None))
    relations = [Relation("director", "director", None, None, None, None)]
    return {"entities": names_of, "facts": facts, "popularity": popular, "relations": relations}


def test_dbpedia_is_asked_only_what_has_one_answer_that_the_question_does_not_give_away():
    rows = dbpedia(Film_7="Person 7: a life", Person_8="Film_8__record__1")
    rows["facts"].append(fact("director", "Film_9", "Person_1"))
    found, refused = drawn(rows)
    assert not names(found["dbpedia/director"]) & {"Person 7: a life", "Film 8", "Film 9"}
    assert list(refused.values()) == [
        "the subject has several objects", "the question names the object", "the object has no name",
    ]  # fmt: skip
    assert not drawn(dbpedia(Person_7="X", Person_8="x"))[1], "the place of the subject is no word of the question"


def test_the_predicates_of_dbpedia_are_asked_by_their_label_elsewhere():
    """Its `team` is a player's, and its `brand` a wrestler's."""
    rows = dbpedia()
    rows["facts"] = [replace(row, source="mine") for row in rows["facts"]]
    [found] = drawn(rows)[0].values()
    assert (found.wording.question, found.wording.single) == ("What is the director of [X]?", False)
    assert HeadToTail().by_label(Data.of(**rows), HeadToTailOptions()) == {"director"}
    assert not HeadToTail().by_label(Data.of(**dbpedia()), HeadToTailOptions())


def test_what_samples_of_other_suites_ask_is_drawn_first_in_each_bucket():
    rows = tables()
    every = {row.fact_id for row in rows["facts"] if row.relation_id == "born"}
    tested = set(sorted(every)[::2])
    rows["facts"] = [replace(row, split="test" if row.fact_id in tested else "train") for row in rows["facts"]]
    [found] = [one for one in drawn(rows, cap=1)[0].values() if one.relation.relation_id == "born"]
    order = hash_order(tested, HeadToTailOptions().seed, "sample")
    for row in found.drawn:
        same = [one.fact_id for one in _pool(rows, "born", row.bucket)]
        assert row.fact_id == next((name for name in order if name in same), row.fact_id)
    assert {row.fact_id for row in found.drawn} & tested


def test_titles_with_quotes_tabs_and_none_are_asked_as_they_stand(tmp_path):
    odd = {"born:00": 'The "X" file', "born:01": "None", "works:00": "A\tB", "works:01": "NULL [Y]"}  # the whole head
    rows = tables()
    rows["entities"] = [replace(row, label=odd.get(row.entity_id, row.label)) for row in rows["entities"]]
    texts = {request.text for request in trial(tmp_path, rows, cloze=True).requests().values()}
    for subject, name in odd.items():
        relation = subject.partition(":")[0]
        assert {f"Where is {name} {relation}?", f"The {relation} of {name} is _."} <= texts


def test_answers_with_quotes_tabs_and_none_are_right_and_reach_the_judge_as_they_stand(tmp_path):
    odd = dict(zip(CITIES, ('The "X" file', "None", "A\tB", "NULL", "\\N"), strict=True))
    rows = tables(5, 10, 30)
    rows["entities"] = [replace(row, label=odd.get(row.entity_id, row.label), aliases=()) for row in rows["entities"]]
    asked = trial(tmp_path, rows, judge="j").answer(lambda question: ok(texts=question.item.accepted)).ask()
    assert {item.accepted for item in asked.items()} == {(one,) for one in odd.values()}
    assert {row.outcome for row in asked.answer(strict_judge).outcomes() if row.reading == "judge"} == {"correct"}
    assert {row.outcome for row in asked.outcomes() if row.reading == "rules"} == {"correct"}


@pytest.mark.parametrize(
    ("scores", "counts"),
    [
        ([5] * 18, "0 of the head, 0 of the torso, 18 of the tail"),
        ([0] * 18, "0 of the head, 0 of the torso, 0 of the tail"),
        ([1000, *[1] * 17], "0 of the head, 0 of the torso, 18 of the tail"),
    ],
)
def test_a_type_that_cannot_be_divided_is_not_asked_and_the_other_is(tmp_path, scores, counts):
    rows, left = tables(), list(scores)
    rows["popularity"] = [
        replace(row, score=left.pop(0)) if row.type == "person born" else row for row in rows["popularity"]
    ]
    asked = trial(tmp_path, rows).answer(lambda question: ok(texts=question.item.accepted))
    assert asked.refused()[-1] == ("relation born, born/question", f"not every bucket has a question: {counts}")
    assert all(thing.startswith("relation born, ") for thing, _ in asked.refused())
    assert {row.where for row in asked.measures() if '"works"' in row.where and row.value == 1}
    assert {item.relation_id for item in asked.items()} == {"works"}


def test_by_exposure_the_facts_of_other_suites_are_asked(tmp_path):
    rows = tables()
    rows["facts"] = [replace(row, split="test") for row in rows["facts"]]
    rows["popularity"] = []
    asked = trial(tmp_path, rows, popularity="exposure", sample=5)
    tested = {row.fact_id for own in asked.data.tested(5, 0).values() for row in own}
    assert {item.fact_id for item in asked.items()} == tested
    assert not asked.own("buckets")
    # Of two namesakes neither is asked, though one of them is no fact of the sample.
    subject = next(fact_id.split("|")[1] for fact_id in tested if fact_id.startswith("born|"))
    other = next(row for row in rows["facts"] if row.fact_id.startswith("born|") and row.fact_id not in tested)
    label = next(row.label for row in rows["entities"] if row.entity_id == subject)
    rows["entities"] = [
        replace(row, label=label) if row.entity_id == other.subject_id else row for row in rows["entities"]
    ]
    again = trial(tmp_path / "again", rows, popularity="exposure", sample=5)
    assert subject not in {item.fact_id.split("|")[1] for item in again.items()}


def test_a_relation_without_a_question_is_asked_by_its_label_and_of_dbpedia_listed(tmp_path):
    rows = tables()
    rows["templates"] = [row for row in rows["templates"] if row.relation_id != "born" or row.style != "question"]
    refusal = "relation born", "has no question, and none ships for it"
    assert refusal not in trial(tmp_path / "own", rows).refused()
    rows["facts"] = [replace(row, source="dbpedia") for row in rows["facts"]]
    assert refusal in trial(tmp_path / "theirs", rows).refused()
    assert isinstance(rows["templates"][0], Template)
