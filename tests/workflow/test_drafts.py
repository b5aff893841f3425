"""`snakemake drafting`: from facts to a file of drafts for a person, and from the proofread file into a dataset."""

import json
from itertools import pairwise

import pytest
import torch
import yaml
from tests.models.servers import transformers_server
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

from almanac.rows import Response, Template
from almanac.tables import read

RELATIONS = {"P36", "P37"}
WRITES = " Whom[X]?\n"  # after a colon; no character stands twice, so that each has one successor
LETTERS = sorted(pre_tokenizers.ByteLevel.alphabet())


def chain_model(folder):
    """Save a causal model of bytes that writes one text after every colon, and else anything."""
    tokenizer = Tokenizer(models.BPE({letter: at for at, letter in enumerate([*LETTERS, "</s>"])}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    words = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="</s>", pad_token="</s>")
    size = len(words)
    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=size, n_positions=4096, n_embd=size, n_layer=1, n_head=1, tie_word_embeddings=False,
        bos_token_id=size - 1, eos_token_id=size - 1,
    )  # fmt: skip
    network = GPT2LMHeadModel(config)
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            if not name.endswith("ln_f.weight"):
                parameter.zero_()
        network.transformer.wte.weight.copy_(torch.eye(size))
        chain = words(":" + WRITES)["input_ids"]
        for before, after in pairwise(chain):
            network.lm_head.weight[after, before] = 2.0
    network.save_pretrained(folder)
    words.save_pretrained(folder)


def two_relations(project):
    """Write the shipped facts of two relations as a folder of their own."""
    folder = project.root / "two"
    folder.mkdir()
    for table in ("facts", "relations", "templates", "entities"):
        lines = (project.root / "resources" / "facts" / f"{table}.jsonl").read_text().splitlines()
        own = [line for line in lines if table == "entities" or json.loads(line)["relation_id"] in RELATIONS]
        assert own
        (folder / f"{table}.jsonl").write_text("".join(f"{line}\n" for line in own))


def configure(project, **changes):
    config = {
        "edition": "tiny",
        "sources": {"two": {"path": "two"}},
        "datasets": {
            "two": {"source": "two", "min_facts": 20, "min_objects": 10, "train": 4, "test": 10, "choices": 5}
        },
        "models": [{"name": "writer", "path": "writer", "datasets": []}],
        "drafting": {"dataset": "two", "model": "writer", "samples": 2, "tokens": 16},
    }
    (project.root / "here.yaml").write_text(yaml.safe_dump(config | changes))
    return config


def run(project, *words):
    command = [word if word != "tests/data/tiny.yaml" else "here.yaml" for word in project.command(*words)]
    return project.run(*command)


def drafts_of(project):
    path = project.results / "drafting" / "two.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.whole
def test_drafts_are_made_proofread_and_join_the_templates(fresh):
    project = fresh()
    two_relations(project)
    chain_model(project.root / "writer")
    config = configure(project)
    made = run(project, "--", "drafting")
    assert made.returncode == 0, made.stdout + made.stderr

    said = "; read results/tiny/drafting/two.jsonl and set each verdict\n"
    assert "\n4 drafts: 1 kept, 2 dropped (“holds [X] 1 times and [Y] 0; needed are 1 and 1”), 1 dropped" in made.stdout
    assert made.stdout.endswith(said)

    drafts = drafts_of(project)
    assert {(row["relation_id"], row["style"], row["text"]) for row in drafts} == {
        (relation, style, "Whom[X]?") for relation in RELATIONS for style in ("question", "statement")
    }
    slots = "holds [X] 1 times and [Y] 0; needed are 1 and 1"
    assert {row["reason"] for row in drafts if row["style"] == "statement"} == {slots}
    assert not any("agreement" in row for row in drafts if row["style"] == "statement"), "nothing is led back by these"

    # What is said of one filled template is said of all: the model looks at one byte, so one relation is led back to.
    questions = [row for row in drafts if row["style"] == "question"]
    assert sorted((row["agreement"], row["verdict"]) for row in questions) == [(0.0, "drop"), (1.0, "keep")]
    reasons = {row["reason"] for row in drafts if row["verdict"] == "drop"}
    assert reasons == {slots, "led a model back to the relation for 0 of 3 facts"}
    assert not (project.results / "report.html").exists()
    again = run(project, "--", "drafting")
    assert "Nothing to be done" in again.stdout + again.stderr
    assert again.stdout.endswith(said)

    # A file that the next run would write over is not taken for a proofread one.
    datasets = config["datasets"]["two"]
    configure(project, datasets={"two": datasets | {"drafts": "results/tiny/drafting/two.jsonl"}})
    refused = run(project, "--", "data")
    assert refused.returncode != 0
    assert "datasets.two.drafts: results/tiny/drafting/two.jsonl lies in results/tiny" in refused.stderr

    before = read(project.results / "dataset" / "two" / "templates.parquet", Template)
    proofread = [row | {"text": "Whom has [X]?"} if row.get("agreement") == 1 else row for row in drafts]
    (project.root / "proofread.jsonl").write_text("".join(json.dumps(row) + "\n" for row in proofread))
    configure(project, datasets={"two": datasets | {"drafts": "proofread.jsonl"}})
    built = run(project, "--", "data")
    assert built.returncode == 0, built.stdout + built.stderr
    after = read(project.results / "dataset" / "two" / "templates.parquet", Template)
    assert [row for row in after if row.origin != "drafted"] == before
    assert [row.text for row in after if row.origin == "drafted"] == ["Whom has [X]?"]


@pytest.mark.whole
def test_a_servers_model_drafts_and_its_first_round_may_be_the_last(fresh, tmp_path):
    project = fresh()
    two_relations(project)
    folder = project.root / "writer"
    chain_model(folder)
    with transformers_server(folder, tmp_path / "serve.log") as url:
        writer = {"name": "writer", "api": url, "api_model": str(folder), "kinds": ["generate"], "datasets": []}
        drafting = {"dataset": "two", "model": "writer", "samples": 2, "tokens": 16, "round_trip": False}
        configure(project, models=[writer | {"api_generate_with": "completions"}], drafting=drafting)
        made = run(project, "--", "drafting")
        first = drafts_of(project)
        assert [path.name for path in (project.results / "requests" / "drafting" / "two").iterdir()] == ["drafts"]
        # The second round, of a model that weighs no choices: the agreement stays open, and the draft to the reader.
        models = [writer | {"api_generate_with": "completions"}]
        configure(project, models=models, drafting=drafting | {"round_trip": True})
        (project.results / "report.html").write_text("of other tables than these texts")
        tried = run(project, "--", "drafting")
        assert (project.results / "report.html").is_file()
    assert made.returncode == 0, made.stdout + made.stderr
    assert tried.returncode == 0, tried.stdout + tried.stderr
    assert drafts_of(project) == first
    assert not any("agreement" in row for row in first)
    assert sorted((row["text"], row["style"], row["verdict"]) for row in first) == [
        ("Whom[X]?", style, verdict) for style, verdict in (("question", "keep"), ("statement", "drop")) for _ in "ab"
    ]
    answered = project.results / "responses" / "writer" / "drafting" / "two" / "drafts" / "all"
    assert {row.status for path in answered.glob("*.parquet") for row in read(path, Response)} == {"ok"}


def test_without_a_drafting_key_the_target_says_what_is_missing(fresh):
    project = fresh()
    two_relations(project)
    configure(project, drafting=None, models=[])
    refused = run(project, "--dry-run", "--", "drafting")
    assert refused.returncode != 0
    assert "add `drafting: {dataset: …, model: …}`" in refused.stdout + refused.stderr
