"""IC-LKE's questions behind more and more examples (Wu et al., section 3: how many are needed)."""

from collections.abc import Callable

from almanac.rows import NotAsked
from almanac.suites.asking import Asked, asked_facts
from almanac.suites.ic_lke.requests import DRAW, LAYOUTS, Questioner, chosen, draw_examples
from almanac.suites.ic_lke.sweep.options import SweepOptions
from almanac.suites.method import Data

SUITE = "lke_sweep"
SWEEP = "sweep"
SHOTS = "shots="


def ask(data: Data, options: SweepOptions, on_step: Callable[[], object] = lambda: None) -> Asked:
    """Ask the test facts behind each number of examples, by each draw; fewer examples are the first of more.

    Without examples all draws are one, and it is asked once.

    Raises:
        AlmanacError: a relation has fewer train facts than the most examples, or is not in the dataset.
    """
    questioner = Questioner.of(data.facts, data.entities, data.choices, SUITE)
    for relation_id, own in chosen(data.facts, options.relations, SUITE).items():
        asked_of = asked_facts(own, options.sample, options.seed)
        if not asked_of:
            questioner.asked.refused.append(NotAsked(f"relation {relation_id}", "it has no test fact"))
        for shots in options.examples:
            for draw in range(options.draws if shots else 1):
                examples = draw_examples(own, shots, options.seed, draw, "examples")
                setting = f"{SHOTS}{shots}{DRAW}{draw}"
                questioner.ask_in_context(examples, asked_of, LAYOUTS[options.layout], SWEEP, setting)
        on_step()
    return questioner.asked
