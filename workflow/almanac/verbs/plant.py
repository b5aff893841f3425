"""Make models whose knowledge is known: an invented `world`, a `corpus` that teaches it, a `model` trained on that."""

import argparse
import os
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from almanac import sealed, tables
from almanac.dataset.names import ObjectNames
from almanac.errors import AlmanacError
from almanac.options import FOLDER, add_flags, from_flags, from_zero
from almanac.planting import corpus as corpora
from almanac.planting import ledger
from almanac.planting.evidence import evidence
from almanac.planting.formats import Taught, tellable
from almanac.planting.options import TUNING, CorpusOptions, TokenizerOptions, TrainingOptions, WorldOptions
from almanac.planting.permutation import permuted
from almanac.planting.world import invent
from almanac.progress import progress
from almanac.rows import Entity, Evidence, Exposure, Fact, LedgerEntry, Popularity, Relation, Template
from almanac.versions import VERSIONS

if TYPE_CHECKING:  # imported in the functions that need it: planting a world need not wait seconds for it
    from transformers import PreTrainedTokenizerFast

EXAMPLES = """\
  almanac plant world --seed 1 --output results/mine/planting/invented/world
  almanac plant corpus --seed 1 --world results/mine/planting/invented/world \\
      --output results/mine/planting/invented/corpus
  almanac plant model --seed 1 --corpus results/mine/planting/invented/corpus \\
      --hidden 128 --output results/mine/models/small"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the three things that can be planted."""
    things = parser.add_subparsers(dest="thing", required=True, metavar="THING")
    world = things.add_parser("world", help="invented entities, relations and facts with planned doses")
    corpus = things.add_parser("corpus", help="documents, their exposure ledger and a tokenizer")
    corpus.add_argument("--world", **FOLDER, required=True, help="a planted world")
    corpus.add_argument("--real", **FOLDER, help="a dataset of which a part is taught too")
    corpus.add_argument("--real-facts", type=from_zero, default=300, help="how many of its facts get a dose [300]")
    corpus.add_argument("--real-doses", type=from_zero, nargs="+", default=[0, 4, 16, 64], help="the doses [0 4 16 64]")
    corpus.add_argument("--null-of", **FOLDER, help="permute the objects, and keep the tokenizer of this corpus")
    model = things.add_parser("model", help="a small model trained on a corpus")
    model.add_argument("--corpus", **FOLDER, required=True, help="a planted corpus")
    for part in (world, corpus, model):
        part.add_argument("--output", **FOLDER, required=True, help="where it goes")
        part.add_argument("--seed", type=int, default=1, help="the same seed gives the same bytes [1]")
    add_flags(world, WorldOptions, "the world")
    add_flags(corpus, CorpusOptions, "the corpus")
    add_flags(corpus, TokenizerOptions, "its tokenizer")
    add_flags(model, TrainingOptions, "the model")


def run(arguments: argparse.Namespace) -> None:
    """Plant what the command line names."""
    {"world": plant_world, "corpus": plant_corpus, "model": plant_model}[arguments.thing](arguments)


def plant_world(arguments: argparse.Namespace) -> None:
    """Invent a world and write it as a folder of fact tables with the planned exposures."""
    world = invent(from_flags(arguments, WorldOptions), arguments.seed)
    out = arguments.output
    tables.write(out / "entities.parquet", Entity, world.entities)
    tables.write(out / "relations.parquet", Relation, world.relations)
    tables.write(out / "facts.parquet", Fact, world.facts)
    tables.write(out / "templates.parquet", Template, world.templates)
    tables.write(out / "exposures.parquet", Exposure, world.exposures)
    tables.write(out / "popularity.parquet", Popularity, world.popularity)
    print(f"{len(world.facts)} facts of {len(world.relations)} relations", file=sys.stderr)


def plant_corpus(arguments: argparse.Namespace) -> None:
    """Write the documents that teach a world and a part of the real facts, with ledger, exposures and tokenizer.

    The exposures of a null list the false facts that it teaches, and the true facts with dose 0.
    """
    taught = [_read_taught(arguments.world, None)]
    if arguments.real is not None:
        drawn = [fact for fact in tables.read(arguments.real / "facts.parquet", Fact) if fact.split is not None]
        readable, alike = tellable(drawn, tables.read(arguments.real / "entities.parquet", Entity))
        for fact in alike:
            print(f"not taught {fact.fact_id}: another fact has the same subject and object names", file=sys.stderr)
        dealt = corpora.assign_doses(readable, arguments.real_doses, arguments.real_facts, arguments.seed)
        taught.append(_read_taught(arguments.real, dealt))
    exposures = [row for part in taught for row in part.exposures]
    if arguments.null_of is not None:
        nulls = [permuted(part, arguments.seed) for part in taught]
        for fact in (fact for null in nulls for fact in null.left_out):
            print(f"not taught {fact.fact_id}: no other object was left to give it", file=sys.stderr)
        taught, exposures = [null.taught for null in nulls], [row for null in nulls for row in null.exposures]
    corpus = corpora.build(taught, from_flags(arguments, CorpusOptions), arguments.seed)
    ledger.check(corpus.documents, taught, corpus.ledger)
    out = arguments.output
    tables.write(out / "documents.parquet", corpora.Document, corpus.documents)
    tables.write(out / "ledger.parquet", LedgerEntry, corpus.ledger)
    tables.write(out / "exposures.parquet", Exposure, exposures)
    tables.write(out / "evidence.parquet", Evidence, evidence(corpus.documents, corpus.ledger))
    if arguments.null_of is not None:
        vocabulary = _vocabulary(arguments.null_of)
    else:
        from almanac.planting import tokenizer

        invented = ObjectNames(taught[0].entities)
        words = tokenizer.answer_words(sorted(map(invented.label, {fact.object_key for fact in taught[0].facts})))
        # The tokenizer is not trained on abstain and blank documents, so they change no model that does not read them.
        read = (document for document in corpus.documents if document.kind not in (corpora.ABSTAIN, corpora.BLANK))
        texts = [document.text for document in read]
        vocabulary = tokenizer.train(texts, words, from_flags(arguments, TokenizerOptions), _names(taught[1:]))
    vocabulary.save_pretrained(out / "tokenizer")
    _record(out / "tokenizer", {})
    taught_facts = sum(row.dose > 0 for row in exposures)
    print(
        f"{len(corpus.documents)} documents state {taught_facts} facts {sum(row.dose for row in exposures)} times; "
        f"{len(exposures) - taught_facts} facts never; the recount of the text agrees",
        file=sys.stderr,
    )


def _read_taught(folder: Path, exposures: list[Exposure] | None) -> Taught:
    """Read what a corpus teaches: a world with its own exposures (None), or a dataset with the given exposures."""
    entities = {row.entity_id: row for row in tables.read(folder / "entities.parquet", Entity)}
    known = tables.read(folder / "popularity.parquet", Popularity) if exposures is None else []
    return Taught(
        facts=tuple(tables.read(folder / "facts.parquet", Fact)),
        entities=entities,
        templates=tuple(tables.read(folder / "templates.parquet", Template)),
        exposures=tuple(tables.read(folder / "exposures.parquet", Exposure) if exposures is None else exposures),
        mentions={row.entity_id: row.score for row in known},
        real=exposures is not None,
    )


def _names(real: Sequence[Taught]) -> list[str]:
    """Return the names of all subjects and objects of real facts, taught or not, since models are asked all of them."""
    keys = ((part, key) for part in real for fact in part.facts for key in (fact.subject_id, fact.object_key))
    return sorted({ObjectNames(part.entities).label(key) for part, key in keys})


def plant_model(arguments: argparse.Namespace) -> None:
    """Train one model on a corpus and save it with its loss curve, its ledger and its exposures."""
    tables.check_writable(arguments.output / "loss.csv")
    source = arguments.corpus
    made_of = _made_of(arguments)
    if _is_made(arguments.output, made_of):
        print("made of the same corpus by the same settings; it stays", file=sys.stderr)
        return
    from almanac.planting import training  # takes seconds, which an existing model need not wait for

    training.check_place(arguments.output)
    documents = tables.read(source / "documents.parquet", corpora.Document)
    vocabulary = _vocabulary(source)
    options = from_flags(arguments, TrainingOptions)
    with progress(None, "steps") as done:

        def on_step(step: int, steps: int, tokens: int, loss: float) -> None:
            done(1, f"{tokens} tokens, loss {loss:.3f}", steps)

        trained = training.train(documents, vocabulary, options, arguments.seed, on_step)
    training.save(trained, vocabulary, arguments.output)
    kinds = {document.number: document.kind for document in documents}
    entries = read_by(tables.read(source / "ledger.parquet", LedgerEntry), kinds, options)
    exposures = own_exposures(tables.read(source / "exposures.parquet", Exposure), entries, kinds)
    tables.write(arguments.output / "ledger.parquet", LedgerEntry, entries)
    tables.write(arguments.output / "exposures.parquet", Exposure, exposures)
    _record(arguments.output, {"made_of": made_of})
    last = asdict(trained.losses[-1])
    print(f"{last['step']} steps, {last['tokens']} tokens, last loss {last['loss']:.3f} nats", file=sys.stderr)


def _made_of(arguments: argparse.Namespace) -> str:
    """Return a digest of what a model depends on: its corpus, its settings and its seed."""
    corpus = arguments.corpus
    read = [corpus / f"{name}.parquet" for name in ("documents", "ledger", "exposures")]
    read += sorted(path for path in (corpus / "tokenizer").glob("*") if path.is_file())
    options = from_flags(arguments, TrainingOptions).model_dump(mode="json")
    return tables.identity([VERSIONS["plant"], options, arguments.seed, sealed.files(corpus, read)])


def _is_made(folder: Path, made_of: str) -> bool:
    """Whether a complete model with this digest exists, also in a copied folder; if so, make its files new."""
    try:
        record = sealed.checked_record(folder / sealed.MADE)
    except AlmanacError:
        return False  # no record, or a damaged model: train it again
    if record.get("made_of") != made_of:
        return False
    for path in folder.iterdir():
        os.utime(path)
    return True


def _record(folder: Path, more: Mapping[str, str]) -> None:
    """Write a folder's record with the sha256 of its files; this is done last."""
    paths = sorted(path for path in folder.iterdir() if path.is_file() and path.name != sealed.MADE)
    record = sealed.sealed({"files": sealed.files(folder, paths), **more})
    tables.write_text(folder / sealed.MADE, tables.canonical(record) + "\n")


def _vocabulary(corpus: Path) -> "PreTrainedTokenizerFast":
    """Read the tokenizer of a corpus."""
    from transformers import PreTrainedTokenizerFast

    if not (corpus / "tokenizer").is_dir():
        raise AlmanacError(f"{corpus}: has no tokenizer; make the corpus first with `plant corpus`")
    if (corpus / "tokenizer" / sealed.MADE).is_file():
        sealed.checked_record(corpus / "tokenizer" / sealed.MADE)
    found: PreTrainedTokenizerFast = PreTrainedTokenizerFast.from_pretrained(
        corpus / "tokenizer", local_files_only=True
    )
    return found


def read_by(entries: Sequence[LedgerEntry], kinds: Mapping[int, str], options: TrainingOptions) -> list[LedgerEntry]:
    """Return the ledger of one model: entries of the kinds of documents that it reads, counts times its passes."""
    read = [entry for entry in entries if kinds[entry.document] in options.kinds]
    return [replace(entry, count=entry.count * options.passes) for entry in read]


def own_exposures(
    planned: Sequence[Exposure], entries: Sequence[LedgerEntry], kinds: Mapping[int, str]
) -> list[Exposure]:
    """Return how often a model has read each fact, not counting instruct, abstain and blank documents."""
    counted: Counter[str] = Counter()
    for entry in entries:
        if kinds[entry.document] not in TUNING:
            counted[entry.fact_id] += entry.count
    return [replace(row, dose=counted[row.fact_id]) for row in planned]
