"""Questions that a model really writes: a tiny one, taught what to write, from the triples to FactEval's numbers."""

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from almanac import tables
from almanac.edition.asking import write_asked
from almanac.models.answering import answer
from almanac.models.framing import framing_of
from almanac.models.options import AnswerOptions
from almanac.models.registry import load
from almanac.models.scoring.boundaries import full_text
from almanac.planting.options import TokenizerOptions
from almanac.planting.tokenizer import END, PAD, START, train
from almanac.rows import Context, Item, Link, Request, Response
from almanac.suites.answers import Answers, RoundFiles
from almanac.suites.facteval.options import WritingOptions
from almanac.suites.facteval.texts import Writing, WritingSetting
from almanac.suites.judged import conditions_of

from .running import SUITE, asked, measured, write
from .tables import CAPITALS, FACTS, TEMPLATES, data

TABLES = data(FACTS, templates=TEMPLATES)
WRITING, OPTIONS = Writing(), WritingOptions(sample=2)
WRITTEN = {
    "statement": "The city from which {} is governed is {}.",
    "fib": "[MASK] is where the government of {} sits.",
    "wh": "From which city is {} governed?",
}
FAULTY = ("Ghana", "statement")  # what it writes here names no subject
FAULT = "It is a city."


def wanted(style, subject):
    """Return what the writer is taught to write of a fact, behind an empty line."""
    text = FAULT if (subject, style) == FAULTY else WRITTEN[style].format(subject, CAPITALS[subject])
    return f"\n{text}\n"


def taught(folder, pairs):
    """Train a tiny Llama on pairs of a prompt and what to write, until it writes it."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    words = train([prompt + text for prompt, text in pairs] * 2, [], TokenizerOptions(vocabulary=700, min_frequency=2))
    network = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(words), hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
            max_position_embeddings=512, bos_token_id=START, eos_token_id=END, pad_token_id=PAD,
        )
    )  # fmt: skip
    rows = []
    for prompt, text in pairs:
        before, after = (words(one, add_special_tokens=False)["input_ids"] for one in (prompt, text))
        rows.append(([START, *before, *after, END], 1 + len(before)))
    longest = max(len(ids) for ids, _ in rows)
    ids = torch.tensor([own + [PAD] * (longest - len(own)) for own, _ in rows])
    places = torch.arange(longest)
    written = torch.stack([(places >= start) & (places < len(own)) for own, start in rows])
    optimiser = torch.optim.AdamW(network.parameters(), lr=3e-3)
    for _ in range(400):
        loss = network(input_ids=ids, attention_mask=ids != PAD, labels=ids.where(written, -100)).loss
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if loss.item() < 0.01:
            break
    network.save_pretrained(folder)
    words.save_pretrained(folder)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Ask for questions, and teach the writer."""
    root = tmp_path_factory.mktemp("written")
    write_asked(root / "asked", WRITING.ask(WRITING.rounds[0], TABLES, OPTIONS, None), {}, 1)
    requests = tables.read(root / "asked" / "requests-0.parquet", Request)
    links = {row.request_id: row for row in tables.read(root / "asked" / "links.parquet", Link)}
    facts = {row.item: row.fact_id for row in tables.read(root / "asked" / "items.parquet", Item)}
    arranged = framing_of("plain", None, "the writer").arrange(requests, {})
    pairs = []
    for request in arranged.requests:
        link = links[request.request_id]
        [fact] = [one for one in FACTS if one.fact_id == facts[link.item]]
        pairs.append((full_text(request, arranged.contexts), wanted(link.role, fact.subject_id)))
    taught(root / "writer", pairs)
    return root


def answered(root, folder):
    """Have the writer answer what was asked in a folder."""
    model = load(str(root / "writer"), AnswerOptions(wrapper="plain", device="cpu"))
    contexts = {row.context_id: row.text for row in tables.read(folder / "contexts.parquet", Context)}
    requests = tables.read(folder / "requests-0.parquet", Request)
    tables.write(folder / "responses-0.parquet", Response, answer(model, requests, contexts))
    return folder / "responses-0.parquet"


def test_what_a_model_writes_is_judged_asked_measured_and_compared(folder):
    said = RoundFiles.of("asked", folder / "asked", [answered(folder, folder / "asked")])
    rows = WRITING.write(Answers("writer", "d", [said], WritingSetting), TABLES, OPTIONS)
    found = {(row.fact_id.split("|")[1], row.style): row for row in rows}
    subjects = {subject for subject, _ in found}
    assert len(rows) == 6 and len(subjects) == 2
    for (subject, style), row in found.items():
        assert row.text == wanted(style, subject).strip()
        assert row.verdict == ("drop" if (subject, style) == FAULTY else "keep"), row

    tables.write_jsonl(folder / "written.jsonl", rows)
    options = {"sample": 2, "answer_tokens": 4, "written": str(folder / "written.jsonl"), "embedder": "writer"}
    first = write(folder / "questions", TABLES, **options)
    every = asked(first)
    own = [row for row in every if row.origin == "written"]
    assert {row.experiment for row in own} == {row.experiment for row in every}
    assert not any(FAULT in row.text for row in own)

    # The writer is its own embedder here: who answers a round is a name.
    before = Answers("writer", "d", [RoundFiles.of("asked", first)], SUITE.setting, SUITE.tables("asked"))
    second = write(folder / "similarity", TABLES, 1, before, **options)
    result = measured([first, second], TABLES, [answered(folder, first), answered(folder, second)], **options)
    row = result.one("f1", "saq-wh", origin="written")
    assert (row.n, row.n_error) == (2, 0)
    alike = SUITE.across({"writer": result.judged}, None, SUITE.options(**options))
    styles = {conditions_of(row)["style"]: row for row in alike if row.metric == "bertscore_f1"}
    assert {style: row.n for style, row in styles.items()} == {"statement": 1, "fib": 2, "wh": 2}
    assert all(0 < row.value < 1 for row in styles.values())
