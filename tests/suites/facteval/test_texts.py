"""Self-BLEU against its definition; which wordings are compared, and what is averaged."""

import math
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from almanac import tables
from almanac.rows import Link, Request
from almanac.suites.answers import Answers, RoundFiles
from almanac.suites.chapter import Drawing, Entrant, Shown
from almanac.suites.facteval.chapter import chapter
from almanac.suites.facteval.rows import QuestionTexts, WrittenQuestion
from almanac.suites.facteval.texts import TOKEN, Repetition, self_bleu
from almanac.suites.judged import conditions_of

from .running import SUITE, asked, measured, respond, write
from .tables import data, fact, template

WORDS = st.lists(st.sampled_from("abcde"), min_size=0, max_size=8)


def grams(tokens, n):
    return Counter(tuple(tokens[at : at + n]) for at in range(len(tokens) - n + 1))


def bleu(sentence, references):
    """Papineni et al.'s sentence BLEU to 3-grams, smoothed by method 1 of Chen and Cherry, word for word."""
    logs = []
    for n in (1, 2, 3):
        own = grams(sentence, n)
        clipped = sum(min(count, max(grams(one, n)[gram] for one in references)) for gram, count in own.items())
        if n == 1 and clipped == 0:
            return 0.0
        logs.append(math.log((clipped or 0.1) / max(1, sum(own.values()))))
    closest = min((len(one) for one in references), key=lambda size: (abs(size - len(sentence)), size))
    brevity = 1 if len(sentence) > closest else math.exp(1 - closest / len(sentence))
    return brevity * math.exp(sum(logs) / 3)


def leave_one_out(sentences):
    return sum(bleu(one, sentences[:at] + sentences[at + 1 :]) for at, one in enumerate(sentences)) / len(sentences)


@settings(deadline=None)
@given(st.lists(WORDS, min_size=2, max_size=8))
def test_self_bleu_is_the_quadratic_definitions(sentences):
    assert self_bleu(sentences) == pytest.approx(leave_one_out(sentences), abs=1e-12)


@settings(deadline=None)
@given(st.lists(WORDS, min_size=2, max_size=8))
def test_self_bleu_is_nltks(sentences):
    bleu_score = pytest.importorskip("nltk.translate.bleu_score", exc_type=ImportError)
    method1 = bleu_score.SmoothingFunction().method1
    values = [
        bleu_score.sentence_bleu(sentences[:at] + sentences[at + 1 :], one, (1 / 3,) * 3, method1)
        for at, one in enumerate(sentences)
    ]
    assert self_bleu(sentences) == pytest.approx(sum(values) / len(values), abs=1e-12)


def test_in_a_script_without_spaces_each_character_is_a_word():
    assert TOKEN.findall("秘鲁的首都是哪里？") == list("秘鲁的首都是哪里？")
    assert TOKEN.findall("it's São-1990年") == ["it", "'", "s", "São", "-", "1990", "年"]


def test_sentences_that_are_the_same_have_a_self_bleu_of_1():
    assert self_bleu([["a", "b", "c", "d"]] * 5) == 1
    assert self_bleu([["a", "b", "c"], ["x", "y", "z"]]) == 0
    assert self_bleu([["a"]]) is None
    assert self_bleu([]) is None


@given(st.permutations([tuple("abcab"), tuple("abc"), tuple("ddabc"), tuple("dd")]))
def test_order_does_not_matter(sentences):
    assert self_bleu(sentences) == pytest.approx(self_bleu(sorted(sentences)), abs=1e-15)


def test_questions_are_compared_within_relations_and_averaged():
    repetition = Repetition()
    found = []
    for relation, texts in (
        ("a", ["Who wrote the book?"] * 3),
        ("b", ["p का r", "s की u"]),  # a vowel sign is of its word
        ("c", ["Where?"]),
    ):
        for text in texts:
            repetition.add("saq-wh", "template", None, text)
        found += repetition.relation(relation)
    rows = {row.relation_id: (row.questions, row.self_bleu) for row in [*found, *repetition.total()]}
    assert rows == {None: (6, 0.5), "a": (3, 1.0), "b": (2, 0.0), "c": (1, None)}


@pytest.mark.parametrize("contexts", [["antifactual", "relevant"], ["relevant", "antifactual"], ["antifactual"]])
def test_a_question_is_counted_once_whichever_passages_it_can_be_asked_with(tmp_path, contexts):
    """France has no antifactual passage: its evidence does not name Paris."""
    evidence = [(FACTS[0].fact_id, "It lies on the Seine.")]
    options = {"contexts": contexts, "types": ["saq"], "styles": ["fib"]}
    folder = write(tmp_path, data([*FACTS[:2], fact("capital", "Cuba", "Havana")], evidence=evidence), **options)
    counted = {row.relation_id: row.questions for row in tables.read(folder / "texts.parquet", QuestionTexts)}
    assert counted[None] == len({row.fact_id for row in asked(folder)}) == 3 - (contexts == ["antifactual"])


FACTS = [fact("capital", "France", "Paris"), fact("capital", "Peru", "Lima"), fact("river", "Egypt", "Nile")]
TEMPLATES = [
    template(0, "The capital of [X] is [Y]."),
    template(1, "[Y] rules [X]."),
    template("q", "What is the capital of [X]?", "question"),
    template(2, "[Y] flows through [X].", own="river"),
]
TABLES = data(FACTS, templates=TEMPLATES)
WORDED = {"statement": "{1} it is that governs {0}.", "fib": "[MASK] it is that governs {0}.", "wh": "Who governs {0}?"}


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    """Ask written questions of two facts and those from templates, and how alike the wordings are."""
    folder = tmp_path_factory.mktemp("alike")
    rows = [
        WrittenQuestion(one.fact_id, one.relation_id, style, text.format(one.subject_id, one.object_id), "keep", None)
        for one in (FACTS[0], FACTS[2])
        for style, text in WORDED.items()
    ]
    tables.write_jsonl(folder / "written.jsonl", rows)
    options = {
        "written": str(folder / "written.jsonl"),
        "templates": 2,
        "embedder": "encoder",
        "embedder_layer": 3,
        "contexts": ["relevant", "none"],
    }
    first = write(folder / "asked", TABLES, **options)
    before = Answers("m", "d", [RoundFiles.of("asked", first)], SUITE.setting, SUITE.tables("asked"))
    assert [one.name for one in SUITE.rounds_of(SUITE.options(**options))] == ["asked", "similarity"]
    return first, write(folder / "similarity", TABLES, 1, before, **options), options


def test_without_an_embedder_nothing_is_compared():
    assert [one.name for one in SUITE.rounds_of(SUITE.options())] == ["asked"]


def test_wordings_of_one_fact_and_style_are_paired(compared):
    first, second, _ = compared
    requests = tables.read(second / "requests-0.parquet", Request)
    assert {(row.kind, row.layer) for row in requests} == {("similarity", 3)}
    assert sorted((row.text, row.other) for row in requests) == [
        ("Nile it is that governs Egypt.", "Nile flows through Egypt."),
        ("Paris it is that governs France.", "Paris rules France."),
        ("Paris it is that governs France.", "The capital of France is Paris."),
        ("Who governs Egypt?", "What is the river of Egypt?"),
        ("Who governs France?", "What is the capital of France?"),
        ("[MASK] it is that governs Egypt.", "[MASK] flows through Egypt."),
        ("[MASK] it is that governs France.", "The capital of France is [MASK]."),
        ("[MASK] it is that governs France.", "[MASK] rules France."),
    ]
    texts = {row.item: row for row in asked(first)}
    of = {row.request_id: row for row in requests}
    for link in tables.read(second / "links.parquet", Link):
        one = texts[link.item]
        assert (one.origin, one.text, one.type in ("tfq", "saq")) == ("written", of[link.request_id].text, True)
        assert one.item == min(row.item for row in texts.values() if row.text == one.text and row.type == one.type)


def test_the_mean_is_over_pairs_of_a_question_then_over_relations(compared):
    first, second, options = compared

    def alike(request):
        if request.text.startswith("Who"):
            return ("too_long", "90 tokens")
        value = {"Paris rules France.": 0.5, "The capital of France is Paris.": 0.9}.get(request.other, 0.4)
        return ("ok", None, *[None] * 8, (value, value, value, 1 - value))

    folders = [respond(first, lambda request: "Paris"), respond(second, alike)]
    found = measured([first, second], TABLES, folders, **options)
    rows = SUITE.across({"m": found.judged, "n": found.judged}, None, SUITE.options(**options))
    numbers = {(row.metric, conditions_of(row)["style"], conditions_of(row).get("relation")): row for row in rows}
    assert {row.model for row in rows} == {None}
    assert [numbers["bertscore_f1", "statement", one].value for one in ("capital", "river", None)] == pytest.approx(
        [0.7, 0.4, 0.55]
    )
    assert numbers["distance", "statement", None].value == pytest.approx(0.45)
    assert numbers["bertscore_f1", "statement", None].n == 2
    assert {style for _, style, _ in numbers} == {"statement", "fib"}
    own = found.own["similarities"]
    assert own.filter(own["pairs"] == 0).height == 2  # two Wh-questions, whose comparison was too long
    shown = Shown("d", 4, [Entrant("m", "m")], measures=[*found.measures, *rows])
    parts = {part.name: part for part in chapter(shown, SUITE.options(**options)).parts if hasattr(part, "name")}
    alike_table = parts["alike"]
    assert isinstance(parts["origins"], Drawing) and parts["origins"].draw().axes  # whoever wrote, F1 of both wordings
    assert [row[:2] for row in alike_table.rows] == [["fib", 2], ["statement", 2]]
    # Nothing else is judged by it, or judged twice.
    assert len(found.verdicts()) == found.outcomes.height == 3 * len(asked(first))
