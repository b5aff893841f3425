"""Facts written as Wikidata writes them in RDF, with everything in it that must not be taken for a fact.

Statements with ranks, values in nodes of their own, qualifiers, names under `en` and `mul`, aliases, sitelinks; and
beside them deprecated statements, unknown values, dates too coarse, statements about properties, German names.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from almanac.rows import Fact
from almanac.sources.files import FactTables, read_folder

SHIPPED = Path(__file__).resolve().parents[2] / "resources" / "facts"
WD = "http://www.wikidata.org/entity/"
PROP = "http://www.wikidata.org/prop/"
WIKIBASE = "http://wikiba.se/ontology#"
XSD = "http://www.w3.org/2001/XMLSchema#"
RDFS_LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
ALT_LABEL = "http://www.w3.org/2004/02/skos/core#altLabel"
PRIZES = {
    "prize:nobel_prize_in_physics": "Q38104",
    "prize:nobel_prize_in_chemistry": "Q44585",
    "prize:nobel_prize_in_physiology_or_medicine": "Q80061",
    "prize:nobel_prize_in_literature": "Q37922",
    "prize:nobel_peace_prize": "Q35637",
    "prize:nobel_memorial_prize_in_economic_sciences": "Q47170",
}
FEMALE = "Q6581072"


def digit(text: str, of: int) -> int:
    return int(hashlib.sha256(text.encode()).hexdigest()[:8], 16) % of


def shipped(*relations: str) -> FactTables:
    """The facts that ship, perhaps of some relations only."""
    tables = read_folder(SHIPPED, "shipped")
    facts = [fact for fact in tables.facts if not relations or fact.relation_id in relations]
    used = {key for fact in facts for key in (fact.subject_id, fact.object_id)}
    return FactTables(
        [entity for entity in tables.entities if entity.entity_id in used],
        [relation for relation in tables.relations if not relations or relation.relation_id in relations],
        facts,
        [],
    )


def quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


class WikidataShape:
    """The N-Triples of some facts. ``ids`` maps the facts' own ids to items."""

    def __init__(self, tables: FactTables) -> None:
        self.tables = tables
        own = [entity.entity_id for entity in tables.entities]
        self.ids = {
            identity: identity if identity[0] == "Q" and identity[1:].isdecimal() else f"Q{700000 + number}"
            for number, identity in enumerate(own)
        } | {old: new for old, new in PRIZES.items() if old in own}
        self._statement = 0

    def triples(self) -> bytes:
        """Every triple, as N-Triples."""
        lines = [f"{' '.join(parts)} .\n" for parts in self._all()]
        return "".join(dict.fromkeys(lines)).encode()

    def _all(self) -> Iterator[tuple[str, str, str]]:
        yield from self._properties()
        yield from self._names()
        awards: dict[str, list[Fact]] = defaultdict(list)
        years: dict[str, list[Fact]] = defaultdict(list)
        for fact in self.tables.facts:
            if fact.relation_id == "P166":
                awards[fact.subject_id].append(fact)
            elif fact.relation_id == "P166.P585":
                years[fact.subject_id].append(fact)
            else:
                yield from self._fact(fact)
        if "person:marie_curie" in self.ids:
            node, tied = self.statement(self.ids["person:marie_curie"], "P21")
            yield from tied
            yield node, f"<{PROP}statement/P21>", f"<{WD}{FEMALE}>"
        for subject, own in awards.items():
            yield from self._awards(own, years[subject])
        yield from self._noise()

    def _properties(self) -> Iterator[tuple[str, str, str]]:
        kinds = {"date": "Time", "quantity": "Quantity", "string": "String", None: "WikibaseItem"}
        of = {fact.relation_id: kinds[fact.datatype] for fact in self.tables.facts} | {"P21": "WikibaseItem"}
        for relation, kind in of.items():
            main, _, qualifier = relation.partition(".")
            for one, its in ((main, "WikibaseItem"), (qualifier, kind)) if qualifier else ((main, kind),):
                yield f"<{WD}{one}>", f"<{WIKIBASE}propertyType>", f"<{WIKIBASE}{its}>"
                yield f"<{WD}{one}>", f"<{RDFS_LABEL}>", f'"label of {one}"@en'
                yield f"<{WD}{one}>", f"<{RDFS_LABEL}>", f'"Name von {one}"@de'
                for language, name in (("en", "also  said"), ("mul", "Also said"), ("mul", "an alias"), ("de", "auch")):
                    yield f"<{WD}{one}>", f"<{ALT_LABEL}>", f'"{name} of {one}"@{language}'

    def _names(self) -> Iterator[tuple[str, str, str]]:
        for entity in self.tables.entities:
            item = f"<{WD}{self.ids[entity.entity_id]}>"
            language = "mul" if digit(entity.entity_id, 5) == 0 else "en"
            yield item, f"<{RDFS_LABEL}>", f"{quoted(entity.label)}@{language}"
            yield item, f"<{RDFS_LABEL}>", f"{quoted('auf Deutsch ' + entity.label)}@de"
            for number, alias in enumerate(entity.aliases):
                yield item, f"<{ALT_LABEL}>", f"{quoted(alias)}@{('en', 'mul')[number % 2]}"
            links = digit("links" + entity.entity_id, 300)
            yield item, f"<{WIKIBASE}sitelinks>", f'"{links}"^^<{XSD}integer>'
        for prize in PRIZES.values():
            yield f"<{WD}{prize}>", f"<{RDFS_LABEL}>", f'"prize {prize}"@de'
        yield f"<{WD}{FEMALE}>", f"<{RDFS_LABEL}>", '"female"@en'

    def statement(
        self, subject: str, property_id: str, rank: str = "NormalRank"
    ) -> tuple[str, list[tuple[str, str, str]]]:
        """A new statement of an item: its node, and the triples that tie it to the item."""
        self._statement += 1
        node = f"<{WD}statement/{subject}-{self._statement}>"
        item = f"<{WD}{subject}>"
        return node, [(item, f"<{PROP}{property_id}>", node), (node, f"<{WIKIBASE}rank>", f"<{WIKIBASE}{rank}>")]

    def value(self, node: str, property_id: str, fact: Fact, role: str) -> Iterator[tuple[str, str, str]]:
        """A fact's object at a node; ``role`` is ``statement`` or ``qualifier``."""
        predicate = f"<{PROP}{role}/{property_id}>"
        if fact.object_id is not None:
            yield node, predicate, f"<{WD}{self.ids[fact.object_id]}>"
        elif fact.datatype == "date":
            yield from self.date(node, property_id, str(fact.value), 9, role)
        elif fact.datatype == "quantity":
            yield node, predicate, f'"+{fact.value}"^^<{XSD}decimal>'
        else:
            yield node, predicate, quoted(str(fact.value))

    def date(self, node: str, property_id: str, year: str, precision: int, role: str) -> Iterator[tuple[str, str, str]]:
        """A date with its precision, in a node of its own."""
        time = f'"{int(year):04d}-01-01T00:00:00Z"^^<{XSD}dateTime>'
        own = f"<http://www.wikidata.org/value/{hashlib.md5(f'{time}{precision}'.encode()).hexdigest()}>"
        yield node, f"<{PROP}{role}/{property_id}>", time
        yield node, f"<{PROP}{role}/value/{property_id}>", own
        yield own, f"<{WIKIBASE}timeValue>", time
        yield own, f"<{WIKIBASE}timePrecision>", f'"{precision}"^^<{XSD}integer>'
        yield own, f"<{WIKIBASE}timeCalendarModel>", f"<{WD}Q1985727>"

    def _fact(self, fact: Fact) -> Iterator[tuple[str, str, str]]:
        rank = "PreferredRank" if digit(fact.fact_id, 7) == 0 else "NormalRank"
        subject = self.ids[fact.subject_id]
        node, tied = self.statement(subject, fact.relation_id, rank)
        yield from tied
        yield from self.value(node, fact.relation_id, fact, "statement")
        if fact.object_id is not None:
            item = f"<{WD}{self.ids[fact.object_id]}>"
            yield f"<{WD}{subject}>", f"<{PROP}direct/{fact.relation_id}>", item

    def _awards(self, awards: list[Fact], years: list[Fact]) -> Iterator[tuple[str, str, str]]:
        """One statement an award: two prizes in one field are two statements with one object."""
        for number in range(max(len(awards), len(years))):
            award = awards[number % len(awards)]
            rank = "PreferredRank" if digit(award.subject_id, 5) == 1 else "NormalRank"
            node, tied = self.statement(self.ids[award.subject_id], "P166", rank)
            yield from tied
            yield from self.value(node, "P166", award, "statement")
            if number < len(years):
                yield from self.value(node, "P585", years[number], "qualifier")

    def _noise(self) -> Iterator[tuple[str, str, str]]:
        """What must not become a fact, for about one fact in ten, and of every relation."""
        seen: set[str] = set()
        for fact in self.tables.facts:
            relation = fact.relation_id.partition(".")[0]
            if relation in seen and digit("noise" + fact.fact_id, 10):
                continue
            subject = self.ids[fact.subject_id]
            node, tied = self.statement(subject, relation, "DeprecatedRank")
            wrong = self.tables.facts[digit(fact.fact_id, len(self.tables.facts))]
            yield from tied
            yield from self.value(node, relation, fact if "." in fact.relation_id else wrong, "statement")
            node, tied = self.statement(subject, relation)
            yield from tied
            unknown = f"http://www.wikidata.org/.well-known/genid/{digit(fact.fact_id, 10**6)}"
            blank = digit(fact.fact_id, 2)
            yield node, f"<{PROP}statement/{relation}>", f"_:unknown{self._statement}" if blank else f"<{unknown}>"
            node, tied = self.statement("P31", relation)  # a property has statements too
            yield from tied
            yield from self.value(node, relation, fact, "statement")
            if fact.datatype == "date" and "." not in fact.relation_id:
                node, tied = self.statement(subject, relation)
                yield from tied
                yield from self.date(node, relation, "1700", 7, "statement")
            seen.add(relation)
