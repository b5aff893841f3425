"""Of facts that a planted model read once: which methods find them, by the form in which they were read.

    make demo CONFIG=config/forms.yaml
    python -m benchmarks.forms results/forms

An edition whose models were planted, and read facts in sentences, lists and questions. A fact that was taught once was
read in one of these forms, and the model's ledger says in which. Printed is a table for docs/validation.md: of each
method the AUC of facts read once in a sentence, in a list, and as a question, against facts never taught, a mean over
models and worlds with its 95 % interval (`almanac.suites.standings`), methods in the order of all three together. A
method marked * says right or wrong alone.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from almanac.edition.layout import Layout
from almanac.edition.measuring import entrant, judged_of
from almanac.planting.options import TUNING
from almanac.report.lines import share
from almanac.rows import LedgerEntry, Standing
from almanac.suites.agreement import called
from almanac.suites.listing import SUITES, method_labels
from almanac.suites.standings import ALL, CalledFacts, standings
from almanac.tables import read

FORMS = {"prose": "in a sentence", "list": "in a list", "question": "as a question"}


def read_once(path: Path) -> dict[str, str]:
    """Return the form of each fact that stands once in a ledger, what models are tuned on aside."""
    forms: dict[str, list[str]] = {}
    for row in read(path, LedgerEntry):
        if row.format not in TUNING:
            forms.setdefault(row.fact_id, []).extend([row.format] * row.count)
    return {fact: own[0] for fact, own in forms.items() if len(own) == 1}


def found_in(folder: Path) -> list[CalledFacts]:
    """Return what each method of an edition calls the facts that were never taught or once, with the form as level."""
    layout = Layout.open(folder)
    participants, out = layout.config.participants(), []
    for asking in layout.config.asked():
        suite, model, world = SUITES[asking.suite], entrant(layout, asking), participants[asking.model].world
        if world is None or model.permuted or layout.config.datasets[asking.dataset].world != world:
            continue
        forms = read_once(layout.model(asking.model) / "ledger.parquet")
        methods = [
            one for one in suite.counted(layout.options(asking)) if one.validated and model.understands(one.format)
        ]
        for one in called(judged_of(layout, asking), methods):
            form = pl.col("fact").cast(pl.String).replace_strict(forms, default=None)
            for level in (ALL, *FORMS):
                once = (pl.col("dose") == 1) & ((form == level) if level in FORMS else True)
                facts = one.facts.filter((pl.col("dose") == 0) | once)
                name = participants[asking.model].model.name
                out.append(CalledFacts(world, name, ALL, level, one._replace(facts=facts)))
    return out


def table(found: Sequence[CalledFacts]) -> list[str]:
    """Return the lines of a table in Markdown, or one that says that no two methods were asked such facts."""
    rows = {
        level: {(row.suite, row.method, row.where): row for row in standings(own) if row.axis == ALL}
        for level in (ALL, *FORMS)
        if (own := [one for one in found if one.level == level])
    }
    if not rows.get(ALL):
        return ["No two methods were asked facts that planted models had read once."]
    labels = method_labels(rows[ALL])
    facts = {level: next(iter(own.values())).facts for level, own in rows.items() if own}
    heads = [f"{FORMS.get(level, 'in any form')} ({number} facts)" for level, number in facts.items()]
    lines = [f"| method | {' | '.join(heads)} |", "| --- " * (len(heads) + 1) + "|"]
    for key in rows[ALL]:
        cells = [_cell(rows[level].get(key)) for level in facts]
        name = labels[key] + "\\*" * (not rows[ALL][key].graded)
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def _cell(row: Standing | None) -> str:
    if row is None or row.auc_low is None or row.auc_high is None:
        return share(row and row.auc)
    return f"{share(row.auc)} [{share(row.auc_low)}, {share(row.auc_high)}]"


def main() -> None:
    """Print the table of each edition."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "editions", type=Path, nargs="+", metavar="EDITION", help="the folder of an edition, results/forms"
    )
    parser.add_argument("--model", action="append", metavar="NAME", help="of these models alone, such as base [all]")
    arguments = parser.parse_args()
    for folder in arguments.editions:
        found = [one for one in found_in(folder) if one.model in (arguments.model or [one.model])]
        print("\n".join([f"{folder}:", "", *table(found), ""]))


if __name__ == "__main__":
    main()
