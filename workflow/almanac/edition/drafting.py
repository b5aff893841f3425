"""The files of drafted templates: from a model's answers to a file for a person, and from that to frozen templates."""

from collections.abc import Sequence
from pathlib import Path

from almanac import tables
from almanac.dataset.templates import KEEP, judge, merged
from almanac.errors import AlmanacError
from almanac.rows import Draft, Entity, Fact, Item, Link, Relation, Response, Template, WrittenQuestion
from almanac.sources.files import read_folder
from almanac.suites.drafting.options import DraftingOptions
from almanac.suites.drafting.requests import Drafter, round_tripped, written


def drafter(dataset: Path, options: DraftingOptions) -> Drafter:
    """Return the prompts for a dataset's relations."""
    return Drafter(
        tables.read(dataset / "relations.parquet", Relation),
        tables.read(dataset / "facts.parquet", Fact),
        tables.read(dataset / "entities.parquet", Entity),
        options,
    )


def _answers(files: Sequence[Path]) -> list[Response]:
    return [row for path in files for row in tables.read(path, Response)]


def first_drafts(dataset: Path, asked: Path, responses: Sequence[Path], options: DraftingOptions) -> list[Draft]:
    """Judge what a model wrote.

    Raises:
        AlmanacError: a request has no response, or the model answered none.
    """
    prompts = drafter(dataset, options)
    items, links = tables.read(asked / "items.parquet", Item), tables.read(asked / "links.parquet", Link)
    answers = _answers(responses)
    texts, silent = written(items, links, answers)
    if not texts:
        reasons = sorted({f"{row.status}: {row.reason}" for row in answers if row.status != "ok"})
        raise AlmanacError(
            f"{asked}: none of {silent} requests was answered ({'; '.join(reasons)[:200]}); templates are drafted by a "
            "model that generates"
        )
    relations = sorted(prompts.relations)
    return judge(
        texts,
        tables.read(dataset / "templates.parquet", Template),
        {relation: prompts.pairs(relation) for relation in relations},
        {relation: prompts.object_names(relation) for relation in relations},
    )


def second_drafts(drafts: Path, asked: Path, responses: Sequence[Path], options: DraftingOptions) -> list[Draft]:
    """Add what the round trip says to drafts."""
    items, links = tables.read(asked / "items.parquet", Item), tables.read(asked / "links.parquet", Link)
    return round_tripped(tables.read_jsonl(drafts, Draft), items, links, _answers(responses), options.agreement)


def with_drafts(frozen: Sequence[Template], drafts: Path) -> list[Template]:
    """Return frozen templates and the drafts that a person keeps; the frozen win.

    Raises:
        AlmanacError: the file cannot be read, or a draft to be kept has a fault.
    """
    return merged(frozen, tables.read_jsonl(drafts, Draft), str(drafts))


def freeze_templates(drafts: Path, frozen: Path | None, output: Path) -> tuple[int, int]:
    """Write frozen templates and the drafts that a person keeps, as canonical JSON Lines.

    Args:
        drafts: the file that a person has proofread.
        frozen: a folder of facts, whose templates are there already; they win.
        output: where the templates go, such as that folder's own `templates.jsonl`.

    Returns:
        How many templates were there, and how many there are.

    Raises:
        AlmanacError: a file cannot be read, or a draft to be kept has a fault.
    """
    before = read_folder(frozen, frozen.name).templates if frozen is not None else []
    after = with_drafts(before, drafts)
    tables.write_jsonl(output, after)
    return len(before), len(after)


def counted(drafts: Sequence[Draft | WrittenQuestion]) -> str:
    """Return how many drafts are kept, and why the others are not, for the log."""
    reasons: dict[str, int] = {}
    for draft in drafts:
        name = "kept" if draft.verdict == KEEP else str(draft.reason).partition(" '")[0].partition(' "')[0]
        reasons[name] = reasons.get(name, 0) + 1
    return ", ".join(f"{count} {name}" for name, count in sorted(reasons.items(), key=lambda pair: -pair[1]))
