"""IC-LKE's prompts continued by the model (Wu et al.: is what is known also said?).

The examples and the subject are those of the choices; the model continues greedily. In the layout ``code`` the prompt
ends with the separator, as in the released code; in ``paper`` it ends at the subject, since no token should span the
cut.
"""

from collections.abc import Callable

from almanac.rows import Fact, Item, NotAsked, Request
from almanac.suites.asking import Asked, asked_facts
from almanac.suites.ic_lke.generated.options import GeneratedOptions
from almanac.suites.ic_lke.requests import LAYOUTS, Questioner, chosen, draw_examples
from almanac.suites.method import Data

SUITE = "lke_generated"
NAMES, LABEL, OFFICIAL, BEGINS, WRONG = "names", "label", "official", "begins", "wrong"
EXPERIMENTS = (NAMES, LABEL, OFFICIAL, BEGINS, WRONG)
TEXT = "text"  # the role of the request


def ask(data: Data, options: GeneratedOptions, on_step: Callable[[], object] = lambda: None) -> Asked:
    """Ask each test fact for one text, which several items judge.

    Returns:
        Of each fact an item an experiment, all served by one request. ``names``: any name of any true object stands in
        the text; ``label``: the fact's own label does; ``official``: the same as the released code sees it; ``begins``:
        the text begins with a true name; ``wrong``, the control: the label of the fact's first wrong choice stands in
        it.

    Raises:
        AlmanacError: a relation has fewer train facts than ``shots``, or is not in the dataset.
    """
    questioner = Questioner.of(data.facts, data.entities, data.choices, SUITE)
    asked, layout = questioner.asked, LAYOUTS[options.layout]
    for relation_id, own in chosen(data.facts, options.relations, SUITE).items():
        asked_of = asked_facts(own, options.sample, options.seed)
        if not asked_of:
            asked.refused.append(NotAsked(f"relation {relation_id}", "it has no test fact"))
        pairs = list(map(questioner.pair, draw_examples(own, options.shots, options.seed, 0)))
        context_id = asked.context(layout.context(pairs)) if pairs else None
        for fact in asked_of:
            text = layout.question(questioner.subject(fact), bool(pairs))
            request = Request(
                "", "generate", context_id, text, max_new_tokens=options.new_tokens, samples=1, temperature=0.0
            )
            for experiment, accepted in _accepted(questioner, fact).items():
                item_id = f"{SUITE}/{experiment}/shots={options.shots}/{fact.fact_id}"
                setting = f"shots={options.shots}"
                item = Item(item_id, SUITE, experiment, fact.fact_id, fact.relation_id, None, setting, accepted)
                asked.items.append(item)
                questioner.link(item, TEXT, request, None)
        on_step()
    return asked


def _accepted(questioner: Questioner, fact: Fact) -> dict[str, tuple[str, ...]]:
    """Return, for each experiment, the texts that are looked for; without wrong choices there is no control."""
    true = questioner.true[fact.relation_id, fact.subject_id]
    names = tuple(dict.fromkeys(name for key in true for name in questioner.names.names(key)))
    label = (questioner.names.label(fact.object_key),)
    wrong = questioner.wrong[fact.fact_id].labels[:1]
    found = {NAMES: names, LABEL: label, OFFICIAL: label, BEGINS: names, WRONG: wrong}
    return {experiment: accepted for experiment, accepted in found.items() if accepted}
