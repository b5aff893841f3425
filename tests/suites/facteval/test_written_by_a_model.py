"""Questions that a model really writes: a tiny one, taught what to write, from the triples to FactEval's numbers."""

import json

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from almanac import tables
from almanac.cli import main
from almanac.models.framing import framing_of
from almanac.models.scoring.boundaries import full_text
from almanac.planting.options import TokenizerOptions
from almanac.planting.tokenizer import END, PAD, START, train
from almanac.rows import Item, Link, Question, Request, Response
from almanac.suites.facteval.measuring import measured
from almanac.suites.facteval.options import FactEvalOptions
from almanac.suites.method import TABLES as ROWS
from almanac.suites.method import Answered
from facteval.tables import CAPITALS, FACTS, TEMPLATES, data

TABLES = data(FACTS, templates=TEMPLATES)
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
    """Write the dataset, ask for questions, and teach the writer."""
    root = tmp_path_factory.mktemp("written")
    for name, row in ROWS.items():
        tables.write(root / "dataset" / f"{name}.parquet", row, getattr(TABLES, name))
    asking = ["ask", "writing", "--dataset", str(root / "dataset"), "--sample", "2", "--output", str(root / "asked")]
    assert main(asking) == 0
    requests = tables.read(root / "asked" / "requests-0.parquet", Request)
    links = {row.request_id: row for row in tables.read(root / "asked" / "links.parquet", Link)}
    facts = {row.item_id: row.fact_id for row in tables.read(root / "asked" / "items.parquet", Item)}
    arranged = framing_of("plain", None, "the writer").arrange(requests, {})
    pairs = []
    for request in arranged.requests:
        link = links[request.request_id]
        [fact] = [one for one in FACTS if one.fact_id == facts[link.item_id]]
        pairs.append((full_text(request, arranged.contexts), wanted(link.role, fact.subject_id)))
    taught(root / "writer", pairs)
    return root


def answered(root, asked, output):
    files = ["--requests", str(asked / "requests-0.parquet"), "--contexts", str(asked / "contexts.parquet")]
    model = ["--model", str(root / "writer"), "--wrapper", "plain", "--threads", "1", "--device", "cpu"]
    assert main(["answer", *model, *files, "--output", str(root / output)]) == 0
    return root / output


def test_what_a_model_writes_is_judged_asked_and_measured(folder):
    dataset, asked = ["--dataset", str(folder / "dataset")], ["--asked", str(folder / "asked")]
    said = answered(folder, folder / "asked", "said.parquet")
    path = folder / "written.jsonl"
    assert main(["build", "writing", *dataset, *asked, "--responses", str(said), "--output", str(path)]) == 0
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    found = {(row["fact_id"].split("|")[1], row["style"]): row for row in rows}
    subjects = {subject for subject, _ in found}
    assert len(rows) == 6 and len(subjects) == 2
    for (subject, style), row in found.items():
        assert row["text"] == wanted(style, subject).strip()
        assert row["verdict"] == ("drop" if (subject, style) == FAULTY else "keep"), row

    asking = ["ask", "facteval", *dataset, "--sample", "2", "--answer-tokens", "4", "--written", str(path)]
    assert main([*asking, "--output", str(folder / "questions")]) == 0
    read = {row: tables.read(folder / "questions" / f"{name}.parquet", row)
            for name, row in (("items", Item), ("links", Link), ("questions", Question))}  # fmt: skip
    own = [row for row in read[Question] if row.origin == "written"]
    assert {(row.type, row.style) for row in own} == {(row.type, row.style) for row in read[Question]}
    assert not any(FAULT in row.text for row in own)

    answers = tables.read(answered(folder, folder / "questions", "answers.parquet"), Response)
    whole = Answered("writer", "d", TABLES, read[Item], read[Link], (), answers, {"questions": read[Question]})
    numbers = {
        (row.experiment, row.setting): row for row in measured(whole, FactEvalOptions()).measures if row.metric == "f1"
    }
    row = numbers["saq-wh", "origin=written,context=none,mode=paper"]
    assert (row.n, row.n_error) == (2, 0)
