"""DBpedia from its dump and over SPARQL: the same facts, degrees counted as the paper does, nothing cut in silence."""

import bz2
from collections import Counter
from itertools import groupby

import pytest
from benchmarks import dbpedia as made_up
from pydantic import ValidationError
from tests.sources.sparql_servers import oxigraph, virtuoso, virtuoso_is_missing

from almanac.errors import AlmanacError
from almanac.rows import BucketSize, Entity, Fact, Popularity
from almanac.sources import dbpedia, dbpedia_dump, paging, reading, source_tables
from almanac.sources.options import DbpediaOptions, Manners
from almanac.sources.sparql import Client, rows_of
from almanac.tables import read

DBR, DBO = "http://dbpedia.org/resource/", "http://dbpedia.org/ontology/"
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
DUMP = f"""\
# started 2022-12-09
<{DBR}France> <{DBO}capital> <{DBR}Paris> .
<{DBR}S\u00e3o_Tom\u00e9> <{DBO}country> <{DBR}S\u00e3o_Tom\u00e9_and_Pr\u00edncipe> .
<{DBR}Paris> <{DBO}birthPlace> <{DBR}Paris> .
<{DBR}AC/DC> <{DBO}country> <http://example.org/Australia> .
<{DBR}France> <{DBO}motto> "Libert\u00e9" .
# completed
"""


def dumped(folder, text=DUMP):
    path = folder / DbpediaOptions.DOWNLOADS[0].name
    path.write_bytes(bz2.compress(text.encode()))
    return path


def written(options, folder, out):
    source_tables.write(out, dbpedia.read(options, folder))
    return [read(out / f"{name}.parquet", row) for name, row in (("facts", Fact), ("entities", Entity))]


def test_the_dump_gives_every_fact_and_names_by_address(tmp_path):
    dumped(tmp_path)
    facts, entities = written(DbpediaOptions(), tmp_path, tmp_path / "out")
    assert [row.fact_id for row in facts] == [
        "capital|France|Paris",
        "country|S\u00e3o_Tom\u00e9|S\u00e3o_Tom\u00e9_and_Pr\u00edncipe",
        "birthPlace|Paris|Paris",
        "country|AC/DC|http://example.org/Australia",
    ]
    names = {row.entity_id: row.label for row in entities}
    assert names["S\u00e3o_Tom\u00e9_and_Pr\u00edncipe"] == "S\u00e3o Tom\u00e9 and Pr\u00edncipe"
    assert (names["AC/DC"], names["http://example.org/Australia"]) == ("AC/DC", "australia")
    omitted = read(tmp_path / "out" / "omissions.parquet", source_tables.ROWS["omissions"])
    assert [(row.reason, row.count) for row in omitted] == [("the line is no triple of three addresses", 1)]


def test_a_thing_is_as_popular_as_it_has_ends_of_facts_and_a_loop_counts_twice(tmp_path):
    dumped(tmp_path)
    written(DbpediaOptions(relations=["capital"]), tmp_path, tmp_path / "out")
    degrees = {row.entity_id: row.score for row in read(tmp_path / "out" / "popularity.parquet", Popularity)}
    assert degrees == {
        "France": 1, "Paris": 3, "S\u00e3o_Tom\u00e9": 1, "S\u00e3o_Tom\u00e9_and_Pr\u00edncipe": 1, "AC/DC": 1,
        "http://example.org/Australia": 1,
    }  # fmt: skip


@pytest.mark.parametrize("pool", [None, 10])
def test_addresses_that_look_alike_are_one_thing_whose_degree_adds_up(tmp_path, pool):
    ends = [
        ("Ann", "Caf\u00e9"),
        ("Bob", "Cafe\u0301"),
        ("Cem", "Caf\u200b\u00e9"),
        ("Ann\u200b", "Caf\u00e9"),
        ("\u200b", "x"),
    ]
    dumped(tmp_path, "".join(f"<{DBR}{subject}> <{DBO}home> <{DBR}{place}> .\n" for subject, place in ends))
    facts, entities = written(DbpediaOptions(pool=pool), tmp_path, tmp_path / "out")
    assert {row.fact_id for row in facts} == {f"home|{subject}|Caf\u00e9" for subject in ("Ann", "Bob", "Cem")}
    assert {row.entity_id for row in entities} == {"Ann", "Bob", "Cem", "Caf\u00e9"}
    degrees = {row.entity_id: row.score for row in read(tmp_path / "out" / "popularity.parquet", Popularity)}
    assert degrees == {"Ann": 1, "Bob": 1, "Cem": 1, "Caf\u00e9": 3}
    omitted = read(tmp_path / "out" / "omissions.parquet", source_tables.ROWS["omissions"])
    assert [(row.reason, row.count) for row in omitted if row.reason.startswith("an")] == [
        ("an address names nothing", 1),
        ("another line says the same", 1),
    ]


def test_what_tells_titles_apart_is_no_part_of_a_name(tmp_path):
    dumped(tmp_path, f"<{DBR}Shame_(2011_film)> <{DBO}director> <{DBR}Steve_McQueen_(director)> .\n")
    _, entities = written(DbpediaOptions(), tmp_path, tmp_path / "out")
    assert {row.label: row.aliases for row in entities} == {
        "Shame (2011 film)": ("Shame",),
        "Steve McQueen (director)": ("Steve McQueen",),
    }


@pytest.mark.parametrize("pool", [None, 10])
def test_a_line_that_stands_again_counts_once(tmp_path, monkeypatch, pool):
    lines = [f"<{DBR}s{n}> <{DBO}p{n % 3}> <{DBR}o{n % 7}> .\n" for n in range(40)]
    tables = []
    for name, of in (("once", lines), ("again", [*lines[:20], *lines[10:], lines[0], lines[0], lines[39]])):
        for size in (1 << 20, 100):
            monkeypatch.setattr(reading, "BYTES", size)
            dumped(tmp_path, "".join(of))
            out = tmp_path / f"{name}{size}"
            rows = written(DbpediaOptions(pool=pool), tmp_path, out)
            tables.append((*rows, read(out / "popularity.parquet", Popularity)))
            omitted = read(out / "omissions.parquet", source_tables.ROWS["omissions"])
            assert [row.count for row in omitted] == ([13] if name == "again" else [])
    assert tables[1:] == tables[:1] * 3


def test_degrees_do_not_depend_on_how_the_dump_is_cut(tmp_path, monkeypatch):
    lines = "".join(f"<{DBR}s{n % 91}> <{DBO}p{n % 3}> <{DBR}o{n % 17}> .\n" for n in range(2000))
    dumped(tmp_path, lines)
    results = []
    for batch in (1 << 18, 64):
        monkeypatch.setattr(dbpedia_dump, "BATCH", batch)
        monkeypatch.setattr(reading, "BYTES", 100 * batch)
        out = tmp_path / str(batch)
        facts, entities = written(DbpediaOptions(), tmp_path, out)
        results.append((facts, entities, read(out / "popularity.parquet", Popularity)))
    assert results[0] == results[1]
    assert sum(row.score for row in results[0][2]) == 2 * 2000


def test_lines_in_another_dress_are_read_and_lines_that_are_none_are_counted(tmp_path):
    odd = [
        f"<{DBR}A> <{DBO}p> <{DBR}B> .  ",
        f"<{DBR}A> <{DBO}q> <{DBR}B_(a b)> .",  # no valid address, and the only one in its line
        f"<{DBR}A> <{DBO}p> .",
        f"<{DBR}A> <{DBO}p> <{DBR}B> <{DBR}C> .",
        f"{DBR}A <{DBO}p> <<{DBR}B> .",
        f"<{DBR}A> <{DBO}p> <{DBR}B> ;",
        f'<{DBR}A> <{DBO}p> "B"@en .',
        "",
        f"<{DBR}A> <{DBO}r> <{DBR}B> .",
    ]
    plain = [f"<{DBR}s{at}> <{DBO}p> <{DBR}o> ." for at in range(3)]
    names = []
    for lines in ([*plain, *odd], *([*plain, line] for line in odd)):
        dumped(tmp_path, "\n".join(lines))
        facts, _ = written(DbpediaOptions(), tmp_path, tmp_path / "out")
        omitted = read(tmp_path / "out" / "omissions.parquet", source_tables.ROWS["omissions"])
        names.append(([row.fact_id for row in facts][len(plain) :], sum(row.count for row in omitted)))
    whole = ["p|A|B", "q|A|B_(a b)", "r|A|B"]
    assert names[0] == (whole, 5)
    assert names[1:] == [([whole[0]], 0), ([whole[1]], 0), *[([], 1)] * 5, ([], 0), ([whole[2]], 0)]


def popular(lines=()):
    """A dump in which of 90 things a few have most triples; of one relation every third subject has two objects."""
    found = [*lines]
    for at in range(90):
        found.append(f"<{DBR}s{at}> <{DBO}one> <{DBR}o{at % 7}> .")
        found += [f"<{DBR}s{at}> <{DBO}several> <{DBR}o{end}> ." for end in range(1 + (at % 3 == 0))]
        found += [
            f"<{DBR}s{at}> <{DBO}loop{number}> <{DBR}s{at}> ."
            for number in range(0 if at > 20 else 9 if at > 5 else 40)
        ]
    return found


def drawn_of(folder, lines, **settings):
    """The facts that are drawn, by relation, and the buckets of all things."""
    folder.mkdir(exist_ok=True)
    dumped(folder, "".join(f"{line}\n" for line in lines))
    written(DbpediaOptions(**settings), folder, folder / "out")
    facts = {}
    for row in read(folder / "out" / "facts.parquet", Fact):
        facts.setdefault(row.relation_id, set()).add((row.subject_id, row.object_id))
    buckets = {row.entity_id: row.bucket for row in read(folder / "out" / "popularity.parquet", Popularity)}
    return facts, buckets


def test_a_draw_has_so_many_subjects_of_each_bucket_that_have_one_object(tmp_path):
    every, _ = drawn_of(tmp_path / "all", popular())
    facts, buckets = drawn_of(tmp_path / "few", popular(), pool=3)
    whole, of = drawn_of(tmp_path / "whole", popular(), pool=90)
    assert whole["one"] == every["one"]
    there = Counter(of[subject] for subject, _ in whole["one"])
    assert set(there) == {"head", "torso", "tail"}
    assert Counter(buckets[subject] for subject, _ in facts["one"]) == {
        name: min(3, own) for name, own in there.items()
    }
    assert all(own <= every[relation] for relation, own in facts.items())
    assert all(int(subject[1:]) % 3 for subject, _ in facts["several"]), "whoever has several objects is not drawn"
    omitted = read(tmp_path / "few" / "out" / "omissions.parquet", source_tables.ROWS["omissions"])
    assert [(row.reason, row.count) for row in omitted] == [("the subject has several objects", 60)]
    named = {end for own in facts.values() for pair in own for end in pair}
    assert buckets.keys() == named, "the buckets are of all things, and those that facts name are kept"
    [size] = [row for row in read(tmp_path / "few" / "out" / "buckets.parquet", BucketSize) if row.bucket == "tail"]
    assert size.entities == sum(bucket == "tail" for bucket in of.values()), "of all things, drawn or not"


def test_a_larger_draw_contains_a_smaller_one_whatever_the_order_of_the_dump(tmp_path, monkeypatch):
    few, _ = drawn_of(tmp_path / "few", popular(), pool=3)
    monkeypatch.setattr(reading, "BYTES", 500)
    again, _ = drawn_of(tmp_path / "again", sorted(popular(), reverse=True), pool=3)
    more, _ = drawn_of(tmp_path / "more", popular(), pool=5)
    assert again == few
    assert all(own <= more[relation] for relation, own in few.items()) and more != few
    others, _ = drawn_of(tmp_path / "others", popular(), pool=3, seed=1)
    assert others != few


def test_a_made_up_dump_has_the_shape_of_the_real_one_and_is_the_same_again(tmp_path):
    for name in ("one", "two"):
        made_up.generate(tmp_path / name, 3000)
    one, two = (
        bz2.decompress((tmp_path / name / DbpediaOptions.DOWNLOADS[0].name).read_bytes()) for name in ("one", "two")
    )
    lines = one.decode().splitlines()
    assert one == two
    assert len(lines) > 2800 and len(set(lines)) == len(lines)
    subjects = [line.split()[0] for line in lines[1:-1]]
    assert len(list(groupby(subjects))) == len(set(subjects)), "lines stand together by subject"
    written(DbpediaOptions(pool=4), tmp_path / "one", tmp_path / "out")
    facts = read(tmp_path / "out" / "facts.parquet", Fact)
    assert len({row.relation_id for row in facts}) > 400
    assert max(Counter(row.relation_id for row in facts).values()) <= 12
    omitted = read(tmp_path / "out" / "omissions.parquet", source_tables.ROWS["omissions"])
    assert [row.reason for row in omitted] == ["the subject has several objects"]


def test_only_of_the_dump_facts_are_drawn_and_of_such_as_have_one_object(tmp_path):
    with pytest.raises(ValidationError, match=r"pool: is not read with by: sparql \(for fewer facts set facts\)"):
        DbpediaOptions(by="sparql", relations=["capital"], pool=3)
    dumped(tmp_path, "".join(f"<{DBR}A> <{DBO}p> <{DBR}{end}> .\n" for end in "BC"))
    with pytest.raises(AlmanacError, match="no subject has exactly one object of a relation; take all facts"):
        dbpedia.read(DbpediaOptions(pool=3), tmp_path)


def test_letters_that_are_none_are_named(tmp_path):
    path = dumped(tmp_path)
    path.write_bytes(bz2.compress(f"<{DBR}A> <{DBO}p> <{DBR}".encode() + b"\xff\xfe> .\n"))
    with pytest.raises(AlmanacError, match="cannot be read"):
        dbpedia.read(DbpediaOptions(), tmp_path)


def test_a_relation_that_is_not_there_and_a_cut_dump_are_named(tmp_path):
    path = dumped(tmp_path)
    with pytest.raises(AlmanacError, match=r"has no facts of http://dbpedia.org/ontology/mayor; correct `relations`"):
        dbpedia.read(DbpediaOptions(relations=["mayor"]), tmp_path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(AlmanacError, match="cannot be read"):
        dbpedia.read(DbpediaOptions(), tmp_path)


COUNTRIES = 700


def served() -> bytes:
    """Some countries and their capitals as DBpedia serves them: labels in two languages, redirects, a loose end."""
    lines = []
    for number in range(COUNTRIES):
        country, capital = f"<{DBR}Country_{number}>", f"<{DBR}Capital_{number // 2}>"
        lines += [f"{country} <{DBO}capital> {capital} ."]
        for thing in (country, capital):
            name = thing[1:-1].removeprefix(DBR).replace("_", " ")
            lines += [f'{thing} <{LABEL}> "{name}"@en .', f'{thing} <{LABEL}> "auf Deutsch {name}"@de .']
        lines += [
            f"<{DBR}Old_{number}> <{DBO}wikiPageRedirects> {country} .",
            f'<{DBR}Old_{number}> <{LABEL}> "Old {number}"@en .',
        ]
    lines += [f"<{DBR}Country_0> <{DBO}capital> <http://elsewhere.org/x> ."]
    lines += [f'<{DBR}Country_0> <{DBO}motto> "One"@en .', f'<{DBR}Country_0> <{DBO}motto> "Eins"@de .']
    return "".join(f"{line}\n" for line in dict.fromkeys(lines)).encode()


def test_over_sparql_a_relation_comes_with_labels_and_redirects_as_aliases(tmp_path):
    with oxigraph(served()) as url:
        options = DbpediaOptions(by="sparql", endpoint=url, relations=["capital", "motto"], page=100, pause=0)
        dbpedia.fetch(options, tmp_path, "test@example.org", print, lambda **note: None)
    tables = dbpedia.read(options, tmp_path)
    assert {row.fact_id for row in tables.facts} == {
        *(f"capital|Country_{number}|Capital_{number // 2}" for number in range(COUNTRIES)), "motto|Country_0|One",
    }  # fmt: skip
    names = {row.entity_id: (row.label, row.aliases) for row in tables.entities}
    assert names["Country_5"] == ("Country 5", ("Old 5",))
    assert names["Capital_5"] == ("Capital 5", ())
    assert dbpedia_dump.bare("Georgia (U.S. state)") == ["Georgia"] and not dbpedia_dump.bare("(What's the Story)")
    assert {row.reason: row.count for row in tables.omissions.rows()} == {
        "the object is no thing of DBpedia": 1, "the object is unknown, or in another language": 1,
    }  # fmt: skip


def test_over_sparql_a_text_is_no_object_where_it_is_empty_or_the_id_of_a_thing(tmp_path):
    said = {"NATO": "NATO", "UNESCO": " ", "WHO": "World\u200b Health", "OPEC": "\u00ad"}
    lines = [f'<{DBR}{thing}> <{LABEL}> "{thing}"@en .' for thing in said]
    lines += [f'<{DBR}{thing}> <{DBO}motto> "{text}"@en .' for thing, text in said.items()]
    lines += [f'<{DBR}WHO\u200b> <{DBO}motto> "Health"@en .', f'<{DBR}WHO\u200b> <{LABEL}> "WHO?"@en .']
    with oxigraph("\n".join(lines).encode()) as url:
        options = DbpediaOptions(by="sparql", endpoint=url, relations=["motto"], pause=0)
        dbpedia.fetch(options, tmp_path, "test@example.org", print, lambda **note: None)
    tables = dbpedia.read(options, tmp_path)
    assert {row.fact_id for row in tables.facts} == {"motto|WHO|World Health", "motto|WHO|Health"}
    assert {row.entity_id for row in tables.entities} == {"NATO", "WHO"}, "addresses that look alike are one thing"
    assert {row.reason: row.count for row in tables.omissions.rows()} == {
        "the object is an empty text": 2, "the object is a text that is the id of a thing too": 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "datatype", "read_as"),
    [
        ("0843", "gYear", ("843", "date", "year")),
        ("1990-05", "gYearMonth", ("1990-05", "date", "month")),
        ("0843-08-10", "date", ("843-08-10", "date", "day")),
        ("-0044-03-15", "date", ("-0044-03-15", "string", None)),
        ("0000", "gYear", ("0000", "string", None)),
        ("67000000", "nonNegativeInteger", ("67000000", "quantity", None)),
        ("-6.4E11", "double", ("-640000000000", "quantity", None)),
        ("0.50", "decimal", ("0.5", "quantity", None)),
        ("INF", "double", ("INF", "string", None)),
        ("0843", "string", ("0843", "string", None)),
    ],
)
def test_over_sparql_dates_and_numbers_keep_their_type(tmp_path, text, datatype, read_as):
    lines = [f'<{DBR}France> <{LABEL}> "France"@en .']
    lines += [f'<{DBR}France> <{DBO}has> "{text}"^^<http://www.w3.org/2001/XMLSchema#{datatype}> .']
    with oxigraph("\n".join(lines).encode()) as url:
        options = DbpediaOptions(by="sparql", endpoint=url, relations=["has"], pause=0)
        dbpedia.fetch(options, tmp_path, "test@example.org", print, lambda **note: None)
    [fact] = dbpedia.read(options, tmp_path).facts
    assert (fact.value, fact.datatype, fact.precision) == read_as
    assert fact.fact_id == f"has|France|{fact.value}"


def test_over_sparql_dbpedias_own_datatypes_are_units_of_which_a_relation_has_one(tmp_path):
    said = {"Titanic": '"2.0E8"^^{usDollar}', "Avatar": '"2.37E8"^^{usDollar}', "Solaris": '"1.0E6"^^{rouble}'}
    said |= {"Alien": '"11000000"', "Cube": '"little"^^{canadianDollar}', "Dune": f"<{DBR}Cube>"}
    lines = [f'<{DBR}{thing}> <{LABEL}> "{thing}"@en .' for thing in said]
    for thing, text in said.items():
        literal = text.replace("{", "<http://dbpedia.org/datatype/").replace("}", ">")
        lines.append(f"<{DBR}{thing}> <{DBO}budget> {literal} .")
    with oxigraph("\n".join(lines).encode()) as url:
        options = DbpediaOptions(by="sparql", endpoint=url, relations=["budget"], pause=0)
        dbpedia.fetch(options, tmp_path, "test@example.org", print, lambda **note: None)
    tables = dbpedia.read(options, tmp_path)
    assert {(row.fact_id, row.datatype, row.qualifiers) for row in tables.facts} == {
        ("budget|Titanic|200000000", "quantity", ("unit=usDollar",)),
        ("budget|Avatar|237000000", "quantity", ("unit=usDollar",)),
        ("budget|Alien|11000000", "string", ()),
        ("budget|Cube|little", "string", ()),
        ("budget|Dune|Cube", None, ()),
    }
    assert [(row.reason, row.count, row.example) for row in tables.omissions.rows()] == [
        ("budget in another unit than usDollar, its most frequent", 1, "Solaris 1000000 rouble")
    ]


@pytest.fixture(scope="module")
def limited(tmp_path_factory):
    """Virtuoso, which DBpedia runs, set to give 100 rows an answer as DBpedia's own is to give 10,000."""
    missing = virtuoso_is_missing()
    if missing:
        pytest.skip(missing)
    with virtuoso(served(), tmp_path_factory.mktemp("virtuoso"), 100) as url:
        yield url


def test_virtuoso_cuts_rows_with_status_200_and_the_pull_is_whole_all_the_same(limited, tmp_path):
    options = DbpediaOptions(by="sparql", endpoint=limited, relations=["capital"], pause=0, wait=0.01, batch=150)
    dbpedia.fetch(options, tmp_path, "test@example.org", print, lambda **note: None)
    tables = dbpedia.read(options, tmp_path)
    assert len(tables.facts) == COUNTRIES
    assert len(tables.entities) == COUNTRIES + COUNTRIES // 2
    index = (tmp_path / "requests.jsonl").read_text()
    assert '"outcome":"too much"' in index, "it cut at least one answer"


def test_virtuoso_takes_an_empty_prefix_for_a_false_one_which_is_never_sent(limited):
    client = Client(limited, "test@example.org", Manners(pause=0))
    query = f'SELECT ?s WHERE {{ ?s <{DBO}motto> ?o . FILTER(STRSTARTS(MD5(STR(?s)), "")) }}'
    assert rows_of(client.ask(query).body) == []
    pattern = paging.Pattern("", "?s ?o", f"  ?s <{DBO}motto> ?o .")
    assert len(paging.gather(client, pattern, 1000)) == 2
    assert "STRSTARTS" not in pattern.select(pattern.bucket(""))


def test_the_questions_to_wikidata_run_on_virtuoso_too(shape, tmp_path_factory):
    from tests.sources.wikidata_rdf import WikidataShape, shipped

    from almanac.sources import wikidata
    from almanac.sources.options import WikidataOptions

    if missing := virtuoso_is_missing():
        pytest.skip(missing)
    own = WikidataShape(shipped("P36", "P569", "P1086", "P166", "P166.P585"))
    settings = {"relations": ["P36", "P569", "P1086"], "nobel": True, "pause": 0, "page": 150, "wait": 0.01}
    results = []
    folder = tmp_path_factory.mktemp("two")
    (folder / "virtuoso").mkdir()
    with oxigraph(own.triples()) as one, virtuoso(own.triples(), folder / "virtuoso", 10_000) as other:
        for name, url in (("oxigraph", one), ("virtuoso", other)):
            options = WikidataOptions(endpoint=url, **settings)
            wikidata.fetch(options, folder / name / "raw", "test@example.org", print, lambda **note: None)
            source_tables.write(folder / name / "out", wikidata.read(options, folder / name / "raw"))
            tables = ("facts", Fact), ("entities", Entity), ("popularity", Popularity)
            results.append([read(folder / name / "out" / f"{table}.parquet", row) for table, row in tables])
    assert results[0] == results[1]
    assert len(results[0][0]) > 1500
