"""One suite asked of one model in a notebook: `almanac.measure(model, tokenizer, SUITE)`."""

import argparse
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from almanac import cli, unfinished
from almanac.dataset.options import DatasetOptions
from almanac.errors import AlmanacError, did_you_mean
from almanac.frames import read_frame
from almanac.options import explain, flagged, to_flags
from almanac.project import RESOURCES
from almanac.rows import Measure
from almanac.suites.listing import SUITES

if TYPE_CHECKING:
    import pandas

FACTS = RESOURCES / "facts"
# As `make own` has it: few facts are enough, and fewer objects give fewer choices.
DATASET = DatasetOptions(min_facts=16, min_objects=4, train=8, test=32, choices=20, fewer_choices=True)


def measure(
    model: Any,
    tokenizer: Any,
    suite: str,
    facts: Path | str = FACTS,
    **settings: Any,
) -> "pandas.DataFrame":
    """Ask a model one suite and return its numbers, a row a number, with the columns of `almanac.rows.Measure`.

    Args:
        model: a model of transformers, or the folder of a checkpoint.
        tokenizer: of a model of transformers; none for a folder, which holds its own.
        suite: one of the suites that need one round of questions.
        facts: a folder of facts; those that ship if not given.
        settings: the suite's, as in docs/configuration.md; ``shots`` is 8 where the suite has it and it is not given.

    Raises:
        AlmanacError: there is no such suite or setting, it needs several rounds, or the facts or the model are wrong.
    """
    if suite not in SUITES:
        raise AlmanacError(f"there is no suite {suite!r}{did_you_mean(suite, SUITES)}")
    options = SUITES[suite].options
    if "shots" in options.model_fields:
        settings = {"shots": DATASET.train, **settings}
    known = flagged(options)
    if unknown := [name for name in settings if name not in known]:
        raise AlmanacError(f"{suite}: there is no setting {unknown[0]!r}{did_you_mean(unknown[0], known)}")
    try:
        checked = options.model_validate(settings)
    except ValidationError as error:
        raise explain(error, suite) from error
    if len(SUITES[suite].rounds_of(checked)) > 1:
        raise AlmanacError(
            f"{suite}: asks in several rounds with these settings; run it with `make own` or `almanac run`"
        )
    with unfinished.folder() as work:
        checkpoint = Path(model) if isinstance(model, str | Path) else _saved(model, tokenizer, work / "model")
        asked, answered, dataset = work / "asked", work / "responses.parquet", work / "built"
        flags = shlex.split(to_flags(checked))
        _run("build", "dataset", "--facts", facts, "--output", dataset, *shlex.split(to_flags(DATASET)))
        _run("ask", suite, "--dataset", dataset, "--output", asked, *flags)
        files = ("--requests", *asked.glob("requests-*.parquet"), "--contexts", asked / "contexts.parquet")
        _run("answer", "--model", checkpoint, *files, "--output", answered)
        files = ("--asked", asked, "--responses", answered, "--facts", dataset)
        _run("measure", suite, *files, "--output", work / "measured", *flags)
        return read_frame(work / "measured" / "measures.parquet", Measure).to_pandas()


def _saved(model: Any, tokenizer: Any, folder: Path) -> Path:
    if tokenizer is None:
        raise AlmanacError("measure: a model of transformers needs its tokenizer; give both, or a checkpoint's folder")
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _run(verb: str, *words: object) -> None:
    """Run a verb, whose errors are raised and not printed."""
    module = cli.load(verb)
    parsed: argparse.Namespace = cli.parser_of(verb, module).parse_args([str(word) for word in words])
    module.run(parsed)
