"""What the page says first: whether anything is above chance, in few sentences; and facts that are known and not."""

from dataclasses import replace
from pathlib import Path

from almanac.config import Asking
from almanac.report.answer import chapter, markdown
from almanac.report.asked import FactsAsked
from almanac.report.failing import Failures, Unanswered
from almanac.report.sentences import Told, _advice, by_themselves, sentences
from almanac.rows import Measure, RelationCount
from almanac.suites.chapter import NOT_TAUGHT, Drawing, Table
from almanac.suites.headline import ABOVE_CHANCE, NO_FORMAT, NOT_ABOVE, TOO_FEW, UNDEFINED, WITHOUT_WORDS, Finding
from almanac.suites.suite import Method

SAID = Told(["It knows."], [])


def finding(model, label, verdict, value=0.4, facts=100, dataset="world"):
    def number(metric, value):
        of = ("karr", dataset, model, None, metric, f'{{"method":"{label}"}}', "mean", ("hit",))
        return Measure(*of, value, None, None, None, facts, 0, 0, 0, 0, 0)

    method = Method(label, label, {})
    known, chance, above = number("headline", value), number("headline_chance", 0.1), number("above", value - 0.1)
    return Finding(method, known, chance, above, facts, None, verdict)


def test_where_nothing_is_above_chance_the_first_sentence_says_so():
    rows = [finding("random", label, NOT_ABOVE) for label in ("asking", "counting")]
    assert sentences(rows) == (["Nothing is distinguishable from chance: random (2 tested methods)."], [])


def test_what_would_be_above_chance_on_a_page_of_its_own_is_said_where_it_is_more():
    """Adjusted with 90 others, p = .003 is not significant; with two rows of its own it is."""
    ps = {"asking": 0.0001, "counting": 0.003, "filling": 0.5}
    rows = [finding("mine", label, ABOVE_CHANCE if p < 0.001 else NOT_ABOVE) for label, p in ps.items()]
    rows = [one._replace(above=replace(one.above, p=ps[one.method.label])) for one in rows]
    others = [one._replace(known=replace(one.known, model=f"planted-{at}")) for at in range(30) for one in rows]
    assert list(by_themselves([*rows, *others], {f"planted-{at}" for at in range(30)})) == [
        "Verdicts are adjusted for all 93 tested rows of this page. On a page of its own, mine would be above chance "
        "by 2 of 3 tested methods on world."
    ]
    yours = [one._replace(known=replace(one.known, model="yours")) for one in rows]
    assert list(by_themselves([*rows, *yours], ())) == [
        "Verdicts are adjusted for all 6 tested rows of this page. On a page of its own, mine would be above chance by "
        "2 of 3 tested methods on world; yours would be above chance by 2 of 3 tested methods on world."
    ]
    assert list(by_themselves(rows, {"mine"})) == []
    elsewhere = [one._replace(known=replace(one.known, dataset="real"), verdict=NOT_ABOVE) for one in [*rows] * 4]
    elsewhere = [one._replace(above=replace(one.above, p=0.5)) for one in elsewhere]
    assert list(by_themselves([*rows, *elsewhere], ())) == [], "that page has the model's other datasets, too"
    sure = [one._replace(verdict=ABOVE_CHANCE) for one in rows]
    assert list(by_themselves(sure, ())) == [], "no more than on this page"


def test_however_many_models_there_are_a_dataset_takes_one_sentence():
    rows = [finding(f"m{at}", "asking", ABOVE_CHANCE if at else NOT_ABOVE, at / 100) for at in range(40)]
    rows += [finding(f"m{at}", "filling", TOO_FEW, facts=0) for at in range(40)]
    rows += [finding("m1", "judging", NO_FORMAT), finding("m1", "asking", NOT_ABOVE, dataset="real")]
    [*found, scored], notes = sentences(rows)
    assert len(found) == len(notes) == 2
    assert scored.startswith("Only scores are above chance") and scored.endswith("asking (m6); 4 more."), scored
    assert found[0] == (
        "Dataset world: m1, m2, m3, m4, m5, m6, 33 more know more than chance, each by its 1 tested method "
        "(their estimates: −.090 to .290 above chance); m0 by 0 of 1 tested method."
    )
    assert (
        found[1]
        == "On real, nothing is distinguishable from chance over all facts that were asked: m1 (1 tested method)."
    )
    assert all(len(one) < 400 for one in [*found, *notes])
    assert sentences(rows, controls=["m0"]).found[0].endswith("; m0 (a control) by 0 of 1 tested method.")


def test_of_many_models_that_know_nothing_controls_are_named_and_of_many_groups_models_are_counted():
    rows = [finding("knows", "a", ABOVE_CHANCE), *(finding(f"m{at}", "a", NOT_ABOVE) for at in range(9))]
    rows += [finding(f"m{at}", "b", NOT_ABOVE) for at in range(9)]
    assert sentences(rows, controls=["m8", "m7"]).found[0] == (
        "Dataset world: knows knows more than chance by its 1 tested method (.300 above chance); m7 (a control), "
        "m8 (a control), m0, m1, m2, m3, 3 more, each by 0 of 2 tested methods."
    )
    [none] = sentences([*rows, finding("m9", "a", NOT_ABOVE)], controls=["m8"]).found
    assert none.endswith("4 more, each by none of its 1 to 2 tested methods.")
    for at in range(9):
        rows += [finding(f"g{at}", f"{one}", ABOVE_CHANCE if one <= at else NOT_ABOVE) for one in range(10)]
    parts = sentences(rows).found[0].split("; ")
    told = sentences(rows, controls=["g3"]).found[0]
    assert "g3 (a control) by 4 of 10" in told and "; 4 more models; " in told, "no control is counted among others"
    ends = [one.split(" by ")[0] for one in (parts[0], parts[-2])], parts[-1].rpartition(",")[2]
    assert ends == (["Dataset world: knows knows more than chance", "5 more models"], " each by 0 of 2 tested methods.")


def test_models_whose_answers_hold_no_words_are_named():
    rows = [finding("m", "asking", NOT_ABOVE), finding("o", "asking", NOT_ABOVE)]
    silent = replace(rows[0].known, metric=WITHOUT_WORDS, value=0.2)
    assert not sentences(rows).notes
    [told] = sentences([rows[0]._replace(without_words=silent), rows[1]]).notes
    assert told.startswith(
        "At least 20 % of a model's answers hold no words, or the question's alone."
    ) and told.endswith("asking (m).")
    for few in ({"without_words": replace(silent, value=0.19)}, {"verdict": NOT_TAUGHT}, {"facts": 19}):
        assert not sentences([rows[0]._replace(**{"without_words": silent} | few), rows[1]]).notes, few


def test_answers_of_another_form_are_no_missing_answers():
    rows = [finding("m", "asking", ABOVE_CHANCE), finding("m", "at_1", NO_FORMAT, facts=0)]
    [told] = sentences(rows).notes
    assert told.startswith("Most answers of a model could not be judged") and told.endswith("at_1.")
    unable = Unanswered(unsupported={Asking("m", rows[1].known.suite, "world"): Failures({"no blanks": 2}, 2)})
    [told] = sentences(rows, missing=unable).notes
    assert told == "No answers from m to at_1. Why, most often: “no blanks”."


def test_texts_that_are_too_long_and_models_of_which_every_request_failed_are_told_of_once():
    rows = [finding("m", "asking", ABOVE_CHANCE), finding("m", "at_1", TOO_FEW, facts=0)]
    assert sentences(rows).notes == ["No answers from m to at_1."]
    why, asked = Failures({"because": 2}, 2), Asking("m", rows[1].known.suite, "world")
    assert not [one for one in sentences(rows, missing=Unanswered(too_long={asked: why})).notes if "No answers" in one]
    assert sentences(rows, missing=Unanswered(failed={"m": why})).notes == []
    assert sentences(rows, missing=Unanswered(failed={"m": replace(why, of=3)})).notes == ["No answers from m to at_1."]


def test_models_that_did_not_answer_many_combinations_of_methods_are_counted():
    rows = [finding("m", "asking", ABOVE_CHANCE), *(finding("m", one, TOO_FEW, facts=0) for one in "ab")]
    rows.append(finding("n", "a", TOO_FEW, facts=0))
    why = Failures({"no blanks": 2}, 2)
    decoders = Unanswered(unsupported={Asking(one, rows[0].known.suite, "world"): why for one in "mn"})
    assert sentences(rows, missing=decoders).notes == [
        "No answers from m to a; b. Why, most often: “no blanks”. No answers from n to a. Why, most often: “no blanks”."
    ]
    other = rows[1]._replace(known=replace(rows[1].known, suite="belief"))
    assert sentences([*rows[:1], other, rows[2]], missing=decoders).notes == [
        "No answers from m to a. No answers from m to b. Why, most often: “no blanks”.",
        "n, which was to answer for KaRR (dataset world), left 2 of 2 requests without an answer. Why, most often: "
        "“no blanks”.",
    ], "a reason is of its own suite, and a model that was to judge is told of"
    three = [rows[1]._replace(known=replace(rows[1].known, suite=suite)) for suite in ("belief", "eic_lke", "facteval")]
    reasons = {Asking("m", one.known.suite, "world"): Failures({one.known.suite: 1}, 1) for one in three}
    [told] = sentences([*rows[:1], *three], missing=Unanswered(unsupported=reasons)).notes
    assert told.count("Why, most often") == 3, "one model is told of, however many reasons it has"
    rows.append(finding("o", "b", TOO_FEW, facts=0))
    assert sentences(rows).notes == ["No model answered every method; the page says which, below its table of methods."]


def test_what_was_not_answered_names_the_dataset_where_the_method_has_more_on_another():
    rows = [finding("m", "asking", ABOVE_CHANCE), finding("m", "b", NO_FORMAT), finding("m", "c", UNDEFINED)]
    rows += [finding("m", "asking", TOO_FEW, facts=0, dataset="rest"), finding("m", "b", NO_FORMAT, dataset="rest")]
    rows += [finding("m", "c", TOO_FEW, facts=9, dataset=dataset) for dataset in ("new", "rest")]
    answers, few, untested, astray = sentences(rows).notes
    assert answers == "No answers from m to asking (dataset rest)."
    assert few.endswith("were answered to c (datasets new, rest). All that can be asked were.")
    assert untested.endswith(": c (dataset world).")
    assert astray.endswith(": b."), "of all its datasets"


def test_a_larger_size_is_advised_of_configurations_that_have_sizes_and_the_setting_of_others():
    sample, test, cap = "suites.karr.facts.sample", "datasets.facts.test", "suites.head_to_tail.facts.cap"
    assert _advice(sample, "quick") == "sample (SIZE=full or all, --size full or all)"
    assert [_advice(test, size) for size in ("quick", "full")] == ["sample (SIZE=all, --size all)"] * 2
    assert [_advice(key, None) for key in (sample, test)] == [f"`{key}`" for key in (sample, test)]
    assert _advice(cap, "quick") == f"`{cap}`", "no size sets it aside"
    assert _advice(sample, "all") == f"`{sample}`", "there is no larger size"


def test_what_is_said_of_models_and_facts_stands_before_what_was_not_answered():
    rows = [finding("m", "asking", ABOVE_CHANCE), finding("m", "b", NO_FORMAT), finding("m", "c", UNDEFINED)]
    [first, *more], notes = sentences(rows, ["n has more right."], ["9 are left out."])
    assert first.startswith("Dataset ")
    assert more == ["n has more right."]
    assert notes[:2] == ["9 are left out.", "Not tested, since no chance is defined: c."]
    few = [*rows, finding("m", "d", TOO_FEW, facts=9), finding("m", "e", TOO_FEW, facts=9, dataset="real")]
    alone = "Fewer than 20 facts, too few for a verdict, were answered to d; e. All that can be asked were."
    assert sentences(few).notes[0] == alone
    assert sentences(few, asks_more={("karr", "real"): "`sample`"}).notes[:2] == [
        alone.replace("; e", ""),
        "Fewer than 20 facts, too few for a verdict, were answered to e. More are asked with a larger `sample`.",
    ]
    assert sentences([], facts=["9 are left out."]).notes == ["9 are left out."]


def test_a_model_that_answered_too_few_facts_is_named_where_another_answered_enough():
    rows = [finding("m", "asking", ABOVE_CHANCE), finding("n", "asking", TOO_FEW, facts=9)]
    rows += [finding(model, "d", TOO_FEW, facts=9) for model in "mn"]
    [note] = sentences(rows).notes
    assert note.startswith("Fewer than 20 facts, too few for a verdict, were answered to d; asking (n). ")


def test_models_that_are_above_chance_by_all_of_their_methods_stand_together_whatever_their_number():
    rows = [finding(model, label, ABOVE_CHANCE) for model, labels in (("m", "abc"), ("n", "ab")) for label in labels]
    rows += [finding("o", label, ABOVE_CHANCE if label == "a" else NOT_ABOVE) for label in "abc"]
    assert sentences(rows).found == [
        "Dataset world: m, n know more than chance, each by all of its 2 to 3 tested methods (.300 above chance); "
        "o by 1 of 3 tested methods (a; .300 above chance)."
    ]


def test_where_only_scores_are_above_chance_it_is_said():
    rows = [finding("m", "scoring", ABOVE_CHANCE, 0.1), finding("m", "asking", ABOVE_CHANCE, 0.2)]
    assert sentences(rows).found[1] == (
        "Only scores are above chance, and no more true objects are known than false ones: scoring."
    )
    assert len(sentences(rows[1:]).found) == 1


def test_paragraphs_and_figures_before_the_first_table_lead_the_chapter():
    figure = Drawing("all", "All methods.", lambda: None)
    made = chapter(Told(["It knows."], ["9 are left out."]), [finding("m", "a", ABOVE_CHANCE)], {}, figures=[figure])
    assert (made.asks, made.leading) == ("It knows.", ["9 are left out.", figure])


def test_the_page_says_how_many_facts_can_be_read_off_their_question():
    counts = {"real": (12, 1300), "invented": (0, 400)}
    facts = [
        FactsAsked(name, [RelationCount("P1", "capital", True, test, 9, 0, 0, test, 0, 0, guessable)])
        for name, (guessable, test) in counts.items()
    ]
    [table] = chapter(SAID, [], {}, facts).parts
    assert "12 of 1,300 test facts (dataset real);" in table.caption
    assert "invented" not in table.caption
    [table] = chapter(SAID, [], {}, facts[1:]).parts
    assert "Readable" not in table.caption


def test_the_table_has_what_was_answered_and_a_note_names_the_rest():
    silent = [finding(model, "filling", TOO_FEW, facts=0) for model in ("m", "n", "o")]
    figure = Drawing("all", "All methods.", lambda: None)
    rows = [finding("m", "asking", ABOVE_CHANCE), *silent, finding("n", "judging", TOO_FEW, facts=0)]
    first, table, note = chapter(SAID, rows, {}, figures=[figure]).parts
    assert first is figure
    assert [(row[0], row[2]) for row in table.on_page.rows] == [("m", "asking")]
    assert len(table.rows) == len(rows)
    assert note.startswith("Of dataset world, not answered at all and so ")
    assert note.endswith(": filling (m, o). filling; judging (n).")


def test_what_several_models_know_above_chance_stands_side_by_side():
    rows = [finding(model, method, ABOVE_CHANCE, 0.5) for method in ("a", "b") for model in ("m", "n")]
    rows += [
        *(finding("o", "a", lacking) for lacking in (NOT_TAUGHT, NO_FORMAT, TOO_FEW)),
        finding("m", "c", ABOVE_CHANCE, 0.75),
    ]
    table = next(part for part in chapter(SAID, rows, {}).parts if isinstance(part, Table) and part.folded)
    assert table.name == "above-world" and table.head == ("method", "m", "n")
    shown = [(row[0], *(cell and cell.value for cell in row[1:])) for row in table.rows]
    assert shown == [("a", 0.4, 0.4), ("b", 0.4, 0.4), ("c", 0.65, None)]
    alone = chapter(SAID, [row for row in rows if row.known.model == "m"], {}).parts
    assert not any(isinstance(part, Table) and part.folded for part in alone)


def test_each_interval_says_whether_it_is_of_these_relations_or_of_others():
    rows = [finding("m", "asking", NOT_ABOVE)]
    [table] = chapter(SAID, rows, {}).parts
    spread = [name for name, cell in zip(table.head, table.rows[0], strict=True) if isinstance(cell, Measure)]
    assert spread == ["known, of these relations", "above chance, of these relations"]
    assert "known, of other relations" in table.head
    assert "Interval and verdict are of these relations" in table.caption
    assert markdown(rows).splitlines()[-1].startswith("Intervals (95 %) and verdicts are of these relations")


def test_a_row_has_the_adjusted_p_and_whether_names_are_enough_and_of_a_format_that_was_not_taught_no_numbers():
    given = finding("m", "filling", ABOVE_CHANCE)._replace(adjusted=0.004, beyond_names=False)
    rows = [
        finding("m", "asking", ABOVE_CHANCE)._replace(beyond_names=True),
        given,
        finding("m", "c", TOO_FEW, facts=0),
    ]
    one = replace(given.known, low=0.3, high=0.5)
    rows.append(given._replace(known=one, verdict=NOT_TAUGHT, beyond_names=None, other_relations=one))
    rows.append(given._replace(known=one, other_relations=given.known))
    table = next(part for part in chapter(SAID, rows, {}).parts if isinstance(part, Table))
    cells = {head: [row[at] for row in table.rows] for at, head in enumerate(table.head)}
    assert cells["beyond names"] == ["yes", "not shown", None, None, "not shown"]
    assert cells["p"] == [None, 0.004, None, 0.004, 0.004]
    assert table.rows[3][4:9] == (None,) * 5 and table.rows[4][4] is one and cells["chance"][4] == 0.1
    assert cells["known, of other relations"][4] is None, "a single relation says nothing of others"
    assert cells["count as"][3] is None and cells["count as"][4] > 20
    assert (
        "Null: " not in table.caption
        and "Null: " in chapter(SAID, rows, {("m", "karr", "world", ""): one}).parts[0].caption
    )
    said = "Without the facts that names give away, these are not shown to be above chance: filling."
    assert said in sentences(rows).found and said not in sentences(rows[:1]).found
    written = markdown(rows[:3])
    assert "| .004 |" in written and "| c |" not in written, "what was not answered is not printed"
    other = "the page also has the interval of other relations"
    assert other not in written and other in markdown([rows[1]._replace(other_relations=one)])


def test_methods_whose_verdicts_compare_scores_with_those_of_false_objects_are_named():
    by_scores = finding("m", "KaRR", ABOVE_CHANCE)
    by_scores = by_scores._replace(method=Method("karr", "KaRR", {}, guess={"asked": "null"}, by_answer=False))
    [table] = chapter(SAID, [finding("m", "asking", ABOVE_CHANCE), by_scores], {}).parts
    assert "Verdicts by scores: KaRR ask each fact with a false object too." in table.caption
    [table] = chapter(SAID, [finding("m", "asking", ABOVE_CHANCE)], {}).parts
    assert "Verdicts by scores" not in table.caption


def test_a_method_that_shows_examples_says_how_many():
    one = finding("m", "IC-LKE", ABOVE_CHANCE)
    shown = Method("in_context", "IC-LKE", {}, ("shots",))
    shown = one._replace(method=shown, known=replace(one.known, where='{"shots":8}'))
    assert shown.label == "IC-LKE, 8 examples"
    [table] = chapter(SAID, [shown], {}).parts
    assert "Shown before each question: IC-LKE, 8 examples." in table.caption
    assert table.rows[0][2] == "IC-LKE", "rows of a published edition are found by this name"
    assert one.label == "IC-LKE"


def test_the_page_leaves_out_what_all_rows_of_the_table_of_methods_say():
    def shown(*rows):
        table = chapter(SAID, rows, {}).parts[0]
        assert table.head[:3] == ("model", "of", "method") and "null" in table.head, "its files have all"
        return table.on_page.head[:2], "null" in table.on_page.head

    one, other = (finding("m", label, ABOVE_CHANCE) for label in ("asking", "filling"))
    assert shown(one, other) == (["method", "verdict"], False)
    assert shown(one, finding("n", "asking", ABOVE_CHANCE)) == (["model", "method"], False)
    assert shown(one, finding("m", "asking", ABOVE_CHANCE, dataset="real")) == (["of", "method"], False)
    assert shown(one) == (["model", "of"], True)


def test_the_columns_of_the_first_table_are_explained():
    head = chapter(Told([], []), [], {}).parts[0].head
    page = (Path(__file__).parents[2] / "docs" / "reading_the_page.md").read_text("utf-8")
    assert [name for name in head[3:] if f"\n| {name} |" not in page] == []
