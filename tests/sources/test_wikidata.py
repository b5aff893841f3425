"""Facts written as Wikidata writes them come back as they were, and of what is left out every row is counted."""

import json
import os
import re
import shutil
from pathlib import Path

import pytest
from tests.sources.sparql_servers import FAULTS, oxigraph, proxy
from tests.sources.wikidata_rdf import FEMALE, PROP, RDFS_LABEL, WD, WIKIBASE, XSD, WikidataShape, shipped

from almanac.errors import AlmanacError
from almanac.sources import paging, wikidata_claims, wikidata_items
from almanac.sources.answers import digest
from almanac.sources.files import FactTables, read_folder
from almanac.sources.names import clean
from almanac.sources.options import WikidataOptions
from almanac.sources.source_tables import Omissions
from almanac.sources.sparql import Client
from almanac.sources.wikidata import _relation_row, fetch, read
from almanac.sources.wikidata_claims import Property
from almanac.sources.wikidata_queries import ALIASES, LABELS, LAUREATES, PROPERTIES, SITELINKS, statements

QUICK = {"pause": 0, "wait": 0.01}
ALL = ("P36", "P569", "P1086", "P225", "P166", "P166/P585")


@pytest.fixture(scope="module")
def pulled(wikidata, tmp_path_factory):
    return bring(wikidata, tmp_path_factory.mktemp("snapshot"), relations=ALL, page=300, batch=100)


def bring(url, folder, **settings):
    options = WikidataOptions(endpoint=url, **QUICK, **settings)
    fetch(options, folder, "test@example.org", print, lambda **note: None)
    return read(options, folder)


def triples_of(tables, back):
    return {(row.relation_id, back.get(row.subject_id), back.get(row.object_id), row.value) for row in tables.facts}


def test_every_fact_comes_back_and_none_besides(pulled, shape):
    back = {item: own for own, item in shape.ids.items()}
    wanted = {(row.relation_id, row.subject_id, row.object_id, row.value) for row in shape.tables.facts}
    assert len(wanted) > 2000
    assert triples_of(pulled, back) == wanted
    assert all((row.datatype, row.precision) == ("date", "year") for row in pulled.facts if row.relation_id == "P569")


def test_every_entity_has_its_label_and_aliases_be_they_english_or_of_all_languages(pulled, shape):
    found = {row.entity_id: (row.label, set(row.aliases)) for row in pulled.entities}
    for entity in shape.tables.entities:
        assert found[shape.ids[entity.entity_id]] == (entity.label, set(entity.aliases)), entity
    assert {row.entity_id for row in pulled.popularity} == set(found)
    assert {row.type for row in pulled.popularity} == {"item"}


def test_a_propertys_other_names_become_templates_of_their_own_style_where_they_are_wanted(wikidata, tmp_path, pulled):
    found = bring(wikidata, tmp_path, relations=("P36", "P166/P585"), property_aliases=True, page=300).templates
    assert [(row.template_id, row.text) for row in found] == [
        ("P36/alias/0", "[X] also said of P36 [Y]."),
        ("P36/alias/1", "[X] an alias of P36 [Y]."),
    ]
    assert {(row.style, row.origin) for row in found} == {("alias", "property_alias")}
    assert not list(pulled.templates)


def test_rows_in_are_rows_out_and_rows_left_out(pulled, wikidata, quick):
    client = Client(wikidata, "test@example.org", quick)
    asked = [("P36", None, "WikibaseItem"), ("P569", None, "Time"), ("P1086", None, "Quantity")]
    asked += [("P225", None, "String"), ("P166", None, "WikibaseItem"), ("P166", "P585", "Time")]
    rows = sum(paging.number(client, statements(*one).count()) for one in asked)
    left_out = {row.reason: row.count for row in pulled.omissions.rows()}
    assert set(left_out) == {
        "deprecated statement", "the subject is no item", "the value is known to be unknown",
        "the date is coarser than a year", "another statement says the same",
    }  # fmt: skip
    assert rows == len(pulled.facts) + sum(left_out.values())


def test_an_award_says_which_prize_and_two_prizes_in_one_field_are_two_facts(pulled, shape):
    bardeen = shape.ids["person:john_bardeen"]
    years = [row for row in pulled.facts if row.relation_id == "P166.P585" and row.subject_id == bardeen]
    assert sorted(row.value for row in years) == ["1956", "1972"]
    assert {row.qualifiers for row in years} == {("P166=Q38104",)}
    assert len([row for row in pulled.facts if row.relation_id == "P166" and row.subject_id == bardeen]) == 1


def test_laureates_come_with_prize_year_birth_and_gender(wikidata, shape, tmp_path, pulled):
    curie = shape.ids["person:marie_curie"]
    tables = bring(wikidata, tmp_path, nobel=True)
    own = {(row.relation_id, row.object_id or row.value) for row in tables.facts if row.subject_id == curie}
    assert own == {
        ("P166", "Q38104"), ("P166", "Q44585"), ("P166.P585", "1903"), ("P166.P585", "1911"), ("P569", "1867"),
        ("P21", FEMALE),
    }  # fmt: skip
    back = {item: own for own, item in shape.ids.items()}
    laureates = {row.subject_id for row in shape.tables.facts if row.relation_id == "P166"}
    wanted = {
        (row.relation_id, row.subject_id, row.object_id, row.value)
        for row in shape.tables.facts
        if row.subject_id in laureates and row.relation_id in ("P166", "P166.P585", "P569")
    }
    assert {row for row in triples_of(tables, back) if row[0] != "P21"} == wanted
    assert [row.property for row in tables.relations] == ["P166", "P166/P585", "P569", "P21"]
    preferred = ({row.fact_id for row in own.facts if "rank=preferred" in row.qualifiers} for own in (tables, pulled))
    found, known = ({name for name in own if name.startswith("P166")} for own in preferred)
    assert found == known != set(), "an award has the rank that it has where all awards are asked for"


def test_a_laureate_with_births_of_two_ranks_has_each_once(tmp_path):
    tables = shipped("P166", "P166.P585", "P569")
    own = [row for row in tables.facts if row.subject_id == "person:albert_einstein"]
    shape = WikidataShape(FactTables(tables.entities, tables.relations, own, []))
    node, tied = shape.statement(shape.ids["person:albert_einstein"], "P569", "PreferredRank")
    more = [*tied, *shape.date(node, "P569", "1880", 9, "statement")]
    with oxigraph(shape.triples() + "".join(f"{' '.join(parts)} .\n" for parts in more).encode()) as url:
        found = bring(url, tmp_path, nobel=True)
    born = {(row.value, row.qualifiers) for row in found.facts if row.relation_id == "P569"}
    assert born == {("1879", ()), ("1880", ("rank=preferred",))}
    assert "another statement says the same" not in {row.reason for row in found.omissions.rows()}


@pytest.mark.parametrize("backwards", [False, True])
def test_of_a_laureates_birth_in_two_precisions_the_finer_counts_in_any_order(monkeypatch, backwards):
    """A decade and its first year are one time, of another precision."""
    row = {"s": f"{WD}Q1", "statement": "s", "rank": f"{WIKIBASE}NormalRank", "prize": f"{WD}Q38104"}
    born = [row | {"birth": "1900-01-01T00:00:00Z", "birth_precision": finer} for finer in ("8", "9")]
    rows = [one | {"birth_rank": one["rank"]} for one in (born[::-1] if backwards else born)]
    monkeypatch.setattr(paging, "gather", lambda *_: rows)
    claims = wikidata_claims.of_laureates(None, WikidataOptions(nobel=True), set(), Omissions())
    assert [claim.value for claim in claims if claim.relation_id == "P569"] == ["1900"]


def test_laureates_can_be_those_of_prizes_up_to_a_year(wikidata, shape, tmp_path):
    curie = shape.ids["person:marie_curie"]
    tables = bring(wikidata, tmp_path, nobel=True, nobel_until=1910)
    years = [row for row in tables.facts if row.relation_id == "P166.P585"]
    assert {row.value for row in years if row.subject_id == curie} == {"1903"}, "the prize of 1911 is left out"
    assert years and max(int(row.value) for row in years) <= 1910
    late = {row.subject_id for row in shape.tables.facts if row.relation_id == "P166.P585" and row.value > "1910"}
    born = {row.subject_id for row in tables.facts if row.relation_id == "P569"}
    assert born == {row.subject_id for row in years}, "nobody else is there"
    assert len(late) > len(born)
    assert "award after 1910" in {row.reason for row in tables.omissions.rows()}


def test_of_the_best_ranks_only_preferred_statements_stay_where_there_are_such(wikidata, pulled, tmp_path):
    best = bring(wikidata, tmp_path, relations=["P36"], ranks="best")
    accepted = [row for row in pulled.facts if row.relation_id == "P36"]
    preferred = {row.subject_id for row in accepted if "rank=preferred" in row.qualifiers}
    assert preferred
    assert {row.fact_id for row in best.facts} == {
        row.fact_id for row in accepted if "rank=preferred" in row.qualifiers or row.subject_id not in preferred
    }


def test_a_frozen_pull_is_read_without_a_server_and_a_changed_answer_is_refused(wikidata, tmp_path):
    tables = bring(wikidata, tmp_path / "one", relations=["P36"])
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    options = WikidataOptions(endpoint=wikidata, relations=["P36"], **QUICK)
    assert read(options, tmp_path / "two").facts == tables.facts
    other = WikidataOptions(endpoint=wikidata, relations=["P36", "P569"], **QUICK)
    with pytest.raises(AlmanacError, match="holds no answer to the query"):
        read(other, tmp_path / "two")
    answer = sorted((tmp_path / "two").rglob("*.json.gz"))[0]
    shutil.copyfile(sorted((tmp_path / "two").rglob("*.json.gz"))[1], answer)
    with pytest.raises(AlmanacError, match="it was changed"):
        read(options, tmp_path / "two")


def test_a_pull_that_breaks_off_goes_on_where_it_stopped(between, tmp_path):
    settings = {"relations": ["P36", "P569"], "page": 200, "attempts": 1}
    whole = bring(between.url, tmp_path / "whole", **settings)
    requests = len(between.seen)
    between.script(lambda number: "403" if number == requests // 2 else None)
    with pytest.raises(AlmanacError, match="403"):
        bring(between.url, tmp_path / "broken", **settings)
    between.script(lambda number: None)
    index = next((tmp_path / "broken").rglob("requests.jsonl"))
    index.write_bytes(index.read_bytes()[:-5])  # a kill in the middle of a line
    assert bring(between.url, tmp_path / "broken", **settings).facts == whole.facts
    assert len(between.seen) == requests - requests // 2 + 1


@pytest.mark.parametrize(
    ("failing", "fault"),
    [("P569", "500 with a timeout"), ("P569", "rows cut, unsaid"), ("labels", "all rows lost, unsaid")],
)
def test_a_pull_that_answers_have_ended_asks_for_them_again_and_for_no_others(between, tmp_path, failing, fault):
    """A server may be overloaded for a while; what it answered then is no reason to fail for ever."""
    settings = {"relations": ["P36", "P569"], "page": 5000}
    whole = bring(between.url, tmp_path / "whole", **settings)
    requests = [data for _, _, data in between.seen]
    first = next(at for at, data in enumerate(requests) if (b"p%3AP569" if failing == "P569" else b"wd%3AQ") in data)
    between.script(lambda number: fault if number >= first else None)
    with pytest.raises(AlmanacError, match=r"timed out on the query|the server counts"):
        bring(between.url, tmp_path / "broken", **settings)
    between.script(lambda number: None)
    assert bring(between.url, tmp_path / "broken", **settings).facts == whole.facts
    assert [data for _, _, data in between.seen] == requests[first:]


def test_every_answer_is_recorded_with_query_time_headers_rows_and_hash(wikidata, tmp_path):
    bring(wikidata, tmp_path, relations=["P36"])
    index = next(tmp_path.rglob("requests.jsonl"))
    entries = [json.loads(line) for line in index.read_text().splitlines()]
    for entry in entries:
        assert {"query_sha256", "endpoint", "time", "headers", "rows", "bytes", "sha256", "outcome"} == set(entry)
        query = (index.parent / "queries" / f"{entry['query_sha256'][:16]}.txt").read_text()
        assert digest(query.encode()) == entry["query_sha256"]
        assert entry["endpoint"] == wikidata
    assert len(entries) >= 6


def test_an_unknown_property_is_named(wikidata, tmp_path):
    with pytest.raises(AlmanacError, match="knows no property P9999; correct `relations`"):
        bring(wikidata, tmp_path, relations=["P36", "P9999"])


def of_claims(folder, relation, kind, *claims, preferred=(), **settings):
    """Pull one relation of one type: of each claim the item, its values, and what the node of the value says.

    Claims whose numbers are ``preferred`` are so ranked.
    """
    rows = [(f"<{WD}{relation}>", f"<{WIKIBASE}propertyType>", f"<{WIKIBASE}{kind}>")]
    for at, (item, values, says) in enumerate(claims):
        node, own = f"<{WD}statement/{at}>", f"<{WD}value/{at}>"
        rows += [
            (f"<{WD}{item}>", f"<{RDFS_LABEL}>", f'"thing {item}"@en'),
            (f"<{WD}{item}>", f"<{PROP}{relation}>", node),
            (node, f"<{WIKIBASE}rank>", f"<{WIKIBASE}{'Preferred' if at in preferred else 'Normal'}Rank>"),
            *((node, f"<{PROP}statement/{relation}>", value) for value in values),
            (node, f"<{PROP}statement/value/{relation}>", own),
            *((own, f"<{WIKIBASE}{name}>", value) for name, value in says.items()),
        ]
    with oxigraph("".join(f"{' '.join(row)} .\n" for row in rows).encode()) as url:
        return bring(url, folder, relations=[relation], **settings)


def dated(year, precision=11):
    """A date as `of_claims` takes it: its text, and what its node says."""
    time = f'"{year}-03-15T00:00:00Z"^^<{XSD}dateTime>'
    return [time], {"timeValue": time, "timePrecision": f'"{precision}"^^<{XSD}integer>'}


def test_what_stands_beside_a_preferred_statement_is_not_the_best_where_that_is_left_out(tmp_path):
    claims = [("Q1", *dated(1860, 8)), ("Q1", *dated(1855)), ("Q2", *dated(1900))]
    tables = of_claims(tmp_path, "P569", "Time", *claims, preferred={0}, ranks="best")
    assert [(row.subject_id, row.value) for row in tables.facts] == [("Q2", "1900")]
    assert "a preferred statement stands beside it" in {row.reason for row in tables.omissions.rows()}


@pytest.mark.parametrize(
    ("year", "value"), [("1867", "1867"), ("0000", "1 BC"), ("-0043", "44 BC"), ("12024", "12024")]
)
def test_years_before_christ_are_those_of_the_calendar(tmp_path, year, value):
    """XSD 1.1, which RDF uses, has a year 0: it is 1 BC."""
    tables = of_claims(tmp_path, "P570", "Time", ("Q1", *dated(year)))
    assert [(row.value, row.precision) for row in tables.facts] == [(value, "year")]


def test_a_relations_quantities_are_in_one_unit_and_those_in_others_are_counted(tmp_path):
    metre, centimetre, foot = "Q11573", "Q174728", "Q3710"
    heights = [("Q1", "1.85", metre), ("Q2", "185", metre), ("Q3", "6.07", foot), ("Q4", "185", centimetre)]
    heights += [("Q1", "1.850", metre)]
    claims = [(item, [f'"+{height}"'], {"quantityUnit": f"<{WD}{unit}>"}) for item, height, unit in heights]
    tables = of_claims(tmp_path, "P2048", "Quantity", *claims)
    found = {(row.subject_id, row.value, row.qualifiers) for row in tables.facts}
    assert found == {("Q1", "1.85", (f"unit={metre}",)), ("Q2", "185", (f"unit={metre}",))}
    left_out = [(row.reason, row.count) for row in tables.omissions.rows()]
    assert left_out == [
        (f"P2048 in another unit than {metre}, its most frequent", 2),
        ("another statement says the same", 1),
    ]


def test_each_of_several_quantities_of_one_qualifier_has_its_own_unit(tmp_path):
    metre, foot = "Q11573", "Q3710"
    jumps = {"Q1": [("5", metre), ("16", foot)], "Q2": [("7", metre)], "Q3": [("7", metre), ("7", foot)]}
    rows = [
        (f"<{WD}{of}>", f"<{WIKIBASE}propertyType>", f"<{WIKIBASE}{kind}>")
        for of, kind in (("P1", "WikibaseItem"), ("P2", "Quantity"))
    ]
    for item, distances in jumps.items():
        node = f"<{WD}statement/{item}>"
        rows += [
            (f"<{WD}{item}>", f"<{RDFS_LABEL}>", f'"thing {item}"@en'),
            (f"<{WD}{item}>", f"<{PROP}P1>", node),
            (node, f"<{WIKIBASE}rank>", f"<{WIKIBASE}NormalRank>"),
            (node, f"<{PROP}statement/P1>", f"<{WD}Q90>"),
        ]
        for amount, unit in distances:
            own, number = f"<{WD}value/{amount}{unit}>", f'"+{amount}"^^<{XSD}decimal>'
            rows += [
                (node, f"<{PROP}qualifier/P2>", number),
                (node, f"<{PROP}qualifier/value/P2>", own),
                (own, f"<{WIKIBASE}quantityAmount>", number),
                (own, f"<{WIKIBASE}quantityUnit>", f"<{WD}{unit}>"),
            ]
    with oxigraph("".join(f"{' '.join(row)} .\n" for row in dict.fromkeys(rows)).encode()) as url:
        tables = bring(url, tmp_path, relations=["P1/P2"])
    assert {(row.subject_id, row.value) for row in tables.facts} == {("Q1", "5"), ("Q2", "7"), ("Q3", "7")}
    assert {row.qualifiers for row in tables.facts} == {("P1=Q90", f"unit={metre}")}
    other = f"P1.P2 in another unit than {metre}, its most frequent"
    assert [(row.reason, row.count) for row in tables.omissions.rows()] == [(other, 2)]


def test_two_dates_of_one_qualifier_are_two_facts_and_no_statement_says_the_same(tmp_path):
    shape = WikidataShape(shipped("P166", "P166.P585"))
    year = next(row for row in shape.tables.facts if row.relation_id == "P166.P585")
    item = shape.ids[year.subject_id]
    node = f"<{WD}statement/twice>"
    more = [
        (f"<{WD}{item}>", f"<{PROP}P9>", node),
        (node, f"<{WIKIBASE}rank>", f"<{WIKIBASE}NormalRank>"),
        (node, f"<{PROP}statement/P9>", f"<{WD}{item}>"),
        (f"<{WD}P9>", f"<{WIKIBASE}propertyType>", f"<{WIKIBASE}WikibaseItem>"),
        *(part for one in ("1903", "1904") for part in shape.date(node, "P585", one, 9, "qualifier")),
    ]
    with oxigraph(shape.triples() + "".join(f"{' '.join(parts)} .\n" for parts in more).encode()) as url:
        tables = bring(url, tmp_path, relations=["P9/P585"])
    assert {row.value for row in tables.facts} == {"1903", "1904"}
    assert tables.omissions.rows() == []


def test_a_text_that_is_the_id_of_an_item_is_left_out_and_counted(tmp_path):
    tables = of_claims(tmp_path, "P1545", "String", ("Q1", ['"Q1"', '"1st"'], {}))
    assert [row.value for row in tables.facts] == ["1st"]
    assert [row.reason for row in tables.omissions.rows()] == ["the value is a text that is the id of an item too"]


@pytest.mark.parametrize(("kind", "kept"), [("Url", True), ("CommonsMedia", False), ("WikibaseProperty", False)])
def test_values_that_are_no_texts_to_be_asked_for_are_left_out_and_counted(tmp_path, kind, kept):
    tables = of_claims(tmp_path, "P18", kind, ("Q1", ["<http://example.org/a>"], {}))
    assert [row.value for row in tables.facts] == ["http://example.org/a"] * kept
    left = [] if kept else [f"the value is no text that can be asked for ({kind})"]
    assert [row.reason for row in tables.omissions.rows()] == left


@pytest.mark.parametrize(
    ("label", "kind", "expected"),
    [
        ("date of birth", "Time", "year of birth"),
        ("publication date", "Time", "publication year"),
        ("update", "Time", "update"),
        ("date", "String", "date"),
    ],
)
def test_a_label_says_that_dates_are_years(label, kind, expected):
    assert _relation_row("P1", {"P1": Property(label, kind)}).label == expected


def test_the_queries_are_of_no_one_engine():
    kinds = ("Time", "Quantity", "String")
    own = [statements("P1", qualifier, kind) for qualifier in (None, "P2") for kind in kinds]
    for pattern in (LAUREATES, LABELS, ALIASES, SITELINKS, PROPERTIES, *own):
        text = pattern.select(pattern.bucket("a")) + pattern.count()
        assert not any(word in text for word in ("SERVICE", "bd:", "hint:", "OFFSET", "LIMIT", "ORDER"))
        lines = [line for line in text.splitlines() if not line.startswith("PREFIX")]
        assert {name for line in lines for name in re.findall(r"(\w+):\w", line)} <= {
            line.split()[1].rstrip(":") for line in text.splitlines() if line.startswith("PREFIX")
        }


def test_a_label_may_be_missing_and_its_facts_are_counted(tmp_path):
    shape = WikidataShape(shipped("P36"))
    gone = {shape.ids[row.object_id] for row in shape.tables.facts[:2]}
    text = shape.triples().decode().splitlines(keepends=True)
    kept = "".join(
        line
        for line in text
        if not (line.startswith(tuple(f"<{WD}{item}>" for item in gone)) and ("@en" in line or "@mul" in line))
    )
    with oxigraph(kept.encode()) as url:
        tables = bring(url, tmp_path, relations=["P36"])
    assert not gone & {row.entity_id for row in tables.entities}
    lost = [row for row in shape.tables.facts if {shape.ids[row.object_id], shape.ids[row.subject_id]} & gone]
    counts = {row.reason: row.count for row in tables.omissions.rows()}
    assert counts["subject or object has no name"] == len(lost)
    assert counts["no name in en or mul"] == len(gone) == 2
    assert len(tables.facts) == len(shape.tables.facts) - len(lost)


def test_the_lowest_items_are_those_of_the_first_buckets(monkeypatch):
    monkeypatch.setattr(wikidata_items, "LARGEST", 20_000)
    wikidata_items.lowest_items.cache_clear()
    found = wikidata_items.lowest_items()
    wikidata_items.lowest_items.cache_clear()
    everything = sorted((f"{WD}Q{number}" for number in range(1, 20_000)), key=paging.hash_of)
    assert list(found) == everything[: len(found)]
    assert all(paging.hash_of(one).startswith("00") for one in found)
    assert not paging.hash_of(everything[len(found)]).startswith("00")


@pytest.mark.whole
def test_a_relation_too_large_for_the_server_is_sampled_all_the_same(wikidata, tmp_path, monkeypatch):
    monkeypatch.setattr(wikidata_items, "LARGEST", 720_000)
    monkeypatch.setattr(wikidata_items, "LOWEST", b"\xff")
    wikidata_items.lowest_items.cache_clear()
    plain = bring(wikidata, tmp_path / "plain", relations=["P36", "P569"], facts=60)
    with proxy(wikidata) as between:
        between.script(lambda number: None if b"VALUES" in between.seen[number][2] else "500 with a timeout")
        named = bring(between.url, tmp_path / "named", relations=["P36", "P569"], facts=60)
        assert sum(b"MD5" in data for _, _, data in between.seen) == 2 * 3, "three depths of each, and then no more"
    wikidata_items.lowest_items.cache_clear()
    lost, more = ({row.fact_id for row in tables.facts} for tables in (plain, named))
    assert lost <= more
    counts = {row.reason: row.count for row in plain.omissions.rows()}
    assert len(more - lost) <= counts["the subject is no item"], "others than items are not asked for by name"
    assert len(more) >= 80


TREX = os.environ.get("ALMANAC_TREX", "")
PASSING = [fault for fault in FAULTS if fault not in ("403", "400", "200, asks for an agent", "hang", "drip")]


@pytest.mark.skipif(not TREX, reason="set ALMANAC_TREX to a folder of T-REx facts")
def test_the_whole_of_trex_survives_a_server_that_fails_every_twentieth_time(tmp_path):
    tables = read_folder(Path(TREX), "trex")
    shape = WikidataShape(tables)
    with oxigraph(shape.triples()) as url, proxy(url) as between:
        between.script(lambda number: PASSING[number // 20 % len(PASSING)] if number % 20 == 9 else None)
        relations = sorted({fact.relation_id for fact in tables.facts})
        pulled = bring(between.url, tmp_path, relations=relations, page=1000, max_wait=0.1)
    assert {row.fact_id for row in pulled.facts} == {row.fact_id for row in tables.facts}
    names = {row.entity_id: (row.label, set(row.aliases)) for row in pulled.entities}
    for entity in tables.entities:
        wanted = clean(entity.label), {clean(alias) for alias in entity.aliases} - {clean(entity.label)}
        assert names[entity.entity_id] == wanted
