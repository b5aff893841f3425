"""What KaRR and its baselines ask: every distinct string of the draws once, and blanks at the end of templates."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple

from almanac.dataset.text import normalise
from almanac.errors import AlmanacError
from almanac.punctuation import space_after
from almanac.rows import Choices, Fact, Request
from almanac.suites.asked import Asked, Batch
from almanac.suites.karr.baselines import K_PROMPTS, LAMA, PARAREL
from almanac.suites.karr.draws import FactDraw, Pools
from almanac.suites.karr.estimator import VARIANTS
from almanac.suites.karr.rows import SpuriousObject
from almanac.suites.karr.runs import KINDS, Resampling
from almanac.suites.karr.strings import Sentences, beta_of
from almanac.tables import read_jsonl

# With which object a fact is asked: with its own, with another of its relation, which is not true, and with the false
# one that a model expects most, which is known when it has answered (`expected`).
FACTS, NULL, SPURIOUS = "facts", "null", "spurious"
STRING, SPARE, BLANK, MINED = "string", "spare", "blank", "mined"  # what a request is to its item; blanks are numbered
TOP = max(LAMA.values())
TOGETHER = 50  # facts of a batch
# Words that fill a blank without naming anything; LAMA leaves such out of the vocabulary.
STOPWORDS = (
    "a an and are as at be been both but by de for from had has have he her his in is it its itself many more most "
    "not now of on one or other she some such than that the their there these they this those three to two was "
    "were which who with you"
)
Objects = Sequence[tuple[Fact, Mapping[str, str]]]  # facts, each with the objects that it is asked with, by `asked`


class KarrSetting(NamedTuple):
    """With which object a fact is asked: ``facts`` (its own), ``null`` or ``spurious``."""

    asked: str

    def label(self) -> str:
        """Say it to a reader."""
        names = {FACTS: "its own object", NULL: "a false object", SPURIOUS: "a false object that is expected"}
        return names[self.asked]


def read_spurious(path: Path, pools: Pools) -> dict[str, str]:
    """Return the false object of each relation that a file names, JSON Lines of `SpuriousObject`.

    A name that an object of the relation has means that object.

    Raises:
        AlmanacError: the file cannot be read, a relation stands twice or is not in the dataset, or a name is empty.
    """
    found: dict[str, str] = {}
    for row in read_jsonl(path, SpuriousObject):
        where = f"{path}: {row.relation_id}"
        if row.relation_id not in pools.objects:
            raise AlmanacError(f"{where}: the dataset has no such relation; it has {', '.join(pools.objects)}")
        if row.relation_id in found or not row.object.strip():
            what = "stands twice; leave one row" if row.relation_id in found else "the object is empty; name one"
            raise AlmanacError(f"{where}: {what}")
        name = normalise(row.object)
        own = (key for key in pools.objects[row.relation_id] if name in pools.names.folded(key))
        found[row.relation_id] = next(own, row.object.strip())
    return found


def expectation(pools: Pools, relation: str) -> Request:
    """Return the question which of a relation's common objects a model expects when the subject is left open."""
    labels = [pools.names.label(key) for key in pools.common_objects[relation]]
    return _blank(pools.drawn_templates(relation)[0], "[X]", dict.fromkeys(labels))


def add(
    asked: Asked, sentences: Sentences, mode: str, setting: KarrSetting, fact: Fact, label: str, drawn: FactDraw
) -> int:
    """Add an item of KaRR with its draw and the strings that serve it; return its number."""
    item = asked.item(mode, setting, fact, (label,))
    asked.own["draws"] += drawn.rows(item)
    link(asked, item, STRING, sentences.requests(drawn, VARIANTS[mode]))
    return item


def link(asked: Asked, item: int, role: str, requests: Iterable[Request]) -> None:
    """Link requests to an item in a role."""
    for request in requests:
        asked.link(item, role, request)


@dataclass(frozen=True)
class Asker:
    """Asks facts, which have the choices ``wrong``, by KaRR and its baselines."""

    pools: Pools
    wrong: Mapping[str, Choices]
    asked: Asked
    sentences: Sentences = field(default_factory=Sentences)

    def objects(self, facts: Iterable[Fact]) -> Objects:
        """Return facts with the objects that each is asked with in the first round.

        Where a file has false objects of relations, a fact of which its relation's is true, and one whose relation has
        none, is refused for these and asked with the others.

        Raises:
            AlmanacError: as `read_spurious`.
        """
        pools, path, found = self.pools, self.pools.options.spurious_objects, []
        given = None if path is None else read_spurious(Path(path), pools)
        for fact in facts:
            objects = {FACTS: fact.object_key}
            if pools.options.null and (wrong := pools.wrong_object(fact)) is not None:
                objects[NULL] = wrong
            if given is not None:
                key = given.get(fact.relation_id)
                if key is not None and key in pools.data.untrue(fact, [key]):
                    objects[SPURIOUS] = key
                else:
                    has = "no object there" if key is None else f"{key!r}, which is true of its subject"
                    reason = f"the file of false objects: its relation has {has}"
                    self.asked.refuse(f"fact {fact.fact_id}, spurious", reason)
            found.append((fact, objects))
        return found

    def ask(self, objects: Objects) -> Iterator[Batch]:
        """Yield facts with their objects by every method, method by method; the baselines are not asked of the null.

        The mode that reads sentences whole comes first (`Sentences`).
        """
        modes = sorted(self.pools.options.modes, key=lambda mode: VARIANTS[mode].tokens != "mean")
        steps: list[Callable[[Fact, Mapping[str, str]], None]] = [partial(self._karr, mode) for mode in modes]
        if self.pools.options.baselines:
            steps.append(self._blanks)
        for step in steps:
            for at, (fact, own) in enumerate(objects, 1):
                step(fact, own)
                if at % TOGETHER == 0:
                    yield self.asked.take()
        yield self.asked.take()

    def _karr(self, mode: str, fact: Fact, objects: Mapping[str, str]) -> None:
        """Ask KaRR in one mode, and K-Prompts where it reads what the mode does."""
        pools, asked, variant = self.pools, self.asked, VARIANTS[mode]
        for name, key in objects.items():
            setting, label, drawn = KarrSetting(name), pools.names.label(key), pools.draw(fact, key, variant)
            item = add(asked, self.sentences, mode, setting, fact, label, drawn)
            if name == FACTS and pools.options.spurious:
                asked.link(item, MINED, expectation(pools, fact.relation_id))
            if name == FACTS and pools.options.resamples:
                runs = Resampling(pools, variant)
                for kind in KINDS:
                    if (more := runs.widened(fact, drawn, kind)) != drawn:
                        link(asked, item, SPARE, self.sentences.requests(more, variant))
            if mode == "paper" and name != NULL and pools.options.baselines:
                prompts = asked.item(K_PROMPTS, setting, fact, (label,))
                link(asked, prompts, STRING, self.sentences.own(drawn))

    def _blanks(self, fact: Fact, objects: Mapping[str, str]) -> None:
        """Ask LAMA and ParaRel for an object in the blank after each drawn template, among the fact's wrong choices.

        The first template is LAMA's question, all of them are ParaRel's. The true object comes after the wrong ones,
        and after it the object asked in its place, unless it is one of them. Only LAMA's asks for ranks among all
        tokens: those cost more than the choices do.
        """
        pools, options = self.pools, self.pools.options
        true = pools.data.true[fact.relation_id, fact.subject_id]
        label, own = pools.names.label(fact.object_key), pools.names.label(fact.subject_id)
        others = {name for key in true if key != fact.object_key for name in pools.names.names(key)}
        offered = self.wrong.get(fact.fact_id)
        wrong = [one for one in offered.labels if one != label] if offered is not None else []
        exclude = (*STOPWORDS.split(), *sorted(others - {label}))
        pool = pools.template_pool(fact.relation_id) if options.resamples else ()
        for name, key in objects.items():
            if name == NULL:
                continue
            found = pools.names.label(key)
            choices = tuple(dict.fromkeys((*wrong, label, found)))
            requests = [
                _blank(template, own, choices, TOP, exclude) if at == 0 or pool else _blank(template, own, choices)
                for at, template in enumerate(pool or pools.drawn_templates(fact.relation_id))
            ]
            accepted = tuple(map(pools.names.label, true)) if name == FACTS else (found,)
            for experiment in (*LAMA, PARAREL):
                item = self.asked.item(experiment, KarrSetting(name), fact, accepted)
                for at, request in enumerate(requests):
                    # What a method needs comes first; the other templates are those of its runs.
                    needed = at < options.templates if experiment == PARAREL else at == 0
                    if needed or (options.resamples and name == FACTS):
                        self.asked.link(item, f"{BLANK}-{at}", request, choices.index(found))


def _blank(
    template: str, subject: str, choices: Iterable[str], top_k: int | None = None, exclude: tuple[str, ...] = ()
) -> Request:
    """Return the question for the object as the blank after a template."""
    text = f"{beta_of(template, subject)}{space_after(template)}[MASK]"
    return Request("", "fill", None, text, choices=tuple(choices), top_k=top_k, exclude=exclude)
