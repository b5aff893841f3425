"""Goodreads: ratings of a title summed over its editions, single editions asked about, bad lines named."""

import gzip
import json
from pathlib import Path

import pytest

from almanac.errors import AlmanacError
from almanac.rows import Omission, Popularity
from almanac.sources import goodreads, source_tables
from almanac.sources.options import GoodreadsOptions
from almanac.tables import read


def book(number: object, title: str, ratings: object, year="2000", **more) -> dict:
    credits = [{"author_id": "7", "role": ""}, {"author_id": "8", "role": "Illustrator"}]
    rest = {
        "isbn": "059035342X",
        "isbn13": f"97805903534{number:>02}",
        "publisher": "House",
        "work_id": "1",
        "url": "u",
    }
    row = {"book_id": str(number), "title": title, "ratings_count": str(ratings), "publication_year": year}
    return row | rest | {"authors": credits} | more


BOOKS = [
    book(1, "NA", 60),
    book(2, "na", "", year="2010", publisher="\u200e "),
    book(3, '"Quoted', 30, isbn="", isbn13="x"),
    book(4, "Twice", 5, year="1999"),
    book(5, "TWICE", 4, year="1999"),
    book(6, "Late", 3, year="2016"),
    book(7, "Война и мир", 2),
    book(8, "", 1000),
    book(9, "Orphan", 1, authors=[{"author_id": "99", "role": ""}]),
    book(10, "No year", 1, year=""),
    book(11, "Year of none", 0, year="0"),
]
AUTHORS = [{"author_id": "7", "name": "Ann", "ratings_count": "5"}, {"author_id": "8", "name": "Ben"}]


def write(folder: Path, books=BOOKS, authors=AUTHORS) -> Path:
    folder.mkdir(exist_ok=True)
    for name, rows in ((goodreads.BOOKS, books), (goodreads.AUTHORS, authors)):
        (folder / name).write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))
    return folder


def tables(folder: Path, tmp_path: Path, **options):
    source_tables.write(tmp_path / "out", goodreads.read(GoodreadsOptions(**options), folder))
    return {name: read(tmp_path / "out" / f"{name}.parquet", row) for name, row in source_tables.ROWS.items()}


def test_the_tables_of_a_small_collection(tmp_path):
    found = tables(write(tmp_path / "raw"), tmp_path)
    objects = {(row.relation_id, row.subject_id, row.object_key, row.qualifiers) for row in found["facts"]}
    asked = {"book:1": "2000", "book:2": "2010", "book:3": "2000", "book:9": "2000"}
    years = {("goodreads.publication_year", subject, year, ()) for subject, year in asked.items()}
    publishers = {("goodreads.publisher", subject, "House", ()) for subject in asked if subject != "book:2"}
    authors = {("goodreads.author", subject, "author:7", ()) for subject in ("book:1", "book:2", "book:3")}
    isbn13 = {("goodreads.isbn13", f"book:{n}", f"97805903534{n:02}", ()) for n in (1, 2, 9)}
    isbn10 = {("goodreads.isbn10", f"book:{n}", "059035342X", ()) for n in (1, 2, 9)}
    assert objects == years | publishers | authors | isbn13 | isbn10
    assert {row.entity_id: row.label for row in found["entities"]} == {
        "author:7": "Ann",
        "book:1": "NA",
        "book:2": "na",
        "book:3": '"Quoted',
        "book:9": "Orphan",
    }
    # Eight titles: 60 + 0, 30, 5 + 4, 3, 2, 1, 1, 0; of 106 the largest alone holds more than a third.
    assert found["popularity"] == [
        Popularity("book:1", "goodreads", "book", 60, "torso"),
        Popularity("book:2", "goodreads", "book", 60, "torso"),
        Popularity("book:3", "goodreads", "book", 30, "tail"),
        Popularity("book:9", "goodreads", "book", 1, "tail"),
    ]
    assert sum(row.entities for row in found["buckets"]) == 8
    assert found["omissions"] == [
        Omission("facts", "credit that is no author's", 9, "1 Illustrator"),
        Omission("facts", "edition after 2015", 1, "6"),
        Omission("facts", "edition whose title and year others have", 2, "4"),
        Omission("facts", "edition whose title is mostly not ASCII", 1, "7"),
        Omission("facts", "edition without a year", 2, "10"),
        Omission("facts", "names an entity that the files do not name", 1, "goodreads.author|book:9|author:99"),
        Omission("popularity", "book without a title or a number", 1, "8"),
    ]


def test_who_had_another_part_in_a_book_is_none_of_its_authors(tmp_path):
    roles = {"1": "", "2": "Author", "3": " writer", "4": "Translator", "5": "Narrator"}
    credits = [{"author_id": number, "role": role} for number, role in roles.items()]
    books = [book(1, "One", 3, authors=credits), book(2, "Two", 2, authors=credits[3:])]
    names = [{"author_id": number, "name": f"Person {number}"} for number in roles]
    found = tables(write(tmp_path / "raw", books, names), tmp_path)
    authors = [row.object_id for row in found["facts"] if row.relation_id == "goodreads.author"]
    assert authors == ["author:1", "author:2", "author:3"]
    assert Omission("facts", "credit that is no author's", 4, "1 Translator") in found["omissions"]


@pytest.mark.parametrize("name", [" ", "\u200b"])
def test_an_author_whose_name_nobody_sees_is_none(tmp_path, name):
    found = tables(write(tmp_path / "raw", authors=[{"author_id": "7", "name": name}, AUTHORS[1]]), tmp_path)
    assert not [row for row in found["entities"] if row.type == "person"]
    assert "names an entity that the files do not name" in {row.reason for row in found["omissions"]}


def test_a_line_that_stands_again_counts_once(tmp_path):
    once = tables(write(tmp_path / "raw"), tmp_path / "once")
    twice = tables(write(tmp_path / "raw", [*BOOKS, BOOKS[0], BOOKS[0], BOOKS[8]]), tmp_path / "twice")
    again = Omission("popularity", "edition that stands again", 3, "1")
    assert {name: rows for name, rows in twice.items() if name != "omissions"} == {
        name: rows for name, rows in once.items() if name != "omissions"
    }
    credits = Omission("facts", "credit that is no author's", 11, "1 Illustrator")
    assert [row for row in twice["omissions"] if row not in once["omissions"]] == [credits, again]


def test_two_lines_of_one_number_are_refused(tmp_path):
    folder = write(tmp_path / "raw", [*BOOKS, book(3, '"Quoted', 31, isbn="", isbn13="x")])
    with pytest.raises(AlmanacError, match=r"goodreads_books\.json\.gz: the id 3 occurs twice, with different values"):
        goodreads.read(GoodreadsOptions(), folder)


def test_a_number_too_long_for_one_is_left_out_with_its_book_and_counted(tmp_path):
    long = "9" * 23
    books = [book(11, "Year", 3, year=long), book(long, "Number", 3), book(12, "Ratings", long), book(13, "Fits", 3)]
    found = tables(write(tmp_path / "raw", books), tmp_path)
    assert [row.entity_id for row in found["popularity"]] == ["book:13"]
    said = Omission("popularity", "book with a number of more than 18 digits", 3, f'["11", "{long}", "3"]')
    assert said in found["omissions"]


def test_a_pool_is_drawn_from_each_bucket(tmp_path):
    many = [book(number, f"Title {number}", number % 50, authors=[]) for number in range(1, 500)]
    found = tables(write(tmp_path / "raw", many), tmp_path, pool=7)
    bucket = {row.entity_id: row.bucket for row in found["popularity"]}
    publishers = [bucket[row.subject_id] for row in found["facts"] if row.relation_id == "goodreads.publisher"]
    assert {name: publishers.count(name) for name in ("head", "torso", "tail")} == {"head": 7, "torso": 7, "tail": 7}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"book_id": "1", "title": "x"}\n{"book_id": "2"', "line 2 is not what is expected"),
        (
            b'{"book_id": 1, "title": "x"}\n',
            "line 1 is not what is expected (Expected `str`, got `int` - at `$.book_id`)",
        ),
        (b'{"book_id": "1"}\n', "line 1 is not what is expected (Object missing required field `title`)"),
    ],
)
def test_a_line_that_is_no_book_is_named(tmp_path, content, message):
    folder = write(tmp_path / "raw")
    (folder / goodreads.BOOKS).write_bytes(gzip.compress(content))
    with pytest.raises(AlmanacError) as error:
        goodreads.read(GoodreadsOptions(), folder)
    assert f"{goodreads.BOOKS}: {message}" in str(error.value)


def test_a_cut_file_is_named(tmp_path):
    folder = write(tmp_path / "raw", [book(number, f"T{number}", 1) for number in range(200)])
    packed = (folder / goodreads.BOOKS).read_bytes()
    (folder / goodreads.BOOKS).write_bytes(packed[:-40])
    with pytest.raises(AlmanacError, match=r"goodreads_books\.json\.gz: cannot be read"):
        goodreads.read(GoodreadsOptions(), folder)
