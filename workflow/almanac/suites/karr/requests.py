"""What KaRR and its baselines ask: every distinct string of the draws once, and blanks at the end of templates."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from almanac.dataset.names import ObjectNames
from almanac.rows import Choices, Draw, Entity, Fact, Item, Link, NotAsked, Relation, Request, Template
from almanac.suites.asking import Asked
from almanac.suites.karr import strings
from almanac.suites.karr.draws import Drawn, Pools, sentences
from almanac.suites.karr.estimator import VARIANTS
from almanac.suites.karr.options import KarrOptions
from almanac.tables import hash_order

SUITE = "karr"
FACTS, NULL = "facts", "null"  # the settings: facts as they are, and with another object of their relation
LAMA = {"lama_at_1": 1, "lama_at_10": 10}  # how far down the list the object may stand
PARAREL, K_PROMPTS = "pararel", "k_prompts"
STRING, BLANK = "string", "blank"
TOP = max(LAMA.values())
# Words that fill a blank without naming anything; LAMA leaves such out of the vocabulary.
STOPWORDS = (
    "a an and are as at be been both but by de for from had has have he her his in is it its itself many more most "
    "not now of on one or other she some such than that the their there these they this those three to two was "
    "were which who with you"
)


@dataclass
class KarrAsked:
    """What is asked, what was drawn for it, and what could not be asked."""

    asked: Asked = field(default_factory=Asked)
    draws: list[Draw] = field(default_factory=list)
    refused: list[NotAsked] = field(default_factory=list)

    def add(
        self, item: Item, requests: Iterable[Request], role: str = STRING, index: Mapping[str, int] | None = None
    ) -> None:
        """Add an item and the requests that serve it."""
        self.asked.items.append(item)
        for request_id in dict.fromkeys(map(self.asked.request, requests)):
            at = None if index is None else index[request_id]
            self.asked.links.append(Link(item.item_id, role, request_id, at, None))

    def add_draw(self, item: Item, mode: str, drawn: Drawn) -> None:
        """Add an item of KaRR with its draw."""
        self.draws += drawn.rows(item.item_id)
        self.add(item, strings.requests(drawn, VARIANTS[mode]))


def item_of(experiment: str, setting: str, fact_id: str, relation_id: str, accepted: tuple[str, ...]) -> Item:
    """Return an item of this suite."""
    item_id = f"{SUITE}/{experiment}/{setting}/{fact_id}"
    return Item(item_id, SUITE, experiment, fact_id, relation_id, None, setting, accepted)


def ask(
    facts: Sequence[Fact],
    entities: Sequence[Entity],
    relations: Sequence[Relation],
    templates: Sequence[Template],
    choices: Sequence[Choices],
    options: KarrOptions,
    on_fact: Callable[[], object] = lambda: None,
) -> KarrAsked:
    """Ask the test facts of a dataset, each by draws that depend on its identity alone.

    Args:
        facts: the dataset's facts; all of them are pools to draw from.
        entities: the names of subjects and objects, with the types by which relations are filled up.
        relations: for relations without a template, one is made of the label.
        templates: of each relation those that end in the object are used.
        choices: the wrong choices of each test fact: ParaRel's candidates.
        options: modes, sizes of the draws, seed.
        on_fact: called after each fact.

    Returns:
        Items by mode and setting, baselines, and what could not be asked with the reason.
    """
    usable, refused = sentences(templates, relations)
    pools = Pools(facts, ObjectNames.of(entities), usable, options)
    out = KarrAsked(refused=refused)
    wrong = {row.fact_id: row.labels for row in choices}
    for fact in _tested(facts, options):
        if fact.relation_id not in usable:
            out.refused.append(NotAsked(f"fact {fact.fact_id}", "its relation has no template that ends in [Y]"))
        else:
            _ask_fact(out, pools, fact)
            if options.baselines:
                _ask_baselines(out, pools, fact, wrong.get(fact.fact_id, ()))
        on_fact()
    return out


def _ask_fact(out: KarrAsked, pools: Pools, fact: Fact) -> None:
    objects = {FACTS: fact.object_key}
    if pools.options.null and (wrong := pools.wrong_object(fact)) is not None:
        objects[NULL] = wrong
    for mode in pools.options.modes:
        for setting, key in objects.items():
            item = item_of(mode, setting, fact.fact_id, fact.relation_id, (pools.names.label(key),))
            drawn = pools.draw(fact, key, VARIANTS[mode])
            out.add_draw(item, mode, drawn)
            if mode == "paper" and setting == FACTS and pools.options.baselines:
                prompts = item_of(K_PROMPTS, FACTS, fact.fact_id, fact.relation_id, item.accepted)
                out.add(prompts, strings.own_requests(drawn))


def _ask_baselines(out: KarrAsked, pools: Pools, fact: Fact, wrong: Sequence[str]) -> None:
    """Ask the object as the blank behind each drawn template; the true object stands last among the candidates.

    The first template is LAMA's question, all of them are ParaRel's.
    """
    label = pools.names.label(fact.object_key)
    others = [key for key in pools.true[fact.relation_id, fact.subject_id] if key != fact.object_key]
    exclude = (*STOPWORDS.split(), *sorted({pools.names.label(key) for key in others} - {label}))
    candidates = tuple(dict.fromkeys(one for one in wrong if one != label))
    requests = [
        Request(
            "",
            "fill",
            None,
            f"{strings.beta_of(template, pools.names.label(fact.subject_id))} [MASK]",
            choices=(*candidates, label),
            top_k=TOP,
            exclude=exclude,
        )
        for template in pools.drawn_templates(fact.relation_id)
    ]
    accepted = tuple(pools.names.label(key) for key in pools.true[fact.relation_id, fact.subject_id])
    for experiment, own in (*((name, requests[:1]) for name in LAMA), (PARAREL, requests)):
        item = item_of(experiment, FACTS, fact.fact_id, fact.relation_id, accepted)
        ids = [out.asked.request(request) for request in own]
        out.add(item, own, BLANK, dict.fromkeys(ids, len(candidates)))


def ask_drawn(draws: Mapping[str, Drawn]) -> KarrAsked:
    """Ask exactly what was drawn elsewhere: nothing else is added, no dataset is needed.

    Args:
        draws: by item, ``karr/MODE/SETTING/FACT`` (`draws.check`).
    """
    out = KarrAsked()
    for item_id, drawn in draws.items():
        _, mode, setting, fact_id = item_id.split("/", 3)
        item = item_of(mode, setting, fact_id, fact_id.partition("|")[0], drawn.objects[:1])
        out.add_draw(item, mode, drawn)
    return out


def _tested(facts: Sequence[Fact], options: KarrOptions) -> list[Fact]:
    """Return the test facts, of each relation a seeded sample."""
    by_relation: dict[str, dict[str, Fact]] = defaultdict(dict)
    for fact in facts:
        if fact.split == "test":
            by_relation[fact.relation_id][fact.fact_id] = fact
    return [
        own[fact_id]
        for _, own in sorted(by_relation.items())
        for fact_id in sorted(hash_order(own, options.seed, "sample")[: options.sample])
    ]
