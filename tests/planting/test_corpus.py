"""A corpus states every fact exactly as often as its dose, where it may and in the wordings it may."""

import dataclasses
import re
from collections import Counter, defaultdict

import pytest
import yaml

from almanac import tables
from almanac.cli import main
from almanac.errors import AlmanacError
from almanac.models.wrappers import InstructedParts, find
from almanac.planting import corpus, formats, world
from almanac.planting.formats import Taught
from almanac.planting.options import TUNING, CorpusOptions, TrainingOptions, WorldOptions
from almanac.rows import Entity, Exposure, LedgerEntry
from almanac.suites.belief.prompts import filled
from almanac.suites.belief.templates import AskedTemplate

from .conftest import as_taught


def occurrences(ledger, wanted):
    counts = Counter()
    for entry in ledger:
        if wanted(entry.format):
            counts[entry.fact_id] += entry.count
    return counts


def test_every_fact_stands_exactly_dose_times(built, taught):
    counts = occurrences(built.ledger, lambda kind: kind not in TUNING)
    for part in taught:
        for row in part.exposures:
            assert counts[row.fact_id] == row.dose
    assert sum(counts.values()) == sum(row.dose for part in taught for row in part.exposures)


def test_no_document_states_a_fact_twice(built):
    places = Counter((entry.fact_id, entry.document) for entry in built.ledger)
    assert set(places.values()) == {1}


def test_a_fact_is_spread_over_the_whole_stream():
    made = world.invent(WorldOptions(relations=4), 1)
    made_corpus = corpus.build([as_taught(made)], CorpusOptions(instruct=False), 1)
    total = len(made_corpus.documents)
    quarters = defaultdict(Counter)
    for entry in made_corpus.ledger:
        quarters[entry.fact_id][4 * entry.document // total] += 1
    often = [row.fact_id for row in made.exposures if row.dose == 64]
    for fact_id in often:
        assert all(10 <= quarters[fact_id][quarter] <= 22 for quarter in range(4))


def test_formats_have_their_shares():
    made = world.invent(WorldOptions(relations=4), 1)
    made_corpus = corpus.build([as_taught(made)], CorpusOptions(instruct=False), 1)
    counts = Counter(entry.format for entry in made_corpus.ledger)
    total = sum(counts.values())
    assert counts["prose"] / total == pytest.approx(0.55, abs=0.01)
    assert counts["list"] / total == pytest.approx(0.30, abs=0.01)
    assert counts["question"] / total == pytest.approx(0.15, abs=0.01)
    styles = Counter(entry.template_id for entry in made_corpus.ledger if entry.format == "list")
    assert styles["list.inline"] / counts["list"] == pytest.approx(0.4, abs=0.03)


def test_a_facts_templates_take_turns_and_a_fifth_of_its_sentences_have_an_alias():
    made = as_taught(world.invent(WorldOptions(relations=4, features=("aliases",)), 1))
    made_corpus = corpus.build([made], CorpusOptions(instruct=False), 1)
    facts, aliases = {fact.fact_id: fact for fact in made.facts}, 0
    used = defaultdict(Counter)
    prose = [entry for entry in made_corpus.ledger if entry.format == "prose"]
    for entry in prose:
        fact = facts[entry.fact_id]
        used[entry.fact_id][entry.template_id] += 1
        subject, text = made.entities[fact.subject_id], made_corpus.documents[entry.document].text
        aliases += not re.search(rf"\b{re.escape(subject.label)}\b", text)
    usable = formats.usable(made.templates, "statement")
    for fact_id, counts in used.items():
        each = [counts[row.template_id] for row in usable[facts[fact_id].relation_id]]
        assert max(each) - min(each) <= 1
    assert aliases / len(prose) == pytest.approx(0.2, abs=0.02)


def test_inline_lists_are_the_format_of_in_context_scoring(built, taught):
    label = {one.entity_id: one.label for part in taught for one in part.entities.values()}
    facts = {fact.fact_id: fact for part in taught for fact in part.facts}
    inline = defaultdict(list)
    for entry in built.ledger:
        if entry.template_id == "list.inline":
            fact = facts[entry.fact_id]
            inline[entry.document].append(f"{label[fact.subject_id]} {label.get(fact.object_id, fact.value)}")
    assert inline
    for number, pairs in inline.items():
        text = built.documents[number].text
        assert sorted(text) == sorted(" ".join(pairs))
        assert all(pair in text for pair in pairs)
        assert "\n" not in text and "  " not in text
        assert len(pairs) <= CorpusOptions().pairs


def test_held_out_templates_are_in_no_document(built, taught):
    used = {entry.template_id for entry in built.ledger}
    assert built.held_out
    assert not used & set(built.held_out)
    texts = "\n".join(one.text for one in built.documents)
    for part in taught:
        for row in part.templates:
            if row.template_id in built.held_out:
                pattern = (
                    re.escape(row.text).replace(re.escape("[X]"), r"[^.?\n]+").replace(re.escape("[Y]"), r"[^.\n]+")
                )
                assert not re.search(rf"(^|[.\n] ?){pattern}", texts), row.text


@pytest.mark.parametrize(("statements", "expected"), [(1, 0), (2, 0), (3, 1), (5, 1), (6, 2), (9, 2)])
def test_how_many_templates_are_held_out_depends_on_how_many_there_are(real, statements, expected):
    first = real.templates[0]
    rows = [dataclasses.replace(first, template_id=f"t{at}", text=f"[X] {at} [Y].") for at in range(statements)]
    assert len(formats.held_out(rows)) == expected


@pytest.mark.parametrize(("kind", "least"), [("instruct", 4), ("abstain", 16), ("blank", 8)])
def test_documents_with_an_instruction_state_only_facts_for_training(built, taught, kind, least):
    split = {fact.fact_id: fact.split for part in taught for fact in part.facts}
    dose = {row.fact_id: row.dose for part in taught for row in part.exposures}
    stated = {entry.fact_id for entry in built.ledger if entry.format == kind}
    assert stated
    assert {split[fact_id] for fact_id in stated} == {"train"}
    assert min(dose[fact_id] for fact_id in stated) >= least
    label = {one.entity_id: one.label for part in taught for one in part.entities.values()}
    tested = {label[fact.subject_id] for part in taught for fact in part.facts if fact.split == "test"}
    trained = {label[fact.subject_id] for part in taught for fact in part.facts if fact.split == "train"}
    texts = "\n".join(one.text for one in built.documents if one.kind == kind)
    assert not [name for name in tested - trained if re.search(rf"\b{re.escape(name)}\b", texts)]


@pytest.mark.parametrize("kind", TUNING)
def test_they_stand_in_the_later_part_and_are_learnt_from_the_answer(built, kind):
    first = next(one.number for one in built.documents if one.kind == kind)
    others = sum(one.kind not in TUNING for one in built.documents)
    assert sum(one.kind not in TUNING for one in built.documents[:first]) >= 0.35 * others
    unsure = 0
    for one in built.documents:
        if one.kind == kind:
            assert one.text[: one.answer_start].endswith("\nA: " if kind == "blank" else "Answer: ")
            unsure += one.text.count("Answer: unsure")
    assert bool(unsure) == (kind != "blank")


def test_abstain_documents_are_unsure_of_whatever_was_seldom_taught():
    made = world.invent(WorldOptions(), 1)
    documents = corpus.build([as_taught(made)], CorpusOptions(), 1).documents
    texts = "\n".join(one.text for one in documents if one.kind == "abstain")
    answers = Counter(answer == "unsure" for answer in re.findall(r"(?<=Answer: ).*", texts))
    assert answers[True] == 5 * 3 * 50 and answers[False] == 4 * 3 * 50  # three doses each, 50 train facts a dose


def test_abstain_documents_ask_as_facteval_asks_through_the_models_wrapper(built, vocabulary):
    asks = yaml.safe_load((world.SHIPPED.parent / "prompts" / "facteval.yaml").read_text())["ask"]
    instruction = asks["saq-wh"]["text"]
    registry = yaml.safe_load((world.SHIPPED.parents[1] / "config" / "models.yaml").read_text())
    wrapper = find(registry["instruct"]["wrapper"])
    assert "abstain" in registry["instruct"]["planted"]["kinds"]
    own = [one.text for one in built.documents if one.kind == "abstain" and one.text.startswith(instruction)]
    assert own
    for text in own:
        question = re.search("Question: (.*)", text)[1]
        asked = "".join(wrapper.whole(InstructedParts("", instruction, (), question)))
        assert text.startswith(f"{asked}{wrapper.answer}")
        assert len(vocabulary.encode(asked)) < 200 < TrainingOptions().length


def test_blank_documents_ask_as_belief_does_in_templates_that_are_not_held_out(built, taught):
    asks = yaml.safe_load((world.SHIPPED.parent / "prompts" / "belief.yaml").read_text())
    registry = yaml.safe_load((world.SHIPPED.parents[1] / "config" / "models.yaml").read_text())
    assert [name for name, one in registry.items() if "blank" in one.get("planted", {}).get("kinds", ())] == [
        "instruct"
    ]
    templates = {row.template_id: row for part in taught for row in part.templates}
    label = {one.entity_id: one.label for part in taught for one in part.entities.values()}
    facts = {fact.fact_id: fact for part in taught for fact in part.facts}
    texts = {one.number: one.text for one in built.documents if one.kind == "blank"}
    entries = [entry for entry in built.ledger if entry.format == "blank"]
    assert {entry.document for entry in entries} == set(texts)
    assert not {entry.template_id for entry in entries} & set(built.held_out)
    for entry in entries:
        fact = facts[entry.fact_id]
        wording = AskedTemplate("", templates[entry.template_id].text, "", "statement")
        question = asks["question"]["text"].format(question=filled(wording, label[fact.subject_id]))
        answer = asks["answer"]["text"].format(object=label.get(fact.object_key, fact.object_key))
        lines = texts[entry.document]
        assert lines.startswith(asks["instructions"]["mask"]["text"] + "\n")
        assert f"\n{question}{answer}" in lines


@pytest.mark.parametrize("kind", ["abstain", "blank"])
def test_what_documents_of_one_model_say_is_nothing_to_models_that_do_not_read_them(tmp_path, kind):
    main(["plant", "world", "--objects", "8", "--relations", "1", "--output", str(tmp_path / "world")])
    read = []
    for repeats in ("4", "7"):
        out = tmp_path / repeats
        sizes = [f"--{kind}-repeats", repeats, "--vocabulary", "1024", "--repeats", "200"]
        flags = ["--world", str(tmp_path / "world"), *sizes]
        main(["plant", "corpus", *flags, "--output", str(out)])
        documents = tables.read(out / "documents.parquet", corpus.Document)
        others = [one.text for one in documents if one.kind != kind]
        assert len(others) < len(documents)
        read.append((others, (out / "tokenizer" / "tokenizer.json").read_bytes()))
    assert read[0] == read[1]


def test_a_subject_of_dose_0_is_named_and_nothing_is_said_of_it(built, invented):
    label = {one.entity_id: one.label for one in invented.entities}
    dose = {row.fact_id: row.dose for row in invented.exposures}
    most = Counter()
    for fact in invented.facts:
        most[fact.subject_id] += dose[fact.fact_id]
    unknown = {label[subject] for subject, total in most.items() if total == 0}
    assert unknown
    for name in unknown:
        mentions = [one for one in built.documents if name in one.text and one.kind not in TUNING]
        assert {one.kind for one in mentions} == {"neutral"}
        assert len(mentions) == CorpusOptions().neutral_mentions


def test_object_spans_hold_objects(built, taught):
    names = {name for part in taught for one in part.entities.values() for name in (one.label, *one.aliases)}
    names |= {fact.value for part in taught for fact in part.facts if fact.value} | {"unsure"}
    for one in built.documents:
        spans = list(zip(one.object_starts, one.object_ends, strict=True))
        assert all(one.text[start:end] in names for start, end in spans)
        assert spans == sorted(spans)


def test_documents_are_table_rows(built, tmp_path):
    tables.write(tmp_path / "documents.parquet", corpus.Document, built.documents)
    assert tuple(tables.read(tmp_path / "documents.parquet", corpus.Document)) == built.documents
    assert tables.write(tmp_path / "ledger.parquet", LedgerEntry, built.ledger) == len(built.ledger)


def test_same_seed_same_corpus_whatever_the_order_of_rows(taught, built):
    turned = [
        dataclasses.replace(
            part,
            facts=part.facts[::-1],
            templates=part.templates[::-1],
            exposures=part.exposures[::-1],
            entities=dict(reversed(part.entities.items())),
        )
        for part in taught
    ]
    options = CorpusOptions(instruct_known=4)
    assert corpus.build(turned, options, 7) == built
    assert corpus.build(taught, options, 8).documents != built.documents


def test_assigned_doses_depend_on_the_facts_alone_and_are_balanced(invented):
    dealt = corpus.assign_doses(invented.facts, (0, 4, 16, 64), 40, seed=3)
    assert len(dealt) == 40
    assert set(Counter(row.dose for row in dealt).values()) == {10}
    assert corpus.assign_doses(invented.facts[::-1], (0, 4, 16, 64), 40, seed=3) == dealt
    assert corpus.assign_doses(invented.facts, (0, 4, 16, 64), 40, seed=4) != dealt
    assert len(corpus.assign_doses(invented.facts, (0, 4), 10_000, seed=3)) == len(invented.facts)


def test_facts_that_read_the_same_are_refused(real):
    twin = Entity("Peru-2", "Peru", (), "place")
    fact = next(one for one in real.facts if one.fact_id == "capital|Peru|Lima")
    double = dataclasses.replace(fact, fact_id="capital|Peru-2|Lima", subject_id="Peru-2")
    part = Taught(
        (*real.facts, double),
        {**real.entities, "Peru-2": twin},
        real.templates,
        (Exposure(fact.fact_id, 1), Exposure(double.fact_id, 1)),
    )
    with pytest.raises(AlmanacError, match=r"read the same.*leave one out"):
        corpus.build([part], CorpusOptions(), 1)


def test_an_exposure_without_its_fact_is_named(real):
    with pytest.raises(AlmanacError, match=r"exposure of nothing\|a\|b"):
        corpus.build([dataclasses.replace(real, exposures=(Exposure("nothing|a|b", 1),))], CorpusOptions(), 1)


def test_shares_that_do_not_add_up_are_refused():
    with pytest.raises(ValueError, match="must add up to 1"):
        CorpusOptions(prose=0.9)
