"""Wrong objects: never true under any name, never alike, drawn uniformly, the same in whatever order facts come.

Passages: the fact's own text, another subject's, one in which the truth is replaced; where names stand in texts.
"""

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from almanac.suites.facteval.distractors import ObjectPool, WrongObjects, alike, names_in, parts_around

from .running import questions
from .tables import FACTS, TEMPLATES, data, entity, fact, literal, template

SAID = {"types": ["saq"], "styles": ["fib"]}
ALL = ["none", "relevant", "irrelevant", "antifactual"]


def wrong(facts, *known, seed=0):
    return WrongObjects(data(facts, known), seed)


def drawn(facts, *known, of=0, where="relation", count=100, seed=0):
    return set(wrong(facts, *known, seed=seed).draw(facts[of], where, count))


@pytest.mark.parametrize(
    ("one", "other"),
    [("The Hague", "Hague"), ("U.S.", "us"), ("Jean-Paul", "Jean Paul"), ("CAFÉ", "café"), ("New  York", "new york")],
)
def test_names_that_a_scorer_would_take_for_one_are_alike(one, other):
    assert alike(one) == alike(other)


@pytest.mark.parametrize(
    ("one", "other"), [("York", "New York"), ("A", "B"), ("1982", "1983"), ("C", "C++"), ("!", "?")]
)
def test_other_names_are_not(one, other):
    assert alike(one) != alike(other)


def test_an_object_that_is_true_under_an_alias_is_never_wrong():
    facts = [fact("r", "s", "NYC"), fact("r", "t", "Big Apple"), fact("r", "u", "Boston")]
    known = [entity("NYC", "The Big Apple", label="New York City")]
    assert drawn(facts, *known) == {"Boston"}
    assert drawn(facts, *known, of=1) == {"Boston"}


def test_other_true_objects_of_the_subject_are_never_wrong():
    facts = [fact("speaks", "Swiss", "German"), fact("speaks", "Swiss", "French"), fact("speaks", "Dutch", "Dutch")]
    assert drawn(facts) == {"Dutch"}


def test_objects_that_share_a_label_are_one_choice():
    facts = [fact("r", "s", "Q1"), fact("r", "t", "Q2"), fact("r", "u", "Q3"), fact("r", "v", "Q4")]
    labels = {"Q1": "Springfield", "Q2": "Springfield", "Q3": "Shelbyville", "Q4": "shelbyville"}
    known = [entity(name, label=label) for name, label in labels.items()]
    assert drawn(facts, *known) == {"Q3"}
    assert drawn(facts, *known, of=2) == {"Q1"}


def test_a_label_is_wrong_only_if_no_object_of_that_label_is_true():
    facts = [fact("r", "s", "Eboracum"), fact("r", "t", "Q1"), fact("r", "u", "Q2"), fact("r", "v", "Bath")]
    known = [entity("Q1", label="York"), entity("Q2", "Eboracum", label="York")]
    assert drawn(facts, *known) == {"Bath"}


def test_a_date_is_not_wrong_that_is_only_less_or_more_precise():
    facts = [literal("born", f"s{n}", value) for n, value in enumerate(["1982-05-22", "1982", "1982-05", "1982-06-01"])]
    facts.append(literal("born", "s9", "1983"))
    assert drawn(facts) == {"1982-06-01", "1983"}
    assert drawn(facts, of=1) == {"1983"}


def test_a_number_is_not_wrong_that_is_written_otherwise():
    facts = [literal("size", f"s{n}", value, "quantity") for n, value in enumerate(["1000", "1E+3", "1000.0", "12"])]
    assert drawn(facts) == {"12"}


def test_dates_and_numbers_of_one_file_which_are_things_are_compared_by_value():
    facts = [fact("born", f"s{n}", value) for n, value in enumerate(["1982-05-22", "1982", "1982-06-01", "1983"])]
    facts += [fact("size", f"s{n}", value) for n, value in enumerate(["1000", "1,000", "1000.0", "12"])]
    known = [entity(row.object_id, label=row.object_id) for row in facts]
    assert drawn(facts, *known) == {"1982-06-01", "1983"} and drawn(facts, *known, of=1) == {"1983"}
    assert drawn(facts, *known, of=4) == {"12"}


def test_type_and_uniform_reach_over_relations():
    facts = [fact("capital", "Peru", "Lima"), fact("river", "Egypt", "Nile"), fact("birthplace", "Bach", "Eisenach")]
    known = [entity("Lima", kind="city"), entity("Eisenach", kind="city"), entity("Nile", kind="river")]
    assert drawn(facts, *known) == set()
    assert drawn(facts, *known, where="type") == {"Eisenach"}
    assert drawn(facts, *known, where="uniform") == {"Eisenach", "Nile"}


def test_literals_are_of_one_type_by_datatype_and_precision():
    facts = [literal("born", "s", "1900", precision="year"), literal("died", "s", "1980", precision="year"),
             literal("born", "t", "1901-02-03", precision="day"), literal("size", "t", "7", "quantity")]  # fmt: skip
    assert drawn(facts, where="type") == {"1980"}


def test_without_a_type_there_is_nothing_of_the_type():
    assert drawn([fact("r", "s", "a"), fact("r", "t", "b")], where="type") == set()


@given(st.lists(st.tuples(st.sampled_from("stuvw"), st.sampled_from("abcdefgh")), min_size=1, unique=True), st.data())
def test_a_draw_is_what_listing_all_objects_would_allow(pairs, more):
    """An independent enumeration by names: every draw is allowed, and as many come as there are, up to the number."""
    aliases = {name: tuple(more.draw(st.sets(st.sampled_from("abcdefgh"), max_size=2))) for name in "abcdefgh"}
    facts = [fact("r", *pair) for pair in pairs]
    known = [entity(name, *own) for name, own in aliases.items()]
    first = facts[0]
    true = {found for subject, found in pairs if subject == first.subject_id}
    called = {name for key in true for name in (key, *aliases[key])}
    allowed = {found for _, found in pairs if not called & {found, *aliases[found]}}
    assert drawn(facts, *known) == allowed
    assert len(drawn(facts, *known, count=2)) == min(2, len(allowed))


def test_each_key_of_a_pool_is_as_likely():
    """Chi-square over 20 keys: 16,000 draws stay below the quantile that 1 of 10,000 pools would pass (df 19: 50.8)."""
    pool = ObjectPool(map(str, range(20)))
    counts = Counter(pool.draw(Random(seed)) for seed in range(16_000))
    expected = 16_000 / 20
    assert sum((counts[key] - expected) ** 2 / expected for key in pool.keys) < 50.8


def test_draws_mostly_stay_when_a_key_is_added():
    before, after = ObjectPool(map(str, range(1000))), ObjectPool(map(str, range(1001)))
    moved = sum(before.draw(Random(seed)) != after.draw(Random(seed)) for seed in range(2000))
    assert moved < 2000 * 0.03  # an index into a sorted list would move about half


def test_large_and_small_pools_give_different_objects_and_the_same_again():
    facts = [fact("r", f"s{n}", f"o{n}") for n in range(300)]
    first, again = wrong(facts), wrong(list(reversed(facts)))
    for row in facts[:50]:
        own = first.draw(row, "relation", 3)
        assert own == again.draw(row, "relation", 3)
        assert len(set(own)) == 3 and row.object_id not in own
    assert len({tuple(first.draw(row, "relation", 3)) for row in facts[:50]}) > 40, "each fact has a draw of its own"
    assert wrong(facts, seed=1).draw(facts[0], "relation") != first.draw(facts[0], "relation")


def test_a_pool_in_which_almost_all_is_true_still_gives_what_is_false():
    facts = [fact("r", "s", f"o{n}") for n in range(200)] + [fact("r", "t", f"p{n}") for n in range(3)]
    assert drawn(facts, count=3) == {"p0", "p1", "p2"}


def passages(tables, contexts=ALL, **options):
    """Return the first fact's questions by context, and what was refused."""
    found, refused = questions(tables, contexts=contexts, **SAID, **options)
    first = tables.facts[0].fact_id
    return {row.context: row for row in found.values() if row.fact_id == first}, refused


def test_a_template_sentence_other_than_the_question_says_the_fact():
    row = passages(data(FACTS, templates=TEMPLATES))[0]["relevant"]
    assert row.passage == "Paris is the seat of the government of France."
    assert row.text == "The capital of France is [MASK]."
    assert (row.passage_origin, row.stated, row.changed) == ("template", None, None)
    assert row.mentions_subject and row.mentions_object


def test_evidence_goes_before_templates_and_the_text_that_names_the_object_before_others():
    first = FACTS[0].fact_id
    texts = [(first, "France is large."), (first, "Paris is old."), (first, "France loves Paris.")]
    for some in (texts, texts[:2]):
        row = passages(data(FACTS, templates=TEMPLATES, evidence=some))[0]["relevant"]
        assert (row.passage, row.passage_origin) == (some[-1][1], "evidence")


def test_an_irrelevant_passage_is_of_another_subject_whose_object_is_not_true_here():
    for row in questions(data(FACTS, templates=TEMPLATES), contexts=["irrelevant"], **SAID)[0].values():
        said = dict(one.fact_id.split("|")[1:] for one in FACTS)
        other = next(subject for subject, found in said.items() if found == row.stated)
        assert row.passage == f"{row.stated} is the seat of the government of {other}."
        assert row.stated not in row.gold
        assert not row.mentions_subject and not row.mentions_object


def test_an_irrelevant_passage_that_mentions_the_subject_is_flagged():
    texts = [(one.fact_id, f"{one.object_id}, unlike France's Paris, is in {one.subject_id}.") for one in FACTS[1:]]
    row = passages(data(FACTS, evidence=texts))[0]["irrelevant"]
    assert row.mentions_subject and row.mentions_object


@pytest.mark.parametrize(
    ("label", "reason"),
    [
        ("The Georgia", "same name"),  # to a scorer that drops articles
        ("Georgia", "no object of its relation is false of its subject"),  # one subject: what is true of one is of both
    ],
)
def test_an_irrelevant_passage_is_not_of_a_namesake(label, reason):
    facts = [fact("capital", "Q1", "Paris"), fact("capital", "Q2", "Paris, Texas"), fact("capital", "Q2", "Lima")]
    known = [entity("Q1", label="Georgia"), entity("Q2", label=label)]
    found, refused = passages(data(facts, known))
    assert "irrelevant" not in found
    assert reason in refused["fact capital|Q1|Paris: irrelevant"]


def test_every_gold_name_is_replaced_by_one_false_object():
    first = FACTS[0].fact_id
    known = [entity("Paris", "City of Light", "Lutetia")]
    text = "Paris, the City of Light, once LUTETIA, is no Parisian but the seat of France."
    row = passages(data(FACTS, known, evidence=[(first, text)]))[0]["antifactual"]
    other = row.stated
    assert row.passage == f"{other}, the {other}, once {other}, is no Parisian but the seat of France."
    assert row.changed is True and row.mentions_object is False and row.mentions_subject is True
    assert other not in ("Paris", "City of Light", "Lutetia")


def test_all_true_objects_are_replaced():
    facts = [fact("speaks", "Swiss", "French"), fact("speaks", "Swiss", "German"), fact("speaks", "Poles", "Polish")]
    row = passages(data(facts, evidence=[(facts[0].fact_id, "Swiss speak German and French.")]))[0]["antifactual"]
    assert row.passage == "Swiss speak Polish and Polish."


def test_the_subject_keeps_its_name_though_the_object_stands_in_it():
    facts = [fact("seat", "Hampton County", "Hampton"), fact("seat", "Kent", "Maidstone")]
    row = passages(data(facts, evidence=[(facts[0].fact_id, "Hampton is the seat of Hampton County.")]))[0][
        "antifactual"
    ]
    assert row.passage == "Maidstone is the seat of Hampton County."


@pytest.mark.parametrize("text", ["It is a city on the Seine.", "Parisians live in France."])
def test_a_replacement_that_would_change_nothing_is_left_out_and_listed(text):
    tables = data(FACTS, evidence=[(FACTS[0].fact_id, text)])
    found, refused = passages(tables)
    assert "antifactual" not in found and {"none", "relevant", "irrelevant"} <= found.keys()
    assert "names no true object" in refused[f"fact {FACTS[0].fact_id}: antifactual"]


def test_a_relation_with_one_object_has_neither_irrelevant_nor_antifactual_passages():
    facts = [fact("in", f"s{n}", "Europe") for n in range(4)]
    found, refused = passages(data(facts, templates=[template(0, "[X] lies in [Y].", own="in")]))
    assert found.keys() == {"none", "relevant"}
    assert refused["fact in|s0|Europe: irrelevant"] == "no object of its relation is false of its subject"


def test_a_fact_has_the_same_false_object_in_both_and_keeps_it():
    found = passages(data(FACTS, templates=TEMPLATES))[0]
    again = passages(data(list(reversed(FACTS))[::-1], templates=TEMPLATES), contexts=ALL[2:])[0]
    assert found["irrelevant"].stated == found["antifactual"].stated == again["antifactual"].stated


@pytest.mark.parametrize(
    ("text", "names", "found"),
    [
        ("He was born in Paris.", ["Paris"], True),
        ("PARIS", ["Paris"], True),
        ("Parisian", ["Paris"], False),
        ("They gave us all.", ["US"], False),
        ("In the US.", ["US"], True),
        ("It may rain.", ["May"], False),
        ("Nothing.", [], False),
        ("Nothing.", [""], False),
        ("Washington, D.C., in 1982", ["Washington, D.C."], True),
        ("C++ is old", ["C++"], True),
        ("(a+b)", [".*"], False),
    ],
)
def test_a_name_stands_in_a_text_as_words_of_its_own(text, names, found):
    assert names_in(text, names) is found


def test_the_longest_name_counts():
    assert parts_around("New York is York.", ["York", "New York"]) == ("", " is ", ".")


def test_a_name_within_the_name_of_something_else_stays():
    text = "Hampton is the seat of Hampton County."
    assert parts_around(text, ["Hampton"], ["Hampton County"]) == ("", " is the seat of Hampton County.")


def test_a_name_is_found_with_typographic_or_plain_signs_and_the_text_keeps_its_own():
    assert parts_around("“O’Brien” … is Flann O'Brien’s.", ["O'Brien"]) == ("“", "” … is Flann ", "’s.")
    assert parts_around("Côte d'Ivoire", ["Côte d’Ivoire"]) == ("", "")
    assert parts_around("He’s in Austria–Hungary – now", ["Austria-Hungary"]) == ("He’s in ", " – now")


def test_a_name_that_both_bear_stays():
    assert parts_around("Luxembourg lies in Luxembourg.", ["Luxembourg"], ["Luxembourg"]) == (
        "Luxembourg lies in Luxembourg.",
    )


@given(st.text("abXY .", max_size=30), st.lists(st.text("abXY", min_size=1, max_size=3), max_size=3))
def test_the_parts_hold_no_name_and_nothing_else_is_lost(text, names):
    parts = parts_around(text, names)
    assert len(parts) == 1 or not any(name in part.split() for name in names for part in " | ".join(parts).split("|"))
    assert sum(map(len, parts)) <= len(text)
    if len(parts) == 1:
        assert parts == (text,)
        assert not names_in(text, names)
