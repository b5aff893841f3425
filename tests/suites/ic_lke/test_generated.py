import pytest
from small_world import answered, text_of, world

from almanac.errors import AlmanacError
from almanac.rows import Exposure, Response
from almanac.suites.ic_lke.generated.measures import measure, present
from almanac.suites.ic_lke.generated.method import METHOD
from almanac.suites.ic_lke.generated.options import GeneratedOptions
from almanac.suites.ic_lke.generated.requests import ask

OPTIONS = GeneratedOptions(shots=3)


def test_fifty_tokens_are_asked_for_greedily_behind_examples_and_subject():
    asked = ask(world(), OPTIONS)
    assert len(asked.requests) == 6
    for request in asked.requests.values():
        assert (request.kind, request.max_new_tokens, request.temperature) == ("generate", 50, 0.0)
        words = text_of(asked, request.request_id).split(" ")
        assert len(words) == 3 * 3 + 2
        assert words[-1] == "Smith"


def test_in_the_released_codes_layout_the_prompt_keeps_its_last_separator():
    asked = ask(world(), OPTIONS.model_copy(update={"layout": "code"}))
    assert all(text_of(asked, key).endswith(" Smith : ") for key in asked.requests)


def test_one_text_serves_all_that_is_judged_of_a_fact():
    asked = ask(world(), OPTIONS)
    accepted = {item.experiment: item.accepted for item in asked.items if item.fact_id.endswith("c:Akkra")}
    assert accepted == {
        "names": ("Akkra", "Old Akkra"),
        "label": ("Akkra",),
        "official": ("Akkra",),
        "begins": ("Akkra", "Old Akkra"),
        "wrong": ("Boden",),
    }
    served = {link.request_id for link in asked.links if link.item_id.endswith("c:Akkra")}
    assert len(served) == 1


@pytest.mark.parametrize(
    ("text", "name", "words", "official"),
    [
        (" Tirana, Albania", "Iran", False, True),  # a name within another word
        ("He was born in PARIS.", "Paris", True, True),
        (" New  York City", "New York", True, False),  # white space is squeezed; the code's substring test does not
        (" U.S.A. and more", "U.S.A.", True, True),
        (" usa, too", "USA.", False, True),  # the code takes the full stop off the name alone
        ("", "Paris", False, False),
        (" ﬁji", "Fiji", True, False),  # a ligature is normalised
    ],
)
def test_presence_by_words_and_as_the_released_code_sees_it(text, name, words, official):
    assert present(text, (name,), "names") == words
    assert present(text, (name,), "official") == official


def test_any_accepted_name_counts_and_for_begins_it_must_come_first():
    assert present(" Old Akkra Sam003 Smith Boden", ("Akkra", "Old Akkra"), "begins")
    assert present(": Akkra", ("Akkra",), "begins")
    assert not present(" Boden Sam003 Smith Akkra", ("Akkra", "Old Akkra"), "begins")
    assert present(" Boden Sam003 Smith Akkra", ("Akkra", "Old Akkra"), "names")
    assert not present(" Akkrania", ("Akkra",), "begins")


def test_shares_statuses_and_recovery():
    data = world(12, 4)
    asked = ask(data, OPTIONS)
    facts = sorted({item.fact_id for item in asked.items})
    of_fact = {link.item_id.split("/", 3)[3]: link.request_id for link in asked.links}
    city = {fact_id: fact_id.rpartition(":")[2] for fact_id in facts}
    given = [
        ("ok", (f" {city[facts[0]]} and so on",)),
        ("ok", (f" somewhere near {city[facts[1]]}",)),
        ("ok", ("",)),
        ("refused", None),
    ]
    responses = [
        Response(of_fact[fact_id], status, None, texts=texts)
        for fact_id, (status, texts) in zip(facts, given, strict=True)
    ]
    exposures = [Exposure(fact_id, dose) for fact_id, dose in zip(facts, (64, 64, 0, 0), strict=True)]
    found = measure(answered(asked, data, responses, exposures), OPTIONS)
    rows = {
        (row.experiment, row.metric): row for row in found.measures if (row.relation_id, row.exposure) == (None, None)
    }
    names, begins = rows["names", "present"], rows["begins", "present"]
    assert names.value == pytest.approx(2 / 3)
    assert (names.n, names.n_correct, names.n_incorrect, names.n_missing) == (4, 2, 1, 1)
    assert begins.value == pytest.approx(1 / 3)
    assert rows["names", "recovery_auc"].value == 1
    assert rows["begins", "recovery_auc"].value == 0.75


def test_the_rate_at_which_nothing_is_known_is_of_the_answered_controls():
    data = world(12, 4)
    asked = ask(data, OPTIONS)
    looked_for = {item.item_id: item.accepted[0] for item in asked.items if item.experiment == "wrong"}
    control = sorted((link.request_id, looked_for[link.item_id]) for link in asked.links if link.item_id in looked_for)
    responses = [Response(key, "ok", None, texts=(f" {name}" if at else "",)) for at, (key, name) in enumerate(control)]
    responses[3] = Response(control[3][0], "refused", None)
    outcomes = measure(answered(asked, data, responses), OPTIONS).outcomes
    assert METHOD.chances(asked.items, outcomes) == {"names": pytest.approx(2 / 3)}


def test_too_few_train_facts_are_named():
    with pytest.raises(AlmanacError, match=r"relation 'born' has 12 train facts and 50 examples .* lower `shots`"):
        ask(world(), GeneratedOptions())
