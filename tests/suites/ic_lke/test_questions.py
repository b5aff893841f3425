"""What IC-LKE asks: examples, a subject and choices, as the paper and its released code write them."""

import random
from dataclasses import replace

import pytest
from tests.suites.ic_lke.small_world import world
from tests.suites.support import Trial

from almanac.dataset.multiple_choice import build
from almanac.dataset.options import DatasetOptions
from almanac.errors import AlmanacError
from almanac.rows import Choices, Entity, Fact, Relation, Template
from almanac.suites.data import Data
from almanac.suites.ic_lke.eic import Eic
from almanac.suites.ic_lke.generated import Generated
from almanac.suites.ic_lke.options import IcLkeOptions
from almanac.suites.ic_lke.prompts import Prompts
from almanac.suites.ic_lke.questions import draw_examples
from almanac.suites.ic_lke.separators import Separators
from almanac.suites.ic_lke.suite import IcLke, IcLkeSetting
from almanac.suites.ic_lke.sweep import Sweep

CAPITALS = {"France": "Paris", "Italy": "Rome", "Peru": "Lima", "Kenya": "Nairobi", "Norway": "Oslo"}
LANGUAGES = {"Chile": ["Spanish"], "Austria": ["German"], "Canada": ["English", "French"], "Fiji": ["Fijian"]}


def fact(relation, subject, found, split):
    return Fact(f"{relation}|{subject}|{found}", relation, subject, found, None, None, None, (), split, "test")


def entities(facts):
    keys = {one.subject_id for one in facts} | {one.object_id for one in facts}
    return [Entity(key, key.removeprefix("Q:"), (f"the {key}",), None) for key in sorted(keys)]


def wrong_choices(facts, count=2):
    """Return wrong choices for the test facts: the first objects of the relation that are not true."""
    rows = []
    for one in facts:
        true = {
            row.object_id for row in facts if (row.relation_id, row.subject_id) == (one.relation_id, one.subject_id)
        }
        others = sorted({row.object_id for row in facts if row.relation_id == one.relation_id} - true)[:count]
        if one.split == "test":
            rows.append(Choices(one.fact_id, tuple(others), tuple(key.removeprefix("Q:") for key in others)))
    return rows


def table(shown):
    """Return the facts of two relations, those whose subject is in `shown` for training, the others to be asked."""
    facts = [fact("capital", f"Q:{x}", f"Q:{y}", "train" if x in shown else "test") for x, y in CAPITALS.items()]
    for subject, found in LANGUAGES.items():
        split = "train" if subject in shown else "test"
        facts += [fact("language", f"Q:{subject}", f"Q:{one}", split) for one in found]
    return facts


FACTS = table({"France", "Italy", "Chile", "Austria"})
PATTERN = Template("t1", "capital", "The capital of [X] is [Y].", "statement", "test", None, ())


@pytest.fixture
def asked_of(tmp_path):
    """Ask facts with these options."""
    count = 0

    def asked(facts=FACTS, templates=(), names=None, wrong=None, **options):
        nonlocal count
        count += 1
        data = Data.of(
            facts=list(facts),
            entities=names or entities(facts),
            choices=wrong or wrong_choices(facts),
            templates=list(templates),
        )
        return Trial(tmp_path / str(count), IcLke(), data, IcLkeOptions(**{"shots": 2, **options})).ask()

    return asked


def by_item(asked):
    """The question of each fact and experiment."""
    questions = [(served.item, question) for question in asked.questions() for served in question.serves]
    return {(item.fact_id, item.experiment): question for item, question in questions}


def test_the_papers_layout_is_pairs_with_one_space_everywhere(asked_of):
    # Wu et al., section 3: x1 y1 x2 y2 … x, and then the choice with its space.
    question = by_item(asked_of())["capital|Q:Peru|Q:Lima", "in_context"]
    assert question.text in ("France Paris Italy Rome Peru", "Italy Rome France Paris Peru")
    assert question.request.choices == (" Nairobi", " Oslo", " Lima")
    assert (question.link.index, question.item.accepted) == (2, ("Lima",))
    assert (question.request.kind, question.link.role) == ("choices", "true_choice")


def test_the_released_codes_layout_has_the_separator_twice_before_the_choice(asked_of):
    question = by_item(asked_of(layout="code"))["capital|Q:Peru|Q:Lima", "in_context"]
    assert question.text + question.request.choices[-1] in (
        "France : Paris , Italy : Rome Peru :  : Lima",
        "Italy : Rome , France : Paris Peru :  : Lima",
    )


def test_without_examples_the_subject_stands_alone(asked_of):
    paper = by_item(asked_of(shots=0))["capital|Q:Peru|Q:Lima", "in_context"]
    code = by_item(asked_of(shots=0, layout="code"))["capital|Q:Peru|Q:Lima", "in_context"]
    assert (paper.request.context_id, paper.text, paper.request.choices[-1]) == (None, "Peru", " Lima")
    assert (code.request.context_id, code.text + code.request.choices[-1]) == (None, "Peru :  : Lima")


def test_in_the_papers_layout_what_stands_before_the_choice_never_ends_in_a_space(asked_of):
    # A context that ends in a space breaks the tokens at the cut for nearly every choice.
    asked = asked_of()
    assert asked.contexts()
    for text in asked.contexts().values():
        assert not text.endswith(" ")
    for request in asked.requests().values():
        assert not request.text.endswith(" ")
        assert all(choice.startswith(" ") and not choice.startswith("  ") for choice in request.choices)


def test_the_true_choice_stands_last_and_its_index_says_so(asked_of):
    for layout in ("paper", "code"):
        for question in by_item(asked_of(layout=layout)).values():
            true, choices = question.item.fact_id.split("|Q:")[-1], question.request.choices
            assert question.link.index == len(choices) - 1
            assert choices[question.link.index].endswith(f" {true}")
            assert sum(choice.endswith(f" {true}") for choice in choices) == 1


def test_only_test_facts_are_asked_and_only_train_facts_are_shown(asked_of):
    asked = asked_of()
    assert {item.fact_id for item in asked.items()} == {one.fact_id for one in FACTS if one.split == "test"}
    texts = set(asked.contexts().values())
    for one in FACTS:
        pair = f"{one.subject_id} {one.object_id}".replace("Q:", "")
        assert any(pair in text for text in texts) == (one.split == "train")


def test_a_fact_without_a_split_is_neither_shown_nor_asked(asked_of):
    facts = [*FACTS, fact("capital", "Q:Chad", "Q:N'Djamena", None)]
    asked = asked_of(facts)
    assert not any("Chad" in item.fact_id for item in asked.items())
    assert not any("Chad" in text for text in asked.contexts().values())


def test_one_draw_serves_all_test_facts_of_a_relation_and_another_draw_is_another(asked_of):
    facts = [fact("r", f"Q:s{at:02}", f"Q:o{at:02}", "train" if at < 30 else "test") for at in range(40)]
    asked = asked_of(facts, shots=10, draws=3)
    assert len(asked.contexts()) == 3
    assert len(asked.items()) == 30
    of_setting = {}
    for question in asked.questions():
        of_setting.setdefault(question.setting, set()).add(question.request.context_id)
    assert set(of_setting) == {IcLkeSetting(10, draw) for draw in range(3)}
    assert all(len(contexts) == 1 for contexts in of_setting.values())
    for text in asked.contexts().values():
        words = text.split(" ")
        assert len(words) == 20
        assert len(set(words)) == 20
        assert all(subject[1:] == found[1:] for subject, found in zip(words[::2], words[1::2], strict=True))


def test_another_seed_draws_other_examples(asked_of):
    facts = [fact("r", f"Q:s{at:02}", f"Q:o{at:02}", "train" if at < 30 else "test") for at in range(40)]
    assert asked_of(facts, shots=10).contexts().keys() != asked_of(facts, shots=10, seed=1).contexts().keys()
    assert asked_of(facts, shots=10).contexts() == asked_of(facts, shots=10).contexts()


def test_a_dataset_that_is_built_here_shows_no_test_subject_among_the_examples(asked_of):
    rng = random.Random(2)
    facts = [
        fact("r", f"Q:s{at:03}", f"Q:o{found:02}", None)
        for at in range(80)
        for found in rng.sample(range(30), at % 3 + 1)
    ]
    relation = Relation("r", "r", None, None, None, None)
    options = DatasetOptions(min_facts=10, min_objects=5, train=20, test=50, choices=5)
    dataset = build([relation], facts, entities(facts), options)
    asked = asked_of(dataset.facts, names=entities(facts), wrong=dataset.choices, shots=20)
    [text] = asked.contexts().values()
    shown = text.split(" ")[::2]
    assert len(asked.items()) == 50
    assert not {item.fact_id.split("|Q:")[1] for item in asked.items()} & set(shown)


def test_accepted_holds_every_true_object_of_the_subject(asked_of):
    found = by_item(asked_of())
    assert found["language|Q:Canada|Q:English", "in_context"].item.accepted == ("English", "French")
    assert found["language|Q:Canada|Q:French", "in_context"].item.accepted == ("English", "French")
    assert found["language|Q:Fiji|Q:Fijian", "in_context"].item.accepted == ("Fijian",)


def test_a_literal_object_is_shown_as_its_text(asked_of):
    years = [replace(one, object_id=None, value=str(1900 + at)) for at, one in enumerate(FACTS)]
    years = [one for one in years if one.relation_id == "capital"]
    wrong = [Choices(one.fact_id, ("1800",), ("1800",)) for one in years if one.split == "test"]
    names = [Entity(one.subject_id, one.subject_id.removeprefix("Q:"), (), None) for one in years]
    question = by_item(asked_of(years, names=names, wrong=wrong))[years[2].fact_id, "in_context"]
    assert question.request.choices == (" 1800", " 1902")
    assert question.item.accepted == ("1902",)


def test_requests_do_not_hang_on_the_order_of_facts(asked_of):
    shuffled = list(FACTS)
    random.Random(4).shuffle(shuffled)
    first, second = asked_of(cloze=True, templates=[PATTERN]), asked_of(shuffled, cloze=True, templates=[PATTERN])
    for table in ("items", "links", "requests", "contexts", "settings"):
        assert getattr(first, table)() == getattr(second, table)()


def test_facts_that_ask_the_same_share_one_request(asked_of):
    # Two towns of one name, asked with the same choices: two items, one request.
    facts = [*FACTS, fact("capital", "Q:Peru2", "Q:Lima", "test")]
    names = [replace(one, label="Peru") if one.entity_id == "Q:Peru2" else one for one in entities(facts)]
    asked = asked_of(facts, names=names)
    found = by_item(asked)
    first, second = (found[f"capital|Q:{key}|Q:Lima", "in_context"] for key in ("Peru", "Peru2"))
    assert first is second
    assert len({served.item.item for served in first.serves}) == 2
    assert len(asked.requests()) == len(asked.items()) - 1


def test_the_cloze_has_one_blank_and_no_context(asked_of):
    templates = [
        Template("t0", "capital", "[Y] is the capital of [X].", "statement", "test", None, ()),
        Template("alias", "capital", "[X] seat of government [Y].", "alias", "property_alias", None, ()),
        PATTERN,
        Template("t2", "capital", "[X] has the capital [Y].", "statement", "test", None, ()),
        Template("t3", "language", "What do they speak in [X]?", "question", "test", None, ()),
    ]
    found = by_item(asked_of(cloze=True, templates=templates))
    question = found["capital|Q:Peru|Q:Lima", "cloze"]
    assert question.text == "The capital of Peru is [MASK]."
    assert (question.request.kind, question.request.context_id) == ("fill", None)
    assert (question.item.template_id, question.setting) == ("t1", IcLkeSetting())
    assert question.request.choices == ("Nairobi", "Oslo", "Lima")
    assert question.link.index == 2
    clozes = [one for (_, experiment), one in found.items() if experiment == "cloze"]
    assert all(one.text.count("[MASK]") == 1 and not any(slot in one.text for slot in ("[X]", "[Y]")) for one in clozes)
    assert {one.item.relation_id for one in clozes} == {"capital"}


def test_no_cloze_is_asked_unless_wanted(asked_of):
    assert {item.experiment for item in asked_of(templates=[PATTERN]).items()} == {"in_context"}


def test_only_the_best_choice_is_asked_where_that_is_wanted(asked_of):
    whole, best = (by_item(asked_of(best_only=wanted)) for wanted in (False, True))
    assert {question.request.best_only for question in whole.values()} == {None}
    assert {question.request.best_only for question in best.values()} == {True}


def test_a_sample_is_part_of_the_whole(asked_of):
    whole, part = asked_of(), asked_of(sample=2)
    assert {item.relation_id for item in part.items()} == {"capital", "language"}
    assert len(part.items()) == 4
    assert set(part.requests()) < set(whole.requests())


def test_too_few_train_facts_are_refused_naming_the_relation(asked_of):
    message = "relation 'capital' has 2 train facts and 3 examples are asked for; lower `shots`"
    with pytest.raises(AlmanacError, match=message):
        asked_of(shots=3)


def test_a_relation_is_asked_at_a_time():
    data = Data.of(facts=FACTS, entities=entities(FACTS), choices=wrong_choices(FACTS))
    batches = IcLke().ask(IcLke.rounds[0], data, IcLkeOptions(shots=1), None)
    found = [set(batch.items.column("relation_id").to_pylist()) for batch in batches]
    assert found == [{"capital"}, {"language"}, set()], "the last holds what is refused after them"


@pytest.mark.parametrize("suite", [Eic, Generated, IcLke, Prompts, Separators, Sweep])
def test_a_relation_without_test_facts_is_listed_as_not_asked_whatever_examples_it_has(suite, tmp_path):
    found = Trial(tmp_path, suite(), world(2, 0), suite.options()).ask()
    assert found.refused() == [("relation born", "it has no test fact")]
    assert (found.items(), found.requests(), found.contexts()) == ([], {}, {})


@pytest.mark.parametrize("examples", [0, 1, 4])
def test_fewer_examples_of_a_draw_are_the_first_of_more(examples):
    facts = [fact("r", f"Q:s{at:02}", f"Q:o{at:02}", "train") for at in range(9)]
    assert draw_examples(facts, examples, 3, 1) == draw_examples(facts, 9, 3, 1)[:examples]
    assert draw_examples(facts[::-1], examples, 3, 1) == draw_examples(facts, examples, 3, 1)
