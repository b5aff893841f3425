"""Turn tables of facts into a `dataset` (filter, split, draw wrong choices: T-REx-MC), or record an `edition`.

`drafting` and `writing` filter the texts that a model has written, for a person to proofread; `templates` adds the
drafted templates that the person has kept to the existing ones.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from almanac import tables
from almanac.config import given, load
from almanac.dataset.building import build_tables, sourced, with_drafts
from almanac.dataset.options import DatasetOptions
from almanac.dataset.templates import KEEP
from almanac.errors import INSTEAD, AlmanacError
from almanac.options import FACTS, FILE, FOLDER, add_flags, from_flags
from almanac.progress import print_notes, progress
from almanac.rows import Refused, RelationCount
from almanac.sealed import PULLED, checked_record, sealed
from almanac.sources.files import read_folder
from almanac.sources.records import find
from almanac.suites.answers import Answers, RoundFiles, statuses
from almanac.suites.data import Data
from almanac.suites.listing import AUTHORS

EXAMPLES = """\
  almanac build dataset --facts resources/facts --output results/mine/dataset/shipped \\
      --min-facts 60 --min-objects 20 --train 20 --test 40 --choices 20
  almanac build dataset --facts my_facts --output results/mine/dataset/mine      # the paper's numbers
  almanac build edition --config config/config.yaml --output results/mine/edition.json
  almanac build drafting --dataset results/mine/dataset/shipped \\
      --asked mine/drafts --responses mine/drafted-0.parquet \\
      --asked mine/round_trip --responses mine/led_back-0.parquet --output drafts.jsonl
  almanac build writing --dataset results/mine/dataset/shipped --asked mine/writing \\
      --responses mine/written-0.parquet --output written.jsonl
  almanac build templates --drafts drafts.jsonl --frozen my_facts --output my_facts/templates.jsonl"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's flags."""
    things = parser.add_subparsers(dest="thing", required=True, metavar="THING")
    dataset = things.add_parser("dataset", help="a multiple-choice dataset from a folder of fact tables")
    dataset.add_argument("--facts", **FACTS, required=True, help="a folder of the tables facts and entities, or a file")
    source = "the source's name, written on each fact [the folder's name]"
    dataset.add_argument("--name", default=None, metavar="NAME", help=source)
    dataset.add_argument("--drafts", **FILE, help="proofread templates; those that are kept join the folder's")
    dataset.add_argument("--evidence", **FILE, help="texts that state these facts, instead of the folder's")
    add_flags(dataset, DatasetOptions, "the dataset (defaults: the paper's)")
    edition = things.add_parser("edition", help="the checked record of an edition's whole configuration")
    origin = edition.add_mutually_exclusive_group(required=True)
    origin.add_argument("--config", **FILE, help="a configuration file")
    origin.add_argument(
        "--settings", metavar="JSON", help="the settings as JSON, or in the compressed form of the workflow"
    )
    templates = things.add_parser("templates", help="a folder's templates with the drafts that a person has kept")
    templates.add_argument("--drafts", **FILE, required=True, help="the proofread file")
    templates.add_argument("--frozen", **FACTS, help="a folder of facts, whose templates come first")
    for part, what in ((dataset, FOLDER), (edition, FILE), (templates, FILE)):
        part.add_argument("--output", **what, required=True, help="where it goes")
    for name, author in AUTHORS.items():
        written = things.add_parser(name, help=f"{author.texts} that a model has written, filtered, to be proofread")
        written.add_argument("--dataset", **FOLDER, required=True, help="the dataset that they are about")
        every: dict[str, Any] = {"required": True, "action": "append"}
        written.add_argument("--asked", **FOLDER, **every, help="what `ask` wrote, once per round")
        written.add_argument("--responses", **FILE, **every, nargs="+", help="what `answer` wrote; after each --asked")
        written.add_argument("--output", **FILE, required=True, help="where it goes")
        add_flags(written, author.options, f"{name}, as it was asked")


def run(arguments: argparse.Namespace) -> None:
    """Build what the command line names."""
    things = {"dataset": build_dataset, "edition": build_edition, "templates": build_templates}
    things.get(arguments.thing, build_written)(arguments)


def build_written(arguments: argparse.Namespace) -> None:
    """Write the file that a person proofreads, and log what was filtered out."""
    author = AUTHORS[arguments.thing]
    options = from_flags(arguments, author.options)
    wanted, folders, responses = author.rounds_of(options), arguments.asked, arguments.responses
    if not len(wanted) == len(folders) == len(responses):
        raise AlmanacError(
            f"build {author.name}: these settings want {len(wanted)} rounds ({', '.join(one.name for one in wanted)}); "
            f"--asked is given {len(folders)} times and --responses {len(responses)} times; give both once per round"
        )
    rounds = [
        RoundFiles.of(at.name, folder, files) for at, folder, files in zip(wanted, folders, responses, strict=True)
    ]
    answers = Answers("", arguments.dataset.name, rounds, author.setting, author.tables("asked"))
    found = list(author.write(answers, Data(arguments.dataset), options))
    tables.write_jsonl(arguments.output, found)
    for line in filter(None, map(unanswered, rounds)):
        print(line, file=sys.stderr)
    print(
        f"{len(found)} {author.texts}: {counted(found)}; read {arguments.output} and set each verdict", file=sys.stderr
    )


def unanswered(asked: RoundFiles) -> str | None:
    """Return a log line on a round's requests that failed, by status with the most common reason; None if none did."""
    found = statuses(asked.responses)
    total = sum(own.total() for own in found.values())
    found.pop("ok", None)
    if not found:
        return None
    parts = [f"{own.total()} {status} (most often: {own.most_common(1)[0][0]})" for status, own in found.items()]
    silent = sum(own.total() for own in found.values())
    return f"{silent} of {total} requests of the round {asked.name} gave nothing: {', '.join(parts)}"


def counted(rows: Sequence[Any]) -> str:
    """Return, for the log, the number of texts that are kept, and of dropped ones by reason."""
    dropped = [str(row.reason).partition(" '")[0].partition(' "')[0] for row in rows if row.verdict != KEEP]
    reasons = (f", {count} dropped (“{reason}”)" for reason, count in Counter(dropped).most_common())
    return f"{len(rows) - len(dropped)} kept{''.join(reasons)}"


def build_templates(arguments: argparse.Namespace) -> None:
    """Write the frozen templates with the drafts that are kept.

    Raises:
        AlmanacError: the output does not end in .jsonl, or its folder has a table of templates in another format.
    """
    frozen, output = arguments.frozen, arguments.output
    if output.suffix != ".jsonl":
        raise AlmanacError(f"{output}: would be written as JSON Lines; give --output a name that ends in .jsonl")
    there = find(output.parent, "templates") if output.name == "templates.jsonl" else None
    if there not in (None, output):
        raise AlmanacError(
            f"{output}: {there} is there, and both would be the same table twice; give --output a file in another "
            f"folder, and put that in the place of {there}"
        )
    before = read_folder(frozen, frozen.name).templates if frozen is not None else []
    after = with_drafts(before, arguments.drafts)
    tables.write_jsonl(output, after)
    print(f"{len(before)} templates were there, {len(after) - len(before)} join them", file=sys.stderr)


def build_edition(arguments: argparse.Namespace) -> None:
    """Check a configuration, and write it with every default."""
    settings = load(arguments.config) if arguments.config else given(arguments.settings)
    tables.write_text(arguments.output, tables.in_order(sealed(settings.model_dump(mode="json"))) + "\n")


def build_dataset(arguments: argparse.Namespace) -> None:
    """Build a dataset from a folder's tables, write it, and print the counts of each relation."""
    options = from_flags(arguments, DatasetOptions)
    if (arguments.facts / PULLED).is_file():
        record = arguments.facts / PULLED
        checked_record(record, f"if you changed it yourself, delete {record}; else bring the file again")
    source = sourced(arguments.facts, arguments.name, options, arguments.drafts)
    print_notes(source.notes)
    with progress(len(source.relations), "relations") as done:
        counts, refused = build_tables(source, arguments.evidence, options, arguments.output, done)
    print_counts(counts, refused)
    if not any(count.qualifies for count in counts):
        facts, objects = max(((count.facts, count.objects) for count in counts), default=(0, 0))
        few = f"min_facts: {min(facts, options.min_facts)}, min_objects: {min(objects, options.min_objects)}"
        few += ", fewer_choices: true" if objects < options.choices and not options.fewer_choices else ""
        lower = f", or lower them, with `make own` by ARGS=\"datasets='{{facts: {{{few}}}}}'\"; {INSTEAD}"
        raise AlmanacError(
            f"{arguments.facts}: no relation has {options.min_facts} facts and {options.min_objects} objects "
            f"(`min_facts`, `min_objects`; the largest has {facts} and {objects}); bring more facts, since "
            f"{options.train} of a relation serve as examples and a verdict needs 20 others of all"
            f"{lower if facts > options.train and objects > 1 else ''}"
        )
    if not any(count.test for count in counts):
        raise AlmanacError(
            f"{arguments.facts}: no fact is left to be asked: of the relations that qualify each is refused, as "
            f"listed above, or serves as an example; {'' if options.fewer_choices else 'set `fewer_choices: true` or '}"
            "lower `choices`, lower `train`, or bring more facts"
        )


def print_counts(counts: Sequence[RelationCount], refused: Iterable[Refused]) -> None:
    """Print one line per relation and the sums, which show that rows in = rows kept + rows refused."""
    columns = ("facts", "objects", "refused", "train", "test", "surplus", "shared_subjects", "guessable")
    print(f"{'relation':<14}{'qualifies':>10}" + "".join(f"{name.replace('_', ' '):>17}" for name in columns))
    for count in counts:
        cells = "".join(f"{getattr(count, name):>17}" for name in columns)
        print(f"{count.relation_id:<14}{'yes' if count.qualifies else 'no':>10}{cells}")
    facts = sum(count.facts for count in counts)
    kept = [count for count in counts if count.qualifies]
    lacking = sum(count.refused for count in kept)
    outside = facts - sum(count.facts for count in kept)
    print(
        f"{len(kept)} of {len(counts)} relations qualify. {facts} facts in: {outside} in relations that do "
        f"not, {lacking} refused (listed with the reason), {sum(count.train for count in kept)} train, "
        f"{sum(count.test for count in kept)} test, {sum(count.surplus for count in kept)} "
        "beyond the counts asked for or without a `split` where others of the relation have one."
    )
    for row in refused:
        print(f"refused {row.fact_id or row.relation_id}: {row.reason}", file=sys.stderr)
