"""What KaRR and its baselines ask: every distinct string of the draws once, and blanks at the end of templates."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from almanac.dataset.names import ObjectNames
from almanac.rows import Choices, Draw, Entity, Fact, Item, Link, NotAsked, Relation, Request, Template
from almanac.suites.asking import Asked, asked_facts
from almanac.suites.karr import strings
from almanac.suites.karr.draws import Drawn, Pools, sentences
from almanac.suites.karr.estimator import VARIANTS
from almanac.suites.karr.options import EXPECTED, KarrOptions
from almanac.suites.karr.resampling import KINDS, Resampling

SUITE = "karr"
# The settings: facts as they are, with another object of their relation, and with the one that a model expects there,
# which is known when it has answered (`expected`).
FACTS, NULL, SPURIOUS = "facts", "null", "spurious"
LAMA = {"lama_at_1": 1, "lama_at_10": 10}  # how far down the list the object may stand
PARAREL, K_PROMPTS = "pararel", "k_prompts"
STRING, SPARE, BLANK, MINED = "string", "spare", "blank", "mined"  # what a request is to its item; blanks are numbered
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

    def add(self, item: Item, requests: Iterable[Request]) -> None:
        """Add an item and the strings that serve it."""
        self.asked.items.append(item)
        self.link(item, requests, STRING)

    def link(self, item: Item, requests: Iterable[Request], role: str, index: int | None = None) -> None:
        """Link requests to an item in a role."""
        for request_id in dict.fromkeys(map(self.asked.request, requests)):
            self.asked.links.append(Link(item.item_id, role, request_id, index, None))

    def add_draw(self, item: Item, mode: str, drawn: Drawn) -> None:
        """Add an item of KaRR with its draw."""
        self.draws += drawn.rows(item.item_id)
        self.add(item, strings.requests(drawn, VARIANTS[mode]))

    def share(self) -> None:
        """Ask a sentence once of which one mode reads every token and another the object: the first serves both."""
        requests = self.asked.requests
        whole = {strings.place_of(request): request_id for request_id, request in requests.items() if request.per_token}
        instead = {
            request_id: whole[place]
            for request_id, request in requests.items()
            if not request.per_token and (place := strings.place_of(request)) in whole
        }
        for request_id in instead:
            del requests[request_id]
        self.asked.links = [
            replace(link, request_id=instead[link.request_id]) if link.request_id in instead else link
            for link in self.asked.links
        ]


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
    pools, refused = pools_of(facts, entities, relations, templates, options)
    out = KarrAsked(refused=refused)
    wrong = {row.fact_id: row.labels for row in choices}
    for fact in asked_facts(facts, options.sample, options.seed):
        if fact.relation_id not in pools.templates:
            out.refused.append(NotAsked(f"fact {fact.fact_id}", "its relation has no template that ends in [Y]"))
        else:
            ask_object(out, pools, fact, _objects(pools, fact), wrong)
        on_fact()
    out.share()
    return out


def pools_of(
    facts: Sequence[Fact],
    entities: Sequence[Entity],
    relations: Sequence[Relation],
    templates: Sequence[Template],
    options: KarrOptions,
) -> tuple[Pools, list[NotAsked]]:
    """Return what a dataset's draws are drawn from, and the templates that cannot be used."""
    usable, refused = sentences(templates, relations, options.property_aliases)
    return Pools(facts, ObjectNames.of(entities), usable, options), refused


def _objects(pools: Pools, fact: Fact) -> dict[str, str]:
    """Return the objects that a fact is asked with in the first round, by setting."""
    out = {FACTS: fact.object_key}
    if pools.options.null and (wrong := pools.wrong_object(fact)) is not None:
        out[NULL] = wrong
    return out


def ask_object(
    out: KarrAsked, pools: Pools, fact: Fact, objects: Mapping[str, str], wrong: Mapping[str, Sequence[str]]
) -> None:
    """Ask a fact by every method, with each of the objects.

    Args:
        out: what is asked.
        pools: what is drawn from.
        fact: the fact.
        objects: what is put in the true object's place, by setting; the baselines are not asked of the null.
        wrong: each fact's wrong choices.
    """
    for mode in dict.fromkeys(pools.options.modes):
        for setting, key in objects.items():
            item = item_of(mode, setting, fact.fact_id, fact.relation_id, (pools.names.label(key),))
            drawn = pools.draw(fact, key, VARIANTS[mode])
            out.add_draw(item, mode, drawn)
            if setting == FACTS and pools.options.spurious:
                out.link(item, [expectation(pools, fact.relation_id)], MINED)
            if setting == FACTS and pools.options.resamples:
                resampling = Resampling(pools, VARIANTS[mode])
                widened = [
                    resampling.widened(fact, drawn, kind) for kind in KINDS if resampling.replaces(fact, drawn, kind)
                ]
                # At once: what is drawn anyway is in both, and a request serves an item in a role once.
                out.link(item, (one for more in widened for one in strings.requests(more, VARIANTS[mode])), SPARE)
            if mode == "paper" and setting != NULL and pools.options.baselines:
                prompts = item_of(K_PROMPTS, setting, fact.fact_id, fact.relation_id, item.accepted)
                out.add(prompts, strings.own_requests(drawn))
    if pools.options.baselines:
        for setting, key in objects.items():
            if setting != NULL:
                _ask_blanks(out, pools, fact, setting, pools.names.label(key), wrong.get(fact.fact_id, ()))


def expectable(pools: Pools, relation: str) -> list[str]:
    """Return the objects of a relation among which a model's expectation is found, the most common first."""
    return pools.common_objects[relation][:EXPECTED]


def expectation(pools: Pools, relation: str) -> Request:
    """Return the question which of a relation's common objects a model expects where the subject is left open."""
    labels = [pools.names.label(key) for key in expectable(pools, relation)]
    return _blank(pools.drawn_templates(relation)[0], "[X]", dict.fromkeys(labels))


def _blank(
    template: str, subject: str, choices: Iterable[str], top_k: int | None = None, exclude: tuple[str, ...] = ()
) -> Request:
    """Return the question for the object as the blank behind a template."""
    text = f"{strings.beta_of(template, subject)} [MASK]"
    return Request("", "fill", None, text, choices=tuple(choices), top_k=top_k, exclude=exclude)


def _ask_blanks(out: KarrAsked, pools: Pools, fact: Fact, setting: str, found: str, wrong: Sequence[str]) -> None:
    """Ask LAMA and ParaRel for an object as the blank behind each drawn template, among the fact's wrong choices.

    The first template is LAMA's question, all of them are ParaRel's. The true object stands behind the wrong ones, and
    behind it what is asked in its place, unless it is one of them. Only LAMA's asks for ranks among all tokens: those
    cost more than the choices do.
    """
    label = pools.names.label(fact.object_key)
    others = [key for key in pools.true[fact.relation_id, fact.subject_id] if key != fact.object_key]
    accepted = tuple(pools.names.label(key) for key in pools.true[fact.relation_id, fact.subject_id])
    choices = tuple(dict.fromkeys((*(one for one in wrong if one != label), label, found)))
    pool = pools.template_pool(fact.relation_id) if pools.options.resamples else ()
    own = pools.names.label(fact.subject_id)
    exclude = (*STOPWORDS.split(), *sorted({pools.names.label(key) for key in others} - {label}))
    requests = [
        _blank(template, own, choices, TOP, exclude) if at == 0 or pool else _blank(template, own, choices)
        for at, template in enumerate(pool or pools.drawn_templates(fact.relation_id))
    ]
    drawn = pools.options.templates
    for experiment in (*LAMA, PARAREL):
        names = accepted if setting == FACTS else (found,)
        item = item_of(experiment, setting, fact.fact_id, fact.relation_id, names)
        out.asked.items.append(item)
        for at, request in enumerate(requests):
            # What a method needs comes first; the other templates are those of its runs.
            needed = at < drawn if experiment == PARAREL else at == 0
            if needed or (pools.options.resamples and setting == FACTS):
                out.link(item, [request], f"{BLANK}-{at}", choices.index(found))


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
    out.share()
    return out
