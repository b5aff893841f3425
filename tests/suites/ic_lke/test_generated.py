"""What a model writes: which texts hold the object, by words and as the released code looks for it."""

import pytest
from tests.suites.ic_lke.small_world import world
from tests.suites.support import Trial, number, ok, silent

from almanac.errors import AlmanacError
from almanac.suites import standings
from almanac.suites.agreement import called
from almanac.suites.chapter import Drawing, Entrant, Shown
from almanac.suites.ic_lke.chapter import generated
from almanac.suites.ic_lke.generated import Generated, present
from almanac.suites.ic_lke.options import GeneratedOptions
from almanac.suites.judged import Not

OPTIONS = GeneratedOptions(shots=3)


@pytest.fixture
def ask(tmp_path):
    """Ask a dataset."""
    return lambda data=None, options=OPTIONS, doses=None: Trial(
        tmp_path, Generated(), data or world(), options, doses=doses
    ).ask()


def test_fifty_tokens_are_asked_for_greedily_after_examples_and_subject(ask):
    questions = ask().questions()
    assert len(questions) == 6
    for question in questions:
        request = question.request
        assert (request.kind, request.max_new_tokens, request.temperature) == ("generate", 50, 0.0)
        words = question.text.split(" ")
        assert len(words) == 3 * 3 + 2
        assert words[-1] == "Smith"


def test_in_the_released_codes_layout_the_prompt_keeps_its_last_separator(ask):
    questions = ask(options=OPTIONS.model_copy(update={"layout": "code"})).questions()
    assert [question.text.endswith(" Smith : ") for question in questions] == [True] * 6


def test_one_text_serves_all_that_is_judged_of_a_fact(ask):
    [served] = [one.serves for one in ask().questions() if one.item.fact_id.endswith("c:Akkra")]
    accepted = {one.item.experiment: one.item.accepted for one in served}
    assert accepted == {
        "names": ("Akkra", "Old Akkra"),
        "label": ("Akkra",),
        "official": ("Akkra",),
        "begins": ("Akkra", "Old Akkra"),
        "wrong": ("Boden",),
    }


@pytest.mark.parametrize(
    ("text", "name", "words", "official"),
    [
        (" Tirana, Albania", "Iran", False, True),  # a name within another word
        ("He was born in PARIS.", "Paris", True, True),
        (" New  York City", "New York", True, False),  # white space is squeezed; the code's substring test does not
        (" U.S.A. and more", "U.S.A.", True, True),
        (" usa, too", "USA.", False, True),  # the code takes the full stop off the name alone
        ("", "Paris", False, False),
        (" the Musée de l’Orangerie", "Musée de l'Orangerie", True, False),  # as it is printed
        (" ﬁji", "Fiji", True, False),  # a ligature is normalised
        (" 1.008, as a weight", "1", False, True),
        (" 1.0", "1.0", True, True),
        (" -5 degrees", "5", False, True),
        (" on 5.6.1990.", "1990", True, True),
    ],
)
def test_presence_by_words_and_as_the_released_code_sees_it(text, name, words, official):
    assert present(text, (name,), "names") == words
    assert present(text, (name,), "official") == official


def test_any_accepted_name_counts_and_for_begins_it_must_come_first():
    assert present(" Old Akkra Sam003 Smith Boden", ("Akkra", "Old Akkra"), "begins")
    assert present(": Akkra", ("Akkra",), "begins")
    rules = {method.name: Generated().accepts(method, GeneratedOptions()) for method in Generated.methods}
    names = ("boden", "akkra", "sam")
    assert {name: list(rule("Boden Sam003 Smith Akkra", names)) for name, rule in rules.items()} == {
        "names": ["boden", "akkra"],
        "begins": ["boden"],
    }
    assert not present(" Boden Sam003 Smith Akkra", ("Akkra", "Old Akkra"), "begins")
    assert present(" Boden Sam003 Smith Akkra", ("Akkra", "Old Akkra"), "names")
    assert not present(" Akkrania", ("Akkra",), "begins")
    assert present("北京市。", ("北京",), "begins")
    assert present(" _Akkra_, I think", ("Akkra",), "begins"), "emphasis"


def test_shares_statuses_and_recovery(ask):
    data = world(12, 4)
    facts = sorted(fact.fact_id for fact in data.facts if fact.split == "test")
    city = {fact_id: fact_id.rpartition(":")[2] for fact_id in facts}
    replies = [
        ok(texts=(f" {city[facts[0]]} and so on",)),
        ok(texts=(f" somewhere near {city[facts[1]]}",)),
        ok(texts=("",)),
        silent("refused"),
    ]
    said = dict(zip(facts, replies, strict=True))
    asked = ask(data, doses=dict(zip(facts, (64, 64, 0, 0), strict=True)))
    rows = asked.answer(lambda question: said[question.item.fact_id]).measures()
    names = number(rows, "present", behind="examples", experiment="names", shots=3)
    assert names.value == pytest.approx(2 / 3)
    assert (names.n, names.n_correct, names.n_incorrect, names.n_missing) == (4, 2, 1, 1)
    assert number(rows, "present", behind="examples", experiment="begins", shots=3).value == pytest.approx(1 / 3)
    area = {
        name: number(rows, "recovery_auc", behind="examples", experiment=name, shots=3, hit=Not(), dose=(0, 64)).value
        for name in ("names", "begins")
    }
    assert area == {"names": 1, "begins": 0.75}
    assert [(row.prediction, row.score) for row in asked.outcomes()[:2]] == [(f" {city[facts[0]]} and so on", 1.0)] * 2


def test_the_rate_at_which_nothing_is_known_is_of_the_answered_controls(ask):
    data = world(12, 4)
    asked = ask(data, doses={fact.fact_id: at for at, fact in enumerate(data.facts)})
    control = {item.fact_id: item.accepted[0] for item in asked.items() if item.experiment == "wrong"}
    first, *_, last = sorted(control)

    def reply(question):
        fact_id = question.item.fact_id
        return silent("refused") if fact_id == last else ok(texts=("" if fact_id == first else f" {control[fact_id]}",))

    judged = asked.answer(reply).judged()
    found = standings.called_facts(called(judged, Generated.methods), judged, "w", "m", 4)
    assert {one.found.method.name: one.chance for one in found if one.axis != standings.TEMPLATES} == {
        "names": pytest.approx(2 / 3),
        "begins": 0.0,  # nothing is offered
    }


PUBLISHED = [
    '{"relation_id":"born","kind":"hgp","text":"[X] was born in [Y] ."}',
    '{"relation_id":"born","kind":"hgp","text":"[Y] is where [X] was born"}',
    '{"relation_id":"born","kind":"mmp","text":"[X] 113"}',
]


def test_published_prompts_are_continued_beside_the_examples(ask, tmp_path):
    """Figure 16: the same facts behind examples, behind two prompts by people, and behind one that was mined."""
    path = tmp_path / "prompts.jsonl"
    path.write_text("\n".join(PUBLISHED), "utf-8")
    data = world(12, 4)
    asked = ask(data, options=OPTIONS.model_copy(update={"published": str(path), "prompts": 2}))
    subject = next(question.text for question in asked.questions() if question.setting.behind == "mmp")
    assert subject.endswith(" Smith 113") and subject.startswith("Sam")
    assert asked.refused() == [
        ("Machine-mined prompts of relation born", "there are 1 of the 2 asked for; only these are asked"),
    ]

    def reply(question):
        """Behind examples all is right, behind the first prompt half, behind the second nothing, mined nothing."""
        where, fact_id = question.setting, question.item.fact_id
        found = fact_id.rpartition(":")[2]
        first = sorted(fact.fact_id for fact in data.facts if fact.split == "test").index(fact_id) < 2
        right = where.behind == "examples" or (where.behind == "hgp" and where.prompt == 0 and first)
        return ok(texts=(f" {found}" if right else " nowhere",))

    rows = asked.answer(reply).measures()
    values = {
        behind: number(rows, "present", behind=behind, experiment="official", shots=shots).value
        for behind, shots in (("examples", 3), ("hgp", 0), ("mmp", 0))
    }
    assert values == {"examples": 1, "hgp": 0.25, "mmp": 0}
    spread = number(rows, "present_deviation", experiment="official", behind="hgp")
    assert spread.value == pytest.approx(0.5 / 2**0.5)  # of .5 and 0
    shown = generated(Shown("d", 4, [Entrant("m", "m")], measures=rows), OPTIONS)
    [figure] = [part.draw() for part in shown.parts if isinstance(part, Drawing)]
    assert [text.get_text() for text in figure.axes[0].get_legend().get_texts()] == [
        "in context",
        "human-generated prompts",
        "machine-mined prompts",
    ]


def test_too_few_train_facts_are_named(ask):
    with pytest.raises(AlmanacError, match=r"relation 'born' has 12 train facts and 50 examples .* lower `shots`"):
        ask(options=GeneratedOptions())
