"""Two subjects that read alike are one to a model: every suite accepts what is true of either, and asks it once."""

from dataclasses import replace

import pytest
from tests.suites.belief.small import TEMPLATES
from tests.suites.ic_lke import small_world
from tests.suites.support import Trial

from almanac import tables
from almanac.rows import Entity, Item, Relation
from almanac.suites.belief.names import EntityNames, pairs
from almanac.suites.belief.options import BeliefOptions
from almanac.suites.belief.prompts import Prompter
from almanac.suites.belief.suite import Belief
from almanac.suites.belief.templates import of_dataset
from almanac.suites.data import Data
from almanac.suites.facteval.distractors import WrongObjects
from almanac.suites.facteval.options import FactEvalOptions
from almanac.suites.facteval.suite import FactEval
from almanac.suites.ic_lke.options import IcLkeOptions
from almanac.suites.ic_lke.questions import Questioner
from almanac.suites.ic_lke.suite import IcLke
from almanac.suites.karr.draws import Pools
from almanac.suites.karr.estimator import VARIANTS
from almanac.suites.karr.options import KarrOptions
from almanac.suites.truths import Truths, objects_of

WORLD = small_world.tables(train=8, test=4) | {"templates": TEMPLATES}
FACTS = WORLD["facts"]
ONE, OTHER = FACTS[8], FACTS[9]  # test facts of two subjects, of different objects
assert ONE.object_id != OTHER.object_id


def named_alike() -> list[Entity]:
    alike = {ONE.subject_id: "Sam Smith", OTHER.subject_id: "sam  smith"}
    return [replace(row, label=alike.get(row.entity_id, row.label)) for row in WORLD["entities"]]


DATA = Data.of(**WORLD | {"entities": named_alike()})
RELATION = Relation("born", "place of birth", None, "N-M", None, None)
BOTH = tuple(sorted((str(ONE.object_id), str(OTHER.object_id))))


def test_what_is_true_of_the_namesake_is_accepted_and_no_wrong_choice():
    for fact in (ONE, OTHER):
        pair = fact.relation_id, fact.subject_id
        assert Questioner(IcLke(), DATA, IcLkeOptions()).true[pair] == BOTH
        assert EntityNames(DATA).true[pair] == BOTH
        wrong = WrongObjects(DATA, 0)
        assert wrong.true[pair] == BOTH
        assert not {*BOTH} & {*wrong.draw(fact, "relation", 7)}
        assert not {*BOTH} & {*DATA.false_objects(fact, BOTH)}


def pools() -> Pools:
    return Pools(
        Data.of(facts=FACTS, entities=DATA.entities), {"born": ("[X] was born in [Y].",)}, KarrOptions(subjects=99)
    )


def test_karr_draws_them_as_one_subject_which_is_the_facts_own():
    for fact, namesake in ((ONE, OTHER), (OTHER, ONE)):
        drawn = pools().draw(fact, fact.object_key, VARIANTS["paper"]).subjects
        assert len(drawn) == len(FACTS) - 1
        assert fact.subject_id in drawn
        assert namesake.subject_id not in drawn


def test_belief_asks_them_once_and_shows_neither_to_the_other():
    assert pairs([ONE, OTHER], DATA.names) == [ONE]
    options = BeliefOptions(templates="dataset", prompting=("4_relation",))
    facts = [replace(fact, split="train") for fact in FACTS if fact.split == "test"]
    shown = Data.of(**WORLD | {"entities": named_alike(), "facts": facts})
    for fact in (ONE, OTHER):
        prompter = Prompter.of(shown, EntityNames(shown), of_dataset(shown, options), options)
        examples = prompter.examples(fact, of_dataset(shown, options)["born"].wordings[0], "4_relation", "mask")
        assert examples is None, "two facts of other names are left, and four are needed"


@pytest.mark.parametrize(
    ("suite", "options"),
    [(FactEval(), FactEvalOptions(types=("saq",))), (Belief(), BeliefOptions(templates="dataset", candidates=-1))],
)
def test_an_open_answer_is_right_by_chance_for_all_that_is_true_of_a_fact_asked_or_not(suite, options, tmp_path):
    """Each subject has two objects: both are right for a fact that is not asked, as for one that is."""
    second = [
        small_world.fact(row.relation_id, row.subject_id, other.object_key, row.split)
        for row, other in zip(FACTS, [*FACTS[1:], FACTS[0]], strict=True)
    ]
    data = Data.of(**WORLD | {"facts": FACTS + second, "relations": [RELATION]})
    answers = Trial(tmp_path, suite, data, options).ask().answers
    items = {row.item: row for one in answers.rounds for row in tables.read(one.folder / "items.parquet", Item)}
    [method, *_] = [one for one in suite.methods if one.by_answer and one.answer == "prediction"]
    truths = Truths.of(answers, suite.offered(method, answers, data, options), objects_of(data))
    asked = [
        (items[item], truths.names[truth])
        for item, truth in truths.of_item.iter_rows()
        if items[item].experiment == method.where["experiment"]
    ]
    assert len(asked) > 3
    for row, names in asked:
        assert len(names) > 1 and names <= truths.of_subject[row.relation_id][row.fact_id]
