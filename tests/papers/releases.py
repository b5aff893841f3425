"""Small releases in the publishers' own shapes: what the papers' sources are read from, a thousandth of their size.

Of every relation there are eighteen subjects, popular in turn: the two of the head together as much as the four of the
torso and the twelve of the tail.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.sources import (
    test_biolama,
    test_dblp,
    test_dbpedia,
    test_goodreads,
    test_google_re,
    test_imdb,
    test_kassess,
    test_lpaqa,
    test_mag,
)
from tests.sources.test_trex import DIRECT, ENTITY, XSD, zipped

SUBJECTS = range(18)
WORDS = {
    "P19": ("Oslo", "Lima", "Kyiv", "Rome", "Bonn", "Cork"),
    "P36": ("Bern", "Riga", "Doha", "Suva", "Male", "Apia"),
    "P103": ("Thai", "Dutch", "Welsh", "Czech", "Greek", "Irish"),
    "P449": ("Ajax", "Borealis", "Cirrus", "Delta", "Echo", "Fjord"),
}
SAID = {
    "P19": "was born in",
    "P36": "has the capital",
    "P103": "speaks",
    "P449": "was shown by",
    "P570": "died on",
    "P577": "came out on",
}
LABELS = {"P19": "place of birth", "P36": "capital", "P103": "native language"}


def score(at: int) -> int:
    """How popular a subject is."""
    return 60 if at < 2 else 30 if at < 6 else 10


def word(relation: str, at: int) -> str:
    """The object of a subject."""
    return WORDS[relation][at % 6]


def _item(name: str) -> str:
    """An entity's id of its own."""
    return f"Q{sum(256**at * byte for at, byte in enumerate(name.encode())) % 10**9}"


def documents(folder: Path, relations: Iterable[str] = ("P103", "P36", "P449", "P570", "P577")) -> None:
    """T-REx: a document a subject, with a sentence a fact; of publication dates every third is a year."""
    found = []
    for at in SUBJECTS:
        name, text, triples = f"Alder {at}", "", []
        for number, relation in enumerate(relations):
            if relation not in WORDS:
                day = f"{1950 + at}-{'01-01' if at % 3 == 0 else '10-24'}"
                thing = {"uri": f"{day}T00:00:00Z^^{XSD}dateTime", "surfaceform": f"24 October {1950 + at}"}
            else:
                thing = {"uri": ENTITY + _item(word(relation, at)), "surfaceform": word(relation, at)}
            text += f"{name}{', who' * (at % 2)} {SAID[relation]} {thing['surfaceform']}. "
            subject = {"uri": ENTITY + _item(name), "surfaceform": f"A. {at}" if number == 0 else name}
            triples.append(
                {"subject": subject, "predicate": {"uri": DIRECT + relation}, "object": thing, "sentence_id": number}
            )
        ends = [place + 1 for place, letter in enumerate(text) if letter == "."]
        bounds = [[0 if at == 0 else ends[at - 1] + 1, end] for at, end in enumerate(ends)]
        found.append(
            {
                "uri": ENTITY + _item(name),
                "title": name,
                "text": text,
                "sentences_boundaries": bounds,
                "triples": triples,
            }
        )
    zipped(folder, {"part.json": found})


def lama(folder: Path) -> None:
    """LAMA's archive: three relations of its T-REx."""
    relations = [
        {"relation": name, "template": f"[X] {SAID[name]} [Y] .", "label": label, "description": "", "type": "N-1"}
        for name, label in LABELS.items()
    ]
    files = {"data/relations.jsonl": _lines(relations)}
    for name in LABELS:
        rows = []
        for at in SUBJECTS:
            ends = {"sub_label": f"Alder {at}", "obj_label": word(name, at)}
            ids = {"sub_uri": _item(ends["sub_label"]), "obj_uri": _item(ends["obj_label"])}
            evidence = {
                "masked_sentence": f"{ends['sub_label']} {SAID[name]} [MASK].",
                "obj_surface": ends["obj_label"],
            }
            rows.append({**ids, **ends, "predicate_id": name, "evidences": [evidence]})
        files[f"data/TREx/{name}.jsonl"] = _lines(rows)
    zipped(folder, files, "data.zip")


def lpaqa(folder: Path) -> None:
    """LPAQA: facts of two relations, each with six paraphrases."""
    facts = {
        name: [
            test_lpaqa.line(_item(f"Alder {at}"), f"Alder {at}", _item(word(name, at)), word(name, at))
            for at in SUBJECTS
        ]
        for name in ("P19", "P103")
    }
    ways = ("", "Now ", "Also ", "Then ", "Surely ", "So ")
    prompts = {
        f"paraphrase/{name}.jsonl": _lines({"template": f"{way}[X] {SAID[name]} [Y] .", "weight": 1} for way in ways)
        for name in facts
    }
    test_lpaqa.write(folder, facts, prompts)


def kassess(folder: Path) -> None:
    """KaRR's released data: three relations, each with six templates; a thing has two names."""
    names = ("P103", "P36", "P449")
    facts = {
        name: [test_kassess.line(name, _item(f"Alder {at}"), _item(word(name, at))) for at in SUBJECTS]
        for name in names
    }
    ways = ("", "Now ", "Also ", "Then ", "Surely ", "So ")
    files = {
        "relation2template.json": {name: [f"{way}[X] {SAID[name]} [Y]." for way in ways] for name in names},
        "cleaned_T_REx/allsub2alias.json": {_item(f"Alder {at}"): [f"Alder {at}", f"A. {at}"] for at in SUBJECTS},
        "cleaned_T_REx/allobj2alias.json": {
            _item(text): [text, f"The {text}"] for name in names for text in WORDS[name]
        },
    }
    test_kassess.write(folder, facts, files)


def google_re(folder: Path) -> None:
    """LAMA's Google-RE, with a text a fact."""
    lines: dict[str, list[dict[str, Any]]] = {}
    for relation, said in (
        ("place_of_birth", "born in"),
        ("date_of_birth", "born in"),
        ("place_of_death", "buried in"),
    ):
        for at in SUBJECTS:
            name, town = f"Alder {at}", word("P19", at + (relation == "place_of_death"))
            found, label = (
                (f"{1900 + at}-05-22", str(1900 + at)) if relation == "date_of_birth" else (f"/m/{town}", town)
            )
            text = [{"snippet": f"{name} was {said} {label}."}]
            more = {"sub": f"/m/0{at}", "sub_label": name, "sub_aliases": [], "obj_aliases": [], "evidences": text}
            lines.setdefault(relation, []).append(
                test_google_re.line(relation, found, label, **more, judgments=[{"judgment": "yes"}])
            )
    test_google_re.write(folder, lines)


def biolama(folder: Path) -> None:
    """BioLAMA: one relation of two of its parts, all in the test split."""
    files: dict[str, list[dict[str, Any]]] = {}
    for part, relation in (("wikidata", "P2176"), ("umls", "UR44")):
        facts = [
            test_biolama.line(f"Q{at}", {f"D{at % 6}": [f"drug {at % 6}"]}, sub_aliases=[], predicate_id=relation)
            for at in SUBJECTS
        ]
        files[f"{part}/triples_processed/{relation}/test.jsonl"] = facts
        prompt = {"relation": relation, "template": "[X] is treated with [Y].", "property": "treated with"}
        files[f"{part}/prompts/manual.jsonl"] = [prompt]
    test_biolama.write(folder, files)


def imdb(folder: Path) -> None:
    """IMDb: films, and people who are each known for one of them."""
    titles, people = [f"tt{at:07}" for at in SUBJECTS], [f"nm{at:07}" for at in SUBJECTS]
    none = "\\N"

    def film(at: int) -> str:
        return f"Film {at // 2 if at < 8 else at}"

    test_imdb.write(
        folder,
        {
            "title.basics": [
                (title, "movie", film(at), film(at), "0", str(1990 + at), none, str(60 + at), "Drama")
                for at, title in enumerate(titles)
            ],
            "title.ratings": [(title, "5.5", str(score(at))) for at, title in enumerate(titles)],
            "title.crew": [(title, people[at - 1], people[at - 2]) for at, title in enumerate(titles)],
            "title.principals": [
                (title, "1", people[at - 3], "actor", none, f'["Part {at}"]') for at, title in enumerate(titles)
            ],
            "name.basics": [
                (name, f"Alder {at}", str(1940 + at), str(2000 + at % 9), ("actor", "writer")[at % 2], titles[at])
                for at, name in enumerate(people)
            ],
        },
    )


def goodreads(folder: Path) -> None:
    """Goodreads: a book of each popularity, by one of six writers."""
    books = [
        test_goodreads.book(
            at,
            f"Book {at}",
            score(at),
            year=str(1990 + at),
            publisher=f"House {at % 4}",
            isbn=f"05903534{at:02}",
            authors=[{"author_id": str(at % 6), "role": ""}],
        )
        for at in SUBJECTS
    ]
    test_goodreads.write(folder, books, [{"author_id": str(at), "name": f"Alder {at}"} for at in range(6)])


def mag(folder: Path) -> None:
    """MAG: papers, journals and conferences."""
    papers = [
        test_mag.paper(
            at + 1, f"Paper {at}", 1990 + at, score(at), f"Journal {at % 4}", f"Press {at % 3}", f"10.1/{at}"
        )
        for at in SUBJECTS
    ]
    credited = [test_mag.line(6, _0=at + 1, _1=50 + at % 6, _3=1) for at in SUBJECTS]
    authors = [test_mag.line(9, _0=50 + at, _3=f"Alder {at}") for at in range(6)]
    journals = [
        test_mag.line(11, _0=900 + at, _3=f"Journal {at}", _4=f"1234-56{at:02}", _9=score(at), _10="2016-06-24")
        for at in SUBJECTS
    ]
    conferences = [
        test_mag.line(
            18, _0=800 + at, _2=f"TEST {at}", _4=word("P19", at), _6="2010-01-01", _14=score(at), _17="2016-06-24"
        )
        for at in SUBJECTS
    ]
    names = (test_mag.mag.PAPERS, test_mag.mag.CREDITED, test_mag.mag.AUTHORS, test_mag.mag.JOURNALS)
    lines = (papers, credited, authors, journals, conferences)
    test_mag.write(folder, dict(zip((*names, test_mag.mag.CONFERENCES), lines, strict=True)))


def dblp(folder: Path) -> None:
    """DBLP: a person is as popular as mentions; each has written one thesis."""
    records = []
    for at in SUBJECTS:
        for number in range(score(at) // 5):
            key = f'mdate="2020-01-01" key="journals/{at}/{number}"'
            records.append(f"<article {key}><author>Alder {at}</author><title>Of.</title><year>2001</year></article>")
        for kind in ("phdthesis", "mastersthesis"):
            what = f"<title>{kind} {at}.</title><year>{1990 + at}</year><school>School {at % 4}</school>"
            records.append(f'<{kind} key="{kind}/{at}"><author>Alder {at}</author>{what}</{kind}>')
    test_dblp.write(folder, test_dblp.HEAD + "\n".join(records) + "\n</dblp>\n")
    release = folder / "dblp-2024-11-01.xml.gz"
    release.rename(folder / "dblp-2023-05-01.xml.gz")


def dbpedia(folder: Path) -> None:
    """DBpedia: capitals; what names its country again makes it popular, by predicates that no question asks of."""
    resource, ontology = "http://dbpedia.org/resource/", "http://dbpedia.org/ontology/"
    lines = []
    for at in SUBJECTS:
        country = f"<{resource}Alder_{at}>"
        lines.append(f"{country} <{ontology}capital> <{resource}{word('P36', at)}> .")
        if at in (0, 3, *SUBJECTS[-3:]):  # a relation of few facts, of subjects of all buckets
            lines.append(f"{country} <{ontology}currency> <{resource}Coin_{at}> .")
        loops = {60: 15, 30: 7, 10: 2}[score(at)]
        lines += [f"{country} <{ontology}loop{number}> {country} ." for number in range(loops)]
    test_dbpedia.dumped(folder, "".join(f"{line}\n" for line in lines))


def prompts(path: Path) -> None:
    """Prompts of both kinds for a relation of T-REx's, as a person's file has them."""
    rows = [("hgp", "[X] was first shown by [Y] ."), ("mmp", "[X] on [Y]")]
    path.write_text(_lines({"relation_id": "P449", "kind": kind, "text": text} for kind, text in rows))


def labels(path: Path) -> None:
    """What a person says of the facts of LAMA's: every second is known."""
    facts = ((name, at) for name in LABELS for at in SUBJECTS)
    path.write_text(
        _lines(
            {
                "item": f"{name}|{_item(f'Alder {at}')}|{_item(word(name, at))}",
                "rater": "one",
                "value": ("known", "unknown")[at % 2],
            }
            for name, at in facts
        )
    )


def written(path: Path) -> None:
    """Questions that a model wrote of Google-RE's births, and a person kept."""
    rows = []
    for at in SUBJECTS:
        name, town = f"Alder {at}", word("P19", at)
        fact = {"fact_id": f"google_re.place_of_birth|/m/0{at}|/m/{town}", "relation_id": "google_re.place_of_birth"}
        texts = {
            "statement": f"{name} comes from {town}.",
            "fib": f"{name} comes from [MASK].",
            "wh": f"Who is {name}?",
        }
        rows += [{**fact, "style": style, "text": text, "verdict": "keep"} for style, text in texts.items()]
    path.write_text(_lines(rows))


def laureates(folder: Path) -> None:
    """Facts of one's own, in the place of Wikidata's laureates: who was born in which year."""
    rows: Mapping[str, list[dict[str, Any]]] = {
        "entities": [{"entity_id": f"Q{at}", "label": f"Alder {at}"} for at in range(40)],
        "relations": [{"relation_id": "P569", "label": "year of birth"}],
        "facts": [
            {
                "relation_id": "P569",
                "subject_id": f"Q{at}",
                "value": str(1850 + at),
                "datatype": "date",
                "precision": "year",
            }
            for at in range(40)
        ],
        "templates": [],
    }
    for name, listed in rows.items():
        if listed:
            (folder / f"{name}.jsonl").write_text(_lines(listed))


def _lines(rows: Iterable[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)
