"""IMDb: a thousandth of it against a count by hand, its traps, and files that are not whole."""

import csv
import gzip
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from benchmarks import imdb as imdb_files

from almanac.errors import AlmanacError
from almanac.rows import Entity, Fact, Omission, Popularity
from almanac.sources import imdb, source_tables
from almanac.sources.options import ImdbOptions
from almanac.sources.thirds import cuts
from almanac.tables import read as read_table

HEADERS = {
    "title.basics": "tconst titleType primaryTitle originalTitle isAdult startYear endYear runtimeMinutes genres",
    "title.ratings": "tconst averageRating numVotes",
    "title.crew": "tconst directors writers",
    "title.principals": "tconst ordering nconst category job characters",
    "name.basics": "nconst primaryName birthYear deathYear primaryProfession knownForTitles",
}
SMALL = {
    "title.basics": [
        ("tt0000001", "movie", '"Quoted" Film', "Film", "0", "1990", "\\N", "90", "Drama"),
        ("tt0000002", "movie", "NA", "NA", "0", "1991", "\\N", "\\N", "\\N"),
        ("tt0000003", "tvSeries", "na", "None", "0", "1992", "1995", "30", "Drama"),
        ("tt0000004", "movie", "Late", "Late", "0", "2021", "\\N", "5", "Drama"),
        ("tt0000005", "movie", "Dateless", "Dateless", "0", "\\N", "\\N", "5", "Drama"),
        ("tt10000006", "tvMiniSeries", "Running", "Running", "0", "2001", "2024", "\\N", "Drama"),
    ],
    "title.ratings": [("tt0000001", "5.5", "100"), ("tt0000003", "7.5", "40"), ("tt0000004", "1.0", "9999")],
    "title.crew": [
        ("tt0000001", "nm0000001,nm0000002", "nm0000001"),
        ("tt0000002", "\\N", "\\N"),
        ("tt0000003", "nm0000009", "\\N"),
        ("tt0000004", "nm0000001", "\\N"),
    ],
    "title.principals": [
        ("tt0000001", "1", "nm0000001", "actor", "\\N", '["Neo","The \\"One\\""]'),
        ("tt0000001", "2", "nm0000001", "actor", "\\N", '["Mr. Anderson"]'),
        ("tt0000001", "3", "nm0000002", "self", "\\N", '["Self"]'),
        ("tt0000002", "1", "nm0000002", "actress", "\\N", "no list"),
    ],
    "name.basics": [
        ("nm0000001", "Ann One", "1950", "2019", "actor", "tt0000001,tt0000004"),
        ("nm0000002", "NA", "1960", "\\N", "actress,director", "tt0000003"),
        ("nm0000003", "Twin", "1970", "\\N", "writer", "tt0000001"),
        ("nm0000004", "Twin", "1971", "\\N", "writer", "\\N"),
        ("nm0000005", "Unborn", "2021", "\\N", "\\N", "tt0000002,tt0000003,tt10000006"),
        ("nm0000006", "Obscure", "1980", "\\N", "editor", "\\N"),
    ],
}


def write(folder: Path, files=SMALL) -> Path:
    folder.mkdir(exist_ok=True)
    for name, rows in files.items():
        text = "\n".join("\t".join(row) for row in [HEADERS[name].split(), *rows]) + "\n"
        (folder / f"{name}.tsv.gz").write_bytes(gzip.compress(text.encode()))
    return folder


def tables(folder: Path, tmp_path: Path, **options) -> dict[str, list]:
    out = tmp_path / "out"
    source_tables.write(out, imdb.read(ImdbOptions(**options), folder))
    return {name: read_table(out / f"{name}.parquet", row) for name, row in source_tables.ROWS.items()}


@pytest.fixture(scope="module")
def small(tmp_path_factory) -> dict[str, list]:
    folder = tmp_path_factory.mktemp("imdb")
    return tables(write(folder / "raw"), folder)


def objects(found: dict[str, list], relation: str) -> set[tuple[str, str]]:
    return {(row.subject_id, row.object_key) for row in found["facts"] if row.relation_id == f"imdb.{relation}"}


def test_facts_of_titles(small):
    assert objects(small, "release_year") == {("tt0000001", "1990"), ("tt0000002", "1991")}
    assert objects(small, "series_start") == {("tt0000003", "1992"), ("tt10000006", "2001")}
    assert objects(small, "series_end") == {("tt0000003", "1995")}, "2024 lies after the last year"
    assert objects(small, "runtime") == {("tt0000001", "90"), ("tt0000003", "30")}
    assert objects(small, "director") == {("tt0000001", "nm0000001"), ("tt0000001", "nm0000002")}
    assert objects(small, "writer") == {("tt0000001", "nm0000001")}
    cast = [row for row in small["facts"] if row.relation_id == "imdb.character"]
    assert [(row.object_id, row.qualifiers) for row in cast] == [
        ("nm0000001", ("character=Mr. Anderson", "character=Neo", 'character=The "One"'))
    ]


def test_facts_of_people_are_of_those_who_share_their_name_with_nobody_and_are_known_for_something(small):
    assert objects(small, "birth_year") == {("nm0000001", "1950"), ("nm0000002", "1960")}
    assert objects(small, "death_year") == {("nm0000001", "2019")}
    assert objects(small, "profession") == {("nm0000001", "actor")}
    assert objects(small, "known_for") == {("nm0000002", "tt0000003")}
    assert objects(small, "first_known_for") == {("nm0000001", "tt0000001"), ("nm0000002", "tt0000003")}


def test_nobody_is_asked_about_by_a_title_that_does_not_count(tmp_path):
    """tt0000004 is after the last year, tt0000005 has none."""
    people = {"7": "tt0000004", "8": "tt0000005", "9": "tt0000004,tt0000002,tt0000001"}
    rows = [(f"nm000000{number}", f"P{number}", "1950", "1990", "actor", known) for number, known in people.items()]
    found = tables(write(tmp_path / "raw", SMALL | {"name.basics": SMALL["name.basics"] + rows}), tmp_path)
    assert objects(found, "known_for") == {("nm0000002", "tt0000003")}
    assert {row.subject_id for row in found["facts"]}.isdisjoint({"nm0000007", "nm0000008"})
    assert ("nm0000009", "tt0000002") in objects(found, "first_known_for")
    assert "tt0000004" not in {row.entity_id for row in found["entities"]}


def test_names_as_they_stand_and_what_tells_titles_apart(small):
    labels = {row.entity_id: row for row in small["entities"]}
    assert labels["tt0000001"] == Entity("tt0000001", '"Quoted" Film', ("Film",), "movie")
    assert (labels["tt0000002"].label, labels["nm0000002"].label) == ("NA", "NA")
    assert objects(small, "namesakes") == {
        ("tt0000001", "0"),
        ("tt0000002", "1"),
        ("tt0000003", "1"),
        ("tt10000006", "0"),
    }


def test_popularity_is_votes_and_those_of_what_a_person_is_known_for(small):
    scores = {row.entity_id: row.score for row in small["popularity"]}
    assert scores == {
        "tt0000001": 100,
        "tt0000002": 1,
        "tt0000003": 40,
        "tt10000006": 1,
        "nm0000001": 100,
        "nm0000002": 40,
    }
    whole = {(row.type, row.bucket): row.entities for row in small["buckets"]}
    assert sum(count for (kind, _), count in whole.items() if kind == "title") == 4
    assert sum(count for (kind, _), count in whole.items() if kind == "person") == 6, "the unknown count with 0"
    assert sum(row.popularity for row in small["buckets"] if row.type == "person") == 100 + 40 + 100 + 42


def test_people_who_share_a_name_can_be_left_out_before_the_buckets_as_in_the_released_code(small, tmp_path):
    """Of everybody's 282 votes Ann One's 100 tie with a Twin's across both thirds; of 182 they are the last."""
    found = tables(write(tmp_path / "raw"), tmp_path, people="faithful")
    bucket = {
        way: {row.entity_id: row.bucket for row in own["popularity"]} for way, own in (("u", small), ("f", found))
    }
    assert (bucket["u"]["nm0000001"], bucket["f"]["nm0000001"]) == ("tail", "torso")
    sizes = [row for row in found["buckets"] if row.type == "person"]
    assert (sum(row.entities for row in sizes), sum(row.popularity for row in sizes)) == (4, 100 + 40 + 42)
    assert objects(found, "director") == objects(small, "director"), "makers keep their names"
    assert Omission("popularity", "person whose name others have", 2, "imdb") in found["omissions"]


def test_in_the_released_code_who_is_known_for_titles_that_do_not_count_takes_nobodys_name(tmp_path):
    namesake = [("nm0000007", "Ann One", "1950", "1990", "actor", "tt0000004")]
    raw = write(tmp_path / "raw", SMALL | {"name.basics": SMALL["name.basics"] + namesake})
    found = tables(raw, tmp_path, people="faithful")
    [ann] = [row for row in found["popularity"] if row.entity_id == "nm0000001"]
    assert ann.bucket == "torso"
    assert Omission("popularity", "person known only for titles that do not count", 1, "imdb") in found["omissions"]


def test_what_is_left_out_is_counted(small):
    assert small["omissions"] == [
        Omission("facts", "characters are no JSON list of texts", 1, "no list"),
        Omission("facts", "names an entity that the files do not name", 1, "imdb.director|tt0000003|nm0000009"),
        Omission("facts", "person whose name others have", 2, "imdb"),
        Omission("popularity", "title that begins after 2020", 1, "title.basics.tsv.gz"),
        Omission("popularity", "title without any year", 1, "title.basics.tsv.gz"),
    ]


@pytest.fixture(scope="module")
def thousandth(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("thousandth")
    imdb_files.generate(folder, 12_000, 15_000, 95_000)
    return folder


def by_hand(folder: Path, name: str) -> list[dict[str, str | None]]:
    with gzip.open(folder / f"{name}.tsv.gz", "rt", encoding="utf-8", newline="") as handle:
        rows = csv.DictReader(handle, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [{key: None if value == "\\N" else value for key, value in row.items()} for row in rows]


def test_a_thousandth_of_imdb_agrees_with_a_count_by_hand(thousandth, tmp_path):
    pool = 40
    found = tables(thousandth, tmp_path, pool=pool)
    votes = {row["tconst"]: int(row["numVotes"]) for row in by_hand(thousandth, "title.ratings")}
    titles = {
        row["tconst"]: row
        for row in by_hand(thousandth, "title.basics")
        if (row["startYear"] or row["endYear"]) and int(row["startYear"] or 0) <= 2020
    }
    scores = {"title": {key: votes.get(key, 1) for key in titles}}
    names = {row["nconst"]: row for row in by_hand(thousandth, "name.basics")}
    scores["person"] = {
        key: sum(scores["title"].get(title, 0) for title in (row["knownForTitles"] or "").split(","))
        for key, row in names.items()
    }
    border = {kind: cuts(Counter(own.values())) for kind, own in scores.items()}
    for row in found["popularity"]:
        assert row == Popularity(
            row.entity_id,
            "imdb",
            row.type,
            scores[row.type][row.entity_id],
            border[row.type].bucket(scores[row.type][row.entity_id]),
        )
    sizes = Counter((kind, border[kind].bucket(score)) for kind, own in scores.items() for score in own.values())
    assert {(row.type, row.bucket): row.entities for row in found["buckets"]} == dict(sizes)

    people = Counter(row["primaryName"] for row in names.values())
    crew = {row["tconst"]: row for row in by_hand(thousandth, "title.crew")}
    has = {
        "director": {key for key in titles if crew[key]["directors"]},
        "runtime": {key for key, row in titles.items() if row["runtimeMinutes"]},
        "birth_year": {
            key
            for key, row in names.items()
            if row["birthYear"]
            and people[row["primaryName"]] == 1
            and not titles.keys().isdisjoint((row["knownForTitles"] or "").split(","))
        },
    }
    for relation, eligible in has.items():
        kind = "person" if relation == "birth_year" else "title"
        there = Counter(border[kind].bucket(scores[kind][key]) for key in eligible)
        subjects = {subject for subject, _ in objects(found, relation)}
        assert subjects <= eligible
        drawn = Counter(border[kind].bucket(scores[kind][key]) for key in subjects)
        assert drawn == {bucket: min(pool, count) for bucket, count in there.items()}
    directors = defaultdict(set)
    for subject, person in objects(found, "director"):
        directors[subject].add(person)
    assert all(people == set(crew[subject]["directors"].split(",")) for subject, people in directors.items())
    others = Counter(row["primaryTitle"].lower() for row in titles.values())
    assert objects(found, "namesakes") == {
        (row.entity_id, str(others[row.label.lower()] - 1)) for row in found["entities"] if row.entity_id in titles
    }


def test_a_larger_pool_keeps_what_a_smaller_one_drew(thousandth, tmp_path):
    few, more = (tables(thousandth, tmp_path / str(pool), pool=pool)["facts"] for pool in (10, 60))
    assert {row.fact_id for row in few} < {row.fact_id for row in more}
    other = tables(thousandth, tmp_path / "seed", pool=10, seed=1)["facts"]
    assert {row.fact_id for row in few} != {row.fact_id for row in other}


def damaged(tmp_path: Path, name: str, change) -> Path:
    folder = write(tmp_path / "raw")
    path = folder / f"{name}.tsv.gz"
    path.write_bytes(change(path.read_bytes()))
    return folder


def text(change):
    return lambda packed: gzip.compress(change(gzip.decompress(packed).decode()).encode())


def swapped(old, new):
    return text(lambda found: found.replace(old, new))


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("title.basics", lambda packed: packed[: len(packed) // 2], "title.basics.tsv.gz: cannot be read"),
        ("name.basics", lambda packed: packed[:-6], "name.basics.tsv.gz: cannot be read"),
        ("title.ratings", lambda packed: b"<html>no</html>", "title.ratings.tsv.gz: cannot be read"),
        ("title.ratings", text(lambda old: ""), "has the columns ; expected are"),
        (
            "title.crew",
            swapped("directors\twriters", "writers\tdirectors"),
            "has the columns tconst, writers, directors; expected are tconst, directors, writers, in this order",
        ),
        ("title.crew", text(lambda old: old + "tt0000005\tnm0000001\n"), "title.crew.tsv.gz: line 6 has 2 cells; 3"),
        ("title.crew", text(lambda old: old + "tt0000005\ta\tb\tc\n"), "title.crew.tsv.gz: line 6 has 4 cells; 3"),
        ("title.basics", swapped("Late\tLate", "La\tte\tLate"), "title.basics.tsv.gz: line 5 has 10 cells; 9"),
        ("title.basics", swapped("90\tDrama", "90\tDrama\t"), "title.basics.tsv.gz: line 2 has 10 cells; 9"),
        ("title.ratings", swapped("5.5", "5\t.5"), "title.ratings.tsv.gz: line 2 has 4 cells; 3"),
        ("title.principals", text(lambda old: old[:-1] + "\tmore\n"), "title.principals.tsv.gz: line 5 has 7 cells; 6"),
        ("name.basics", swapped("Ann One", "Ann\tOne"), "name.basics.tsv.gz: line 2 has 7 cells; 6"),
        (
            "title.ratings",
            swapped("100", "many"),
            "title.ratings.tsv.gz: line 2: numVotes of tt0000001 is 'many'; expected is a whole number or \\N; correct",
        ),
        (
            "title.basics",
            swapped("1992", "about 1992"),
            "title.basics.tsv.gz: line 4: startYear of tt0000003 is 'about 1992'; expected is a whole number or \\N",
        ),
        (
            "title.basics",
            swapped("1995", "99999"),
            "line 4: endYear of tt0000003 is '99999'; expected is a whole number",
        ),
        (
            "title.basics",
            swapped("tt0000004", "Late"),
            "title.basics.tsv.gz: line 5: tconst is 'Late'; expected is tt or nm",
        ),
        (
            "name.basics",
            swapped("1950", "old"),
            "name.basics.tsv.gz: line 2: birthYear of nm0000001 is 'old'; expected",
        ),
        ("title.ratings", swapped("tt0000003", "tt0000001"), "the number 1 occurs twice"),
        ("title.basics", swapped("tt0000003", "tt999999999"), "larger than any"),
        (
            "title.ratings",
            swapped("tt0000003", "tt999999999"),
            "title.ratings.tsv.gz: the number",
        ),
        (
            "title.basics",
            swapped("tt0000003", "\\N"),
            "title.basics.tsv.gz: a row has no identifier",
        ),
        (
            "name.basics",
            swapped("nm0000003", "\\N"),
            "name.basics.tsv.gz: a row has no identifier",
        ),
        (
            "name.basics",
            swapped("tt0000002,tt0000003", "tt0000002,nm0000003"),
            "nm0000005 is known for 'tt0000002,nm0000003,tt10000006'; expected are titles",
        ),
        (
            "name.basics",
            swapped("\ttt0000003\n", "\tnm0000003\n"),
            "nm0000002 is known for 'nm0000003'; expected are titles",
        ),
    ],
)
def test_a_file_that_is_not_whole_or_not_imdbs_is_named(tmp_path, name, change, message):
    with pytest.raises(AlmanacError) as error:
        imdb.read(ImdbOptions(), damaged(tmp_path, name, change))
    assert message in str(error.value)


def test_a_maker_who_is_no_person_is_counted_and_costs_nothing_else(tmp_path):
    change = text(lambda old: old.replace("nm0000009", "nm00\0\0009").replace("nm0000001\tactor", "nobody\tactor"))
    damaged(tmp_path, "title.principals", change)
    path = tmp_path / "raw" / "title.crew.tsv.gz"
    path.write_bytes(change(path.read_bytes()))
    source = imdb.read(ImdbOptions(), tmp_path / "raw")
    counts = {row.reason: row.count for row in source.omissions.rows()}
    assert counts["a maker is no person's identifier"] == 3
    assert "imdb.director|tt0000001|nm0000001" in source.facts["fact_id"].to_pylist()


@pytest.mark.parametrize("missing", ["\\N", ""])
def test_who_has_no_name_is_asked_for_nothing(tmp_path, missing):
    folder = damaged(tmp_path, "name.basics", text(lambda old: old.replace("Ann One", missing)))
    basics = folder / "title.basics.tsv.gz"
    basics.write_bytes(text(lambda old: old.replace("\tNA\t", f"\t{missing}\t", 1))(basics.read_bytes()))
    found = tables(folder, tmp_path)
    assert {row.entity_id for row in found["entities"]}.isdisjoint({"nm0000001", "tt0000002"})
    reasons = {(row.table, row.reason): row.example for row in found["omissions"]}
    assert not any("birth_year" in example or "namesakes" in example for example in reasons.values())
    assert objects(found, "namesakes") >= {("tt0000003", "0")}


def test_the_few_titles_that_have_directors_are_found_among_many_that_have_none(tmp_path):
    titles = [(f"tt{at:07}", "movie", f"Film {at}", f"Film {at}", "0", "1990", *["\\N"] * 3) for at in range(1, 401)]
    crew = [(f"tt{at:07}", "nm0000001", "\\N") for at in (7, 350)]
    folder = write(tmp_path / "raw", SMALL | {"title.basics": titles, "title.crew": crew})
    assert objects(tables(folder, tmp_path, pool=2), "director") == {(row[0], "nm0000001") for row in crew}


@pytest.mark.parametrize("profession", ["", " ", "\u200b"])
def test_who_has_an_empty_profession_has_none(tmp_path, profession):
    folder = damaged(tmp_path, "name.basics", swapped("\tactor\t", f"\t{profession}\t"))
    assert objects(tables(folder, tmp_path), "profession") == set()


def test_a_missing_file_is_named(tmp_path):
    (write(tmp_path / "raw") / "title.crew.tsv.gz").unlink()
    with pytest.raises(AlmanacError, match=r"title\.crew\.tsv\.gz: there is no such file"):
        imdb.read(ImdbOptions(), tmp_path / "raw")


def test_every_fact_keeps_its_promises(thousandth, tmp_path):
    found = tables(thousandth, tmp_path, pool=5)
    known, relations = {row.entity_id for row in found["entities"]}, {row.relation_id for row in found["relations"]}
    for row in found["facts"]:
        assert isinstance(row, Fact)
        assert row.fact_id == f"{row.relation_id}|{row.subject_id}|{row.object_key}"
        assert row.relation_id in relations
        assert row.subject_id in known
        assert row.object_id is None or row.object_id in known
        assert (row.object_id is None) == (row.datatype is not None)
