"""A frozen edition that names files of its user's is verified where none of them is, and reads nobody else's."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import torch
from tests.edition.forging import members_of, mended
from tests.models.tiny_networks import llama
from tests.models.tiny_tokenizers import byte_level
from tests.report import editions

from almanac import read_edition, tables
from almanac.cli import main
from almanac.config import EditionConfig, check
from almanac.config.inputs import check_inputs
from almanac.edition.archive import ELSEWHERE, FILES, portable
from almanac.edition.manifest import MANIFEST, digest
from almanac.models import wrappers
from almanac.models.answering import LocalAnswerer
from almanac.models.options import AnswerOptions
from almanac.models.registry import load
from almanac.options import OnDisk, places
from almanac.rows import Measure
from almanac.sources.files import read_folder
from almanac.suites.belief.lemmas import by_rule, texts_of

PACKAGE = Path(__file__).resolve().parents[2] / "workflow"
RELATION, TEMPLATE = "made", "[X] was made by [Y]."
# As a stranger's files of the same names might be: a verification that read them would come to other numbers.
DECOYS = {"phrases.yaml": "version: 9\nphrases: [nothing]\n", "official.txt": "nothing\n", "mine.yaml": "no: wrapper\n"}
# Runs a command and says at the end which files it has opened.
WATCHED = """
import json, os, sys
opened = []
def note(event, given):
    if event == "open" and isinstance(given[0], (str, os.PathLike)) and os.path.isfile(given[0]):
        opened.append(os.path.abspath(given[0]))
sys.addaudithook(note)
from almanac.cli import main
status = main(json.loads(sys.argv[1]))
print(json.dumps([status, opened]))
"""


def write(path, *rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))


def checkpoint(folder, layers):
    torch.manual_seed(layers)
    words = byte_level()
    llama(len(words), 512, num_hidden_layers=layers).save_pretrained(folder)
    words.save_pretrained(folder)


def users_files(home):
    """Write everything that a configuration can name into a home folder."""
    facts = [{"relation_id": RELATION, "subject_id": f"Q{at}", "object_id": f"O{at % 12}"} for at in range(60)]
    things = [f"Q{at}" for at in range(60)] + [f"O{at}" for at in range(12)]
    write(home / "facts" / "facts.jsonl", *facts)
    write(home / "facts" / "entities.jsonl", *({"entity_id": one, "label": f"thing {one}"} for one in things))
    styles = {"statement": TEMPLATE, "question": "Who made [X]?"}
    templates = [{"relation_id": RELATION, "text": text, "style": style} for style, text in styles.items()]
    write(home / "facts" / "templates.jsonl", *templates)
    shutil.copytree(home / "facts", home / "more")
    draft = {"template_id": "made/drafted/1", "relation_id": RELATION, "text": "[X] is from [Y].", "style": "statement"}
    write(
        home / "drafts.jsonl", draft | {"parent_id": None, "count": 1, "agreement": 1, "verdict": "keep", "reason": ""}
    )
    prompt = {"kind": "hgp", "text": "[X] comes from [Y]"}
    write(home / "prompts.jsonl", prompt | {"relation_id": RELATION}, prompt | {"relation_id": "strange"})
    ids = [f"{one['relation_id']}|{one['subject_id']}|{one['object_id']}" for one in facts]
    write(home / "labels.jsonl", *({"item": one, "rater": "r", "value": "known", "note": None} for one in ids))
    write(home / "objects.jsonl", {"relation_id": RELATION, "object": "thing O3"})
    question = {"relation_id": RELATION, "style": "wh", "verdict": "keep", "reason": None}
    questions = [question | {"fact_id": one, "text": f"Whose is thing {one.split('|')[1]}?"} for one in ids]
    write(home / "written.jsonl", *questions)
    wording = {"template_id": "b", "relation_id": RELATION, "text": "Who made [X]? [Y].", "style": "question_answer"}
    write(home / "belief.jsonl", wording | {"origin": "own", "parent_id": None, "entails": []})
    write(home / "lemmas.jsonl", {"text": "things", "lemmas": ["thing"]})
    write(home / "guessed.jsonl", {"relation_id": RELATION, "subject_id": "Q0"})
    (home / "phrases.yaml").write_text("version: 1\nphrases: [a, b, c]\n")
    (home / "official.txt").write_text("e\n")
    wrapper = '{source: own, text: "[CONTEXT][INSTRUCTION][OPTIONS] [INPUT] ="}'
    (home / "mine.yaml").write_text(f"own: {wrapper}\n")
    (home / "models.yaml").write_text(f"small: {{path: {home}/small, series: tiny, wrapper: '{home}/mine.yaml:own'}}\n")
    for name, layers in {"small": 1, "large": 2, "embedder": 1, "tokenizer": 1}.items():
        checkpoint(home / name, layers)


SETTINGS = {
    "edition": "mine",
    "facts": "~/more",
    "registry": "~/models.yaml",
    "contact": "somebody@example.org",
    "sources": {
        "own": {"path": "~/facts", "licence": "CC0-1.0", "redistributable": True},
        "more": {},
        "births": {"kind": "google_re", "path": "~/downloads"},
    },
    "datasets": {
        "own": {"source": "own", "drafts": "~/drafts.jsonl", **editions.SIZES},
        "more": {"source": "more", **editions.SIZES},
    },
    "suites": {
        "ic_lke": {"own": {"shots": 2, "sample": 6}},
        "lke_prompts": {"own": {"published": "~/prompts.jsonl", "sample": 2, "prompts": 1, "kinds": []}},
        "belief": {
            "own": {
                "file": "~/belief.jsonl",
                "lemmas": "~/lemmas.jsonl",
                "guessed": "~/guessed.jsonl",
                "sample": 2,
                "groups": 1,
            }
        },
        "karr": {
            "own": {
                "labels": "~/labels.jsonl",
                "spurious_objects": "~/objects.jsonl",
                "sample": 2,
                "modes": ["paper"],
                "null": False,
                "baselines": False,
            }
        },
        "facteval": {
            "own": {
                "types": ["saq"],
                "styles": ["wh"],
                "sample": 3,
                "answer_tokens": 4,
                "written": "~/written.jsonl",
                "abstentions": "~/phrases.yaml",
                "official_abstentions": "~/official.txt",
                "embedder": "embedder",
            }
        },
    },
    "models": [
        "small",
        {"name": "large", "path": "~/large", "series": "tiny", "suites": ["ic_lke"]},
        {"name": "embedder", "path": "~/embedder", "family": "encoder", "suites": []},
        {"name": "far", "api": "http://localhost:1/v1", "api_tokenizer": "~/tokenizer", "suites": []},
    ],
    "shards": 1,
}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """The home folder of the edition's user, as long as the edition is made."""
    home = tmp_path_factory.mktemp("homes") / "someone"
    users_files(home)
    (home / "downloads").mkdir()
    (home / "downloads" / "data.zip").write_bytes(b"")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        yield home


@pytest.fixture(scope="module")
def config(home):
    config = check(SETTINGS, "mine.yaml", home)
    check_inputs(config, home / "results")
    return config


@pytest.fixture(scope="module")
def layout(home, config, tmp_path_factory):
    """The edition, made by the commands of the workflow and answered by the user's own models."""
    root = tmp_path_factory.mktemp("results")
    found = read_folder(home / "facts", "own")
    known = editions.Known(found.relations, found.facts, found.entities, found.templates)
    layout = editions.asked(root, config.model_dump(mode="json"), known)
    words = ["--licence", "CC0-1.0", "--redistributable", "--output", str(root / "sources" / "own")]
    assert main(["pull", "files", "--from", str(home / "facts"), *words]) == 0
    answerers = {
        one.name: LocalAnswerer(load(one.path, AnswerOptions(family=one.family, device="cpu", wrapper=one.wrapper)))
        for one in config.models
        if one.path is not None
    }
    editions.answered(layout, answerers.get)
    write(home / "lemmas.jsonl", *({"text": text, "lemmas": by_rule(text)} for text in texts_of(root)))
    return editions.measure(layout)


@pytest.fixture(scope="module")
def archive(layout, tmp_path_factory):
    path = tmp_path_factory.mktemp("frozen") / "mine.zip"
    assert main(["freeze", "--edition", str(layout.root), "--output", str(path)]) == 0
    return path


def named_keys(kind):
    """Every setting of the configuration's types that names what lies on the user's disk."""
    found, waiting = set(), [kind]
    while waiting:
        one = waiting.pop()
        for name, field in one.model_fields.items():
            if any(isinstance(mark, OnDisk) for mark in field.metadata):
                found.add(name)
            waiting += [inner for inner in inner_types(field.annotation) if inner not in waiting]
    return found


def inner_types(annotation):
    """The groups of settings in a field's type."""
    if isinstance(annotation, type):
        return [annotation] if hasattr(annotation, "model_fields") else []
    return [found for part in getattr(annotation, "__args__", ()) for found in inner_types(part)]


def test_the_edition_uses_every_key_that_names_a_file_or_a_folder(config):
    assert {place.way[-1] for place in places(config)} == named_keys(EditionConfig)
    assert len(list(places(config))) == 19


def test_it_verifies_where_nothing_of_its_user_is(home, archive, layout, tmp_path):
    """In another folder, with another home, its user's files gone and a stranger's of the same names there."""
    across = tables.read(layout.between("across"), Measure)
    sizes = {(row.model, row.other) for row in across if row.metric == "subsumption_size"}
    assert sizes == {("small", "large")}, "what depends on the models' sizes is there"
    assert any(row.metric == "bertscore_f1" for row in across), "what the embedder compared is there"
    there, gone = tmp_path / "there", home.with_name("gone")
    (there / "home").mkdir(parents=True)
    for folder in (there, there / "home"):
        checkpoint(folder / "small", 2)
        for name, text in DECOYS.items():
            (folder / name).write_text(text)
    shutil.copy(archive, there / "mine.zip")
    home.rename(gone)
    try:
        ran = subprocess.run(
            [sys.executable, "-c", WATCHED, json.dumps(["verify", "edition", "mine.zip"])],
            cwd=there,
            env=os.environ | {"HOME": str(there / "home"), "PYTHONPATH": str(PACKAGE)},
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        gone.rename(home)
    status, opened = json.loads(ran.stdout.splitlines()[-1])
    assert status == 0, ran.stderr
    assert "and the validation, measured again, agree" in ran.stdout
    assert {path for path in opened if path.startswith((str(there), str(home)))} == {str(there / "mine.zip")}


def strings(value):
    """All texts of a JSON value."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [value] if isinstance(value, str) else [text for one in inner for text in strings(one)]


def test_no_member_holds_a_path_of_its_user(home, archive):
    with zipfile.ZipFile(archive) as frozen:
        for name in frozen.namelist():
            content = frozen.read(name)
            assert str(home.parent).encode() not in content, name
            assert home.name.encode() not in content, name
        settings = json.loads(frozen.read("edition.json"))
    assert "somebody@example.org" not in json.dumps(settings)
    assert not [text for text in strings(settings) if text.startswith(("/", "~"))]


def test_the_content_of_files_travels_and_of_folders_the_name_alone(home, archive, config):
    with zipfile.ZipFile(archive) as frozen:
        settings = json.loads(frozen.read("edition.json"))
        carried = {Path(name).name: frozen.read(name) for name in frozen.namelist() if name.startswith(f"{FILES}/")}
    files = {place.path for place in places(config) if place.named.kind == "file"}
    assert carried == {Path(path).name: Path(path).read_bytes() for path in files}
    own = settings["suites"]["facteval"]["own"]
    assert own["abstentions"].startswith(f"{FILES}/") and own["abstentions"].endswith("/phrases.yaml")
    small, large, *_ = settings["models"]
    assert small["wrapper"].startswith(f"{FILES}/") and small["wrapper"].endswith("/mine.yaml:own")
    assert [small["path"], large["path"]] == [f"{ELSEWHERE}/small", f"{ELSEWHERE}/large"]
    assert 0 < small["parameters"] < large["parameters"] < 10**6
    assert settings["sources"]["own"]["path"] == f"{ELSEWHERE}/facts"


def forged(archive, target, key, path):
    """Write the archive again with another path in its configuration, and the manifest mended."""
    with zipfile.ZipFile(archive) as old:
        members = {name: old.read(name) for name in old.namelist()}
    settings, manifest = json.loads(members["edition.json"]), json.loads(members[MANIFEST])
    settings["suites"]["facteval"]["own"][key] = path
    members["edition.json"] = tables.canonical(settings).encode()
    for entry in manifest["files"]:
        if entry["path"] == "edition.json":
            content = members["edition.json"]
            entry |= {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    manifest["digest"] = digest(manifest)
    members[MANIFEST] = json.dumps(manifest).encode()
    with zipfile.ZipFile(target, "w") as new:
        for name, content in members.items():
            new.writestr(name, content)
    return str(target)


@pytest.mark.parametrize("path", ["/etc/hostname", "../../etc/hostname"])
def test_an_archive_that_names_what_lies_outside_is_refused(archive, tmp_path, capsys, path):
    assert main(["verify", "edition", forged(archive, tmp_path / "forged.zip", "abstentions", path)]) == 1
    said = capsys.readouterr().err
    assert "suites.facteval.own.abstentions: lies outside the edition, and nothing outside is read" in said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("sources/own/notes.txt", "is no part of an edition of this configuration"),
        ("phrases.yaml", "an edition has it"),
    ],
)
def test_files_beside_those_that_the_configuration_names_are_refused(archive, layout, tmp_path, capsys, name, said):
    def change(members, manifest):
        if "/" in name:
            members[name] = b"text"
            manifest["files"].append({"path": name})
        else:
            [gone] = [one for one in members if one.endswith(f"/{name}")]
            del members[gone]
            manifest["files"] = [entry for entry in manifest["files"] if entry["path"] != gone]

    assert main(["verify", "edition", mended(layout, members_of(archive), tmp_path / "forged.zip", change)]) == 1
    assert f"{name}: {said}" in capsys.readouterr().err


@pytest.mark.parametrize("content", [None, "no: wrapper\n"])
def test_a_finished_edition_is_read_without_the_file_of_a_wrapper(home, layout, tmp_path, capsys, content):
    wrappers.read.cache_clear()  # as in a process of its own
    (home / "mine.yaml").rename(home / "mine.gone")
    if content is not None:
        (home / "mine.yaml").write_text(content)
    try:
        assert len(read_edition(layout.root).findings)
        assert main(["freeze", "--edition", str(layout.root), "--output", str(tmp_path / "mine.zip")]) == 1
    finally:
        (home / "mine.gone").rename(home / "mine.yaml")
    said = "cannot be read" if content is None else "is not the file that the edition was made with"
    assert f"models.small.wrapper: {home / 'mine.yaml'}: {said}" in capsys.readouterr().err


def test_a_file_that_is_gone_is_named_when_the_edition_is_frozen(home, layout, tmp_path, capsys):
    (home / "phrases.yaml").rename(home / "phrases.gone")
    try:
        assert main(["freeze", "--edition", str(layout.root), "--output", str(tmp_path / "mine.zip")]) == 1
    finally:
        (home / "phrases.gone").rename(home / "phrases.yaml")
    assert f"suites.facteval.own.abstentions: {home / 'phrases.yaml'}: cannot be read" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("phrases.yaml", "suites.facteval.own.abstentions"),
        ("labels.jsonl", "suites.karr.own.labels"),
        ("drafts.jsonl", "datasets.own.drafts"),
    ],
)
def test_a_file_that_is_another_than_the_edition_was_made_with_is_refused(home, layout, tmp_path, capsys, name, key):
    kept = (home / name).read_bytes()
    (home / name).write_bytes(kept + b"\n")
    try:
        assert main(["freeze", "--edition", str(layout.root), "--output", str(tmp_path / "mine.zip")]) == 1
    finally:
        (home / name).write_bytes(kept)
    said = f"{key}: {home / name}: is not the file that the edition was made with, whose content it carries; run"
    assert said in capsys.readouterr().err and not (tmp_path / "mine.zip").exists()


def test_two_keys_that_name_one_file_carry_it_once(home, config):
    own = config.suites.facteval["own"].model_copy(update={"official_abstentions": str(home / "phrases.yaml")})
    suites = config.suites.model_copy(update={"facteval": {"own": own}})
    settings, carried = portable(config.model_copy(update={"suites": suites}))
    frozen = settings["suites"]["facteval"]["own"]
    assert frozen["abstentions"] == frozen["official_abstentions"]
    assert sum(name.endswith("/phrases.yaml") for name in carried) == 1
