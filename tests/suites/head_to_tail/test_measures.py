"""The numbers: accuracy, hallucination and missing rate add up to 1; head, torso and tail; stability; across models."""

from dataclasses import replace
from itertools import product

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import stats
from tests.suites.head_to_tail.world import imdb, knows_the_head, strict_judge, tables, trial
from tests.suites.support import number, ok, silent

from almanac.frames import frame_of
from almanac.rows import Outcome
from almanac.statistics.intervals import Estimate, combined
from almanac.suites import chance, headline
from almanac.suites.chapter import Entrant, Shown, Table
from almanac.suites.head_to_tail.across import correlations
from almanac.suites.head_to_tail.suite import HeadToTail
from almanac.suites.judged import Not, conditions_of

ASKED = {"reading": "rules", "experiment": "question", "prompt": "few_shot", "repeat": None}
SCORES = [score + form for score in ("exact", "f1", "rouge_l") for form in ("", "_plain")]
SUMS = [
    ("accuracy", "hallucination", "missing"),
    *((name, f"{name}_wrong", "missing") for name in SCORES),
]  # fmt: skip


def check_sums(rows):
    """Every group's rates add up to 1, by every score."""
    found = {}
    for row in rows:
        found.setdefault(row.where, {})[row.metric] = row
    checked = 0
    for own in found.values():
        for names in SUMS:
            if set(names) <= set(own) and own[names[0]].value is not None:
                assert sum(own[name].value for name in names) == pytest.approx(1, abs=1e-12)
                assert len({own[name].n for name in names}) == 1
                checked += 1
    return checked


REPLIES = ("Oslo", "in Oslo", "City of Lima", "unsure", "", "Atlantis", "Rome and Bonn", None, "refused")


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(REPLIES), min_size=12, max_size=12), st.lists(st.booleans(), min_size=3, max_size=3))
def test_accuracy_hallucination_and_missing_rate_always_add_up_to_one(tmp_path_factory, replies, verdicts):
    def say(question):
        text = replies[question.item.item % len(replies)]
        return silent("failed") if text is None else silent("refused") if text == "refused" else ok(texts=(text,))

    def rule(question):
        at = len(question.text) % 4
        return silent("failed") if at == 3 else ok(texts=("correct" if verdicts[at] else "incorrect",))

    asked = trial(tmp_path_factory.mktemp("a"), judge="j").answer(say).ask().answer(rule)
    assert check_sums(asked.measures()) > 0 or all(text is None for text in replies)


@pytest.fixture(scope="module")
def measures(tmp_path_factory):
    asked = trial(tmp_path_factory.mktemp("m"), judge="j", cloze=True, repeats=3)
    return asked.answer(knows_the_head).ask().answer(strict_judge).measures()


def test_a_model_that_knows_head_and_torso_alone(measures):
    for level, accuracy in (("head", 1.0), ("torso", 1.0), ("tail", 0.0)):
        assert number(measures, "accuracy", **ASKED, level=level).value == accuracy
    tail = [number(measures, name, **ASKED, level="tail").value for name in ("hallucination", "missing")]
    assert sum(tail) == 1
    assert number(measures, "accuracy", **ASKED).value == pytest.approx(2 / 3)
    assert number(measures, "accuracy", **ASKED, domain="lives", level="head").n == 2


def test_the_tenth_most_popular_of_the_head_are_rounded_up_within_their_type(measures):
    assert number(measures, "accuracy", **ASKED, top=True).n == 2, "one of two in each of two types"


def test_what_is_asked_again_at_temperature_1_is_compared_with_the_first_of_these(tmp_path):
    def fickle(question):
        count = question.request.samples or 1
        return ok(texts=("Oslo 2", "Oslo 2", "Oslo 1", "Oslo 3")[:count])

    asked = trial(tmp_path, repeats=4).answer(fickle)
    found = number(asked.measures(), "unstable", reading="rules", experiment="question", prompt="few_shot",
                   repeat=Not(None), differs=Not(None))  # fmt: skip
    assert found.value == pytest.approx(2 / 3), "of the three after the first one is like it"
    requests = [request for request in asked.requests().values() if request.samples == 4]
    assert {request.temperature for request in requests} == {1.0}
    assert len({request.seed for request in requests}) == len(requests), "no two questions share their random numbers"
    assert number(asked.measures(), "accuracy", **ASKED).n == 12, "and counts nowhere else"


def test_an_answer_that_names_a_true_one_counts_and_matches_by_variants_alone(tmp_path):
    asked = trial(tmp_path, imdb(), mode="faithful")
    asked.answer(lambda question: ok(texts=(f"5 May {question.item.accepted[0]}",)))
    rows = asked.measures()
    assert number(rows, "accuracy", **ASKED).value == 1.0
    named, exact, plain = (number(rows, name, **ASKED).value for name in ("named", "exact", "exact_plain"))
    assert named == 1.0 > exact > plain == 0.0


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Claude Monet", "C. Monet"),
        ("Ludwig van Beethoven", "L. van Beethoven"),
        ("1990-05-22", "22. May 1990"),
        ("1990-05-22", "19900522"),
        ("U.S.", "US"),
        ("C++", "C"),
        ("8½", "8½"),
    ],
)
def test_a_variant_has_the_chance_of_the_name(tmp_path, name, said):
    """Each answer is a sentence of its own, so that none was judged right for another question."""
    rows = tables(4, 8, 24)
    rows["entities"] = [replace(one, label=name) if one.entity_id == "Oslo" else one for one in rows["entities"]]
    rows["relations"] = [replace(one, object_type="person") for one in rows["relations"]]
    asked = trial(tmp_path, rows, mode="faithful")
    found = []
    for told in (name, said):
        asked.answer(lambda one, told=told: ok(texts=(f"Of {one.text[9:24]} {told}",)))
        read = frame_of(Outcome, asked.outcomes()).select("item", "reading", "prediction")
        rows = headline.measures(asked.suite, asked.options, asked.judged(), read, asked.answers, asked.data)
        found.append({row.metric: row.value for row in rows if row.metric in (headline.KNOWN, chance.CHANCE)})
    assert found[0] == pytest.approx(found[1])
    assert found[0][chance.CHANCE] > 0.1


def test_what_people_hardly_ask_is_left_out_of_the_natural(tmp_path):
    asked = trial(tmp_path, imdb(), mode="faithful").answer(lambda _: ok(texts=("x",)))
    rows = asked.measures()
    left_out = number(rows, "accuracy", **ASKED, relation="imdb.character").n
    assert left_out
    natural = number(rows, "accuracy", **ASKED, natural=True).n
    assert natural == number(rows, "accuracy", **ASKED).n - left_out
    parts = asked.suite.chapter(asked.shown(), asked.options).parts
    [table] = [part for part in parts if isinstance(part, Table) and part.name == "natural"]
    assert [row[2] for row in table.rows] == [natural]


def test_what_a_model_was_taught_divides_by_exposure(tmp_path):
    rows = tables()
    rows["popularity"] = []
    doses = {
        row.fact_id: 64 if row.subject_id[-2:] < "02" else 16 if row.subject_id[-2:] < "10" else 0
        for row in rows["facts"]
    }
    rows["facts"] = [replace(row, split="test") for row in rows["facts"]]
    rows["entities"] = [replace(row, type="thing") for row in rows["entities"]]
    rows["relations"] = [replace(row, domain="lives") for row in rows["relations"]]
    asked = trial(tmp_path, rows, doses=doses, popularity="exposure").answer(knows_the_head)
    found = asked.measures()
    levels = set(asked.judged().frame.select("dose", "level").unique().rows())
    assert levels == {(64, "torso"), (16, "tail"), (0, "tail")}, "4 of 64 and 16 of 16 are a half each: no head"
    assert number(found, "accuracy", **ASKED, level="torso").value == 1.0
    assert number(found, "accuracy", **ASKED, level="tail").value < 1.0
    ends = {dose: number(found, "accuracy", **ASKED, level="tail", dose=dose) for dose in (16, 0)}
    assert ends[16].value > ends[0].value and {row.n for row in ends.values()} == {16}
    assert number(found, "recovery_spearman", reading="rules", experiment="question", prompt="few_shot", repeat=None,
                  hit=Not(None), dose=Not(None)).value > 0.5  # fmt: skip
    assert check_sums(found)
    chapter = asked.suite.chapter(asked.shown(), asked.options)
    assert chapter.asks.startswith("Questions about popular subjects"), "not equally many: 4 torso, 32 tail"
    parts = {part.name: part for part in chapter.parts if isinstance(part, Table)}
    assert "domains" not in parts, "there is one"
    assert [row[2] for row in parts["levels"].rows] == ["all"]


def test_by_how_much_accuracy_falls_from_head_to_tail_is_measured_and_said(tmp_path):
    def say(question):
        known = bucket(question) != "tail"
        return ok(texts=(question.item.accepted[0] if known else "Atlantis",))

    def bucket(question):
        at = int(question.item.fact_id.split("|")[1][-2:])
        return "head" if at < 10 else "torso" if at < 30 else "tail"

    answers = {
        "lower in the tail": say,
        "higher in the tail": lambda question: ok(
            texts=(question.item.accepted[0] if bucket(question) == "tail" else "Atlantis",)
        ),
        "not shown to differ": lambda question: ok(texts=("Atlantis",)),
    }
    for told, model in answers.items():
        asked = trial(tmp_path / told, tables(10, 20, 60), cap=10).answer(model)
        rows = asked.measures()
        fall = number(rows, "fall", **ASKED, level=("head", "tail"))
        ends = {end: number(rows, "accuracy", **ASKED, level=end) for end in ("head", "tail")}
        assert fall.n == sum(row.n for row in ends.values())
        # Newcombe's interval of two independent shares.
        head, tail = (Estimate(row.value, row.low, row.high) for row in ends.values())
        assert (fall.value, fall.low, fall.high) == pytest.approx(combined([(1, head), (-1, tail)]))
        assert number(rows, "fall", **ASKED, level=("head", "tail"), domain="lives").n < fall.n
        chapter = asked.suite.chapter(asked.shown(), asked.options)
        [sentence] = [part for part in chapter.parts if isinstance(part, str) and "its difference" in part]
        assert sentence.endswith(f"by the 95 % interval of its difference: {told}: m.")
        [levels] = [part for part in chapter.parts if isinstance(part, Table) and part.name == "levels"]
        assert levels.head[-1] == "accuracy: head less tail" and levels.rows[0][-1] == fall


def graded(level):
    """A model that knows so much of every bucket, by the number of the subject."""

    def say(question):
        at = int(question.item.fact_id.split("|")[1][-2:])
        return ok(texts=(question.item.accepted[0] if (at * 7 + level) % 10 < level else "Atlantis",))

    return say


def test_rules_and_judge_correlate_over_models_as_scipy_has_it(tmp_path):
    judged = {}
    for level in (1, 3, 5, 6, 8, 9):
        asked = trial(tmp_path / str(level), tables(20, 40, 120), judge="j", cap=20).answer(graded(level)).ask()
        asked.answer(lambda question: ok(texts=(_lenient(question),)))
        judged[f"m{level}"] = asked.judged()
    rows = correlations(judged)
    where = {"experiment": "question", "prompt": "few_shot", "domain": "lives", "level": "head", "repeat": None}
    rates = {"accuracy": ("hit", "exact"), "hallucination": ("hallucinated", "exact_wrong")}
    for (name, peer), rate in product((("spearman", stats.spearmanr), ("pearson", stats.pearsonr)), rates):
        means = []
        for own in judged.values():
            frame = own.where(where).frame
            columns = zip(("judge", "rules"), rates[rate], strict=True)
            means.append([frame.filter(pl.col("reading") == reading)[one].mean() for reading, one in columns])
        expected = peer(*zip(*means, strict=True)).statistic
        found = number(rows, f"{name}_{rate}_exact", **where)
        assert found.value == pytest.approx(expected, abs=1e-12)
        assert (found.n, found.model) == (6, None)
        counts = found.n_correct, found.n_incorrect, found.n_missing, found.n_invalid, found.n_error
        assert not any(counts), "models are counted, and no answers"
        least = [row.value for row in rows if row.metric == f"{name}_{rate}_exact" and row.value is not None]
        assert number(
            rows, f"{name}_{rate}_exact_min", experiment="question", prompt="few_shot", repeat=None
        ).value == min(least)
    assert HeadToTail().across(judged, Shown("d", 4, ()), asked.options) == rows
    constant = {f"m{at}": judged["m5"] for at in range(5)}
    assert {row.value for row in correlations(constant)} == {None}, "a constant has no correlation"
    frame = judged["m5"].frame
    shuffled = [frame.sample(fraction=1, shuffle=True, seed=at) for at in range(5)]
    same = {f"m{at}": replace(judged["m5"], frame=own) for at, own in enumerate(shuffled)}
    assert {row.value for row in correlations(same)} == {None}, "the order in which scores are summed is no difference"


def _lenient(question):
    """Let every third wrong answer pass."""
    if "Prediction: Atlantis" not in question.text:
        return "correct"
    return (
        "correct"
        if len(question.request.request_id) and int(question.request.request_id[:4], 16) % 3 == 0
        else "incorrect"
    )


def test_the_chapter_has_the_papers_tables_and_says_who_judged(tmp_path):
    asked = trial(tmp_path, judge="j", cloze=True, repeats=2).answer(knows_the_head).ask().answer(strict_judge)
    shown = asked.shown()
    chapter = asked.suite.chapter(shown, asked.options)
    assert chapter.asks.startswith("Equally many questions") and "scored by rules and by j" in chapter.asks
    assert chapter.title == "Head-to-Tail", "the page adds the dataset"
    found = {part.name: part for part in chapter.parts if isinstance(part, Table)}
    named = {"rates", "levels", "top", "forms", "scores", "score_levels", "judge", "stability", "buckets", "asked"}
    assert named <= set(found)
    assert sum(row[2] for row in found["asked"].rows) == 12 * 2 * 3, "12 questions in two forms, three times"
    assert "once per prompt, as a question and as a sentence to be completed, and 3 times" in found["asked"].caption
    assert [row[1:4] for row in found["buckets"].rows[:3]] == [
        ("person born", "head", 2), ("person born", "torso", 4), ("person born", "tail", 12),
    ]  # fmt: skip
    assert [row[2:5] for row in found["score_levels"].rows[:6]] == [
        [domain, level, 2] for domain in ("jobs", "lives") for level in ("head", "torso", "tail")
    ]
    assert all(conditions_of(cell)["top"] is True for row in found["top"].rows for cell in row[3:])
    sized = Shown("d", 4, [Entrant("m", "f", parameters=7), Entrant("o", "f", "m", 9)], measures=shown.measures)
    assert asked.suite.chapter(sized, asked.options) is not None
    assert asked.suite.chapter(Shown("d", 4, ()), asked.options) is None
