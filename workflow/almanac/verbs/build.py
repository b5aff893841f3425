"""Turn source tables into a `dataset` (filter, split, draw wrong choices: T-REx-MC), or record an `edition`.

`drafts` filters templates that a model has drafted, for a person to proofread; `templates` adds those that are kept;
`writing` filters questions that a model has written.
"""

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from almanac import tables
from almanac.config import check, load
from almanac.dataset.options import DatasetOptions
from almanac.edition.drafting import counted, first_drafts, freeze_templates, second_drafts, with_drafts
from almanac.edition.writing import judge_questions
from almanac.errors import AlmanacError
from almanac.options import add_flags, from_flags
from almanac.progress import progress
from almanac.rows import Refused, RelationCount
from almanac.sources.files import read_columns
from almanac.suites.drafting.options import DraftingOptions

EXAMPLES = """\
  python -m almanac build dataset --facts resources/facts --output results/mine/dataset/shipped \\
      --min-facts 60 --min-objects 20 --train 20 --test 40 --choices 20
  python -m almanac build dataset --facts my_facts --output results/mine/dataset/mine      # the paper's numbers
  python -m almanac build edition --config config/config.yaml --output results/mine/edition.json
  python -m almanac build drafts --dataset results/mine/dataset/shipped --asked results/mine/drafting/round1 \\
      --responses responses-0.parquet --output drafts.jsonl
  python -m almanac build writing --dataset results/mine/dataset/shipped --asked results/mine/writing \\
      --responses responses-0.parquet --output written.jsonl
  python -m almanac build templates --drafts drafts.jsonl --frozen my_facts --output my_facts/templates.jsonl"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's flags."""
    things = parser.add_subparsers(dest="thing", required=True, metavar="THING")
    dataset = things.add_parser("dataset", help="a multiple-choice dataset from a folder of fact tables")
    dataset.add_argument("--facts", type=Path, required=True, metavar="FOLDER", help="holds facts and entities")
    dataset.add_argument("--name", default=None, help="the source's name, written on each fact [the folder's name]")
    dataset.add_argument(
        "--drafts", type=Path, metavar="FILE", help="proofread templates; those kept join the folder's"
    )
    dataset.add_argument(
        "--evidence", type=Path, metavar="FILE", help="texts that say these facts, instead of the folder's"
    )
    add_flags(dataset, DatasetOptions, "the dataset (defaults: the paper's)")
    edition = things.add_parser("edition", help="the record of an edition's whole configuration, checked")
    origin = edition.add_mutually_exclusive_group(required=True)
    origin.add_argument("--config", type=Path, metavar="FILE", help="a configuration file")
    origin.add_argument("--settings", metavar="JSON", help="the settings themselves, as the workflow passes them")
    drafts = things.add_parser("drafts", help="templates that a model has drafted, filtered, for a person to proofread")
    drafts.add_argument("--dataset", type=Path, required=True, metavar="FOLDER", help="the dataset they are for")
    drafts.add_argument("--asked", type=Path, required=True, metavar="FOLDER", help="made by `ask drafts`")
    drafts.add_argument("--responses", type=Path, nargs="+", required=True, metavar="FILE", help="made by `answer`")
    drafts.add_argument("--drafts", type=Path, metavar="FILE", help="the drafts whose round trip was asked for")
    add_flags(drafts, DraftingOptions, "drafting, as it was asked")
    templates = things.add_parser("templates", help="frozen templates and the drafts that a person keeps")
    templates.add_argument("--drafts", type=Path, required=True, metavar="FILE", help="the proofread file")
    templates.add_argument("--frozen", type=Path, metavar="FOLDER", help="a folder of facts whose templates win")
    writing = things.add_parser("writing", help="questions that a model has written, filtered, for a person to read")
    writing.add_argument("--dataset", type=Path, required=True, metavar="FOLDER", help="the dataset they are of")
    writing.add_argument("--asked", type=Path, required=True, metavar="FOLDER", help="made by `ask writing`")
    writing.add_argument("--responses", type=Path, nargs="+", required=True, metavar="FILE", help="made by `answer`")
    parts = ((dataset, "FOLDER"), (edition, "FILE"), (drafts, "FILE"), (templates, "FILE"), (writing, "FILE"))
    for part, what in parts:
        part.add_argument("--output", type=Path, required=True, metavar=what, help="where it goes")


def run(arguments: argparse.Namespace) -> int:
    """Build the thing that is asked for."""
    things = {
        "dataset": build_dataset,
        "edition": build_edition,
        "drafts": build_drafts,
        "templates": build_templates,
        "writing": build_writing,
    }
    things[arguments.thing](arguments)
    return 0


def build_drafts(arguments: argparse.Namespace) -> None:
    """Write the file that a person proofreads, and say what was filtered."""
    options = from_flags(arguments, DraftingOptions)
    if arguments.drafts is None:
        found = first_drafts(arguments.dataset, arguments.asked, arguments.responses, options)
    else:
        found = second_drafts(arguments.drafts, arguments.asked, arguments.responses, options)
    tables.write_jsonl(arguments.output, found)
    print(f"{len(found)} drafts: {counted(found)}; read {arguments.output} and set each verdict", file=sys.stderr)


def build_writing(arguments: argparse.Namespace) -> None:
    """Write the file of questions that a person proofreads, and say what was filtered."""
    found = judge_questions(arguments.dataset, arguments.asked, arguments.responses)
    tables.write_jsonl(arguments.output, found)
    print(f"{len(found)} questions: {counted(found)}; read {arguments.output} and set each verdict", file=sys.stderr)


def build_templates(arguments: argparse.Namespace) -> None:
    """Write the frozen templates with the drafts that are kept."""
    before, after = freeze_templates(arguments.drafts, arguments.frozen, arguments.output)
    print(f"{before} templates were there, {after - before} join them", file=sys.stderr)


def build_edition(arguments: argparse.Namespace) -> None:
    """Write the checked configuration with every default."""
    settings = load(arguments.config) if arguments.config else check(_parsed(arguments.settings), "--settings", Path())
    with tables.atomic(arguments.output) as temporary:
        temporary.write_text(tables.canonical(settings.model_dump(mode="json")) + "\n", encoding="utf-8")


def _parsed(text: str) -> dict[str, Any]:
    try:
        return dict(json.loads(text))
    except (TypeError, ValueError) as error:
        raise AlmanacError(f"--settings: is no JSON object ({error})") from error


def build_dataset(arguments: argparse.Namespace) -> None:
    """Read the tables, build the dataset, write it, print what became of each relation."""
    from almanac.dataset.building import build_tables  # loading polars takes longer than building the other things

    options = from_flags(arguments, DatasetOptions)
    source = read_columns(arguments.facts, arguments.name or arguments.facts.name)
    if arguments.drafts is not None:
        templates = with_drafts(source.templates, arguments.drafts)
        print(f"{len(templates) - len(source.templates)} templates join from {arguments.drafts}", file=sys.stderr)
        source = replace(source, templates=templates)
    with progress(len(source.relations), "relations") as done:
        counts, refused = build_tables(source, arguments.evidence, options, arguments.output, done)
    print_counts(counts, refused)
    if not any(count.qualifies for count in counts):
        raise AlmanacError(
            f"{arguments.facts}: no relation has {options.min_facts} facts and {options.min_objects} objects; the "
            "counts are printed above; lower `min_facts` and `min_objects`, or bring more facts"
        )


def print_counts(counts: Sequence[RelationCount], refused: Iterable[Refused]) -> None:
    """Print a line a relation and the sums, so that rows in equal rows kept plus rows refused to the eye."""
    columns = ("facts", "objects", "refused", "train", "test", "surplus", "shared_subjects")
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
        f"not, {lacking} refused for want of wrong choices, {sum(count.train for count in kept)} train, "
        f"{sum(count.test for count in kept)} test, {sum(count.surplus for count in kept)} beyond the counts asked for."
    )
    for row in refused:
        print(f"refused {row.fact_id or row.relation_id}: {row.reason}", file=sys.stderr)
