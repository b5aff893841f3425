"""Evidence for planted facts: the documents that state them, like aligned texts for real facts."""

from collections import defaultdict
from collections.abc import Iterable

from almanac.planting.corpus import Document
from almanac.rows import Evidence, LedgerEntry

PROSE = "prose"  # lists and questions state facts too, but not in sentences


def evidence(documents: Iterable[Document], ledger: Iterable[LedgerEntry], most: int = 3) -> list[Evidence]:
    """Return, for each fact, the first prose documents that state it.

    Args:
        documents: the corpus.
        ledger: which documents state each fact.
        most: the most texts per fact; equal texts count once.

    Returns:
        Sorted by fact, then in the order of the corpus. A document that states several facts is a text of each.
    """
    texts = {document.number: document.text for document in documents if document.kind == PROSE}
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for entry in sorted(ledger, key=lambda row: (row.fact_id, row.document)):
        if entry.document in texts and len(found[entry.fact_id]) < most:
            found[entry.fact_id].setdefault(texts[entry.document])
    return [Evidence(fact_id, text) for fact_id, stating in found.items() for text in stating]
