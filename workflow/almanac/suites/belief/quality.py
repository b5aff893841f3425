"""The quality of the shipped templates, by the rubric of Zhao et al. (Table 10, Figure 6).

    python -m almanac.suites.belief.quality                        report on the shipped sheet
    python -m almanac.suites.belief.quality --draw 7 sheet.jsonl   write a blind sheet to fill in, and its key
    python -m almanac.suites.belief.quality sheet.jsonl            report on a filled-in sheet

A reader rates each template 0 or 1 on four items: fluency; whether it implies its relation; whether the relation
implies it; whether the two overlap. The reader also says whether the template was spoiled: some are, to check that the
reader is attentive (`blind`).
"""

import argparse
import itertools
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from almanac import tables
from almanac.dataset.templates import FOLDER
from almanac.errors import AlmanacError, refuse
from almanac.suites.belief import blind
from almanac.suites.belief.diversity import by_words, markdown, mean_distance
from almanac.suites.belief.templates import SETS, AskedTemplate, begins_with, shipped

SHEET = FOLDER / "quality.jsonl"
ITEMS = ("fluency", "template_in_relation", "relation_in_template", "overlap")
CAUGHT, MEAN, APART = 0.9, 3.6, 0.6  # bars: share of spoiled templates found; mean sum of 4; mean word distance
Templates = Mapping[str, Mapping[str, Sequence[AskedTemplate]]]  # by file and relation


@dataclass(frozen=True, slots=True)
class TemplateReading:
    """A reader's ratings of a template: ``text`` is what was read, ``spoiled`` how it was spoiled, if it was."""

    KEY: ClassVar = ("set", "template_id")
    set: str
    template_id: str
    text: str
    spoiled: str | None
    fluency: int
    template_in_relation: int
    relation_in_template: int
    overlap: int
    called_spoiled: bool
    remark: str | None

    @property
    def sum(self) -> int:
        """The sum of the four items."""
        return sum(getattr(self, item) for item in ITEMS)


def read(path: Path, known: Templates) -> list[TemplateReading]:
    """Read the ratings of a sheet: one with the templates' ids, or a blind one, whose key lies next to it.

    Raises:
        AlmanacError: a file cannot be read, or has mistakes; up to twenty together.
    """
    rows = _unblinded(path) if begins_with(path, "number") else tables.read_jsonl(path, TemplateReading)
    refuse([f"{path}: {line}" for line in _mistakes(rows, known)] or [f"{path}: has no row"] * (not rows))
    return rows


def _unblinded(path: Path) -> list[TemplateReading]:
    """Return the rows of a blind sheet, joined with its key."""
    key_path = blind.key_of(path)
    listed = tables.read_jsonl(path, blind.SheetRow)
    answers, count = {row.number: row for row in listed}, Counter(row.number for row in listed)
    key = {row.number: row for row in tables.read_jsonl(key_path, blind.KeyRow)}
    mistakes = [f"{path}: number {number} is not in {key_path.name}" for number in count if number not in key]
    for number, drawn in key.items():
        answer = answers.get(number)
        if answer is None or count[number] > 1 or answer.text != drawn.text:
            mistakes.append(f"{path}: number {number} must be there once and read {drawn.text!r}; write it again")
        else:
            empty = ", ".join(name for name in (*ITEMS, "called_spoiled") if getattr(answer, name) is None)
            mistakes += [f"{path}: number {number}: write what the reader says of {empty}"] * bool(empty)
    refuse(mistakes)
    keys = (*ITEMS, "called_spoiled", "remark")
    return [
        TemplateReading(
            drawn.set, drawn.template_id, drawn.text, drawn.spoiled, *(getattr(answers[number], name) for name in keys)
        )
        for number, drawn in key.items()
    ]


def _mistakes(rows: Sequence[TemplateReading], known: Templates) -> Iterator[str]:
    ids = {name: {one.template_id for one in itertools.chain(*own.values())} for name, own in known.items()}
    count = Counter((row.set, row.template_id) for row in rows)
    for row in rows:
        name = f"template {row.template_id!r} of {row.set!r}"
        if row.template_id not in ids.get(row.set, ()):
            yield f"{name} is no shipped template; sets are {', '.join(known)}"
        if count[row.set, row.template_id] > 1:
            yield f"{name} is there more than once; keep one"
        for item in ITEMS:
            if getattr(row, item) not in (0, 1):
                yield f"{name}: {item} is {getattr(row, item)}; write 0 or 1"
        if (row.template_in_relation or row.relation_in_template) and not row.overlap:
            yield f"{name}: overlap is 0, though one implies the other; write 1"


def altered(rows: Sequence[TemplateReading], known: Templates) -> list[str]:
    """Return the templates whose text has changed since it was read."""
    texts = {(name, one.template_id): one.text for name, own in known.items() for one in itertools.chain(*own.values())}
    return [
        f"{row.set} {row.template_id}: {row.text} → {texts[row.set, row.template_id]}"
        for row in rows
        if row.spoiled is None and row.text != texts[row.set, row.template_id]
    ]


def rubric(rows: Sequence[TemplateReading]) -> list[str]:
    """Return the lines of Table 10, means of the items and of their sum, and of Figure 6, the frequency of each sum."""
    table = []
    sets = sorted({row.set for row in rows}, key=SETS.index)
    for name, ratings in ((one, [row for row in rows if one in (row.set, "all")]) for one in ("all", *sets)):
        total = [row.sum for row in ratings]
        means = [statistics.fmean(getattr(row, item) for row in ratings) for item in ITEMS]
        deviation = f"{statistics.stdev(total):.2f}" if len(total) > 1 else "–"
        cells = [*(f"{mean:.3f}" for mean in means), f"{statistics.fmean(total):.2f}", deviation]
        table.append([name, str(len(ratings)), *cells])
    items = [item.replace("_", " ") for item in ITEMS]
    count, sums = Counter(row.sum for row in rows), range(len(ITEMS) + 1)
    histogram = [["templates", *(str(count[one]) for one in sums)]]
    return [
        *markdown(["templates", "read", *items, "of 4", "SD"], table),
        "",
        *markdown(["of 4 (Figure 6)", *map(str, sums)], histogram),
        "",
    ]


def apart(known: Templates) -> tuple[list[str], float]:
    """Return a table of the mean word distances between templates, and the least mean distance in any relation."""
    rows, least = [], 1.0
    for name, own in known.items():
        texts = {relation: [one.text for one in listed] for relation, listed in own.items()}
        of_each = {relation: mean_distance([listed], by_words) or 0.0 for relation, listed in texts.items()}
        lowest = min(of_each, key=lambda relation: of_each[relation])
        groups: dict[str, list[str]] = {}
        for one in itertools.chain(*own.values()):
            groups.setdefault(one.group, []).append(one.text)
        inner, mean = mean_distance(groups.values(), by_words), statistics.fmean(of_each.values())
        rows.append(
            [name, f"{mean:.4f}", f"{of_each[lowest]:.4f} ({lowest})", "–" if inner is None else f"{inner:.4f}"]
        )
        least = min(least, of_each[lowest])
    head = ("words, mean Jaccard distance", "in a relation", "in the relation with least", "in a group")
    return markdown(head, rows), least


def report(rows: Sequence[TemplateReading], known: Templates) -> tuple[list[str], bool]:
    """Return the lines of a sheet's report, and whether the bars are met."""
    sound, spoiled = [row for row in rows if row.spoiled is None], [row for row in rows if row.spoiled is not None]
    caught, wrongly = (sum(row.called_spoiled for row in ratings) for ratings in (spoiled, sound))
    lines, least = apart(known)
    bars = {
        f"{caught} of {len(spoiled)} spoiled templates were called spoiled (at least {CAUGHT:.0%})": bool(spoiled)
        and caught >= CAUGHT * len(spoiled),
        f"the others average at least {MEAN} of 4": bool(sound) and statistics.fmean(row.sum for row in sound) >= MEAN,
        f"in each relation, templates have a mean word distance of at least {APART}": least >= APART,
    }
    found = [
        *(rubric(sound) if sound else []),
        f"{wrongly} of {len(sound)} templates that were not spoiled were called spoiled",
        *(f"{'holds ' if held else 'missed'}: {said}" for said, held in bars.items()),
        "",
        *lines,
    ]
    if changed := altered(rows, known):
        found += ["", "changed since they were read, so the ratings do not apply to:", *changed]
    return found, all(bars.values())


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the report on a sheet, or write a blind one."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, prog="quality"
    )
    parser.add_argument("sheet", type=Path, nargs="?", default=SHEET, help="a filled-in sheet [the one that ships]")
    parser.add_argument(
        "--draw", nargs=2, metavar=("SEED", "FILE"), help="write a blind sheet; its key goes to FILE's .key.jsonl"
    )
    given = parser.parse_args(arguments)
    known = {name: shipped(name) for name in SETS}
    try:
        if given.draw is not None:
            path = Path(given.draw[1])
            blind.write(path, blind.draw(known, given.draw[0]))
            print(f"{path}: fill in {', '.join(ITEMS)} (0 or 1) and called_spoiled (true or false)")
            print(f"{blind.key_of(path)}: which are spoiled; not for the reader")
            return 0
        lines, held = report(read(given.sheet, known), known)
    except AlmanacError as error:
        print(f"almanac: {error}")
        return 1
    print("\n".join(lines))
    return 0 if held else 1


if __name__ == "__main__":
    raise SystemExit(main())
