"""Settings and command-line flags say the same thing, for every step."""

import argparse
import importlib
import inspect
import shlex
import types
import typing
from pathlib import Path
from typing import Any

import annotated_types
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from pydantic.fields import FieldInfo

import almanac
from almanac.errors import AlmanacError
from almanac.options import NO_FLAG, Options, add_flags, explain, from_flags, to_flags
from almanac.sources.options import SourceOptions

PACKAGE = Path(almanac.__file__).parent


def every_options_model() -> list[type[Options]]:
    found = []
    for path in sorted(PACKAGE.rglob("options.py")):
        module = importlib.import_module(".".join(("almanac", *path.relative_to(PACKAGE).with_suffix("").parts)))
        found += [
            value
            for value in vars(module).values()
            if isinstance(value, type) and issubclass(value, Options) and value.__module__ == module.__name__
        ]
    return [model for model in found if model is not Options and not inspect.isabstract(model)]


MODELS = every_options_model()
NEEDED = {  # what has no default, or cannot all be left out
    "WikidataOptions": {"nobel": True},
    "OpenalexOptions": {"parts": ("part_000.gz",)},
    "DblpOptions": {"release": "2026-11-01"},
    "UmlsOptions": {"relations": ("may_treat",)},
}


def defaults(model: type[Options]) -> dict[str, Any]:
    """Every setting of a model at its default, and what it cannot do without."""
    fields = model.model_fields.items()
    return {name: field.default for name, field in fields if not field.is_required()} | NEEDED.get(model.__name__, {})


def values_of(annotation: Any, limits: list[Any]) -> st.SearchStrategy[Any]:
    if isinstance(annotation, types.UnionType):
        kinds = [kind for kind in typing.get_args(annotation) if kind is not type(None)]
        return st.none() | values_of(kinds[0], limits)
    if typing.get_origin(annotation) is tuple:
        least = max([limit.min_length for limit in limits if isinstance(limit, annotated_types.MinLen)], default=0)
        most = min([limit.max_length for limit in limits if isinstance(limit, annotated_types.MaxLen)], default=4)
        inner = values_of(typing.get_args(annotation)[0], [annotated_types.Ge(0)])
        return st.lists(inner, min_size=least, max_size=most, unique=True).map(tuple)
    if typing.get_origin(annotation) is typing.Annotated:
        kind, *own = typing.get_args(annotation)
        return values_of(kind, [part for field in own for part in getattr(field, "metadata", [field])])
    if typing.get_origin(annotation) is typing.Literal:
        return st.sampled_from(typing.get_args(annotation))
    if annotation is bool:
        return st.booleans()
    if annotation is str:
        patterns = [limit.pattern for limit in limits if getattr(limit, "pattern", None)]
        return st.from_regex(patterns[0] if patterns else r"[A-Za-z0-9][A-Za-z0-9 '$_.-]*", fullmatch=True)
    return numbers(annotation, limits)


def numbers(kind: type, limits: list[Any]) -> st.SearchStrategy[Any]:
    low, high, step = 0, 10**6, 1
    open_low = open_high = False
    for limit in limits:
        match limit:
            case annotated_types.Ge(bound):
                low = bound
            case annotated_types.Gt(bound):
                low, open_low = bound, True
            case annotated_types.Le(bound):
                high = bound
            case annotated_types.Lt(bound):
                high, open_high = bound, True
            case annotated_types.MultipleOf(bound):
                step = bound
    if kind is int:
        return st.integers(-(-low // step), high // step).map(lambda number: number * step)
    if low < 0:  # argparse takes -1e-05 for a flag; thousandths are what anyone writes
        return st.integers(int(low * 1000), int(high * 1000)).map(lambda number: number / 1000)
    return st.floats(low, high, exclude_min=open_low, exclude_max=open_high).map(lambda number: number + 0.0)


def consistent(values: dict[str, Any]) -> dict[str, Any]:
    """Mend what a model checks across its settings: shares add up to 1, heads divide the width, something is asked."""
    if "prose" in values:
        prose = round(values["prose"], 3)
        values |= {"prose": prose, "lists": (1 - prose) / 4, "questions": (1 - prose) * 3 / 4}
    if "abstain_known" in values:
        values["abstain_unknown"] = min(values["abstain_unknown"], values["abstain_known"] - 1)
    if "heads" in values:
        values["hidden"] = min(4096, 2 * values["heads"] * max(8, values["hidden"] // (2 * values["heads"])))
    if "abstain_known" in values:
        values["abstain_known"] = max(values["abstain_known"], values["abstain_unknown"] + 1)
    if "first" in values:
        values["examples"] = max(values["examples"], values["first"] + 1)
    if "replaced" in values:
        values["pairs"] = max(values["pairs"], 2 * values["replaced"], values["bins"])
        if values["start"] is not None:
            values["start"] = min(values["start"], values["pairs"] - values["replaced"] - 1)
    values |= {name: "2026-11-01" for name in ("release", "dtd") if name in values}
    if values.get("api") is not None and "kinds" in values:
        values["kinds"] = None
    if values.get("prompting") == ():
        values["fill"] = True
    if values.get("spurious"):
        values["spurious_objects"] = None
    if not values.get("relations") and (values.get("nobel") is False or values.get("by") == "sparql"):
        values["relations"] = ("P36",)
    return values


def without_idle(model: type[Options], values: dict[str, Any]) -> dict[str, Any]:
    """Leave out what the other settings of a source make idle, which it refuses."""
    if not issubclass(model, SourceOptions):
        return values
    idle = {name for names in model.model_construct(**values).idle().values() for name in names}
    return {name: value for name, value in values.items() if name not in idle}


def settings_of(model: type[Options]) -> st.SearchStrategy[Options]:
    def limits(field: FieldInfo) -> list[Any]:
        return list(field.metadata)

    flagged = {name: field for name, field in model.model_fields.items() if NO_FLAG not in field.metadata}
    fields = {name: values_of(field.annotation, limits(field)) for name, field in flagged.items()}
    return st.fixed_dictionaries({}, optional=fields).map(
        lambda given: model(**without_idle(model, consistent(defaults(model) | given)))
    )


def parse(words: list[str], model: type[Options]) -> Options:
    parser = argparse.ArgumentParser()
    add_flags(parser, model, "settings")
    return from_flags(parser.parse_args(words), model)


def test_every_step_is_covered():
    assert {"DatasetOptions", "IcLkeOptions", "WorldOptions", "CorpusOptions", "TrainingOptions"} <= {
        model.__name__ for model in MODELS
    }


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_flags_and_settings_are_inverse(model):
    @settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
    @given(settings_of(model))
    def inverse(chosen):
        assert parse(shlex.split(to_flags(chosen)), model) == chosen

    inverse()


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_defaults_need_no_flag_and_every_setting_is_described(model):
    least = NEEDED.get(model.__name__, {})
    words = shlex.split(to_flags(model(**least)))
    assert {word for word in words if word.startswith("--")} == {f"--{name}" for name in least}
    assert parse(words, model) == model(**least)
    assert all(field.description for field in model.model_fields.values())
    with pytest.raises(ValidationError):
        model(no_such_setting=1)


def test_what_is_the_configurations_alone_is_no_flag():
    from almanac.suites.ic_lke.options import IcLkeOptions

    assert to_flags(IcLkeOptions(models=("base",), shots=3)) == "--shots 3"
    with pytest.raises(SystemExit):
        parse(["--models", "base"], IcLkeOptions)


class Wide(Options):
    shots: int = 3
    note: str = "plain"


class Wider(Wide):
    seed: int = 0


def test_only_the_flags_that_a_step_knows_are_given():
    assert to_flags(Wider(shots=4, seed=9), Wide) == "--shots 4"
    assert shlex.split(to_flags(Wide(note="two words; rm $HOME"))) == ["--note", "two words; rm $HOME"]


@pytest.mark.parametrize("name", ["layout", "cloze"])
def test_an_unknown_choice_is_refused_by_the_command_line_with_the_allowed_ones(name, capsys):
    from almanac.suites.ic_lke.options import IcLkeOptions

    with pytest.raises(SystemExit) as stop:
        parse([f"--{name}", "sideways"], IcLkeOptions)
    assert stop.value.code == 2
    message = capsys.readouterr().err
    assert f"--{name}" in message
    assert "sideways" in message
    assert ("paper" if name == "layout" else "true") in message.partition("choose from")[2]


def test_an_impossible_value_is_refused_by_its_name():
    from almanac.dataset.options import DatasetOptions

    with pytest.raises(AlmanacError) as error:
        parse(["--choices", "1", "--train", "many"], DatasetOptions)
    message = str(error.value)
    assert "choices: must be at least 2; found '1'" in message
    assert "train: must be a whole number" in message
    assert "'many'" in message


def test_an_unknown_key_and_a_wrong_value_are_explained_together():
    with pytest.raises(ValidationError) as error:
        Wide.model_validate({"shoots": 1, "shots": "x"})
    lines = str(explain(error.value, "edition.yaml")).splitlines()
    assert len(lines) == 2
    assert any(line.startswith("edition.yaml: shoots: is unknown") for line in lines)
    assert any(line.startswith("edition.yaml: shots:") and "'x'" in line for line in lines)


def test_settings_cannot_change():
    with pytest.raises(ValidationError):
        Wide().shots = 4
