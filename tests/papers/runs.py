"""The papers' configurations run at a thousandth of their size: the very files, with `OVERLAYS` laid over them.

Laid over are the sources' paths (small releases in the publishers' shapes), the numbers of facts, examples, draws and
tokens, and the models: each keeps its name, family, base and size, and is a tiny random network in the place of its
checkpoint. Models of a server, and some others, are played by a function that knows a part of the facts.
"""

import json
import random
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from shlex import split as words_of
from types import SimpleNamespace
from typing import Any

import torch
from tests.models.tiny_networks import llama
from tests.models.tiny_tokenizers import byte_level, special_tokens
from tests.papers import releases
from tests.report import editions
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
from transformers import BertConfig, BertForMaskedLM, PreTrainedTokenizerFast, T5Config, T5ForConditionalGeneration

from almanac import tables
from almanac.cli import main
from almanac.config import Asking, check, read_yaml
from almanac.edition.jobs import Jobs
from almanac.edition.layout import Layout
from almanac.models import windows
from almanac.models.answering import LocalAnswerer
from almanac.models.options import AnswerOptions
from almanac.models.registry import load
from almanac.rows import Item, Link, Request, Response
from almanac.suites.listing import AUTHORS
from almanac.verbs.answer import Files, answer_parts

REPOSITORY = Path(__file__).parents[2]
CONFIG = REPOSITORY / "config" / "papers"
LENGTH = 1024


def merged(under: Any, over: Any) -> Any:
    """Lay one configuration over another, key by key; a list replaces a list."""
    if isinstance(under, Mapping) and isinstance(over, Mapping):
        return {**under, **{key: merged(under.get(key), value) for key, value in over.items()}}
    return over


@dataclass(frozen=True)
class Run:
    """How a paper is made small.

    Attributes:
        releases: what each source is read from.
        over: the settings that are laid over the paper's; a setting of ``datasets`` under ``""`` holds for all.
        networks: the models that are tiny networks, by kind.
        known: the models that a function plays, with the share of the facts that each knows.
        files: files of a person's that suites read, by suite, dataset and setting.
    """

    releases: Mapping[str, Callable[[Path], None]]
    over: Mapping[str, Any]
    networks: Mapping[str, str]
    known: Mapping[str, float]
    files: Mapping[tuple[str, str, str], Callable[[Path], None]] = field(default_factory=dict)


def make(name: str, run: Run, folder: Path) -> Layout:
    """Run a paper's configuration, from its sources to its page."""
    values = read_yaml(CONFIG / f"{name}.yaml")
    registry = read_yaml(REPOSITORY / values["registry"])
    over: dict[str, Any] = {"contact": "somebody@example.org", "shards": 1, **run.over}
    shared = over["datasets"].get("", {})
    over["datasets"] = {key: {**shared, **over["datasets"].get(key, {})} for key in values["datasets"]}
    sources = {}
    for source, release in run.releases.items():
        path = folder / "raw" / source
        path.mkdir(parents=True)
        release(path)
        sources[source] = {**over.get("sources", {}).get(source, {}), "path": str(path)}
    models = [
        {"name": model, **_entry(model, registry[model], run.networks.get(model), folder)}
        for model in (*run.networks, *run.known)
    ]
    for (suite, dataset, setting), write in run.files.items():
        path = folder / "raw" / f"{setting}.jsonl"
        write(path)
        over["suites"] = merged(over["suites"], {suite: {dataset: {setting: str(path)}}})
    values = merged(values, {**over, "sources": sources, "models": models})
    for source, settings in sources.items():
        if settings.get("kind") == "files":
            values["sources"][source] = settings
    config = check(values, f"{name}.yaml, made small", REPOSITORY)
    layout = Layout(folder / name, config)
    layout.root.mkdir()
    layout.record().write_text(config.model_dump_json())
    prepare(layout)
    author(layout, run.known)
    answer(layout, run.known)
    editions.measure(layout)
    return layout


def _entry(model: str, registered: Mapping[str, Any], network: str | None, folder: Path) -> dict[str, Any]:
    """Return a model's entry, its checkpoint replaced by a tiny network, or by none where a function plays it."""
    kept = {
        key: value for key, value in registered.items() if key in ("series", "base", "parameters", "wrapper", "kinds")
    }
    if network is None:
        text = {} if kept.get("wrapper", "chat").startswith("chat") else {"api_generate_with": "completions"}
        return {**kept, **text, "api": "http://localhost:1/v1"}  # nobody listens there: a function answers
    family = {"masked": "masked", "seq2seq": "seq2seq"}.get(network, "auto")
    more = {key: registered[key] for key in ("suites",) if key in registered}
    return {**kept, **more, "family": family, "path": str(checkpoint(network, model, folder)), "device": "cpu"}


def prepare(layout: Layout) -> None:
    """Bring the sources and build the datasets, by the flags of their rules."""
    jobs = Jobs(layout.config, layout)
    for name, source in layout.config.sources.items():
        wildcards, out = SimpleNamespace(source=name), ["--output", str(layout.source(name))]
        words = f"files {jobs.copied(wildcards)}" if source.kind == "files" else jobs.pulled(wildcards)
        assert main(["pull", *words_of(words), *out]) == 0
    for name in layout.config.datasets:
        wildcards = SimpleNamespace(dataset=name)
        words = f"--facts {layout.facts(name)} {jobs.dataset_options(wildcards)}"
        assert main(["build", "dataset", *words_of(words), "--output", str(layout.dataset_folder(name))]) == 0


def answer(layout: Layout, known: Mapping[str, float]) -> None:
    """Ask every round, and have networks and functions answer."""
    answerers: dict[str, LocalAnswerer] = {}

    def reply(model: str, files: Files) -> None:
        if model in known:
            _play(model, known[model], files)
            return
        if model not in answerers:
            entry = layout.config.participants()[model].model
            how = AnswerOptions(family=entry.family, device="cpu", wrapper=entry.wrapper)
            answerers[model] = LocalAnswerer(load(str(entry.path), how))
        answer_parts(answerers[model], files, windows.survey(files.requests, files.contexts))()

    editions.play(layout, reply)


def author(layout: Layout, known: Mapping[str, float]) -> None:
    """Have the models write that the configuration names, and bring it to the file that a person proofreads."""
    jobs = Jobs(layout.config, layout)
    for name, one in layout.config.authors().items():
        [files] = layout.rounds(Asking(one.model, name, one.dataset))
        wildcards = SimpleNamespace(dataset=one.dataset)
        words = [*("--dataset", str(layout.dataset_folder(one.dataset)), "--shards", str(layout.config.shards))]
        words += words_of(jobs.asks(AUTHORS[name], wildcards))
        assert main(["ask", name, *words, "--output", str(files.folder)]) == 0
        for requests, responses in zip(files.requests, files.responses, strict=True):
            _play(one.model, known[one.model], Files(requests, files.folder / "contexts.parquet", responses))
        words = [
            "--dataset",
            str(layout.dataset_folder(one.dataset)),
            *words_of(jobs.before_flags(AUTHORS[name], None, wildcards)),
        ]
        assert main(["build", name, *words, "--output", str(layout.written(name, one.dataset))]) == 0


def _play(model: str, share: float, files: Files) -> None:
    """Answer as a model that knows a share of the facts, is wrong of most others, and unsure of some."""
    folder = files.requests.parent
    items = {row.item: row for row in tables.read(folder / "items.parquet", Item)}
    asked = {row.request_id: items.get(row.item) for row in tables.read(folder / "links.parquet", Link)}
    rows = [_answer(model, share, row, asked[row.request_id]) for row in tables.read(files.requests, Request)]
    tables.write(files.output, Response, rows)


def _answer(model: str, share: float, request: Request, item: Item | None) -> Response:
    chance = random.Random(zlib.crc32(f"{model} {item.fact_id if item else request.request_id}".encode()))
    made = {"model_digest": model, "engine": "none"}
    if request.kind != "generate":
        scored = request.choices or request.pieces or request.span_starts or ()
        values = tuple(min(0.0, chance.gauss(-5, 2)) for _ in scored)
        return Response(request.request_id, "ok", None, values, (1,) * len(values), **made)
    if "Prediction:" in request.text:
        truth, said = request.text.split("Ground truth: ")[1].split("\nPrediction: ")
        right = said.removesuffix("\nCorrectness:").lower() in map(str.lower, json.loads(truth))
        texts = ["correct" if right else "incorrect"]
    else:
        true = item.accepted[0] if item is not None and item.accepted else "nothing"
        known = chance.random() < share
        texts = [true if known else chance.choice(["unsure", "Rome", "1990", "nothing of the kind"])]
        texts += [text if chance.random() < 0.7 else "Rome" for text in texts * ((request.samples or 1) - 1)]
    return Response(request.request_id, "ok", None, texts=tuple(texts), **made)


def checkpoint(kind: str, model: str, folder: Path) -> Path:
    """Save a tiny network, ``causal``, ``masked`` or ``seq2seq``, of random weights of its own."""
    torch.manual_seed(zlib.crc32(model.encode()))
    found = folder / "models" / model
    words = _words() if kind == "masked" else byte_level(bos=kind == "causal")
    makers = {"causal": partial(llama, length=LENGTH), "masked": _bert, "seq2seq": _t5}
    network = makers[kind](len(words))
    network.save_pretrained(found)
    words.save_pretrained(found)
    return found


def _bert(vocabulary: int) -> BertForMaskedLM:
    shape = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 2}
    return BertForMaskedLM(BertConfig(vocab_size=vocabulary, max_position_embeddings=64, pad_token_id=0, **shape))


def _t5(vocabulary: int) -> T5ForConditionalGeneration:
    shape = {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 1, "num_heads": 4}
    special = {"decoder_start_token_id": 0, "pad_token_id": 0, "eos_token_id": 2}
    return T5ForConditionalGeneration(T5Config(vocab_size=vocabulary, **shape, **special))


def _words() -> PreTrainedTokenizerFast:
    """A tokenizer to which each object of the releases is one token, as BERT's is to common words."""
    special = ["[PAD]", "[CLS]", "[SEP]", "[MASK]", "[UNK]"]
    letters = [f"{begin}{one}" for one in "abcdefghijklmnopqrstuvwxyz0123456789.,?'-/" for begin in ("", "##")]
    whole = sorted(one.lower() for own in releases.WORDS.values() for one in own)
    vocabulary = {one: at for at, one in enumerate(dict.fromkeys([*special, *letters, *whole]))}
    model = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    model.normalizer = normalizers.BertNormalizer(lowercase=True)
    model.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    model.post_processor = special_tokens("[CLS] $A [SEP]", model)
    names = {"pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]", "mask_token": "[MASK]"}
    return PreTrainedTokenizerFast(tokenizer_object=model, unk_token="[UNK]", **names)
