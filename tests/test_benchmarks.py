"""The benchmark's workloads are what they say, and our side answers them; other programs are not needed here."""

import json
import math
import re

import polars as pl
import pytest
import torch
from benchmarks import comparing, forms, karr, measuring, ours, scoring, workloads
from benchmarks.bench import Bench
from benchmarks.checkpoints import TINY

from almanac import tables
from almanac.models.scoring.boundaries import tokenise
from almanac.rows import LedgerEntry
from almanac.suites.agreement import Called
from almanac.suites.standings import CalledFacts
from almanac.suites.suite import Method


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    torch.set_num_threads(1)
    return Bench(tmp_path_factory.mktemp("checkpoints"), TINY, facts=3, compared=False)


def test_ic_lke_is_400_facts_of_100_choices_behind_one_context():
    work = workloads.in_context(workloads.shipped(), 50, 400)
    assert len(work.items) == 400 and len(work.contexts) == 1
    assert all(len(set(item.answers)) == 100 for item in work.items)
    [context] = work.contexts.values()
    assert all(item.text.startswith(context + " ") for item in work.items)


def test_statements_are_whole_sentences_with_60_answers():
    work = workloads.statements(workloads.shipped(), 50)
    for item in work.items:
        [request] = item.requests
        assert len(set(request.choices)) == 60
        for sentence, answer in zip(request.choices, item.answers, strict=True):
            filled = item.template.replace("[X]", item.subject).replace("[Y]", answer)
            assert sentence.lower() == filled.lower() and sentence[:1] == sentence[:1].upper()


def test_paraphrases_are_distinct_and_hold_their_examples():
    work = workloads.paraphrases(workloads.shipped(), 60, examples=4, candidates=20)
    assert len(work.requests) == 60
    for item in work.items:
        [request] = item.requests
        assert work.contexts[request.context_id].count("\n") == 4
        assert request.text.endswith(" [MASK]") and len(set(request.choices)) == 20


def test_every_logit_has_a_token(bench):
    assert len(bench.causal.tokens.tokenizer) == TINY.vocabulary == bench.causal.vocabulary
    assert len(bench.masked.tokens.tokenizer) == TINY.vocabulary


def test_the_least_number_of_tokens_is_that_of_the_distinct_beginnings(bench):
    work = workloads.in_context(bench.tables, 5, 3, choices=20)
    sequences = [
        one for tokenised in tokenise(work.requests, work.contexts, bench.causal) for one in tokenised.sequences
    ]
    beginnings = {one.ids[:end] for one in sequences for end in range(1, len(one.ids))}
    least, seen = ours.least_tokens(bench.causal, work.requests, work.contexts)
    assert least == len(beginnings)
    assert seen == sum(map(len, beginnings))


def test_a_mismatch_between_near_best_answers_is_counted_apart():
    found = comparing.agreement([[0.0, 1.0], [0.0, 1.0]], [[1.0, 1.0 - 1e-5], [1.0, 0.5]], best=True)
    assert (found.same, found.near, found.items, found.largest) == (0, 1, 2, 1.0)


def test_operations_are_those_of_the_matrices(bench):
    counts = measuring.Counts(tokens=10, logits=3)
    shapes = measuring.matrices(TINY)
    body = sum(inputs * outputs * count for inputs, outputs, count in shapes[:-1])
    expected = 2 * (10 * body + 3 * TINY.width * TINY.vocabulary)
    assert math.isclose(measuring.operations(bench.causal.network, counts, 0) * 1e9, expected)


@pytest.mark.parametrize("name", list(scoring.WORKLOADS))
def test_our_side_of_each_workload(bench, name, capsys):
    before = len(bench.lines)
    scoring.run(bench, [name], [5])
    assert len(bench.lines) > before
    for line in bench.lines[before:]:
        assert line.cpu > 0 and line.tokens > 0
        if line.agreement.largest is not None:
            assert line.agreement.largest < 1e-4
            assert line.agreement.same + line.agreement.near == line.agreement.items
    json.dumps([line.record() for line in bench.lines])


@pytest.mark.whole
def test_karr_one_string_a_pass_gives_our_values_in_the_released_codes_number_of_passes(tmp_path, capsys):
    made = karr.Bench(tmp_path, "2 x 256", TINY, "invented", karr.invented(1), plain=1)
    lines = made.run()
    assert all(line.difference < 1e-4 for line in lines)
    official = {line.way: line for line in lines if line.asked.startswith("official")}
    # One name each, 4 templates, 4 subjects; 3 or 4 relations have the object. Twice 4 betas and their gammas; for each
    # subject and template the beta, the name, the gamma; the name and one gamma a relation. A beta may stand in others.
    fewest = 2 * 4 * 2 + 4 * 4 * 3 + 1
    assert fewest < official[karr.PLAIN].passes < fewest + 2 * 4
    assert official[karr.PACKED].tokens <= official[karr.APART].tokens < official[karr.PLAIN].tokens
    assert karr.told(lines).count("one string a pass") == len(karr.ASKED)


def test_what_was_read_once_is_parted_by_the_form_in_which_it_was(tmp_path):
    entries = [("a", 0, "prose", 1), ("b", 1, "list", 1), ("b", 2, "question", 1), ("c", 3, "list", 2)]
    entries += [("d", 4, "question", 1), ("d", 5, "abstain", 1)]
    rows = [LedgerEntry(fact, document, "t", form, count) for fact, document, form, count in entries]
    tables.write(tmp_path / "ledger.parquet", LedgerEntry, rows)
    assert forms.read_once(tmp_path / "ledger.parquet") == {"a": "prose", "d": "question"}


def test_a_method_that_finds_one_form_alone_is_at_a_half_for_the_others():
    found = []
    for level, told in (*((form, [form]) for form in forms.FORMS), (forms.ALL, list(forms.FORMS))):
        once = [form for form in told for _ in range(30)]
        for method, wanted in {"paper": forms.FORMS, "official": ["list"]}.items():
            scores = [1.0 if form in wanted else 0.0 for form in once] + [0.0] * 30
            names = [f"f{at}" for at in range(len(scores))]
            facts = {
                "fact": names,
                "subject": names,
                "dose": [1] * len(once) + [0] * 30,
                "object_dose": [1] * len(names),
            }
            frame = pl.DataFrame({**facts, "score": scores, "hit": scores})
            found.append(
                CalledFacts("one", "base", forms.ALL, level, Called("karr", Method(method, method, {}), {}, frame))
            )
    head, _, whole, alone = forms.table(found)
    assert head.startswith(
        "| method | in any form (120 facts) | in a sentence (60 facts) | in a list (60 facts) | as a"
    )
    assert [re.findall(r"(?<= )(?:\.\d+|1\.000)(?= )", line) for line in (whole, alone)] == [
        ["1.000"] * 4,
        [".667", ".500", "1.000", ".500"],
    ]
