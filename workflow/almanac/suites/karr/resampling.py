"""Draws with one template of every relation, or one name of every entity, replaced by one more that is drawn for it.

The variance over such runs shows how much the score depends on the draw (Dong et al., section 4.3). One more template
and one more name than the draw needs are asked, and every run is computed from them, without further requests.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from almanac.rows import Fact
from almanac.suites.karr.draws import FactDraw, Pools
from almanac.suites.karr.estimator import Variant
from almanac.tables import seed_of

TEMPLATES, NAMES = "templates", "names"  # what a run replaces
KINDS = (TEMPLATES, NAMES)
Change = Callable[[str, tuple[str, ...]], tuple[str, ...]]  # of whom, and the texts drawn for it


def _same(of: str, texts: tuple[str, ...]) -> tuple[str, ...]:
    return texts


def _changed(drawn: FactDraw, fact: Fact, kind: str, change: Change) -> FactDraw:
    """Return a draw with the templates, or the names, of everything in it changed.

    A name that joins the subject's is followed by all the templates that the others are.
    """
    templates, names = (change, _same) if kind == TEMPLATES else (_same, change)
    own = names(fact.subject_id, drawn.names)
    relations = [
        {relation: templates(relation, texts) for relation, texts in under.items()} for under in drawn.relations
    ]
    if len(own) > len(relations):
        joined: dict[str, tuple[str, ...]] = {}
        for under in relations:
            for relation, texts in under.items():
                joined[relation] = tuple(dict.fromkeys((*joined.get(relation, ()), *texts)))
        relations.append(joined)
    return FactDraw(
        templates(fact.relation_id, drawn.templates),
        own,
        names(fact.object_key, drawn.objects),
        {other: names(other, texts) for other, texts in drawn.subjects.items()},
        tuple(relations),
    )


@dataclass(frozen=True)
class Resampling:
    """What can be replaced in the draws of a variant; the same on every call, whatever else is asked."""

    pools: Pools
    variant: Variant
    _swaps: dict[tuple[str, int, str], tuple[str, str] | None] = field(default_factory=dict, compare=False)

    def _pool(self, kind: str, of: str) -> tuple[str, ...]:
        return self.pools.template_pool(of) if kind == TEMPLATES else self.pools.name_pool(of, self.variant)

    def _kept(self, kind: str) -> int:
        """Return how many of the first drawn are never replaced: the label, where the variant keeps it."""
        return int(kind == NAMES and self.variant.keeps_label)

    def _drawn(self, kind: str) -> int:
        return self.pools.options.templates if kind == TEMPLATES else self.pools.options.aliases

    def spare(self, kind: str, of: str) -> tuple[str, ...]:
        """Return the one more template of a relation, or name of an entity, that is drawn; nothing if there is none."""
        drawn = self._drawn(kind)
        return self._pool(kind, of)[drawn:] if drawn > self._kept(kind) else ()

    def positions(self, kind: str, run: int, of: str) -> list[int]:
        """Return which of the pool a run uses, in the order of the draw; the last of the pool is the one more."""
        listed = list(range(min(self._drawn(kind), len(self._pool(kind, of)))))
        if self.spare(kind, of):
            kept = self._kept(kind)
            seed = seed_of(self.pools.options.seed, "replaced", kind, run, of)
            listed[kept + seed % (len(listed) - kept)] = len(listed)
        return listed

    def one(self, run: int, relation: str) -> int:
        """Return which template of the pool a run uses where a method needs a single one."""
        return seed_of(self.pools.options.seed, "single", run, relation) % len(self.pools.template_pool(relation))

    def _swap(self, kind: str, run: int, of: str) -> tuple[str, str] | None:
        """Return which text a run replaces by which."""
        key = (kind, run, of)
        if key not in self._swaps:
            pool, positions = self._pool(kind, of), self.positions(kind, run, of)
            gone = next((at for at in range(len(positions)) if positions[at] != at), None)
            self._swaps[key] = None if gone is None else (pool[gone], pool[-1])
        return self._swaps[key]

    def widened(self, fact: Fact, drawn: FactDraw, kind: str) -> FactDraw:
        """Return a draw whose strings are those of every run: the same draw where no run can differ from it."""
        return _changed(drawn, fact, kind, lambda of, texts: (*texts, *self.spare(kind, of)))

    def replaced(self, fact: Fact, drawn: FactDraw, kind: str, run: int) -> FactDraw:
        """Return the draw of a run."""

        def change(of: str, texts: tuple[str, ...]) -> tuple[str, ...]:
            swap = self._swap(kind, run, of)
            return texts if swap is None else tuple(swap[1] if text == swap[0] else text for text in texts)

        return _changed(drawn, fact, kind, change)
