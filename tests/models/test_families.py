"""Every family that the papers asked: right by the best way that its self-test allows, or refused.

The plain way is held against bare float64 passes of transformers, one unpadded text at a time; the fast ways against
the plain way. What is found is the table of docs/families.md, which `python -m tests.models.test_families` rewrites.
"""

import json
import re
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import torch
from tests.models.families import FAMILIES, make, plain_network
from tests.models.tiny_tokenizers import TEXT

from almanac.errors import AlmanacError
from almanac.models.answering import LocalAnswerer
from almanac.models.causal import CausalModel
from almanac.models.options import AnswerOptions
from almanac.models.registry import load
from almanac.models.scoring import encdec, generation, prefix_cache, reference, selftest
from almanac.models.scoring.boundaries import tokenise
from almanac.models.scoring.forest import attention, machines
from almanac.rows import Request
from almanac.sealed import sha256

HEAD = "| family |"
TABLE = Path(__file__).parents[2] / "docs" / "families.md"
KINDS = {
    "byte_level": "byte-level BPE, BOS",
    "byte_level_gpt2": "byte-level BPE",
    "byte_level_nfc": "byte-level BPE, NFC",
    "byte_level_opt": "byte-level BPE, `</s>` first",
    "byte_level_glm": "byte-level BPE, `[gMASK]<sop>` first",
    "byte_level_mask": "byte-level BPE, `<s> … </s>`",
    "metaspace": "metaspace BPE, BOS",
    "metaspace_padded": "metaspace BPE, BOS, padding added",
    "metaspace_no_bos": "metaspace BPE",
    "metaspace_bare": "metaspace BPE, nothing prepended, BOS",
    "unigram_t5": "Unigram, `</s>` last",
    "unigram_xlnet": "Unigram, `<sep><cls>` last",
    "unigram_albert": "Unigram, `[CLS] … [SEP]`, lower case",
    "wordpiece": "WordPiece, `[CLS] … [SEP]`, lower case",
    "word_bpe": "BPE of words with `</w>`, lower case",
}
REFUSED = ("chatglm", "moss")  # Architectures whose checkpoints bring code of their own.
LONG = " ".join([*TEXT, "The red river of France flows through Bordira. Ada makes 12 blue clocks in 1815."])
CONTEXTS = {"long": LONG, "longer": LONG + " Zoë makes the tape of Rome.", "short": "In London,"}
WORDS = ("Paris", "Rome", "red", "the river", "Ada Lovelace", "3M")
CHOICES = (*(f" {word}{end}" for word in WORDS for end in ("", ".", " is")), " naïve café 東京", ".")


def choices(name, context, text, words):
    return Request(name, "choices", context, text, choices=words, per_token=True)


def spans(name, context, text, *parts):
    starts, ends = zip(*((text.index(part), text.index(part) + len(part)) for part in parts), strict=True)
    return Request(name, "spans", context, text, span_starts=starts, span_ends=ends, per_token=True)


FEW = (
    choices("shared", "long", " Paris is", CHOICES[:7]),
    choices("nested", "longer", " The tape is", CHOICES[::6]),
    choices("short", "short", " Paris", CHOICES[:4]),
    choices("bare", None, "The capital of France is", CHOICES[:5]),
    choices("no text", None, "", ("Paris is blue.", "Rome is the capital.")),
    choices("too long", "longer", " ".join(TEXT * 3), CHOICES[:2]),
    spans("statement", None, "Paris is the capital of France.", "Paris is the capital of France."),
    spans("several", "long", " Rome is red and Paris is blue.", "Rome", "red", "Paris is blue."),
    Request("pieces", "spans", None, "The clock", pieces=(" of Bordira", " is", " 1990 times")),
    Request("greedy", "generate", "long", " The tape", max_new_tokens=16, samples=1, temperature=0.0),
    Request("sampled", "generate", "long", " The clock", max_new_tokens=4, samples=2, temperature=1.0, seed=3),
)
MANY = (
    *(choices(f"shared by {text}", "long", f" {text} is", CHOICES) for text in ("The clock", "Bordira of Italy")),
    choices("chains", None, TEXT[0], tuple(f" {TEXT[2][:end]}" for end in (12, 40, 60, 87))),
    spans("chain", None, " ".join([*TEXT[:2], TEXT[1]]), TEXT[0][:40], TEXT[1]),
)
REQUESTS = {
    "causal": (*FEW, *MANY, Request("fill", "fill", "long", " The clock is [MASK]", top_k=5, choices=WORDS[:3])),
    "masked": (*FEW, Request("fill", "fill", "long", " The [MASK] of Rome is red.", top_k=5, choices=WORDS[:5])),
    "seq2seq": (*FEW, *MANY[:2]),
}
REQUESTS["permutation"] = REQUESTS["masked"]


@pytest.fixture(scope="module", params=FAMILIES)
def family(request, tmp_path_factory):
    """Return a family, the folder of its checkpoint, and the model."""
    one = FAMILIES[request.param]
    folder = make(one, tmp_path_factory.mktemp("family"))
    return one, folder, load(str(folder), AnswerOptions(device="cpu"))


@pytest.fixture(scope="module")
def best(family):
    """Return what answers for a family by the best way.

    The chunks' samples are not checked here: what the self-test lets through has to be right by itself.
    """
    return LocalAnswerer(family[2], checked=0)


def sequences_of(model, kind):
    """Return the sequences of the requests that the model can read."""
    asked = [
        request for request in REQUESTS[kind] if request.kind in ("choices", "spans") and request.kind in model.KINDS
    ]
    found = (encdec.tokenise if kind == "seq2seq" else tokenise)(asked, CONTEXTS, model)
    assert not [one.problem for one in found if one.problem and not one.unsupported]
    limit = model.max_length or 400
    return [one for some in found if some.length <= limit for one in some.sequences]


class Bare:
    """A family's network in float64 by transformers alone: one text or masked input a pass, no padding, no cache."""

    def __init__(self, family, folder, model, **settings):
        self.network, self.model, self.kind = plain_network(family, folder, **settings), model, family.kind
        self.passes = {}

    def score(self, sequences):
        return [
            [
                [float(self.row(one, position, stop)[one.ids[position]]) for position in range(start, stop)]
                for start, stop in one.parts
            ]
            for one in sequences
        ]

    def row(self, sequence, position, stop):
        """Return the log-probabilities at a position of a part that stops there."""
        if self.kind == "causal":
            return self.run(sequence.ids)[position - 1]
        if self.kind == "seq2seq":
            rows = self.run(sequence.head, sequence.tail, decoder_input_ids=sequence.tail)
            return rows[position - 1 - len(sequence.head)]
        hidden = [position <= place < stop for place in range(len(sequence.ids))]
        ids = tuple(self.model.mask_id if mask else token for mask, token in zip(hidden, sequence.ids, strict=True))
        if self.kind == "masked":
            return self.run(ids)[position]
        # XLNet: nobody sees what is masked, the query stream asks for one position, and [CLS] is a segment of its own.
        asked = [float(place == position) for place in range(len(ids))]
        segments = [0] * (len(ids) - 1) + [2]
        sees = [[float(one) for one in hidden]] * len(ids)
        return self.run(ids, position, perm_mask=sees, target_mapping=[asked], token_type_ids=segments)[0]

    def run(self, ids, *key, **inputs):
        if (ids, key) not in self.passes:
            tensors = {name: torch.tensor([value]) for name, value in {"input_ids": ids, **inputs}.items()}
            with torch.no_grad():
                self.passes[ids, key] = torch.log_softmax(self.network(**tensors).logits[0].double(), dim=-1)
        return self.passes[ids, key]


def largest(values, others):
    """Return the largest difference of a part's sum between two sets of scores, nats."""
    return selftest.compare(values, others, True).largest


@dataclass(frozen=True)
class Row:
    """What the table says of a family."""

    way: str
    fast: float  # The largest difference between that way and the plain one, nats.
    plain: float  # The largest difference between the plain way and bare float64.


def measured(family, folder, model, best):
    """Ask a family everything by the best way and by the plain one, and return its row.

    Raises:
        AssertionError: a status or a number differs.
    """
    asked, kind = REQUESTS[family.kind], family.kind
    sequences = sequences_of(model, kind)
    plain = reference.score(model, sequences)
    bare = Bare(family, folder, model)
    exact = bare.score(sequences)
    fast, slow = best.answer(asked, CONTEXTS), LocalAnswerer(model, "reference").answer(asked, CONTEXTS)
    difference = 0.0
    for one, other in zip(fast, slow, strict=True):
        off = f"{one.engine} gives something else than plain passes for the request '{one.request_id}'"
        assert (one.status, one.reason, one.texts) == (other.status, other.reason, other.texts), off
        assert one.token_counts == other.token_counts, off
        assert one.status in ("ok", "too_long", "unsupported"), one.reason
        for a, b in zip(one.logprobs or (), other.logprobs or (), strict=True):
            difference = max(difference, abs(a - b))
        assert one.token_logprobs == pytest.approx(other.token_logprobs, abs=1e-4), off
        assert one.probabilities == pytest.approx(other.probabilities, abs=1e-4), off
    engines = {one.engine for one in fast if one.status == "ok" and one.texts is None}
    if family.off:
        without = Bare(family, folder, model, **family.off).score(sequences)
        assert largest(exact, without) > 0.5, "the requests cannot tell whether what is special is there"
    return Row(", ".join(sorted(engines)), difference, largest(plain, exact))


def test_it_is_right(family, best):
    one, row = family[0], measured(*family, best)
    assert row.fast <= 1e-4, f"{row.way} differs from plain passes by {row.fast:.2g} nats"
    assert row.plain <= 1e-4, f"plain passes differ from float64 by {row.plain:.2g} nats: are the tokens right?"
    found, written = cells(table_line(one, row)), cells(committed().get(one.name, ""))
    # The last digits of a difference are those of a machine.
    assert found[:5] + found[7:] == written[:5] + written[7:], (
        f"docs/families.md has another row or none; write it with: python -m tests.models.test_families '{one.name}'"
    )


def test_tokens_are_those_that_the_tokenizer_gives_for_the_whole_and_the_choices_are_scored(family):
    kind, model = family[0].kind, family[2]
    asked = [one for one in (*FEW, *MANY) if one.kind == "choices" and (one.text or kind != "seq2seq")]
    found = (encdec.tokenise if kind == "seq2seq" else tokenise)(asked, CONTEXTS, model)
    for request, tokenised in zip(asked, found, strict=True):
        text = CONTEXTS.get(request.context_id, "") + request.text
        for choice, sequence in zip(request.choices, tokenised.sequences, strict=True):
            read = model.tokens.tokenizer(text if kind == "seq2seq" else text + choice, return_offsets_mapping=True)
            whole = tuple(read["input_ids"])
            if kind == "causal":
                whole = whole[: len(whole) - len(model.tokens.suffix)]
            assert whole == (sequence.head if kind == "seq2seq" else sequence.ids)
            if kind == "seq2seq":  # the decoder has the choice alone, after its start
                scored = range(len(whole) + len(model.start), len(sequence.ids))
            else:  # special tokens end at character 0
                ends = enumerate(end for _, end in read["offset_mapping"])
                scored = [place for place, end in ends if end > len(text) and place >= model.FIRST]
            assert sequence.parts == ((scored[0], scored[-1] + 1),), (
                "scored are other tokens than the choice's: see wrap"
            )


@pytest.mark.parametrize("name", ["GPT-OSS", "Mamba"])
def test_a_checkpoint_has_the_same_weights_every_time(tmp_path, name):
    first, again = (make(FAMILIES[name], tmp_path / place) for place in ("first", "again"))
    assert sha256(first / "model.safetensors") == sha256(again / "model.safetensors")


def test_every_family_stands_in_the_table():
    assert list(committed()) == list(FAMILIES)
    assert all(f"| `{architecture}` |" in TABLE.read_text() for architecture in REFUSED)


@pytest.mark.parametrize("architecture", REFUSED)
def test_what_brings_its_own_code_is_refused(tmp_path, architecture):
    make(FAMILIES["Llama"], tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    mapped = {"AutoConfig": "own.Config", "AutoModelForCausalLM": "own.Model"}
    (tmp_path / "config.json").write_text(json.dumps(config | {"model_type": architecture, "auto_map": mapped}))
    (tmp_path / "own.py").write_text("raise SystemExit('this code must not run')")
    with pytest.raises(AlmanacError, match="needs code of its own"):
        load(str(tmp_path), AnswerOptions())


def no_softcap(kernel):
    def broken(layer, *tensors, **named):
        layer.options["softcap"] = None
        return kernel(layer, *tensors, **named)

    return broken


def no_sink(merge):
    return lambda parts, sink, dtype: merge(parts, None, dtype)


def siblings(mask):
    return lambda ends: torch.ones(ends.shape[1], ends.shape[1], dtype=torch.bool).tril().expand(len(ends), -1, -1)


def in_line(logits):
    return lambda model, ids, places, wanted: logits(model, ids, torch.arange(ids.shape[1])[None], wanted)


def mixed_up(expanded):
    def broken(cache, rows):
        many = expanded(cache, rows)
        for layer in many.layers:
            layer.keys = layer.keys.roll(1, dims=2)
        return many

    return broken


# What is broken, in which family it shows, by which way, and how it is broken.
BROKEN = {
    "soft caps are left out": ("Gemma-2", "forest", attention.Layer, "kernel", no_softcap),
    "sinks are left out": ("GPT-OSS", "forest", attention, "merge", no_sink),
    "windows are left out": ("Mistral, sliding", "forest", attention.Layer, "window", lambda window: None),
    "branches see each other": ("Llama", "forest", machines, "tree_mask", siblings),
    "positions go on from branch to branch": ("Llama", "forest", CausalModel, "logits", in_line),
    "branches see each other under the model's own mask": ("GPT-J", "stock_mask", machines, "tree_mask", siblings),
    "keys of the prefix are out of order": ("BLOOM", "prefix_cache", prefix_cache, "expanded", mixed_up),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_way_that_is_broken_is_passed_over(what, tmp_path, monkeypatch):
    name, engine, place, attribute, breaking = BROKEN[what]
    model = load(str(make(FAMILIES[name], tmp_path)), AnswerOptions(device="cpu"))
    right = LocalAnswerer(model, "reference").answer(MANY, CONTEXTS)
    assert LocalAnswerer(model, engine).engine == engine
    monkeypatch.setattr(place, attribute, breaking(getattr(place, attribute)))
    best = LocalAnswerer(model, engine)
    assert best.engine != engine
    assert any(re.match(f"{engine}: differs from the reference by", reason) for reason in best.tested.passed_over)
    for one, other in zip(best.answer(MANY, CONTEXTS), right, strict=True):
        assert one.logprobs == pytest.approx(other.logprobs, abs=1e-4)


def test_what_shows_in_longer_texts_only_is_caught_where_they_are_scored(tmp_path, monkeypatch, capsys):
    model = load(str(make(wide("Mistral, sliding", sliding_window=80), tmp_path)), AnswerOptions(device="cpu"))
    right = LocalAnswerer(model, "reference").answer(MANY, CONTEXTS)
    monkeypatch.setattr(attention.Layer, "window", None)
    best = LocalAnswerer(model)
    assert best.engine == "forest"  # The probes of the self-test are shorter than the window.
    for one, other in zip(best.answer(MANY, CONTEXTS), right, strict=True):
        assert one.logprobs == pytest.approx(other.logprobs, abs=1e-4)
    assert "forest/1 cannot be used" in capsys.readouterr().err


def test_a_window_that_is_counted_by_places_in_a_row_hides_no_ancestor(tmp_path):
    settings = {"window_size": 256, "max_position_embeddings": 2048}
    model = load(str(make(wide("GPT-Neo", **settings), tmp_path)), AnswerOptions(device="cpu"))
    many = [choices(f"of {word}", "short", f" {word}", CHOICES) for word in sorted(set(" ".join(TEXT).split()))]
    right = LocalAnswerer(model, "reference").answer(many, CONTEXTS)
    for one, other in zip(LocalAnswerer(model, "stock_mask", checked=0).answer(many, CONTEXTS), right, strict=True):
        assert one.logprobs == pytest.approx(other.logprobs, abs=1e-4)


def test_texts_are_those_of_a_model_that_reads_all_from_the_beginning(family, best, monkeypatch):
    _, _, model = family
    asked = [request for request in FEW if request.kind == "generate"]
    # Prompts of two trees with a beginning for all their texts, and some that begin like no other.
    tails = (" Paris is", " Paris is the", " Rome", " The red", " London has", "", " 3M")
    asked += [
        Request(
            f"{context} {tail}", "generate", context, f" The clock{tail}", max_new_tokens=9, samples=1, temperature=0.0
        )
        for context in ("long", "longer", None)
        for tail in tails
    ]
    fast = [one.texts for one in best.answer(asked, CONTEXTS)]
    if isinstance(model, CausalModel):
        monkeypatch.setattr(generation, "_prefill", no_cache)
        assert fast == [one.texts for one in LocalAnswerer(model, "reference").answer(asked, CONTEXTS)]


def no_cache(model, samples):
    return None, torch.cat([generation._last_logits(model, [sample.prompt.ids]) for sample in samples])


def wide(name, **settings):
    return replace(FAMILIES[name], settings={**FAMILIES[name].settings, **settings})


def table_line(family, row):
    told = (family.name, family.models, KINDS[family.tokenizer], family.special, row.way)
    return f"| {' | '.join((*told, digit(row.fast), digit(row.plain), family.note))} |"


def cells(line):
    return [cell.strip() for cell in line.strip("| ").split(" | ")]


def digit(value):
    return f"{value:.0e}".replace("e-0", "e-") if value else "0"


def committed():
    """Return the lines of the table of docs/families.md, by family."""
    page = TABLE.read_text()
    return {cells(line)[0]: line for line in page[slice(*table(page))].splitlines()}


def table(page):
    """Return where the table's lines begin and end in a page."""
    begin = page.index("\n", page.index("| --- |", page.index(HEAD))) + 1
    return begin, page.index("\n\n", begin - 1) + 1


def write(names=()):
    """Measure the named families, or all, and write the table of docs/families.md; of the others it keeps the rows."""
    if unknown := set(names) - set(FAMILIES):
        sys.exit(f"{', '.join(sorted(unknown))}: no such family; there are {'; '.join(FAMILIES)}")
    kept, lines = committed(), []
    for one in FAMILIES.values():
        if names and one.name not in names and one.name in kept:
            lines.append(kept[one.name] + "\n")
            continue
        with tempfile.TemporaryDirectory() as folder:
            model = load(str(make(one, Path(folder))), AnswerOptions(device="cpu"))
            row = measured(one, Path(folder), model, LocalAnswerer(model, checked=0))
        lines.append(table_line(one, row) + "\n")
    page = TABLE.read_text()
    begin, end = table(page)
    TABLE.write_text(page[:begin] + "".join(lines) + page[end:])


if __name__ == "__main__":
    torch.set_num_threads(1)
    write(sys.argv[1:])
