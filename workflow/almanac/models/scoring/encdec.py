"""Scores encoder-decoders and generates with them: each text is encoded once, for all its choices and samples.

Some decoders use relative positions only (T5, but not Switch-Transformers, whose experts take a limited number of
tokens per row). For these, the choices of a text stand side by side in one row, and a mask keeps them apart. Each token
has the same distances to the tokens that it sees as in a row of its own, and cross-attention to the text is computed
once instead of once per choice. A choice that is a prefix of a longer one is not fed again.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from almanac.models.scoring.batching import kept_budget, rows_at_once, run_batches, token_budget
from almanac.models.scoring.boundaries import Tokenised, TokenSequence, full_text
from almanac.models.scoring.reference import by_part, log_softmax
from almanac.models.scoring.samples import GrowingText, Prompt, begin, extend
from almanac.models.seq2seq import Seq2SeqModel
from almanac.rows import Request

ENGINE = "encdec/1"
ROW = 256  # Tokens of a row of the decoder that holds several choices.


@dataclass(frozen=True, slots=True)
class ChoiceSequences(Tokenised):
    """A request's choices: in each sequence, the encoder reads the head and the decoder reads the tail."""

    @property
    def length(self) -> int:
        """The most tokens that the encoder or the decoder reads."""
        return max((max(len(one.head), len(one.tail)) for one in self.sequences), default=0)


def tokenise(requests: Sequence[Request], contexts: Mapping[str, str], model: Seq2SeqModel) -> list[Tokenised]:
    """Tokenise requests of the kinds ``choices`` and ``spans``; `Seq2SeqModel` says which tokens an answer has.

    Returns:
        One entry per request: one sequence per choice, or a single one for the span that ends the text.
    """
    return [
        (_last_span if request.kind == "spans" else _answers)(request, full_text(request, contexts), model)
        for request in requests
    ]


def _last_span(request: Request, text: str, model: Seq2SeqModel) -> Tokenised:
    """Tokenise a text whose last span the decoder scores; the encoder reads all before it."""
    own, starts, ends = request.text, request.span_starts or (), request.span_ends or ()
    if request.pieces is not None or len(starts) != 1 or len(ends) != 1 or own[ends[0] :].strip():
        reason = "an encoder-decoder scores only a single span, at the end of the text; the encoder reads the rest"
        return ChoiceSequences((), reason, unsupported=True)
    start = len(text) - len(own) + starts[0]
    if not text[:start].strip():
        return ChoiceSequences((), "nothing stands before the span for the encoder to read", unsupported=True)
    return _answers(replace(request, choices=(text[start:],)), text[:start], model)


def _answers(request: Request, text: str, model: Seq2SeqModel) -> Tokenised:
    if not request.choices:
        return ChoiceSequences((), "the request has no choices; give at least one")
    head, _ = model.wrap(model.tokens.ids(text))
    if not head:
        return ChoiceSequences((), "the text has no token; give a text")
    sequences = []
    for index, choice in enumerate(request.choices):
        ids = model.answer_ids(choice)
        if not ids:
            return ChoiceSequences((), f"choice {index + 1} ({choice!r}) has no token; lengthen it")
        first = len(head) + len(model.start)
        sequences.append(TokenSequence((*model.start, *ids), ((first, first + len(ids)),), head))
    return ChoiceSequences(tuple(sequences))


@dataclass(slots=True)
class _Path:
    """The decoder's input for an answer, and for all answers that are prefixes of it.

    Attributes:
        ids: from the start token to the last token but one of the longest answer.
        wanted: per scored token, the position of its logits, its id, and the index of its value in the output.
    """

    ids: tuple[int, ...]
    wanted: list[tuple[int, int, int]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _DecoderRow:
    """Paths of one text that the decoder reads side by side."""

    text: int
    paths: list[_Path]

    @property
    def length(self) -> int:
        """The tokens of all paths."""
        return sum(len(path.ids) for path in self.paths)


def score(
    model: Seq2SeqModel, sequences: Sequence[TokenSequence], budget: int | None = None
) -> list[list[list[float]]]:
    """Score the parts of answers.

    Args:
        model: the model.
        sequences: the sequences to score, as `tokenise` returns them.
        budget: the most tokens in a batch; by default what the device and the vocabulary allow.

    Returns:
        ``values[sequence][part][token]``: log-probabilities in nats.
    """
    budget = budget or token_budget(model.device, model.vocabulary)
    paths = _paths(sequences)
    heads = list(paths)
    values = [0.0] * sum(stop - start for sequence in sequences for start, stop in sequence.parts)

    def work(texts: list[int], states: Tensor) -> None:
        rows = [row for place, text in enumerate(texts) for row in _rows(place, paths[heads[text]], model.side_by_side)]

        def read(batch: list[_DecoderRow]) -> list[None]:
            _read(model, batch, states, values)
            return [None] * len(batch)

        run_batches(rows, lambda row: row.length + states.shape[1], read, budget)

    _encode(model, heads, work, budget)
    return by_part(iter(values), sequences)


def _encode(
    model: Seq2SeqModel,
    heads: Sequence[tuple[int, ...]],
    work: Callable[[list[int], Tensor], None],
    budget: int,
) -> None:
    """Encode every text once, in batches of texts of equal length.

    Args:
        model: the model.
        heads: the token ids of each text.
        work: called with the indices of some texts and their encoder states, ``(texts, tokens, hidden)``.
        budget: the most tokens in a batch.
    """

    @torch.inference_mode()
    def read(texts: list[int]) -> list[None]:
        ids = torch.tensor([heads[text] for text in texts], dtype=torch.long, device=model.device)
        work(texts, model.encode(ids))
        return [None] * len(texts)

    run_batches(range(len(heads)), lambda text: len(heads[text]), read, budget, even=True)


def _paths(sequences: Sequence[TokenSequence]) -> dict[tuple[int, ...], list[_Path]]:
    """Return the decoder inputs for each text; an answer that is a prefix of another shares its input.

    The last token of an answer is never fed.
    """
    asked: dict[tuple[int, ...], dict[tuple[int, ...], list[tuple[int, int, int]]]] = {}
    place = 0
    for sequence in sequences:
        wanted = asked.setdefault(sequence.head, {}).setdefault(sequence.tail[:-1], [])
        for start, stop in sequence.parts:
            for position in range(start - len(sequence.head), stop - len(sequence.head)):
                wanted.append((position - 1, sequence.tail[position], place))
                place += 1
    return {head: list(_longest(answers)) for head, answers in asked.items()}


def _longest(answers: Mapping[tuple[int, ...], list[tuple[int, int, int]]]) -> Iterator[_Path]:
    """Yield the answers that are a prefix of no other; each takes over what is wanted of its own prefixes."""
    path = _Path(())
    for ids in sorted(answers, reverse=True):  # The continuations of an answer come just before it.
        if path.ids[: len(ids)] != ids:
            path = _Path(ids)
            yield path
        path.wanted += answers[ids]


def _rows(text: int, paths: Sequence[_Path], together: bool) -> list[_DecoderRow]:
    """Put a text's paths into rows: side by side if ``together``, else each in a row of its own."""
    rows: list[_DecoderRow] = []
    for path in paths:
        if not together or not rows or rows[-1].length + len(path.ids) > ROW:
            rows.append(_DecoderRow(text, []))
        rows[-1].paths.append(path)
    return rows


def _read(model: Seq2SeqModel, rows: Sequence[_DecoderRow], states: Tensor, values: list[float]) -> None:
    """Feed rows to the decoder and write the log-probabilities that are wanted into ``values``."""
    width = max(row.length for row in rows)
    ids = torch.full((len(rows), width), model.tokens.pad_id, dtype=torch.long)
    path_of = torch.full((len(rows), width), -1, dtype=torch.long)
    wanted: dict[tuple[int, int], list[tuple[int, int]]] = {}  # By row and column: tokens, and their index in `values`.
    for number, row in enumerate(rows):
        column = 0
        for index, path in enumerate(row.paths):
            end = column + len(path.ids)
            ids[number, column:end] = torch.tensor(path.ids)
            path_of[number, column:end] = index
            for position, token, place in path.wanted:
                wanted.setdefault((number, column + position), []).append((token, place))
            column = end
    mask = _apart(path_of, model.network.dtype).to(model.device) if model.side_by_side else None
    texts = torch.tensor([row.text for row in rows], device=model.device)
    logits = model.decode(states[texts], ids.to(model.device), mask)  # (rows, width, vocabulary)
    places = torch.tensor(list(wanted), device=model.device)
    step = rows_at_once(model.device)
    for start in range(0, len(places), step):
        some = places[start : start + step]
        logprobs = log_softmax(logits[some[:, 0], some[:, 1]])
        asked = enumerate(list(wanted.values())[start : start + step])
        triples = [(number, token, place) for number, pairs in asked for token, place in pairs]
        read = torch.tensor([triple[:2] for triple in triples], device=model.device).T
        for (_, _, place), value in zip(triples, logprobs[read[0], read[1]].tolist(), strict=True):
            values[place] = value


def _apart(path_of: Tensor, dtype: torch.dtype) -> Tensor:
    """Return the additive mask that keeps paths apart: a token sees itself and earlier tokens of its own path.

    Args:
        path_of: each token's path, ``(rows, width)``; padding counts as a path, so that every token sees some token.
        dtype: the dtype of the attention scores.

    Returns:
        The mask, ``(rows, 1, width, width)``.
    """
    width = path_of.shape[1]
    seen = (path_of[:, :, None] == path_of[:, None, :]) & torch.ones((width, width), dtype=torch.bool).tril()
    return torch.where(seen, 0.0, torch.finfo(dtype).min).to(dtype)[:, None]


def generate(model: Seq2SeqModel, prompts: Sequence[Prompt], budget: int | None = None) -> list[list[str | None]]:
    """Generate answers; the encoder reads each prompt; see `generation.generate`.

    All samples of a text share its encoder states. Decoding uses the model's plain distribution: beams, penalties
    and minimum lengths that a checkpoint's generation_config.json sets for its own task are ignored.

    Args:
        model: the model.
        prompts: the prompts; the encoder reads their ids.
        budget: the most tokens in a batch, tokens to be generated included.

    Returns:
        The answers to each prompt, one per seed; greedy ones are equal.
    """
    jobs: dict[tuple[int, ...], list[tuple[int, int]]] = {}  # By text: pairs of a prompt and a sample's number.
    for index, prompt in enumerate(prompts):
        jobs.setdefault(prompt.ids, []).extend((index, number) for number in range(prompt.distinct))
    heads = list(jobs)
    limit = 1 if model.batches_matter else budget or kept_budget(model.device, model.vocabulary)
    found: dict[tuple[int, int], str | None] = {}

    def work(texts: list[int], states: Tensor) -> None:
        waiting = [(place, *job) for place, text in enumerate(texts) for job in jobs[heads[text]]]

        def write(batch: list[tuple[int, int, int]]) -> list[str | None]:
            samples = [begin(prompts[index], number) for _, index, number in batch]
            return _continue(model, samples, states, [place for place, _, _ in batch])

        answers = run_batches(waiting, lambda job: states.shape[1] + prompts[job[1]].new, write, limit)
        found.update(zip((job[1:] for job in waiting), answers, strict=True))

    _encode(model, heads, work, limit)
    return [
        prompt.texts([found[index, number] for number in range(prompt.distinct)])
        for index, prompt in enumerate(prompts)
    ]


def _continue(model: Seq2SeqModel, samples: list[GrowingText], states: Tensor, texts: list[int]) -> list[str | None]:
    """Decode samples, dropping rows that have ended.

    Args:
        model: the model.
        samples: the samples to generate.
        states: the encoder states of the texts, ``(texts, tokens, hidden)``.
        texts: the index of each sample's text.
    """
    alive = [sample for sample in samples if sample.text is None]
    owners = [text for sample, text in zip(samples, texts, strict=True) if sample.text is None]
    if not alive:
        return [sample.answer for sample in samples]
    rows = {text: row for row, text in enumerate(dict.fromkeys(owners))}
    start = torch.tensor([model.start] * len(rows), device=model.device)
    output = model.step(states[list(rows)], start, None)
    cache, chosen = output.past_key_values, torch.tensor([rows[text] for text in owners], device=model.device)
    cache.batch_select_indices(chosen)
    states, logits = states[owners], output.logits[:, -1].float()[chosen].cpu()
    while True:
        extend(model, alive, logits)
        going = [index for index, sample in enumerate(alive) if sample.text is None]
        if not going:
            return [sample.answer for sample in samples]
        if len(going) < len(alive):
            kept = torch.tensor(going, device=model.device)
            alive, states = [alive[index] for index in going], states[kept]
            cache.batch_select_indices(kept)
        fed = torch.tensor([[sample.ids[-1]] for sample in alive], device=model.device)
        output = model.step(states, fed, cache)
        cache, logits = output.past_key_values, output.logits[:, -1].float().cpu()
