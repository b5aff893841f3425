"""A real SPARQL server with some of the facts that ship, and clients that do not wait."""

import pytest
from tests.sources.sparql_servers import oxigraph, proxy
from tests.sources.wikidata_rdf import WikidataShape, shipped

from almanac.sources.options import Manners
from almanac.sources.sparql import Client

RELATIONS = ("P36", "P569", "P1086", "P225", "P166", "P166.P585")


@pytest.fixture(scope="session")
def quick():
    return Manners(pause=0, attempts=3, wait=0.01, max_wait=0.05)


@pytest.fixture(scope="session")
def shape():
    return WikidataShape(shipped(*RELATIONS))


@pytest.fixture(scope="session")
def wikidata(shape):
    """The address of a server that holds them as Wikidata would."""
    with oxigraph(shape.triples()) as url:
        yield url


@pytest.fixture
def between(wikidata):
    """A proxy before it, without faults."""
    with proxy(wikidata) as server:
        yield server


@pytest.fixture
def client(between, quick):
    return Client(between.url, "test@example.org", quick)
