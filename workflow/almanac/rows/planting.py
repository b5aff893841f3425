"""What planted models are taught: how often each fact is to stand in a corpus, and where it stands."""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Exposure:
    """How often a fact was to be taught: its planned number of occurrences in the corpus (the dose)."""

    KEY: ClassVar = ("fact_id",)
    fact_id: str
    dose: int


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One occurrence class of a fact in a corpus: how often it stands in a document, by which template and format."""

    KEY: ClassVar = ("fact_id", "document", "template_id", "format")
    fact_id: str
    document: int
    template_id: str
    format: str
    count: int
