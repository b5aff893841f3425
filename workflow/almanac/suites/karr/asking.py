"""The requests of KaRR and its baselines: each distinct string of the draws once, and blanks that end a template."""

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

# With which object a fact is asked: its own; a false one, drawn from its relation; or the false one that the model
# expects most, which is known only after the first round (`expected`).
FACTS, NULL, SPURIOUS = "facts", "null", "spurious"
STRING, SPARE, BLANK, MINED = "string", "spare", "blank", "mined"  # roles of requests; blanks are numbered
TOP = max(LAMA.values())
TOGETHER = 50  # facts in a batch
# Words that name nothing; LAMA, too, excludes such words from the vocabulary that fills a blank.
STOPWORDS = (
    "a an and are as at be been both but by de for from had has have he her his in is it its itself many more most "
    "not now of on one or other she some such than that the their there these they this those three to two was "
    "were which who with you"
)
Objects = Sequence[tuple[Fact, Mapping[str, str]]]  # facts, each with the keys of its objects by `asked`


class KarrSetting(NamedTuple):
    """With which object a fact is asked: ``facts`` (its own), ``null`` or ``spurious``."""

    asked: str

    def label(self) -> str:
        """Describe the setting to a reader."""
        names = {FACTS: "its own object", NULL: "a false object", SPURIOUS: "a false object that is expected"}
        return names[self.asked]


def read_spurious(path: Path, pools: Pools) -> dict[str, str]:
    """Read a file of false objects (JSON Lines of `SpuriousObject`) and return them by relation.

    Where a name is that of an object of the relation, its key is returned, else the name itself.

    Raises:
        AlmanacError: the file cannot be read, a relation appears twice or is not in the dataset, or a name is empty.
    """
    found: dict[str, str] = {}
    for row in read_jsonl(path, SpuriousObject):
        where = f"{path}: {row.relation_id}"
        if row.relation_id not in pools.objects:
            raise AlmanacError(f"{where}: the dataset has no such relation; it has {', '.join(pools.objects)}")
        if row.relation_id in found or not row.object.strip():
            what = "has two rows; keep one" if row.relation_id in found else "the object is empty; name one"
            raise AlmanacError(f"{where}: {what}")
        name = normalise(row.object)
        matches = (key for key in pools.objects[row.relation_id] if name in pools.names.normalised_names(key))
        found[row.relation_id] = next(matches, row.object.strip())
    return found


def expectation(pools: Pools, relation: str) -> Request:
    """Return the request that ranks a relation's common objects in a template whose subject is left as ``[X]``."""
    labels = [pools.names.label(key) for key in pools.common_objects[relation]]
    return _blank(pools.drawn_templates(relation)[0], "[X]", dict.fromkeys(labels))


def add(
    asked: Asked, sentences: Sentences, mode: str, setting: KarrSetting, fact: Fact, label: str, drawn: FactDraw
) -> int:
    """Add a KaRR item with its draw and all requests that it needs; return its number."""
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
    """Asks facts by KaRR and its baselines; ``wrong`` holds the wrong choices of each fact."""

    pools: Pools
    wrong: Mapping[str, Choices]
    asked: Asked
    sentences: Sentences = field(default_factory=Sentences)

    def objects(self, facts: Iterable[Fact]) -> Objects:
        """Return facts with the keys of the objects that each is asked with in the first round, by `asked`.

        With a file of false objects, a fact is refused for that object, and only for it, if the file has none for its
        relation or if the object is true of its subject.

        Raises:
            AlmanacError: as `read_spurious`.
        """
        pools, path, found = self.pools, self.pools.options.spurious_objects, []
        false_objects = None if path is None else read_spurious(Path(path), pools)
        for fact in facts:
            objects = {FACTS: fact.object_key}
            if pools.options.null and (wrong := pools.wrong_object(fact)) is not None:
                objects[NULL] = wrong
            if false_objects is not None:
                key = false_objects.get(fact.relation_id)
                if key is not None and key in pools.data.false_objects(fact, [key]):
                    objects[SPURIOUS] = key
                else:
                    has = "no object there" if key is None else f"{key!r}, which is true of its subject"
                    reason = f"the file of false objects: its relation has {has}"
                    self.asked.refuse(f"fact {fact.fact_id}, spurious", reason)
            found.append((fact, objects))
        return found

    def ask(self, objects: Objects) -> Iterator[Batch]:
        """Yield the requests method by method, for all facts and objects; baselines are not asked with the null object.

        Modes that read every token of a sentence come first (see `Sentences`).
        """
        modes = sorted(self.pools.options.modes, key=lambda mode: VARIANTS[mode].tokens != "mean")
        steps: list[Callable[[Fact, Mapping[str, str]], None]] = [partial(self._karr, mode) for mode in modes]
        if self.pools.options.baselines:
            steps.append(self._blanks)
        for step in steps:
            for at, (fact, keys) in enumerate(objects, 1):
                step(fact, keys)
                if at % TOGETHER == 0:
                    yield self.asked.take()
        yield self.asked.take()

    def _karr(self, mode: str, fact: Fact, objects: Mapping[str, str]) -> None:
        """Ask a fact by KaRR in one mode and, with the mode ``paper``, by K-Prompts, which reads the same strings."""
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
        """Ask LAMA and ParaRel to fill the object into a blank at the end of each drawn template.

        LAMA uses the first template, ParaRel all. Choices are the wrong choices, the true object, and a false one if
        new. Ranks among all tokens, which cost more than choices, are requested only for LAMA's template.
        """
        pools, options = self.pools, self.pools.options
        true = pools.data.true_objects[fact.relation_id, fact.subject_id]
        label, subject = pools.names.label(fact.object_key), pools.names.label(fact.subject_id)
        others = {name for key in true if key != fact.object_key for name in pools.names.names(key)}
        offered = self.wrong.get(fact.fact_id)
        wrong = [choice for choice in offered.labels if choice != label] if offered is not None else []
        exclude = (*STOPWORDS.split(), *sorted(others - {label}))
        pool = pools.template_pool(fact.relation_id) if options.resamples else ()
        for name, key in objects.items():
            if name == NULL:
                continue
            object_label = pools.names.label(key)
            choices = tuple(dict.fromkeys((*wrong, label, object_label)))
            blank = partial(_blank, subject=subject, choices=choices)
            requests = [
                blank(template, top_k=TOP, exclude=exclude) if at == 0 or pool else blank(template)
                for at, template in enumerate(pool or pools.drawn_templates(fact.relation_id))
            ]
            accepted = tuple(map(pools.names.label, true)) if name == FACTS else (object_label,)
            for experiment in (*LAMA, PARAREL):
                item = self.asked.item(experiment, KarrSetting(name), fact, accepted)
                for at, request in enumerate(requests):
                    # The templates of the method itself come first; later ones serve only the runs (`resamples`).
                    needed = at < options.templates if experiment == PARAREL else at == 0
                    if needed or (options.resamples and name == FACTS):
                        self.asked.link(item, f"{BLANK}-{at}", request, choices.index(object_label))


def _blank(
    template: str, subject: str, choices: Iterable[str], top_k: int | None = None, exclude: tuple[str, ...] = ()
) -> Request:
    """Return the request for a template's object, as a blank that ends the text."""
    text = f"{beta_of(template, subject)}{space_after(template)}[MASK]"
    return Request("", "fill", None, text, choices=tuple(choices), top_k=top_k, exclude=exclude)
