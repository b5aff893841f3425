"""No text of a configuration is run by a shell: each is refused with its key, or arrives as it was written."""

import copy
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from tests.models.tiny_networks import llama
from tests.models.tiny_tokenizers import byte_level
from tests.workflow.conftest import copy_project

from almanac.config import EditionConfig, check, given
from almanac.config.inputs import check_inputs
from almanac.errors import AlmanacError
from almanac.options import OnDisk, Options, _inner, places

REPOSITORY = Path(__file__).resolve().parents[2]
COMMIT = "0123456789" * 4
# What a shell, Python's formatting or Snakemake would take for its own.
MEANT = ("$(touch hit)", "; touch hit `touch hit`", "it's", 'a "word" *', "{word} {model}", "two\nlines  here")
ALL = " ".join(MEANT)
# In a path: the same but for braces and line breaks, which are refused there.
IN_PATH = 'a $(touch hit); touch hit `touch hit` it\'s "so" *'
NETWORK = {"kind": "wikidata", "relations": ["P36"]}
SOURCES = {
    "files": {"path": "facts"},
    "given": {},
    "wikidata": NETWORK,
    "dbpedia": {"kind": "dbpedia", "by": "sparql", "relations": ["capital"]},
    "openalex": {"kind": "openalex", "parts": ["part_000.gz"]},
    "dblp": {"kind": "dblp", "release": "2026-11-01"},
    "trex": {"kind": "trex", "relations": ["P36"]},
    "umls": {"kind": "umls", "relations": ["may_treat"]},
    "google_re": {"kind": "google_re", "path": "downloads"},
    **{kind: {"kind": kind} for kind in ("imdb", "goodreads", "mag", "biolama", "bear", "kamel", "lpaqa", "kassess")},
}
# Everything that can be set, and whatever must be there for it to be read.
WHOLE = {
    "edition": "mine",
    "facts": "facts",
    "contact": "me@example.org",
    "sources": SOURCES,
    "planting": {"worlds": {"one": {}}, "taught": {"dataset": "real", "facts": 4}},
    "datasets": {
        "real": {"source": "files", "drafts": "drafts.jsonl", "train": 50},
        "given": {"source": "given", "train": 50},
        "other": {"source": "wikidata", "train": 50},
        "one": {"world": "one", "train": 50},
    },
    "suites": {
        "ic_lke": {"real": {}},
        "lke_prompts": {"real": {"published": "prompts.jsonl"}},
        "eic_lke": {"real": {"examples": 24, "first": 16}},
        "lke_sweep": {"real": {}},
        "lke_separators": {"real": {}},
        "lke_positions": {"real": {"pairs": 24, "replaced": 6}},
        "lke_generated": {"real": {}},
        "karr": {
            "real": {"labels": "labels.jsonl", "spurious": True},
            "other": {"spurious_objects": "objects.jsonl"},
        },
        "facteval": {
            "real": {
                "written": "written.jsonl",
                "abstentions": "phrases.yaml",
                "official_abstentions": "official.txt",
                "embedder": "encoder",
                "pairs": ["mine:far"],
            }
        },
        "belief": {"real": {"file": "templates.jsonl", "lemmas": "lemmas.jsonl"}},
        "head_to_tail": {"real": {"judge": "far", "labels": "verdicts.jsonl", "unnatural": ["P36"]}},
    },
    "models": [
        {"name": "mine", "path": "checkpoint", "wrapper": "wrappers.yaml:own"},
        {"name": "encoder", "path": "checkpoint", "family": "encoder", "datasets": []},
        {"name": "far", "api": "http://far/v1", "api_tokenizer": "checkpoint", "api_generate_with": "completions"},
        {"name": "hub", "hub": "owner/name", "revision": COMMIT, "trust_remote_code": True},
        {"name": "planted", "planted": {}},
    ],
    "drafting": {"dataset": "real", "model": "mine"},
    "writing": {"dataset": "real", "model": "far"},
    "shards": 1,
}  # fmt: skip
# Records the arguments of a job's Python instead of running it.
RECORDER = """#!{python}
import json, sys
with open({log!r}, "a") as log:
    log.write(json.dumps(sys.argv) + "\\n")
"""
# Writes down the command of every job that Snakemake plans, after what it puts before all of them.
PLUGIN = """
import json, os
from snakemake.shell import shell
from snakemake_interface_logger_plugins.base import LogHandlerBase
class LogHandler(LogHandlerBase):
    writes_to_stream = writes_to_file = has_filter = has_formatter = needs_rulegraph = False
    def emit(self, record):
        command = getattr(record, "shellcmd", None)
        if command and "JOB_INFO" in repr(getattr(record, "event", "")):
            with open(os.environ["COMMANDS"], "a") as log:
                log.write(json.dumps(shell._process_prefix + command) + "\\n")
"""


def texts(found, way=()):
    """Every setting whose value is a text or a list of texts: the way to it, and whether it is a list."""
    if isinstance(found, Options):
        for name, field in type(found).model_fields.items():
            kind, several = _inner(field.annotation)
            if kind is str:
                yield (*way, name), several, any(isinstance(mark, OnDisk) for mark in field.metadata)
            else:
                yield from texts(getattr(found, name), (*way, name))
    elif isinstance(found, dict | tuple):
        for name, inner in found.items() if isinstance(found, dict) else enumerate(found):
            yield from texts(inner, (*way, name))


def changed(values, way, value):
    """Return a copy with one setting changed."""
    out = copy.deepcopy(values)
    holder = out
    for step in way[:-1]:
        holder = holder.setdefault(step, {}) if isinstance(holder, dict) else holder[step]
    holder[way[-1]] = value
    return out


HEADERS = {"facts": "relation_id,subject_id,object_id\nP,Q1,Q2\n", "entities": "entity_id,label\n"}


def users_files(folder, name=""):
    """Write what the configuration names, each under a name that may hold anything besides its own."""
    named = {key: folder / f"{name}{key}" for key in ("facts", "downloads", "checkpoint")}
    for path in named.values():
        path.mkdir()
    for table in ("facts", "entities"):
        (named["facts"] / f"{table}.csv").write_text(HEADERS[table])
    (named["downloads"] / "data.zip").write_bytes(b"")
    words = byte_level()
    llama(len(words)).save_pretrained(named["checkpoint"])
    words.save_pretrained(named["checkpoint"])
    lines = ("drafts", "prompts", "labels", "written", "templates", "lemmas", "verdicts", "objects")
    for file in (*(f"{line}.jsonl" for line in lines), "phrases.yaml", "official.txt"):
        (folder / f"{name}{file}").write_text("")
    (folder / f"{name}wrappers.yaml").write_text("own: {source: own, text: '[CONTEXT][INSTRUCTION][OPTIONS][INPUT]'}\n")
    (folder / f"{name}models.yaml").write_text("{}\n")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with what the configuration names, which is the working folder of these tests."""
    folder = tmp_path_factory.mktemp("named")
    users_files(folder)
    users_files(folder, IN_PATH)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield folder


@pytest.fixture(scope="module")
def keys(folder):
    return list(texts(check(WHOLE, "mine.yaml", folder)))


def test_the_configuration_has_every_setting_that_is_a_text(keys):
    """Held against the schema: each group of settings with a text in it is there."""
    groups = EditionConfig.model_json_schema()["$defs"] | {"": EditionConfig.model_json_schema()}
    wanted = {
        name
        for group in groups.values()
        for name, field in group.get("properties", {}).items()
        if "string" in re.findall(r"'type': '(\w+)'", str(field)) and "enum" not in str(field) and "const" not in field
    }
    assert wanted <= {way[-1] for way, _, _ in keys} | {"doses", "examples"}
    assert len(keys) > 100


def test_each_text_is_refused_with_its_key_or_taken_as_it_is(folder, keys):
    for way, several, is_path in keys:
        for text in MEANT:
            values = changed(WHOLE, way, [text] if several else text)
            try:
                config = check(values, "mine.yaml", folder)
                check_inputs(config, folder / "results")
            except AlmanacError as error:
                assert any(str(step) in str(error) for step in way), (way, text, error)
                continue
            assert not is_path or way[-1] in ("registry", "wrapper"), (way, text)
            found = config.model_dump()
            for step in way:
                found = found[step]
            assert found in (text, (text,)) or way == ("model",), (way, text, found)


@pytest.mark.parametrize("text", MEANT)
@pytest.mark.parametrize("group", ["sources", "datasets", "suites", "planting.worlds"])
def test_a_name_that_is_chosen_freely_holds_nothing_of_the_kind(folder, group, text):
    way = group.split(".")
    own = {"sources": {"path": "facts"}, "datasets": {"source": "files"}, "suites": {}, "worlds": {}}[way[-1]]
    with pytest.raises(AlmanacError, match=r"must have the form|is unknown"):
        check(changed(WHOLE, (*way, text), own), "mine.yaml", folder)


@pytest.fixture(scope="module")
def told(folder, keys):
    """The configuration in which every text that is taken holds all that a shell would run, each told by its number."""
    values, taken = WHOLE, {}
    named = {place.way: place for place in places(check(WHOLE, "mine.yaml", folder))}
    for number, (way, several, is_path) in enumerate(keys):
        text = f"{'http://' if way[-1] in ('endpoint', 'api') else ''}{number}@x {ALL}"
        if is_path:
            if way not in named or way[-1] == "registry":
                continue
            path = Path(named[way].path)
            text = str(path.with_name(f"{IN_PATH}{path.name}")) + named[way].rest
        tried = changed(values, way, [text] if several else text)
        try:
            check_inputs(check(tried, "mine.yaml", folder), folder / "results")
        except AlmanacError:
            continue
        values = tried
        taken[way] = text
    return values, taken


def test_a_project_in_a_folder_with_braces_is_told_to_move(tmp_path):
    project = copy_project(tmp_path / "a {word}" / "almanac")
    refused = project.snakemake("--dry-run")
    assert refused.returncode != 0
    assert f"almanac: {project.root}: holds a brace, which Snakemake reads as its own; rename it" in refused.stderr


@pytest.mark.whole
def test_whatever_is_taken_arrives_in_the_commands_as_it_is(fresh, folder, told, tmp_path):
    """Plans every job, and then lets a shell run each command with a Python that only records its arguments."""
    values, taken = told
    project = fresh()
    for one in folder.iterdir():
        (project.root / one.name).symlink_to(one)
    (project.root / "here.yaml").write_text(yaml.safe_dump(values))
    (tmp_path / "snakemake_logger_plugin_commands").mkdir()
    (tmp_path / "snakemake_logger_plugin_commands" / "__init__.py").write_text(PLUGIN)
    (tmp_path / "python").write_text(RECORDER.format(python=sys.executable, log=str(tmp_path / "ran")))
    (tmp_path / "python").chmod(0o755)
    environment = project.environment()
    environment["PYTHONPATH"] += f":{tmp_path}"
    pulls = [f"results/mine/sources/{name}/pull.json" for name in values["sources"]]
    words = ["snakemake", "--cores", "1", "--nolock", "--dry-run", "--logger", "commands", "--configfile", "here.yaml"]
    planned = subprocess.run(
        [*words, "--", "all", "drafting", "writing", "repull", *pulls],
        cwd=project.root, env=environment | {"COMMANDS": str(tmp_path / "commands")},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert planned.returncode == 0, planned.stdout + planned.stderr
    commands = [json.loads(line) for line in (tmp_path / "commands").read_text().splitlines()]
    assert len(commands) > 60
    run = {"PATH": f"{tmp_path}:{environment['PATH']}"}
    for command in commands:
        for log in re.findall(r"> ?(results/\S+)", command):
            (project.root / log).parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["bash", "-euc", command], cwd=project.root, env=environment | run, check=True)
    assert not list(project.root.rglob("hit")) and not list(folder.rglob("hit"))
    ran = [json.loads(line) for line in (tmp_path / "ran").read_text().splitlines()]
    assert len(ran) == len(commands)
    passed = [
        given(words[words.index("--settings") + 1]).model_dump(mode="json") for words in ran if "--settings" in words
    ]
    settings = passed[0]
    assert len(passed) > 2 and passed == [settings] * len(passed)
    arrived = {word for words in ran for word in words}
    for way, text in taken.items():
        found = settings
        for step in way if way != ("model",) else ():
            found = found[step]
        assert found in (text, [text]) or way == ("model",)
    assert {word for word in arrived if "touch hit" in word and not word.startswith("{")} <= set(taken.values())
    flags = {way for way, text in taken.items() if text in arrived}
    assert {way[-1] for way in flags} >= {"licence", "contact", "endpoint", "wrapper", "api_model", "path"}
    assert len(flags) > 30
