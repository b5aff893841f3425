"""What becomes of answers, by rules, by a judge and by a person."""

import json
from dataclasses import replace

import pytest
from tests.suites.head_to_tail.world import CITIES, fact, knows_the_head, strict_judge, tables, trial
from tests.suites.support import ok, silent

from almanac.errors import AlmanacError
from almanac.suites.head_to_tail.asking import instruction
from almanac.suites.head_to_tail.judge import CHECK, VERDICT, question_of, says_nothing, verdict
from almanac.suites.judged import conditions_of
from almanac.suites.prompts import prompts


@pytest.mark.parametrize(
    ("reply", "correct"),
    [
        (" correct", True),
        ("Correct.", True),
        ("INCORRECT", False),
        ("It is incorrect, not correct", False),
        ("The prediction is correct", True),
        ("This is the correct answer.", True),
        ("The correct answer is 1975", None),
        ("Correct answer: 1975", None),
        ("The correct answer is", None),
        ("The correct answer is 1975, so incorrect", False),
        ("The prediction is not correct.", False),
        ("It isn’t correct", False),
        ("Not entirely correct", False),
        ("It cannot be correct", False),
        ("This can't be called correct", False),
        ("correctly", None),
        ("yes", None),
        ("", None),
    ],
)
def test_a_verdict_is_one_of_two_whole_words_and_incorrect_comes_first(reply, correct):
    assert verdict(reply) is correct


def test_prompts_are_those_of_the_protocol():
    told, *few = instruction("few_shot").split("\n\n")
    assert told.endswith('Say "unsure" if you don\'t know.')
    assert few == [
        "Question: What is the capital of China?\nAnswer: Beijing",
        "Question: What is the captical of Wernythedia?\nAnswer: unsure\n",  # the wrapper ends its line: a blank one
    ]
    assert instruction("zero_shot").startswith("Answer the following question in")
    assert "\n" not in instruction("zero_shot") + instruction("brief") + instruction("none")
    assert "unsure" not in instruction("best_guess") + instruction("brief")
    assert instruction("in_domain", ("Who?", "He")).splitlines()[-2:] == ["Question: Who?", "Answer: He"]
    assert len(prompts("head_to_tail")["judge"]["shots"]) == 8


def test_the_in_domain_example_is_of_the_same_template_and_is_not_asked(tmp_path):
    asked = trial(tmp_path, prompts=("in_domain",))
    questions = {request.text for request in asked.requests().values()}
    for question in asked.questions():
        *_, example, answer = question.request.instruction.splitlines()
        text = example.removeprefix("Question: ")
        assert text not in questions
        assert text.endswith(question.text.rpartition(" ")[2])
        assert answer.startswith("Answer: ")


def test_by_exposure_the_in_domain_example_is_a_train_fact(tmp_path):
    rows = tables()
    split = {row.fact_id: "train" if at % 6 == 0 else "test" for at, row in enumerate(rows["facts"])}
    rows["facts"] = [replace(row, split=split[row.fact_id]) for row in rows["facts"]]
    doses = dict.fromkeys(split, 4)
    asked = trial(tmp_path, rows, doses=doses, popularity="exposure", prompts=("in_domain",))
    trained = {f"Where is Sam{row.subject_id[-2:]} of {row.relation_id} {row.relation_id}?": row.object_id
               for row in rows["facts"] if row.split == "train"}  # fmt: skip
    for question in asked.questions():
        *_, example, answer = question.request.instruction.splitlines()
        assert answer == f"Answer: {trained[example.removeprefix('Question: ')].title()}"
        assert split[question.item.fact_id] == "test"
    assert len(asked.items()) == 30


def test_without_train_facts_a_sample_by_exposure_has_no_example(tmp_path):
    rows = tables()
    rows["facts"] = [replace(row, split="test") for row in rows["facts"]]
    doses = {row.fact_id: 4 for row in rows["facts"]}
    asked = trial(tmp_path, rows, doses=doses, popularity="exposure", sample=1, prompts=("in_domain",))
    assert asked.items() == []
    assert {reason for _, reason in asked.refused()} == {"no question is left as an example"}


def test_where_all_questions_are_asked_none_is_left_as_an_example(tmp_path):
    asked = trial(tmp_path, tables(1, 1, 1) | {"popularity": tables(1, 1, 1)["popularity"]}, prompts=("in_domain",))
    reasons = {reason for _, reason in asked.refused()}
    assert asked.items() == []
    assert reasons <= {
        "no question is left as an example",
        "not every bucket has a question: 0 of the head, 1 of the torso, 2 of the tail",
    }


def test_a_sentence_to_be_completed_has_a_blank_in_place_of_the_object(tmp_path):
    asked = trial(tmp_path, cloze=True)
    texts = {(question.item.experiment, question.text) for question in asked.questions()}
    assert ("question", "Where is Sam00 of born born?") in texts
    assert ("cloze", "The born of Sam00 of born is _.") in texts
    assert len(asked.items()) == 24


def outcomes_of(folder, text, *, status="ok", **settings):
    asked = trial(folder, cap=1, **settings).answer(lambda _: ok(texts=(text,)) if status == "ok" else silent(status))
    return {(row.outcome, row.score) for row in asked.outcomes()}


def test_unsure_nothing_and_refusal_are_missing_and_no_answer_at_all_is_an_error(tmp_path):
    for text in ("unsure", " Unsure.", "\n", "the", "**unsure**"):
        assert outcomes_of(tmp_path / repr(text), text) == {("missing", 0.0)}
    assert outcomes_of(tmp_path / "refused", "", status="refused") == {("missing", 0.0)}
    for status in ("failed", "too_long", "unsupported"):
        assert outcomes_of(tmp_path / status, "", status=status) == {("error", None)}
    assert outcomes_of(tmp_path / "unknown", "unknown") == {("incorrect", 0.0)}
    assert outcomes_of(tmp_path / "extended", "unknown", unsure="extended") == {("missing", 0.0)}


@pytest.mark.parametrize(("told", "listed", "nothing"), [("na", "extended", False), ("unsure", "strict", True)])
def test_a_true_answer_is_no_missing_one_unless_the_model_is_told_to_say_it(told, listed, nothing):
    assert says_nothing(told, listed, ["Na", "Unsure"]) is nothing
    assert says_nothing("na", "extended", ["Fe"])


@pytest.mark.parametrize("gold", ["A", "A+", "%", "The The"])
def test_a_true_answer_of_articles_and_punctuation_is_right_and_no_other_such_is_an_answer(gold, tmp_path):
    rows = tables()
    rows["entities"] = [replace(row, aliases=(*row.aliases, gold)) for row in rows["entities"]]
    for said, found in ((gold, ("correct", 1.0)), ("An -", ("missing", 0.0))):
        asked = trial(tmp_path / found[0], rows, judge="j").answer(lambda _, said=said: ok(texts=(f" {said}\n",))).ask()
        ruled = [link for link in asked.links(1) if link.role == VERDICT]
        assert bool(ruled) == (found[0] == "correct"), "the judge is asked about what is not missing"
        asked.answer(lambda _: ok(texts=("correct",)))
        assert {(row.outcome, row.score) for row in asked.outcomes()} == {found}


def test_aliases_are_right_answers(tmp_path):
    asked = trial(tmp_path).answer(lambda question: ok(texts=(f"the {question.item.accepted[1]}!",)))
    assert {row.outcome for row in asked.outcomes()} == {"correct"}


@pytest.fixture
def judged(tmp_path):
    """Answered, and asked of a judge."""
    return trial(tmp_path, judge="j").answer(knows_the_head).ask()


def test_the_judge_is_asked_about_every_answer_but_the_missing(judged):
    said = {item.item for item in judged.items() if int(item.fact_id.split("|")[1][-2:]) % 2 == 0 or _known(item)}
    assert {link.item for link in judged.links(1) if link.role == VERDICT} == said
    assert not judged.items(1), "a second round adds links to the items of the first"


def _known(item):
    return int(item.fact_id.split("|")[1][-2:]) < 6


def test_the_judges_verdict_is_a_reading_and_where_it_says_neither_word_the_answer_is_wrong(judged):
    judged.answer(strict_judge)
    rows = judged.outcomes()
    by_item = {item.item: [row for row in rows if row.item == item.item] for item in judged.items()}
    for item, (rules, judge) in ((item, by_item[item.item]) for item in judged.items()):
        assert (rules.reading, judge.reading) == ("rules", "judge")
        assert rules.outcome == judge.outcome == ("correct" if _known(item) else rules.outcome)
    found = judged.judge()
    assert found["scores"]["parsed"].to_list().count(False) == found["disagreements"].height > 0
    assert set(found["disagreements"]["judge"]) == {"neither"}
    assert set(found["disagreements"]["answer"]) == {"Atlantis"}


@pytest.mark.parametrize(
    ("said", "f1", "plain", "ruled", "row"),
    [
        ("Oslo Norway", 2 / 3, 2 / 3, "correct", None),  # one of two words: precision 1/2, recall 1
        ("Oslo Norway", 2 / 3, 2 / 3, "incorrect", ("correct", "incorrect")),
        ("Oslo Norway", 2 / 3, 2 / 3, "hm", ("correct", "neither")),
        ("a city", 1 / 2, 1 / 2, "incorrect", None),  # of *City of Oslo* one word of three, the article aside
        ("a city", 1 / 2, 1 / 2, "correct", ("incorrect", "correct")),
        ("J.K. Rowling", 1, 2 / 5, "correct", None),  # as it is written: *jk*, of *j* and *k*
    ],
)
def test_scores_by_rules_and_where_the_judge_parts_from_them(tmp_path, said, f1, plain, ruled, row):
    rows = tables()
    rows["facts"] = [fact(one.relation_id, one.subject_id, "Oslo") for one in rows["facts"]]
    rows["entities"] = [replace(one, aliases=(*one.aliases, "J. K. Rowling")) for one in rows["entities"]]
    asked = trial(tmp_path, rows, judge="j").answer(lambda _: ok(texts=(f" {said}",))).ask()
    found = asked.answer(lambda _: ok(texts=(ruled,))).judge()
    scores = found["scores"]
    assert scores["f1"].unique().to_list() == [pytest.approx(f1)]
    assert scores["f1_plain"].unique().to_list() == [pytest.approx(plain)]
    assert [*{one.score for one in asked.outcomes() if one.reading == "rules"}] == [pytest.approx(f1)]
    assert scores["disagrees"].unique().to_list() == [None if ruled == "hm" else row is not None]
    parted = found["disagreements"].select("rules", "judge").unique().rows()
    assert parted == ([row] if row else [])
    assert found["disagreements"].height == (len(asked.items()) if row else 0)


def test_a_judge_that_dies_half_way_leaves_what_it_said_and_the_rest_out_of_the_count(judged):
    judged.answer(lambda question: silent("failed") if "Where is Sam0" in question.text else strict_judge(question))
    failed = {link.item for link in judged.links(1) if "Where is Sam0" in judged.requests(1)[link.request_id].text}
    assert failed
    for row in judged.outcomes():
        if row.reading == "judge":
            assert (row.outcome == "error") == (row.item in failed)
            assert (row.score is None) == (row.item in failed)
        else:
            assert row.outcome != "error"


def test_equal_questions_to_the_judge_are_asked_once(tmp_path):
    asked = trial(tmp_path, judge="j", prompts=("few_shot", "brief")).answer(knows_the_head).ask()
    assert len(asked.requests(1)) * 2 == len(asked.links(1))


@pytest.mark.parametrize(("says", "accepted"), [(" correct", 1), (" incorrect", 0), (" no idea", 0)])
def test_a_judge_is_shown_wrong_answers_on_purpose_and_its_false_accepts_are_measured(tmp_path, says, accepted):
    asked = trial(tmp_path, tables(20, 40, 120), judge="j").answer(knows_the_head).ask()
    items, requests = {item.item: item for item in asked.items()}, asked.requests(1)
    checks = [(items[link.item], requests[link.request_id]) for link in asked.links(1) if link.role == CHECK]
    judged = sum(link.role == VERDICT for link in asked.links(1))
    assert judged / 20 < len(checks) < judged / 5, "one answer in ten"
    shown = [(item, request.text.split("Prediction: ")[1].split("\n")[0]) for item, request in checks]
    assert {wrong for _, wrong in shown} <= set(map(str.title, CITIES)), "another question's answer"
    assert not [item for item, wrong in shown if wrong in item.accepted]
    rows = asked.answer(lambda _: ok(texts=(says,))).measures()
    (found,) = [
        row for row in rows if row.metric == "false_accept" and not set(conditions_of(row)) & {"level", "domain"}
    ]
    assert (found.value, found.n) == (accepted, len(checks))


def test_no_wrong_answer_is_shown_where_all_questions_have_one_answer(tmp_path):
    rows = tables()
    rows["facts"] = [fact(row.relation_id, row.subject_id, "Oslo") for row in rows["facts"]]
    asked = trial(tmp_path, rows, judge="j").answer(knows_the_head).ask()
    assert {link.role for link in asked.links(1)} == {VERDICT}


def test_the_judge_reads_question_answers_and_prediction_and_the_examples_only_if_wanted(tmp_path):
    assert (
        question_of("Who?", ["A", "Ö"], "B") == 'Question: Who?\nGround truth: ["A", "Ö"]\nPrediction: B\nCorrectness:'
    )
    asked = trial(tmp_path, judge="j", judge_examples=False).answer(knows_the_head).ask()
    assert {request.instruction for request in asked.requests(1).values()} == {prompts("head_to_tail")["judge"]["text"]}


def write_labels(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def test_a_persons_verdicts_are_held_against_the_rules(tmp_path):
    first = trial(tmp_path / "a").items()
    known = [item for item in first if _known(item)]
    rows = [
        {"fact_id": item.fact_id, "answer": f"The {item.accepted[0]}", "correct": at % 4 > 0}
        for at, item in enumerate(known)
    ]
    path = write_labels(tmp_path / "labels.jsonl", rows)
    asked = trial(tmp_path / "b", labels=path).answer(knows_the_head)
    measures = {row.metric: row for row in asked.measures() if row.metric in ("kappa", "agreement")}
    assert measures["agreement"].n == len(known)
    assert measures["agreement"].value == sum(row["correct"] for row in rows) / len(rows)
    write_labels(tmp_path / "labels.jsonl", [*rows, rows[0] | {"correct": True}])
    with pytest.raises(AlmanacError, match=r"labels.jsonl: .* is both correct and incorrect; keep one row"):
        asked.outcomes()
