"""The SPARQL queries for Wikidata: standard SPARQL 1.1, all prefixes declared, no engine-specific features.

They run unchanged on Blazegraph, QLever, Oxigraph and Virtuoso. Deprecated statements, unknown values and subjects that
are no items are fetched rather than filtered out, so that the omissions can be counted.
"""

from almanac.sources.paging import Pattern

ENTITY = "http://www.wikidata.org/entity/"
RANKS = "http://wikiba.se/ontology#"
PREFIXES = """\
PREFIX wd: <http://www.wikidata.org/entity/>
PREFIX p: <http://www.wikidata.org/prop/>
PREFIX ps: <http://www.wikidata.org/prop/statement/>
PREFIX psv: <http://www.wikidata.org/prop/statement/value/>
PREFIX pq: <http://www.wikidata.org/prop/qualifier/>
PREFIX pqv: <http://www.wikidata.org/prop/qualifier/value/>
PREFIX wikibase: <http://wikiba.se/ontology#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
PREFIX skos: <http://www.w3.org/2004/02/skos/core#>
"""
PRIZES = {
    "Q38104": "Physics",
    "Q44585": "Chemistry",
    "Q80061": "Physiology or Medicine",
    "Q37922": "Literature",
    "Q35637": "Peace",
    "Q47170": "Economic Sciences",
}
LANGUAGES = ("en", "mul")  # since 2024 many names are stored under `mul`, the default for all languages
_SAID = ", ".join(f'"{language}"' for language in LANGUAGES)
_TIME = "?{node} wikibase:timeValue ?{name} ; wikibase:timePrecision ?{name}_precision ."

PROPERTIES = Pattern(
    PREFIXES,
    "?p ?type ?label",
    f"""  VALUES ?p {{ {{values}} }}
  ?p wikibase:propertyType ?type .
  OPTIONAL {{ ?p rdfs:label ?label . FILTER(LANG(?label) IN ({_SAID})) }}""",
)
LABELS = Pattern(
    PREFIXES,
    "?e ?name",
    f"  VALUES ?e {{ {{values}} }}\n  ?e rdfs:label ?name . FILTER(LANG(?name) IN ({_SAID}))",
)
ALIASES = Pattern(
    PREFIXES,
    "?e ?name",
    f"  VALUES ?e {{ {{values}} }}\n  ?e skos:altLabel ?name . FILTER(LANG(?name) IN ({_SAID}))",
)
SITELINKS = Pattern(PREFIXES, "?e ?sitelinks", "  VALUES ?e { {values} }\n  ?e wikibase:sitelinks ?sitelinks .")


def statements(property_id: str, qualifier: str | None, kind: str) -> Pattern:
    """Return the pattern of a property's statements, or of the values of a qualifier of these statements.

    Args:
        property_id: the property, such as P166.
        qualifier: the qualifier, such as P585, if the facts are its values; ``?main`` is then the statement's value.
        kind: the Wikibase type of the values. The precision of dates and the unit of quantities are in a value node.
    """
    lines = [f"  ?s p:{property_id} ?statement .", "  ?statement wikibase:rank ?rank ."]
    if qualifier is None:
        lines.append(f"  ?statement ps:{property_id} ?o .")
        path = f"psv:{property_id}"
    else:
        lines += [f"  ?statement ps:{property_id} ?main ; pq:{qualifier} ?o ."]
        path = f"pqv:{qualifier}"
    variables = "?s ?statement ?rank ?o" + (" ?main" if qualifier else "")
    # A statement has one value. A qualifier may have several, each with its own value node.
    if kind == "Time":  # optional: unknown dates have no value node
        own = "?node wikibase:timeValue ?o . " if qualifier else ""
        lines.append(f"  OPTIONAL {{ ?statement {path} ?node . {own}{_TIME.format(node='node', name='time')} }}")
        variables += " ?time ?time_precision"
    elif kind == "Quantity":
        amount = "wikibase:quantityAmount ?o ; " if qualifier else ""
        lines.append(f"  OPTIONAL {{ ?statement {path} ?node . ?node {amount}wikibase:quantityUnit ?unit . }}")
        variables += " ?unit"
    return Pattern(PREFIXES, variables, "\n".join(lines))


LAUREATES = Pattern(
    PREFIXES,
    "?s ?statement ?rank ?prize ?year ?year_precision ?birth ?birth_precision ?birth_rank ?gender ?gender_rank",
    f"""  VALUES ?prize {{ {" ".join(f"wd:{prize}" for prize in PRIZES)} }}
  ?statement ps:P166 ?prize ; wikibase:rank ?rank .
  ?s p:P166 ?statement .
  OPTIONAL {{ ?statement pqv:P585 ?year_node . {_TIME.format(node="year_node", name="year")} }}
  OPTIONAL {{
    ?s p:P569 ?birth_statement . ?birth_statement wikibase:rank ?birth_rank ; psv:P569 ?birth_node .
    {_TIME.format(node="birth_node", name="birth")}
  }}
  OPTIONAL {{ ?s p:P21 ?gender_statement . ?gender_statement ps:P21 ?gender ; wikibase:rank ?gender_rank . }}""",
)
