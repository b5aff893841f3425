"""Ask a model one suite in a notebook: `almanac.measure(model, tokenizer, SUITE)`."""

import argparse
import contextlib
import io
import shlex
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from almanac import cli, tables, unfinished
from almanac.config.models import as_name
from almanac.dataset.options import DatasetOptions
from almanac.errors import AlmanacError, did_you_mean
from almanac.frames import read_frame
from almanac.options import flagged, to_flags, validated
from almanac.project import PROJECT, RESOURCES
from almanac.rows import Measure, RelationCount, Request
from almanac.suites.listing import SUITES
from almanac.yaml_file import read_yaml

if TYPE_CHECKING:
    import pandas

FACTS = RESOURCES / "facts"
OWN = PROJECT / "config" / "own.yaml"  # default settings: those of `make own`
_AT_WORK = threading.Lock()  # capturing output and loading models affect the whole process


def measure(
    model: Any,
    tokenizer: Any,
    suite: str,
    facts: Path | str = FACTS,
    dataset: Mapping[str, Any] | None = None,
    **settings: Any,
) -> "pandas.DataFrame":
    """Ask a model one suite and return its measures, one row each, with the columns of `almanac.rows.Measure`.

    Calls from several threads wait for each other: transformers cannot load models in parallel, and output is captured
    for the whole process, so that a call captures lines of other threads too.

    Args:
        model: a transformers model, or the folder of a checkpoint.
        tokenizer: the tokenizer of a transformers model; None for a folder, which has its own.
        suite: the name of a suite that asks in one round.
        facts: a file or folder of facts; by default those that ship.
        dataset: settings of the dataset that is built from the facts, such as ``{"min_facts": 8}``; see
            docs/configuration.md.
        settings: the suite's settings, such as ``sample=None`` for all test facts; the defaults are in config/own.yaml.

    Raises:
        AlmanacError: the suite or a setting is unknown, the suite needs several rounds, no fact can be asked, or the
            facts or the model are wrong.
    """
    if suite not in SUITES:
        raise AlmanacError(f"there is no suite {suite!r}{did_you_mean(suite, SUITES)}")
    if not isinstance(facts, str | Path):
        raise AlmanacError("measure: facts: name a file or folder; a frame's to_csv(PATH, index=False) makes a file")
    if not isinstance(dataset, Mapping | None):
        raise AlmanacError('measure: dataset: give settings of the dataset, such as {"min_facts": 8}')
    if isinstance(model, str) and "://" in model:
        raise AlmanacError(f"measure: asks no server; `almanac run --model {model}` does")
    options, own = SUITES[suite].options, read_yaml(OWN)
    known = flagged(options)
    if unknown := [name for name in settings if name not in known]:
        raise AlmanacError(f"{suite}: there is no setting {unknown[0]!r}{did_you_mean(unknown[0], known)}")
    built = {key: value for key, value in own["datasets"]["facts"].items() if key != "source"} | dict(dataset or {})
    checked = validated(options, own["suites"].get(suite, {}).get("facts", {}) | settings, suite)
    building = validated(DatasetOptions, built, "dataset")
    if len(SUITES[suite].rounds_of(checked)) > 1:
        raise AlmanacError(f"{suite}: asks in several rounds with these settings; run it with `almanac run`")
    with _AT_WORK, unfinished.folder() as work:
        given = isinstance(model, str | Path)
        checkpoint = Path(model).expanduser() if given else _saved(model, tokenizer, work / "model")
        name = checkpoint.resolve().name if given else Path(str(getattr(model, "name_or_path", ""))).name
        asked, answered, place = work / "asked", work / "responses.parquet", work / "built"
        flags = shlex.split(to_flags(checked))
        _quietly(
            "build", "dataset", "--facts", Path(facts).expanduser(), "--output", place, *shlex.split(to_flags(building))
        )
        if left := [
            one.relation_id for one in tables.read(place / "counts.parquet", RelationCount) if not one.qualifies
        ]:
            print(f"left out, having too few facts or objects: {', '.join(left)}", file=sys.stderr)
        printed = _quietly("ask", suite, "--dataset", place, "--output", asked, *flags)
        requests = sorted(asked.glob("requests-*.parquet"))
        if not any(tables.count(path, Request) for path in requests):
            print(printed, file=sys.stderr)
            raise AlmanacError(f"{suite}: nothing of these facts is asked; what is printed above says why")
        files = ("--requests", *requests, "--contexts", asked / "contexts.parquet")
        _run("answer", "--model", checkpoint, *files, "--output", answered)
        files = ("--asked", asked, "--responses", answered, "--facts", place)
        names = ("--model", as_name(name), "--dataset", "facts")
        _quietly("measure", suite, *files, *names, "--output", work / "measured", *flags)
        return read_frame(work / "measured" / "measures.parquet", Measure).to_pandas()


def _saved(model: Any, tokenizer: Any, folder: Path) -> Path:
    if tokenizer is None:
        raise AlmanacError("measure: a model of transformers needs its tokenizer; give both, or a checkpoint's folder")
    from almanac.models.registry import FAMILIES  # imports PyTorch, which takes seconds without a model

    model.save_pretrained(folder)
    named = list(model.config.architectures or [])
    if not any(name.endswith(ending) for name in named for endings in FAMILIES.values() for ending in endings):
        raise AlmanacError(
            f"measure: {type(model).__name__} has no head that predicts tokens; load the checkpoint with one, by "
            "AutoModelForCausalLM, AutoModelForMaskedLM or AutoModelForSeq2SeqLM"
        )
    tokenizer.save_pretrained(folder)
    return folder


def _run(verb: str, *words: object) -> None:
    """Run a verb; its errors are raised, not printed."""
    module = cli.load(verb)
    parsed: argparse.Namespace = cli.parser_of(verb, module).parse_args([str(word) for word in words])
    module.run(parsed)


def _quietly(verb: str, *words: object) -> str:
    """Run a verb and return what it prints; if it fails, print that and raise the error."""
    output = io.StringIO()
    try:
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            _run(verb, *words)
    except AlmanacError:
        print(output.getvalue(), file=sys.stderr)
        raise
    return output.getvalue()
