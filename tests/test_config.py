"""An edition's file is checked whole before anything runs: each refusal names its key and what is allowed."""

import copy
import json
import re
import shlex
import shutil
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from almanac import tables
from almanac.cli import main
from almanac.config import Asking, EditionConfig, check, given, handed, load, read_yaml
from almanac.config.models import ModelConfig, in_short
from almanac.dataset.options import DatasetOptions
from almanac.edition.jobs import Jobs
from almanac.edition.layout import Layout
from almanac.errors import AlmanacError
from almanac.models.options import checked_url
from almanac.options import to_flags
from almanac.rows import Fact
from almanac.sealed import sealed
from almanac.suites.listing import SUITES

REPOSITORY = Path(__file__).parents[1]
REGISTRIES = sorted((REPOSITORY / "config").glob("*models.yaml"))
FILES = sorted(path for path in (REPOSITORY / "config").glob("*.yaml") if path not in REGISTRIES)

GOOD: dict[str, Any] = {
    "edition": "mine",
    "sources": {"real": {"path": "my_facts"}},
    "planting": {
        "worlds": {"one": {"seed": 1}, "two": {"seed": 2}},
        "taught": {"dataset": "real", "facts": 20},
        "corpus": {},
        "tokenizer": {},
    },
    "datasets": {
        "real": {"source": "real", "train": 40},
        "one": {"world": "one", "train": 40},
        "two": {"world": "two", "train": 40},
    },
    "suites": {"ic_lke": {"real": {"shots": 16}, "one": {"shots": 16}, "two": {"shots": 16}}},
    "models": [
        {"name": "small", "planted": {"hidden": 64}},
        {"name": "mine", "path": "/nowhere/mine"},
        {"name": "far", "hub": "owner/name", "revision": "0123456789" * 4, "datasets": ["real"]},
    ],
    "drafting": {"dataset": "real", "model": "mine"},
    "writing": {"dataset": "real", "model": "mine"},
    "validation": {},
}


def at(values: Any, key: str, value: Any) -> dict[str, Any]:
    """Return a copy with one key set; ``a.0.b`` goes through lists too."""
    changed = copy.deepcopy(values)
    inner = changed
    *way, last = [int(part) if part.isdigit() else part for part in key.split(".")]
    for part in way:
        inner = inner[part]
    inner[last] = value
    return changed


def refusal(values: dict[str, Any], root: Path = REPOSITORY) -> str:
    with pytest.raises(AlmanacError) as error:
        check(values, "mine.yaml", root)
    return str(error.value)


def test_the_example_itself_is_good():
    assert check(GOOD, "mine.yaml", REPOSITORY).edition == "mine"


PLACES = (
    "", "sources.real", "planting", "planting.worlds.one", "planting.taught", "planting.corpus", "planting.tokenizer",
    "datasets.real", "suites", "suites.ic_lke.real", "models.0", "models.0.planted", "drafting", "writing",
    "validation",
)  # fmt: skip


@pytest.mark.parametrize("place", PLACES)
def test_an_unknown_key_is_refused_by_name_wherever_it_stands(place):
    key = f"{place}.sedd".removeprefix(".")
    shown = key.replace("models.0", "models.small")
    assert f"mine.yaml: {shown}: is unknown" in refusal(at(GOOD, key, 1))


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("edition", "../elsewhere", "must have the form"),
        ("edition", "", "must have the form"),
        ("edition", "x" * 101, "must have at most 100 characters"),
        ("shards", 0, "at least 1"),
        ("shards", "many", "shards: must be a whole number"),
        ("engine", "fast", "'prefix_cache' or 'reference'"),
        ("sources.real.kind", "wikipedia", "sources.real: kind must be one of files, wikidata, dbpedia"),
        ("facts", "x" * 256, "facts: is a path that no disk has: names are of 255 bytes at most, none of them 0"),
        ("models.1.path", "x/" * 3000, "models.mine.path: is a path that no disk has"),
        ("datasets.real.drafts", "a\0b", "datasets.real.drafts: is a path that no disk has"),
        ("sources.real.kind", ["files", "wikidata"], "sources.real: kind must be one of files, wikidata, dbpedia"),
        ("sources.real", {"kind": "wikidata"}, "sources.real: names no relations and not `nobel: true`"),
        ("sources.real", {"kind": "wikidata", "relations": ["Q5"]}, "sources.real.relations.0: must have the form"),
        ("datasets.real.choices", 1, "at least 2"),
        ("datasets.real.train", -1, "at least 0"),
        ("datasets.real.exclude_true", "perhaps", "must be true or false"),
        ("planting.worlds.one.objects", 10, "multiple of 4"),
        ("planting.worlds.one.doses", [4, 4], "doses must be distinct"),
        ("planting.taught.doses", [-1, 4], "at least 0"),
        ("planting.corpus.prose", 0.9, "must add up to 1, found 1.35"),
        ("suites.ic_lke.real.layout", "html", "'paper' or 'code'"),
        ("suites.ic_lke.real.sample", 0, "at least 1"),
        ("models.0.planted.hidden", 66, "hidden must be a multiple of heads"),
        ("models.0.dtype", "int3", "'float32', 'bfloat16' or 'float16'"),
        ("models.1.device", "tpu", "must have the form ^(auto|cpu|mps|cuda"),
        ("validation.auc", 1.5, "at most 1"),
        ("suites.ic_lke.real.shots", True, "shots: must be a whole number; found True"),
        ("suites.lke_sweep", {"real": {"examples": [0, True]}}, "examples.1: must be a whole number; found True"),
        ("datasets.real.fewer_choices", "no", "fewer_choices: must be true or false; found 'no'"),
        ("datasets.real.fewer_choices", 1, "fewer_choices: must be true or false; found 1"),
        ("models.1.trust_remote_code", 0, "models.mine.trust_remote_code: must be true or false; found 0"),
        ("validation.auc", True, "validation.auc: must be a number; found True"),
        (
            "title",
            date(2026, 10, 1),
            "must be a text; found 2026-10-01; put it in quotes, so that YAML",
        ),
        ("suites.ic_lke.real.shots", float("inf"), "shots: must be a whole number; found inf"),
    ],
)
def test_an_impossible_value_names_its_key_and_the_limit(key, value, reason):
    message = refusal(at(GOOD, key, value))
    assert reason in message
    shown = key.replace("models.0", "models.small").replace("models.1", "models.mine")
    assert message.startswith("mine.yaml: " + ".".join(shown.split(".")[:2]))


def test_a_source_whose_kind_alone_is_set_anew_is_told_by_another_name():
    with pytest.raises(AlmanacError) as error:
        load(REPOSITORY / "config/papers/wu.yaml", {"sources": {"trex": {"kind": "files", "path": "p"}}})
    assert str(error.value).partition("sources.")[2] == (
        "trex: kind files has no dates, relations; remove this, or, where the configuration's file has it, with which "
        "settings of the same name are merged, give yours another name: sources='{mine: {kind: files, …}}' "
        "datasets='{trex: {source: mine}}'"
    )
    mine = {"sources": {"mine": {"path": "p"}}, "datasets": {"trex": {"source": "mine"}}, "contact": "a@example.org"}
    assert load(REPOSITORY / "config/papers/wu.yaml", mine).source_folder("mine") == "p"
    with pytest.raises(AlmanacError, match=r"contact: is 'me'; sources.trex asks public servers"):
        load(REPOSITORY / "config/papers/wu.yaml", {"contact": "me"})


def test_a_long_value_is_not_repeated_with_the_place_where_its_key_belongs():
    message = refusal(GOOD | {"doses": list(range(50))})
    assert re.search(r"did you mean [\w.]*doses \([^)]*…[^)]*\)", message), message


def test_numbers_and_truth_values_in_braces_of_a_command_line_are_texts():
    config = check(at(GOOD, "datasets.real", {"source": "real", "train": "40", "merge": "true"}), "m", REPOSITORY)
    assert (config.datasets["real"].train, config.datasets["real"].merge) == (40, True)


def test_a_wrong_member_of_a_list_is_told_once():
    [line] = refusal(at(GOOD, "suites.facteval", {"real": {"negatives": ["unifrom"]}})).splitlines()
    assert "suites.facteval.real.negatives.0: must be" in line and line.endswith("did you mean uniform?")


@pytest.mark.parametrize(("key", "shown"), [(True, "True"), (2020, "2020"), ("a b", "'a b'")])
def test_a_key_that_is_no_name_is_told_with_what_was_found(key, shown):
    message = refusal(GOOD | {"datasets": GOOD["datasets"] | {key: {"source": "real"}}})
    assert re.match(rf"mine.yaml: datasets, a key: must .*; found {shown}(; put it in quotes|$)", message), message


def test_a_model_without_a_name_is_named_by_its_place():
    assert "mine.yaml: models, entry 2.name: is missing" in refusal(at(GOOD, "models.1", {"path": "p"}))
    assert "mine.yaml: models, entry 2: must hold keys and values; found 3" in refusal(at(GOOD, "models.1", 3))


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("datasets.real", {"source": "wikidata"}, "datasets.real: there is no source 'wikidata'; there are real"),
        ("datasets.one.world", "three", "datasets.one: there is no world 'three'; there are one, two"),
        ("planting.taught.dataset", "other", "planting.taught: there is no dataset 'other'; there are one, real, two"),
        ("planting.taught.dataset", "one", "dataset 'one' is itself a planted world"),
        ("drafting.dataset", "other", "drafting: there is no dataset 'other'; there are one, real, two"),
        ("drafting.model", "other", "drafting: there is no model 'other'; there are far, mine, small-one, small-two"),
        ("writing.dataset", "other", "writing: there is no dataset 'other'; there are one, real, two"),
        ("writing.model", "other", "writing: there is no model 'other'; there are far, mine, small-one, small-two"),
        ("writing.text_tokens", 0, "at least 1"),
        ("drafting.samples", 0, "at least 1"),
        ("models.1.family", "masked", "drafting: model 'mine' writes no text; name one that generates"),
        ("models.1.family", "encoder", "drafting: model 'mine' writes no text"),
        ("models.1.kinds", ["choices"], "drafting: model 'mine' writes no text"),
        ("suites.ic_lke.third", {}, "suites.ic_lke: there is no dataset 'third'"),
        ("models.1.datasets", ["none"], "models.mine: there is no dataset 'none'"),
        ("models.1.suites", ["none"], "models.mine: there is no suite 'none'"),
    ],
)
def test_a_name_that_is_not_there_is_refused_with_those_that_are(key, value, message):
    assert message in refusal(at(GOOD, key, value))


def test_a_judge_that_writes_no_text_is_refused():
    judged = at(GOOD, "suites.head_to_tail", {"one": {"judge": "far"}})
    said = "suites.head_to_tail.one.judge: model 'far' writes no text; name one that generates"
    assert said in refusal(at(judged, "models.2.family", "masked"))
    assert check(judged, "mine.yaml", REPOSITORY).suites.head_to_tail["one"].judge == "far"


def test_belief_that_asks_nothing_is_refused():
    said = "nothing is asked with fill: false and prompting: []; set one of them"
    assert said in refusal(at(GOOD, "suites.belief", {"one": {"fill": False, "prompting": []}}))


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("datasets.real", {"train": 40}, "needs either a source or a world"),
        ("datasets.real.world", "one", "needs either a source or a world, and not both"),
        ("models.1", {"name": "mine"}, "needs exactly one of planted, path, hub and api"),
        ("models.1.wrapper", "alpacca", "there is no wrapper 'alpacca'; there are plain, "),
        ("models.1.wrapper", "no/such.yaml:one", "no/such.yaml: cannot be read (No such file or directory)"),
        ("models.0.wrapper", "chat", "wrapper: chat needs a chat template and the tokenizer has none"),
        (
            "models.1",
            {"name": "far", "api": "http://localhost:8000/v1", "wrapper": "vicuna"},
            "wrapper: vicuna is one text, and this server generates by chat; set api_generate_with: completions",
        ),
        ("models.1.hub", "owner/name", "needs exactly one of planted, path, hub and api"),
        ("models.2", {"name": "far", "hub": "owner/name"}, "needs `revision`: the commit's 40 hexadecimal digits"),
        ("models.2.revision", "main", "needs `revision`"),
        ("models.2.revision", "0123456789" * 4 + "\n", "needs `revision`"),
        ("models.1.trust_remote_code", True, "trust_remote_code needs `revision`: the commit whose code you have read"),
        ("models.0.trust_remote_code", True, "only a checkpoint of a `path` or a `hub` has code of its own"),
        ("suites.ic_lke.real.shots", 41, "ic_lke.real: 41 shots need as many train facts; datasets.real.train is 40"),
        ("models.1.name", "far", "a name may occur only once"),
        ("models.1.name", "FAR", "a name may occur only once; given again: FAR, far"),  # one folder on some disks
        (
            "models.1.name",
            "all",
            "models: the name all is taken by the folder of requests to all models; give another name",
        ),
        (
            "models.1.name",
            "across",
            "models: the name across is taken by the job that compares models; give another name",
        ),
        ("datasets.ONE", {"world": "one"}, "datasets: one and ONE would be one folder on some disks; rename one"),
        ("models.1.name", "small-one", "a name may occur only once"),  # what the recipe small is called in world one
        ("planting.worlds.two.doses", [0, 4], "worlds: one has the doses [0, 1, 2, 4, 8, 16, 32, 64] and two [0, 4]"),
        ("sources.real.path", None, "sources.real: has no path; give the folder or file with --config facts=PATH"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(key, value, message):
    assert message in refusal(at(GOOD, key, value))


def test_a_model_that_reads_what_the_corpus_lacks_is_refused():
    read = at(GOOD, "models.0.planted.kinds", ["prose", "neutral", "blank", "abstain"])
    check(read, "mine.yaml", REPOSITORY)
    said = refusal(at(read, "planting.corpus", {"instruct": False}))
    assert "models.small: reads abstain, blank, which the corpus lacks with planting.corpus.instruct: false" in said


def test_as_many_shots_as_train_facts_are_allowed():
    assert check(at(GOOD, "suites.ic_lke.real.shots", 40), "mine.yaml", REPOSITORY)


def test_a_planted_model_needs_a_world():
    values = GOOD | {"planting": {}, "datasets": {"real": {"source": "real"}}, "suites": {}}
    assert "models.small: a planted model needs a world" in refusal(values)


def test_a_source_without_a_path_takes_the_folder_that_is_given():
    values = at(GOOD, "sources.real.path", None) | {"facts": "some/folder"}
    assert check(values, "mine.yaml", REPOSITORY).source_folder("real") == "some/folder"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"facts": "f"}, "facts: 'f' is read by no source: sources.real has the path my_facts; give either facts or"),
        (
            {"facts": "f", "sources": {"real": {"kind": "trex", "path": "p"}}, "contact": "a@example.org"},
            "facts: 'f' is read by no source: none that a dataset reads is of kind files; leave it out",
        ),
        ({"only": "ic_lke karr"}, "only: karr has no settings, so that nothing is asked; there are ic_lke; give it"),
        (
            {"model": "/x/y", "suites": {"ic_lke": {"one": {"shots": 16}}}},
            "model: y would be asked nothing: an invented world is asked only of models planted in it",
        ),
        *(
            ({"sources": {"real": source}, "contact": "a@example.org"}, f"sources.real: {message}; leave it out")
            for source, message in (
                ({"kind": "trex", "form": "tables", "evidence": 1}, "evidence: is not read with form: tables"),
                ({"kind": "trex", "form": "lama", "dates": "text"}, "dates: is not read with form: lama"),
                ({"kind": "dbpedia", "page": 10}, "page: is not read with by: dump"),
                (
                    {"kind": "dbpedia", "by": "sparql", "relations": ["capital"], "pool": 5},
                    "pool: is not read with by: sparql (for fewer facts set facts)",
                ),
                (
                    {"kind": "wikidata", "relations": ["P36"], "nobel_until": 1950},
                    "nobel_until: is not read with nobel: false",
                ),
            )
        ),
    ],
)
def test_a_setting_that_reaches_nothing_is_refused(given, said):
    assert f"mine.yaml: {said}" in refusal(GOOD | given)


def test_a_model_that_is_asked_nothing_may_write():
    writer = {"model": "/x/y", "drafting": {"dataset": "real", "model": "y"}}
    assert check(GOOD | {"suites": {"ic_lke": {"one": {"shots": 16}}}} | writer, "mine.yaml", REPOSITORY)


def test_facts_that_a_configuration_has_by_default_stay_where_its_dataset_has_another_source():
    values = read_yaml(REPOSITORY / "config" / "own.yaml") | {"models": [], "contact": "a@example.org"}
    values["sources"]["mine"] = {"kind": "trex"}
    values["datasets"]["facts"]["source"] = "mine"
    assert check(values, "own.yaml", REPOSITORY).facts == "resources/facts"
    assert "is read by no source" in refusal(values | {"facts": "f"})


def test_several_mistakes_come_together():
    message = refusal(at(at(GOOD, "shards", 0), "datasets.real.choices", 1))
    assert [line.split(": ")[1] for line in message.splitlines()] == ["datasets.real.choices", "shards"]


def test_a_recipe_is_one_model_in_each_world_and_a_checkpoint_is_one():
    participants = check(GOOD, "mine.yaml", REPOSITORY).participants()
    assert {name: one.world for name, one in participants.items()} == {
        "small-one": "one",
        "small-two": "two",
        "mine": None,
        "far": None,
    }
    assert all(name == one.name for name, one in participants.items())


def test_a_relative_path_is_found_from_any_folder(tmp_path, monkeypatch):
    """From the working folder first, then from the configuration's own and the project's."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own" / "my_facts").mkdir(parents=True)
    values = {name: part for name, part in GOOD.items() if name not in ("drafting", "writing")}
    values["sources"] = {"real": {}}
    (tmp_path / "own" / "mine.yaml").write_text(json.dumps(values | {"facts": "my_facts"}))
    assert load(tmp_path / "own" / "mine.yaml").facts == str(tmp_path / "own" / "my_facts")
    assert load(tmp_path / "own" / "mine.yaml", {"facts": "resources/facts"}).facts == str(
        REPOSITORY / "resources/facts"
    )
    assert load(tmp_path / "own" / "mine.yaml", {"facts": "nowhere"}).facts == "nowhere"
    (tmp_path / "my_facts").mkdir()
    assert load(tmp_path / "own" / "mine.yaml").facts == "my_facts"


def test_a_registry_a_wrapper_and_a_model_in_short_are_found_from_any_folder_too(tmp_path, monkeypatch):
    """As `plan` reads them (`load`) and as the workflow does (`check`)."""
    monkeypatch.chdir(tmp_path)
    own = tmp_path / "own"
    (own / "step-2").mkdir(parents=True)
    (own / "step-1").mkdir()
    (own / "models.yaml").write_text("known: {path: step-1, wrapper: 'w.yaml:mine'}")
    (own / "w.yaml").write_text("mine: {source: mine, text: '[CONTEXT][INSTRUCTION][OPTIONS][INPUT]'}")
    values = {name: part for name, part in GOOD.items() if name not in ("drafting", "writing")}
    values |= {"registry": "models.yaml", "models": ["known"], "model": "step-2 step-1"}
    (own / "mine.yaml").write_text(json.dumps(values))
    config = load(own / "mine.yaml")
    paths = [("known", "step-1", f"{own}/w.yaml:mine"), ("step-1", "step-1", None), ("step-2", "step-2", None)]
    assert [(one.name, one.path, one.wrapper) for one in config.models] == [
        (name, str(own / path), wrapper) for name, path, wrapper in paths
    ]
    assert config == check(values, "mine.yaml", REPOSITORY, folders=[own])
    (tmp_path / "models.yaml").write_text("known: {path: here}")
    assert check(values, "mine.yaml", REPOSITORY, folders=[own]).models[0].path == "here"
    assert load(own / "mine.yaml").models[0].path == "here"
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "models.yaml").write_text("known: {path: by_default}")
    del values["registry"]
    assert check(values, "mine.yaml", REPOSITORY, folders=[own]).models[0].path == "by_default"


def test_a_recipe_keeps_its_name_in_the_only_world():
    values = at(GOOD, "planting.worlds", {"one": {}})
    del values["datasets"]["two"], values["suites"]["ic_lke"]["two"]
    assert set(check(values, "mine.yaml", REPOSITORY).participants()) == {"small", "mine", "far"}


def test_an_invented_world_is_asked_only_of_models_planted_in_it():
    asked = set(check(GOOD, "mine.yaml", REPOSITORY).asked())
    assert asked == {
        Asking("small-one", "ic_lke", "one"),
        Asking("small-one", "ic_lke", "real"),
        Asking("small-two", "ic_lke", "two"),
        Asking("small-two", "ic_lke", "real"),
        Asking("mine", "ic_lke", "real"),
        Asking("far", "ic_lke", "real"),
    }


def test_a_null_is_that_of_the_model_of_its_recipe_and_world():
    models = [
        {"name": "small", "planted": {"hidden": 64}},
        {"name": "large", "planted": {"hidden": 128}},
        {"name": "null", "suites": ["karr"], "planted": {"hidden": 64, "permuted": True}},
    ]
    values = at(at(GOOD, "models", [*models, GOOD["models"][1]]), "suites.karr", {"one": {}, "two": {}, "real": {}})
    config = check(values, "mine.yaml", REPOSITORY)
    assert config.null_of(Asking("small-two", "karr", "two")) == Asking("null-two", "karr", "two")
    assert config.null_of(Asking("small-two", "karr", "real")) == Asking("null-two", "karr", "real")
    for other in (("small-two", "ic_lke", "two"), ("large-two", "karr", "two"), ("null-two", "karr", "two")):
        assert config.null_of(Asking(*other)) is None
    assert {asking.suite for asking in config.asked() if asking.model == "null-one"} == {"karr"}


def test_a_model_is_asked_the_datasets_it_names_and_no_others():
    asked = check(at(GOOD, "models.0.datasets", ["one"]), "mine.yaml", REPOSITORY).asked()
    assert [one.dataset for one in asked if one.model.startswith("small")] == ["one"]


REGISTRY = "tiny:\n  planted: {hidden: 32}\nmine:\n  path: /models/mine\nempty:\n"


@pytest.fixture
def registry(tmp_path):
    (tmp_path / "known.yaml").write_text(REGISTRY)
    return tmp_path


def named(*models: Any) -> dict[str, Any]:
    return GOOD | {"registry": "known.yaml", "models": list(models)}


def test_models_are_looked_up_by_name(registry):
    found = check(named("tiny", {"name": "other", "path": "p"}, "mine"), "mine.yaml", registry).models
    assert [(one.name, one.path) for one in found] == [("tiny", None), ("other", "p"), ("mine", "/models/mine")]
    assert found[0].planted is not None
    assert found[0].planted.hidden == 32


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"compare": [["mine", "mien"]]}, "compare: there is no model 'mien'; did you mean mine?"),
        ({"compare": [["mine", "mine"]]}, "compare: 'mine' is compared with itself; name another model"),
        (
            {"compare": [["mine", "tiny-one"], ["tiny-one", "mine"]], "models": ["mine", "tiny"]},
            "compare: mine and tiny-one are named twice; keep one pair",
        ),
        ({"compare": ["mine", "mien"]}, "compare: there is no model 'mien'; did you mean mine?"),
        ({"compare": [["mine", "a", "b"]]}, "compare.0: must have at most 2 members; found ['mine', 'a', 'b']"),
        ({"models": "mine"}, "models: must be a list, as [a, b]; found 'mine'; did you mean models='[mine]'?"),
        ({"models": "mine, tiny"}, "did you mean models='[mine, tiny]'?"),
        ({"models": "/models/a"}, "did you mean model=/models/a?"),
        ({"models": [], "model": "mien"}, "there is no folder mien; did you mean mine?"),
        ({"models": [], "model": "gpu1:8000/v1"}, "a server's address begins with http://: http://gpu1:8000/v1"),
        ({"size": "ful"}, "size: must be 'quick', 'full' or 'all'; found 'ful'; did you mean full?"),
        ({"shard": 3}, "shard: is unknown; did you mean shards?"),
        (
            {"merge": True},
            "merge: is unknown; did you mean datasets.real.merge (datasets='{real: {merge: true}}') or 2 more?",
        ),
        (
            {"sources": {"real": {"path": "p", "lisence": "x"}}},
            "sources.real.lisence: is unknown; did you mean licence?",
        ),
        ({"merge": True, "shards": 0}, "merge: is unknown; see the keys"),
        ({"colour": "red"}, "colour: is unknown; see the keys"),
        (
            {"suites": "karr"},
            "suites: must hold keys and values; found 'karr'; to ask some suites alone: only='karr'",
        ),
        (
            {"suites": "{karr: {own: {threshold: 2}}"},
            "must hold keys and values; found '{karr: {own: {threshold: 2}}'; its braces do not close: 3 { and 2 }",
        ),
        (
            {"suites": {"karr": {"sample": 10}}},
            "suites.karr.sample: must hold keys and values; found 10; settings stand below a dataset, as "
            "suites.karr.DATASET.sample",
        ),
        ({"models": [{"name": "far", "api": "localhost:8000/v1"}]}, "models.far.api: 'localhost:8000/v1' is no URL"),
        ({"models": "[mine, tiny"}, "found '[mine, tiny'; its brackets do not close: 1 [ and 0 ]"),
        ({"datasets": "{real: {train: 4}"}, "found '{real: {train: 4}'; its braces do not close: 2 { and 1 }"),
        ({"edition": False}, "edition: must be a text; found False; put it in quotes, so that YAML reads a text"),
    ],
)
def test_a_mistake_is_told_in_plain_words_with_what_was_meant(registry, wrong, said):
    assert said in refusal(named("mine") | wrong, registry)


def test_a_model_that_the_registry_lacks_is_refused_with_those_it_has(registry):
    message = refusal(named("tiny", "tinny"), registry)
    assert f"models: 'tinny' is not in {registry / 'known.yaml'}; did you mean tiny?" in message
    assert "known.yaml: empty: must hold keys and values, found None" in refusal(named("empty"), registry)
    assert "a name may occur only once; given again: tiny-one, tiny-two" in refusal(named("tiny", "tiny"), registry)
    twice = named(*({"name": "m", "path": f"/models/{folder}/m"} for folder in "ab"))
    assert "given again: m (of /models/a/m and /models/b/m)" in refusal(twice, registry)
    served = GOOD | {"models": [], "model": "http://a:1/v1 http://a:1/v2"}
    message = refusal(served, registry)
    assert "given again: a-1 (of http://a:1/v1 and http://a:1/v2); give other names" in message
    assert "[{name: a, api: URL}, {name: b, api: URL}]" in message


@pytest.mark.parametrize(
    ("text", "message"),
    [("edition: [", "is no YAML"), ("- a\n- b\n", "must hold keys and values, found list"), ("", "is empty")],
)
def test_a_file_that_is_no_configuration_is_refused_by_name(tmp_path, text, message):
    (tmp_path / "mine.yaml").write_text(text)
    with pytest.raises(AlmanacError) as error:
        load(tmp_path / "mine.yaml")
    assert str(error.value).startswith(f"{tmp_path / 'mine.yaml'}: ")
    assert message in str(error.value)
    there = re.escape(
        f"there is no configuration file {tmp_path / 'mien.yaml'}; did you mean {tmp_path / 'mine.yaml'}?"
    )
    with pytest.raises(AlmanacError, match=there):
        load(tmp_path / "mien.yaml")


def test_the_files_that_ship_are_found():
    assert {"config.yaml", "validation.yaml"} <= {path.name for path in FILES}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_file_that_ships_is_good(path):
    values = read_yaml(path)
    sources = values.get("sources", {}).values()
    if any(source.get("kind", "files") != "files" for source in sources):
        assert "--config contact=YOU@EXAMPLE.ORG" in refusal(values)
        values["contact"] = "somebody@example.org"
    if "facts" not in values and any(source.keys().isdisjoint({"path", "kind"}) for source in sources):
        assert "--config facts=PATH" in refusal(values)
        values["facts"] = "my_facts"
    edition = check(values, path.name, REPOSITORY)
    pinned = {
        name: {**own, "snapshot": "2026-01-01"} for name, own in values.get("sources", {}).items() if "kind" in own
    }
    check({**values, "sources": values.get("sources", {}) | pinned, "contact": None}, path.name, REPOSITORY)
    assert not edition.models or list(edition.asked())
    again = EditionConfig.model_validate(edition.model_dump(mode="json"))
    assert again == edition, "what is recorded of an edition is the whole of it"


def test_the_demo_asks_every_suite():
    demo = check(read_yaml(REPOSITORY / "config" / "config.yaml"), "config.yaml", REPOSITORY)
    assert {asking.suite for asking in demo.asked()} == set(SUITES)


@pytest.mark.parametrize("path", REGISTRIES, ids=lambda path: path.name)
def test_every_entry_of_a_registry_is_good(path):
    entries = read_yaml(path)
    assert entries
    for name, entry in entries.items():
        assert ModelConfig(name=name, **entry).size > 0


def asked_by_suite(config):
    return {asking.suite for asking in config.asked()}


def with_models(name, models, **changes):
    """A configuration that ships, with other models, and what is said of it."""
    told: list[str] = []
    values = read_yaml(REPOSITORY / "config" / name) | {"models": models} | changes
    return check(values, name, REPOSITORY, told.append), told


MINE = {"name": "mine", "path": "/models/mine"}


@pytest.mark.parametrize("models", [[MINE], ["small", "base", MINE]], ids=["instead", "besides"])
def test_ones_own_model_is_asked_every_suite_of_facts_of_ones_own(models):
    config, told = with_models("trex.yaml", models, facts="my_facts")
    own = {asking.suite for asking in config.asked() if asking.model == "mine"}
    assert own == {suite for suite, datasets in config.suites.by_name().items() if datasets}
    assert told == []


def test_suites_that_name_models_of_the_registry_alone_are_asked_of_whatever_models_there_are():
    values = read_yaml(REPOSITORY / "config" / "trex.yaml")
    values["suites"]["eic_lke"]["trex"]["models"] = ["small", "base"]
    told: list[str] = []
    config = check(values | {"facts": "f", "models": [MINE]}, "trex.yaml", REPOSITORY, told.append)
    assert Asking("mine", "eic_lke", "trex") in set(config.asked())
    assert told == ["eic_lke names small, base on trex, which this edition lacks; all its models are asked"]
    # Where one of them is there, the others are passed over.
    config = check(values | {"facts": "f", "models": ["small", MINE]}, "trex.yaml", REPOSITORY)
    assert [one.model for one in config.asked() if one.suite == "eic_lke"] == ["small"]
    assert config.suites.eic_lke["trex"].models == ("small",)


def test_the_demo_with_ones_own_models_alone_says_what_is_not_asked():
    config, told = with_models("config.yaml", [MINE])
    assert {asking.dataset for asking in config.asked()} == {"shipped"}
    assert config.suites.facteval["invented"].pairs == ()
    assert told == [
        f"no model is asked {', '.join(SUITES)} on invented; an invented world is asked only of models planted in it"
    ]
    assert with_models("config.yaml", ["base", MINE])[1] == [
        "facteval names instruct on invented, which this edition lacks; what needs them is left out"
    ]
    _, told = with_models("config.yaml", [])
    assert told == ["no model is named, so only the questions are made; name one with --config model=…"]


@pytest.mark.parametrize(
    ("text", "entry"),
    [
        ("/models/own", {"name": "own", "path": "/models/own"}),
        ("models/own/", {"name": "own", "path": "models/own/"}),
        ("/models/my model (2)", {"name": "my-model-2", "path": "/models/my model (2)"}),
        (
            f"owner/name.7b@{'0123456789' * 4}",
            {"name": "name.7b", "hub": "owner/name.7b", "revision": "0123456789" * 4},
        ),
        ("http://localhost:8000/v1", {"name": "localhost-8000", "api": "http://localhost:8000/v1"}),
        ("HTTP://localhost:8000/v1", {"name": "localhost-8000", "api": "HTTP://localhost:8000/v1"}),
        ("/models/été", {"name": "ete", "path": "/models/été"}),
        ("/models/模型", {"name": "model", "path": "/models/模型"}),
        ("medium", {"name": "medium", "path": None}),
    ],
)
def test_a_model_can_be_named_in_short(text, entry):
    config = check(GOOD | {"model": text}, "mine.yaml", REPOSITORY)
    assert len(config.models) == len(GOOD["models"]) + 1
    found = config.models[-1].model_dump()
    assert {key: found[key] for key in entry} == entry
    assert config.model is None, "what is recorded are the models"
    assert EditionConfig.model_validate(config.model_dump(mode="json")) == config


def test_a_name_that_is_not_the_folders_is_told(tmp_path):
    told = []
    folders = [tmp_path / name for name in ("modèle", "模型", "plain")]
    for folder in folders:
        folder.mkdir()
    (tmp_path / "known.yaml").write_text("chosen: {path: plain}")  # whoever wrote the registry has named it
    named = {"model": " ".join(map(str, [*folders, "chosen"])), "registry": str(tmp_path / "known.yaml")}
    check(GOOD | named, "mine.yaml", REPOSITORY, tell=told.append)
    named = f"models='[{{name: NAME, path: {folders[1]}}}]'"
    assert [line for line in told if "called" in line] == [
        f"the model in {folders[1]} is called model; to call it otherwise: {named}"
    ]


def test_a_base_that_is_no_model_is_named():
    """Else the comparison with it would just be missing."""
    steps = [{"name": "step-1000", "path": "/a"}, {"name": "step-2000", "path": "/b", "base": "step-100"}]
    message = refusal(GOOD | {"models": [*GOOD["models"], *steps]})
    assert "models.step-2000.base" in message and "did you mean step-1000?" in message
    steps[1]["base"] = "step-1000"
    assert check(GOOD | {"models": [*GOOD["models"], *steps]}, "mine.yaml", REPOSITORY)


def test_several_models_can_be_named_in_short(tmp_path):
    """Two checkpoints of two runs, a server, and one whose folder has a space in its name."""
    folders = [tmp_path / run / step for run, step in (("a", "step-1000"), ("b", "step-1000"), ("b", "step-2000"))]
    spaced = tmp_path / "my run" / "last step"
    for folder in (*folders, spaced):
        folder.mkdir(parents=True)
    text = " ".join(map(str, [*folders, "http://localhost:8000/v1"]))
    several = check(GOOD | {"model": text}, "mine.yaml", REPOSITORY).models[len(GOOD["models"]) :]
    assert [one.name for one in several] == ["a-step-1000", "b-step-1000", "b-step-2000", "localhost-8000"]
    *_, alone = check(GOOD | {"model": str(spaced)}, "mine.yaml", REPOSITORY).models
    assert (alone.name, alone.path) == ("last-step", str(spaced))
    *_, last, other = check(GOOD | {"model": f"{spaced} {folders[2]}"}, "mine.yaml", REPOSITORY).models
    assert [last.path, other.path] == [str(spaced), str(folders[2])]


def test_checkpoints_listed_stand_in_the_order_of_their_steps_too_each_run_in_its_places():
    names = ["last", "step-1000", "b-step-2", "step-90", "b-step-1", "base", "step-200"]
    models = [{"name": name, "path": f"/models/{name}"} for name in names]
    found = check(GOOD | {"models": [*GOOD["models"], *models]}, "mine.yaml", REPOSITORY).models
    ordered = ["last", "step-90", "b-step-1", "step-200", "b-step-2", "base", "step-1000"]
    assert [one.name for one in found[-len(names) :]] == ordered
    models[1]["parameters"] = True
    assert "models.step-1000.parameters: " in refusal(GOOD | {"models": [*GOOD["models"], *models]}), "not of another"


def test_checkpoints_named_in_short_stand_in_the_order_of_their_steps_and_other_models_where_they_were(tmp_path):
    """A shell lists step-1000, step-200, step-90."""
    names = ["last", "step-1000", "step-200", "step-90", "base"]
    for name in names:
        (tmp_path / name).mkdir()
    text = " ".join(str(tmp_path / name) for name in names)
    several = check(GOOD | {"model": text}, "mine.yaml", REPOSITORY).models[len(GOOD["models"]) :]
    assert [one.name for one in several] == ["last", "step-90", "step-200", "step-1000", "base"]


def test_the_settings_of_hundreds_of_checkpoints_fit_in_a_jobs_command():
    """Linux has 131,072 bytes for an argument, and for a variable of the environment."""
    steps = [{"name": f"step-{step}", "path": f"/models/mine/step-{step}"} for step in range(5000)]
    few = check({**GOOD, "models": [*GOOD["models"], *steps[:500]]}, "mine.yaml", REPOSITORY)
    assert len(few.model_dump_json()) > 131_072
    assert len(handed(few)) < 10_000
    assert given(handed(few)) == given(few.model_dump_json()) == few
    hub = [{"name": f"m{at}", "hub": "a/b", "revision": tables.identity(at)[:40]} for at in range(5000)]
    many = few.model_copy(update={"models": tuple(map(ModelConfig.model_validate, hub))})
    with pytest.raises(AlmanacError, match=r"models: 5000 are too many for one edition.*make several editions"):
        handed(many)


@pytest.mark.parametrize("between", [" ", ",", ", "])
def test_several_models_that_are_not_there_are_named_one_by_one(tmp_path, between):
    one, other = tmp_path / "one", tmp_path / "other"
    text = f"{one}{between}{other}"
    said = "; separate several models by spaces"
    assert f"model: there is no folder {one} and no folder {other}{said}" in refusal(GOOD | {"model": text})
    one.mkdir()
    if "," in between:
        assert f"there is no folder {other}{said}" in refusal(GOOD | {"model": f"{one},{other}"})
        other.mkdir()
        assert f"there is no folder {one},{other}{said}" in refusal(GOOD | {"model": f"{one},{other}"})


@pytest.mark.parametrize(("folder", "between"), [("", ","), ("/models/mien/", ","), ("/models/mien/", " ")])
def test_of_many_models_that_are_not_there_the_first_are_named(folder, between):
    """Together they are longer than a path can be."""
    names = [f"{folder}{'run' * 20}{step}" for step in range(120)]
    said = f"there is no folder {' and no folder '.join(names[:3])} and 117 more; separate several models"
    assert said in refusal(GOOD | {"model": between.join(names)})


@pytest.mark.parametrize("name", ["model.gguf", "models/model.gguf"])
def test_a_file_that_is_there_is_no_repository(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models").mkdir()
    (tmp_path / name).write_bytes(b"")
    assert in_short(name) == {"name": "model.gguf", "path": name}


@pytest.mark.parametrize("text", ["owner/name", "owner/name@main", "mine", f"owner/name@{'0' * 39}"])
def test_a_repository_in_short_needs_its_commit(text):
    message = refusal(GOOD | {"model": text})
    gone = f"mine.yaml: model: there is no folder {text} in {Path.cwd()}"
    assert f"{gone}; a repository of the Hugging Face hub is named with its" in message
    assert f"{text.partition('@')[0]}@COMMIT" in message


def test_an_address_with_a_password_is_refused_and_its_name_holds_none():
    message = refusal(GOOD | {"model": "http://me:secret@localhost:8000/v1"})
    assert "holds a user, a password or a query" in message and "secret" not in message
    with pytest.raises(AlmanacError) as without_scheme:
        checked_url("me:secret@localhost")
    assert "secret" not in str(without_scheme.value)


def test_own_facts_are_asked_every_suite_and_nothing_is_planted():
    config, told = with_models("own.yaml", [], model="/models/mine")
    assert asked_by_suite(config) == set(SUITES)
    assert told == [] and not config.planting.worlds
    assert config.source_folder("facts") == "resources/facts"


def test_the_facts_that_ship_have_their_terms_and_no_others_have_them(tmp_path):
    def terms(**values):
        config = load(REPOSITORY / "config" / "own.yaml", {"model": "/models/mine", **values})
        return config.sources["facts"].licence, config.sources["facts"].redistributable

    assert terms() == ("CC0-1.0", True)
    (tmp_path / "link").symlink_to(REPOSITORY / "resources" / "facts")
    assert terms(facts=str(tmp_path / "link")) == ("CC0-1.0", True)
    shutil.copytree(REPOSITORY / "resources" / "facts", tmp_path / "facts")
    assert terms(facts=str(tmp_path / "facts")) == (None, False), "nobody knows the terms of facts given instead"
    own = {"licence": "CC-BY-4.0"}
    assert terms(sources={"facts": own}) == ("CC-BY-4.0", False), "what is said of them stands"


def test_what_lies_in_a_directory_is_settled_when_the_configuration_is_read(tmp_path):
    header = b'{"w":{"dtype":"F32","shape":[3,5],"data_offsets":[0,60]}}'
    (tmp_path / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + bytes(60))
    models = [{"name": "mine", "path": str(tmp_path)}, {"name": "said", "path": str(tmp_path), "parameters": 7}, MINE]
    config = check(GOOD | {"models": models[:2], "drafting": None, "writing": None}, "mine.yaml", REPOSITORY)
    assert [model.parameters for model in config.models] == [15, 7]
    shutil.rmtree(tmp_path)
    again = EditionConfig.model_validate(config.model_dump(mode="json"))
    assert [model.size for model in again.models] == [15, 7]


def test_overrides_win(tmp_path, monkeypatch):
    monkeypatch.chdir(REPOSITORY)
    (tmp_path / "mine.yaml").write_text("edition: mine\nshards: 3\n")
    assert load(tmp_path / "mine.yaml").shards == 3
    assert load(tmp_path / "mine.yaml", {"shards": 5}).shards == 5


def test_a_key_of_a_group_is_set_anew_and_its_others_stay(tmp_path, monkeypatch):
    monkeypatch.chdir(REPOSITORY)
    (tmp_path / "mine.yaml").write_text("edition: mine\nplanting: {worlds: {one: {seed: 1}, two: {seed: 2}}}\n")
    worlds = load(tmp_path / "mine.yaml", {"planting": {"worlds": {"two": {"seed": 7}}}}).planting.worlds
    assert {name: one.seed for name, one in worlds.items()} == {"one": 1, "two": 7}


@pytest.mark.parametrize(
    ("suite", "own", "message"),
    [
        (
            "lke_sweep",
            {"models": ["bse"]},
            "suites.lke_sweep.nobel.models: there is no model 'bse'; did you mean base?",
        ),
        ("lke_sweep", {"examples": [0, 300]}, "suites.lke_sweep.nobel: 300 examples need as many train facts"),
        ("eic_lke", {"examples": 300}, "suites.eic_lke.nobel: 300 examples need as many train facts"),
        ("lke_separators", {"shots": 300}, "suites.lke_separators.nobel: 300 shots need as many train facts"),
        ("lke_generated", {"shots": 300}, "suites.lke_generated.nobel: 300 shots need as many train facts"),
        ("facteval", {"pairs": ["long:tuned"]}, "suites.facteval.nobel.pairs: there is no model 'tuned'; there are"),
        ("lke_positions", {"pairs": 20}, "replaced is 40; at most half of the 20 pairs can be replaced"),
    ],
)
def test_an_experiment_that_cannot_be_asked_is_refused_before_any_job(suite, own, message):
    values = read_yaml(REPOSITORY / "config" / "nobel.yaml")
    values["suites"][suite] = {"nobel": own}
    with pytest.raises(AlmanacError, match=re.escape(message)):
        check(values, "mine.yaml", REPOSITORY)


def test_small_models_answer_all_that_they_are_asked_in_one_job():
    suites = {"ic_lke": {"real": {"shots": 4}, "one": {"shots": 4}}, "karr": {"real": {}}}
    tiny = {"name": "tiny", "path": "/models/tiny", "parameters": 1000, "suites": ["ic_lke"]}
    card = {"name": "card", "path": "/models/card", "parameters": 1000, "device": "cuda"}
    far = {"name": "far", "api": "http://localhost:1/v1", "api_model": "x", "suites": ["karr"]}
    values = GOOD | {"suites": suites, "models": [GOOD["models"][0], GOOD["models"][1], tiny, card, far]}
    config = check(values, "mine.yaml", REPOSITORY)
    assert config.answering_together() == ["small-one", "small-two", "tiny", "card", "far"]
    real = [("ic_lke", "real", "asked"), ("karr", "real", "asked")]
    assert Jobs(config, Layout(Path(), config)).together == {
        "small-one": [("ic_lke", "real", "asked"), ("ic_lke", "one", "asked"), ("karr", "real", "asked")],
        "small-two": real,
        "tiny": [("ic_lke", "real", "asked")],
        "card": real,
        "far": [("karr", "real", "asked")],
    }
    assert check(values | {"answer_together": 0}, "mine.yaml", REPOSITORY).answering_together() == []


def test_the_full_size_sets_every_sample_aside():
    def samples(**values):
        config = check(read_yaml(REPOSITORY / "config" / "own.yaml") | values, "own.yaml", REPOSITORY)
        return {own.sample for of in config.suites.by_name().values() for own in of.values() if hasattr(own, "sample")}

    assert samples() > {None} and samples(size="full") == samples(size="all") == {None}


def test_all_facts_but_the_examples_are_asked_where_that_is_said():
    own = read_yaml(REPOSITORY / "config" / "own.yaml") | {"model": "/models/mine"}
    for test, asked in ((32, 10_000), (20_000, 20_000)):
        own["datasets"]["facts"]["test"] = test
        found = check(own | {"size": "all"}, "own.yaml", REPOSITORY).datasets["facts"]
        assert (found.test, found.train) == (asked, 8)


def test_bars_refer_to_the_largest_planted_decoder_where_the_one_that_is_named_is_not_there():
    """Not to a masked model, a null, or one that read other kinds of documents, whatever their size."""
    demo = read_yaml(REPOSITORY / "config" / "config.yaml")
    told: list[str] = []
    found = check(demo | {"models": ["small", "prose", "medium", "masked", "base-null"]}, "it", REPOSITORY, told.append)
    assert found.validation.reference == "medium"
    assert "validation.reference is base, no planted decoder here; its bar is applied to medium instead" in told
    told.clear()
    assert check(demo, "it", REPOSITORY, told.append).validation.reference == "base"
    with pytest.raises(AlmanacError, match=r"validation.reference: there is no model 'larg'; did you mean large\?"):
        check(demo | {"validation": {"reference": "larg"}}, "it", REPOSITORY)
    nobody = check(demo | {"models": ["masked"], "suites": {"karr": {"invented": {}}}}, "it", REPOSITORY, told.append)
    assert (nobody.validation.reference, "validation" in " ".join(told)) == ("base", False)


def test_only_the_suites_that_are_named_are_asked():
    own = read_yaml(REPOSITORY / "config" / "own.yaml") | {"model": "/models/mine"}
    for only in ("karr ic_lke", ["karr", "ic_lke"]):
        found = check(own | {"only": only}, "own.yaml", REPOSITORY)
        assert [one.suite for one in found.asked()] == ["ic_lke", "karr"]
    assert found.settled() == found
    with pytest.raises(AlmanacError, match=r"only: there is no suite 'kar'; did you mean karr\?"):
        check(own | {"only": "kar"}, "own.yaml", REPOSITORY)
    with pytest.raises(AlmanacError, match=r'put spaces between suites: SUITES="ic_lke karr", or --suites ic_lke karr'):
        check(own | {"only": "ic_lke, karr"}, "own.yaml", REPOSITORY)


def test_what_is_said_of_the_full_size_is_what_own_yaml_draws_of_the_facts_that_ship(tmp_path):
    drawn = load(REPOSITORY / "config" / "own.yaml", {"model": "/models/mine"}).datasets["facts"]
    words = shlex.split(to_flags(drawn, DatasetOptions))
    facts = str(REPOSITORY / "resources" / "facts")
    assert main(["build", "dataset", "--facts", facts, *words, "--output", str(tmp_path / "drawn")]) == 0
    splits = [fact.split for fact in tables.read(tmp_path / "drawn" / "facts.parquet", Fact)]
    assert (len(splits), splits.count("test"), splits.count("train")) == (7041, 1248, 312)
    assert (drawn.test, drawn.train) == (32, 8)
    for name in ("README.md", "config/own.yaml"):
        said = " ".join((REPOSITORY / name).read_text(encoding="utf-8").replace("\n#", " ").split())
        assert "up to 32 test facts of each relation" in said and "1,248 of the 7,041" in said, name
    assert "up to 32 test facts of each relation" in (REPOSITORY / "Makefile").read_text(encoding="utf-8")


def test_a_long_name_of_a_folder_keeps_its_end_where_the_step_is(tmp_path):
    named = in_short(f"{tmp_path}/{'x' * 200}-step-10")["name"]
    assert len(named) == 100 and named.endswith("x-step-10")


def test_a_suite_that_is_asked_nothing_is_not_recorded():
    """Which suites are installed today is nothing of an edition: with another installed it is the same to the byte."""
    config = EditionConfig.model_validate(GOOD)
    recorded = config.model_dump(mode="json")
    assert recorded["suites"].keys() == GOOD["suites"].keys()
    assert EditionConfig.model_validate(recorded) == config


def test_the_record_of_an_edition_is_a_configuration():
    recorded = sealed(check(GOOD, "mine.yaml", REPOSITORY).model_dump(mode="json"))
    assert check(recorded, "edition.json", REPOSITORY) == check(GOOD, "mine.yaml", REPOSITORY)
