"""The plan's numbers against sums by hand, and against what the rules ask a scheduler for."""

import csv
import json
from pathlib import Path

import pytest
import yaml

from almanac.cli import main
from almanac.config import EditionConfig, load
from almanac.config.reading import SHIPPED
from almanac.edition import costs as estimates
from almanac.edition.costs import TABLES, TRAINING, Size, by_model, costs, measured, sizes, spent, total
from almanac.errors import AlmanacError
from almanac.job_size import needs
from almanac.verbs import plan
from almanac.verbs.plan import overrides, remarks

REPOSITORY = Path(__file__).parents[1]
B = 1_000_000_000
VALUES = {
    "edition": "mine",
    "facts": "my_facts",
    "sources": {"mine": {}},
    "planting": {"worlds": {"one": {}, "two": {}}},
    "datasets": {
        "real": {"source": "mine", "train": 50, "test": 100, "choices": 10},
        "one": {"world": "one", "train": 50, "test": 20, "choices": 10},
    },
    "suites": {"ic_lke": {"real": {"shots": 50}, "one": {"shots": 50}}},
    "models": [
        {"name": "large", "hub": "owner/large", "revision": "unpinned", "parameters": 7 * B, "dtype": "bfloat16"},
        {"name": "tiny", "path": "tiny", "parameters": 10**6},
        {"name": "far", "api": "http://localhost:8000/v1"},
        {"name": "made", "planted": {}},
    ],
    "shards": 4,
}


def edition(**changes):
    return EditionConfig.model_validate(VALUES | changes)


def rows_of(config, model):
    return [row for row in costs(config) if row.model == model]


def test_a_large_model_takes_a_gpu_and_is_downloaded_once():
    [row] = rows_of(edition(), "large")
    # 50 relations: examples once, 100 facts with 10 choices of 8 tokens.
    assert row.tokens == 50 * (50 * 10 + 100 * 10 * 8)
    assert row.gpu_hours == pytest.approx(2 * 7e9 * row.tokens / 1e14 / 3600)
    assert row.core_hours == 0
    assert row.gpu_gib == pytest.approx(7e9 * 2 * 1.3 / 2**30)
    assert row.download_bytes == 14 * B


@pytest.mark.parametrize("card", [True, False])
def test_where_no_gpu_is_seen_the_plan_says_what_cores_take(monkeypatch, card):
    monkeypatch.setattr(plan, "gpu_seen", lambda: card)
    config = edition(models=[{"name": "large", "path": "large", "parameters": 7 * B}])
    hours = sum(row.core_hours for row in costs(config.model_copy(update={"gpus": 0})))
    said = "\n".join(remarks(config, costs(config), {}, []))
    assert (f"No GPU is seen here; without one it would take {hours:,.1f} core hours." in said) is not card


def test_without_gpus_the_same_model_takes_a_core():
    [row] = rows_of(edition(gpus=0), "large")
    assert (row.gpu_hours, row.gpu_gib) == (0, 0)
    each = estimates.TOKEN + 2 * 7e9 / estimates.OPERATIONS
    assert row.core_hours == pytest.approx((4 * estimates.START + row.tokens * each) / 3600), "4 shards, each a process"


def test_a_server_takes_no_time_of_ours_and_a_folder_is_not_downloaded():
    [far] = rows_of(edition(), "far")
    assert (far.gpu_hours, far.core_hours, far.download_bytes) == (0, 0, 0)
    assert far.tokens > 0
    [tiny] = rows_of(edition(), "tiny")
    assert (tiny.gpu_hours, tiny.download_bytes) == (0, 0)
    assert tiny.core_hours > 0


def test_a_recipe_is_trained_in_every_world_and_asked_of_its_own():
    names = [(row.model, row.suite, row.dataset) for row in costs(edition()) if row.model.startswith("made")]
    assert names == [
        ("made-one", TRAINING, "one"),
        ("made-one", "ic_lke", "real"),
        ("made-one", "ic_lke", "one"),
        ("made-two", TRAINING, "two"),
        ("made-two", "ic_lke", "real"),
    ]
    once, twice = (costs(edition(models=[{"name": "m", "planted": {"passes": n}}]))[0].tokens for n in (1, 2))
    assert twice == 2 * once


def test_sums_are_sums():
    models = [*VALUES["models"], VALUES["models"][0] | {"name": "other"}]
    rows = costs(edition(models=models))
    whole = total(rows)
    assert whole.tokens == sum(row.tokens for row in rows) == sum(row.tokens for row in by_model(rows))
    assert whole.gpu_hours == pytest.approx(sum(row.gpu_hours for row in rows))
    assert whole.gpu_gib == max(row.gpu_gib for row in rows)
    assert [row.model for row in by_model(rows)] == ["large", "tiny", "far", "made-one", "made-two", "other", TABLES]


@pytest.mark.parametrize("parameters", [10**8, 7 * B])
def test_a_scheduler_is_asked_for_more_than_the_plan_expects(parameters):
    config = edition(models=[{"name": "m", "path": "m", "parameters": parameters}], shards=1)
    row = rows_of(config, "m")[0]
    asked = needs(parameters, row.tokens, gpu=row.gpu_hours > 0)
    assert asked.runtime >= (row.gpu_hours + row.core_hours) * 60


def test_a_dataset_is_counted_where_its_facts_are_there(tmp_path, monkeypatch):
    """Of 30 facts each two relations qualify for 25, one has too few; 20 train facts leave 10 of each."""
    (tmp_path / "entities.csv").write_text("entity_id,label\n")
    rows = [f"r{n},s{at},o{at}" for n, count in enumerate((30, 30, 20)) for at in range(count)]
    (tmp_path / "facts.csv").write_text("\n".join(["relation_id,subject_id,object_id", *rows]) + "\n")
    dataset = {"source": "mine", "min_facts": 25, "min_objects": 5, "train": 20, "test": 50, "choices": 5}
    config = edition(facts=str(tmp_path), datasets={"real": dataset}, suites={}, planting={}, models=[])
    assert sizes(config) == {"real": Size(2, 10, True)}
    trex = {"kind": "trex", "form": "tables", "path": str(tmp_path), "relations": ["P1"]}
    tables = edition(sources={"mine": trex}, contact="a@b.org", datasets={"real": dataset}, suites={}, models=[])
    assert sizes(tables) == {"real": Size(2, 10, True)}, "of tables all relations are read"
    assert sizes(edition())["real"] == Size(50, 100, False)
    assert sizes(edition())["one"] == Size(10, 20, True)
    assert sizes(edition(planting={"worlds": {"one": {"relations": 3}, "two": {}}}))["one"] == Size(3, 20, True)
    alone = {"real": dataset | {"min_facts": 30, "train": 29}}
    (tmp_path / "facts.csv").write_text("\n".join(["relation_id,subject_id,object_id", *rows[:30]]) + "\n")
    one = edition(facts=str(tmp_path), datasets=alone, suites={}, planting={}, models=[])
    assert "Dataset real: 1 relation of 1 test fact (counted)." in remarks(one, [], {}, [])
    monkeypatch.setattr(estimates, "MOST_COUNTED", 99)
    assert not sizes(one)["real"].counted, "a larger file is not read"


def of_tiny(shards=1, **changes):
    """Return an edition of IC-LKE on one dataset and one small model."""
    return edition(
        models=[VALUES["models"][1] | changes],
        planting={},
        datasets={"real": VALUES["datasets"]["real"]},
        suites={"ic_lke": {"real": {"shots": 50}}},
        shards=shards,
    )


def answered(folder, config, seconds):
    """Write the record of such an edition, and the logs of its shards, each of which took so many CPU seconds."""
    logs = folder / "mine" / "logs" / "answer_together" / "tiny"
    logs.mkdir(parents=True, exist_ok=True)
    (folder / "mine" / "edition.json").write_text(config.model_dump_json())
    for shard in range(config.shards):
        place = f"results/mine/responses/tiny/ic_lke/real/asked/all/responses-{shard}.parquet"
        line = f"{place}: 9 requests: {{'ok': 9}}; {seconds:.3f} s CPU besides starting and loading\n"
        (logs / f"{shard}.log").write_text(line)
    return logs, place


def test_of_facts_with_a_split_the_test_facts_are_counted(tmp_path):
    """Of one relation 4 of 30 facts are test facts; of another none has a split, and 20 train facts leave 10."""
    split = [*["test"] * 4, *["train"] * 2, *[""] * 24]
    lines = [f"one,s{at},o{at},{own}\nother,s{at},o{at}," for at, own in enumerate(split)]
    (tmp_path / "entities.csv").write_text("entity_id,label\n")
    (tmp_path / "facts.csv").write_text("\n".join(["relation_id,subject_id,object_id,split", *lines]) + "\n")
    dataset = {"source": "mine", "min_facts": 25, "min_objects": 5, "train": 20, "test": 50, "choices": 5}
    config = edition(facts=str(tmp_path), datasets={"real": dataset}, suites={}, planting={}, models=[])
    assert sizes(config) == {"real": Size(2, 7, True)}


def test_what_has_run_here_says_what_work_costs_here(tmp_path):
    """An edition whose answers took three times what is assumed: the next is planned so."""
    config = of_tiny()
    [row] = rows_of(config, "tiny")
    expected = spent("ic_lke", 10**6, row.tokens, {})
    logs, place = answered(tmp_path, config, 3 * expected)
    factors, names = measured(tmp_path)
    assert names == ["mine"]
    assert factors == {"ic_lke": pytest.approx(3, rel=1e-3)}
    [slow] = [one for one in costs(config, factors) if one.model == "tiny"]
    assert (slow.core_hours - row.core_hours) * 3600 == pytest.approx(2 * expected, rel=1e-3)
    stays = f"{place} is there already, of these requests and this model; it stays\n"
    (logs / "0.log").write_text(f"{stays}{place}: 9 requests: {{'ok': 9}}\n")
    assert measured(tmp_path) == ({}, [])


@pytest.mark.parametrize("changes", [{"parameters": 7 * B}, {"device": "cuda"}, {"path": None, "api": "http://a:1/v1"}])
def test_what_ran_on_a_gpu_or_a_server_does_not_say_what_a_core_takes(tmp_path, changes):
    answered(tmp_path, of_tiny(**changes), 9)
    assert measured(tmp_path) == ({}, [])


def test_an_edition_whose_facts_cannot_be_read_any_more_is_passed_over(tmp_path):
    (tmp_path / "facts.csv").write_text("a,b\n1,2\n")
    lost = edition(facts=str(tmp_path / "facts.csv"))
    with pytest.raises(AlmanacError, match="lacks the column"):
        costs(lost)
    (tmp_path / "lost").mkdir()
    (tmp_path / "lost" / "edition.json").write_text(lost.model_dump_json())
    answered(tmp_path, of_tiny(), 5)
    assert measured(tmp_path)[1] == ["mine"]


def test_logs_of_shards_that_an_edition_has_no_longer_are_not_counted(tmp_path):
    answered(tmp_path, of_tiny(shards=2), 5)
    answered(tmp_path, of_tiny(), 10)
    [row] = rows_of(of_tiny(), "tiny")
    assert measured(tmp_path)[0]["ic_lke"] == pytest.approx(10 / spent("ic_lke", 10**6, row.tokens, {}))


def test_the_papers_plan_is_whole(tmp_path, capsys):
    words = [
        "plan",
        "--configfile",
        str(REPOSITORY / "config" / "papers" / "wu.yaml"),
        "--config",
        "contact=a@example.org",
    ]
    words += [f"registry={REPOSITORY / 'config' / 'papers' / 'wu_models.yaml'}", "--output", str(tmp_path / "plan.csv")]
    assert main(words) == 0
    shown = capsys.readouterr()
    assert len(shown.out.splitlines()) == 1 + 49 + 2
    assert "Not counted: the download of sources.trex" in shown.err
    rows = list(csv.DictReader((tmp_path / "plan.csv").open()))
    assert len({row["model"] for row in rows} - {TABLES}) == 49
    # Every parameter of the 49 checkpoints in two bytes.
    registry = yaml.safe_load((REPOSITORY / "config" / "papers" / "wu_models.yaml").read_text())
    stored = 2 * sum(entry["parameters"] for entry in registry.values())
    assert sum(int(row["download_bytes"]) for row in rows) == stored


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"models": [{"name": "gone", "path": "/no/such"}]}, "models.gone.path: there is no folder /no/such"),
        ({"facts": "/no/facts.csv"}, "facts: there is no file /no/facts.csv"),
        ({"facts": "/no/facts"}, "facts: there is no folder /no/facts"),
    ],
)
def test_what_a_run_would_miss_on_this_disk_is_refused(tmp_path, capsys, changes, said):
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump(VALUES | {"facts": str(SHIPPED), "models": []} | changes))
    assert main(["plan", "--configfile", str(path)]) == 1
    assert f"configuration of 'mine': {said}" in capsys.readouterr().err


def test_a_folder_of_editions_that_is_not_there_is_refused(tmp_path, capsys):
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump(VALUES | {"facts": str(SHIPPED), "models": []}))
    assert main(["plan", "--configfile", str(path), "--results", str(tmp_path / "nowhere")]) == 1
    assert f"--results: there is no folder {tmp_path / 'nowhere'}; name the one" in capsys.readouterr().err


def test_a_size_that_is_assumed_is_said():
    hub = {"name": "one", "hub": "owner/one", "revision": "unpinned"}
    config = edition(models=[hub, {"name": "two", "path": "two"}, VALUES["models"][0]])
    assert "Size of one, two assumed (7 B); set a model's `parameters: N` to give it." in remarks(config, [], {}, [])
    assert "Size of" not in "".join(remarks(edition(), [], {}, []))


@pytest.mark.parametrize("path", [None, "here"])
def test_a_dump_that_is_there_is_not_downloaded(path):
    sources = {"mine": {"kind": "google_re", "path": path}}
    config = edition(sources=sources, facts=None, contact="a@b.org", models=[])
    assert ("Not counted: the download of sources.mine" in "".join(remarks(config, [], {}, []))) is (path is None)


def test_what_a_server_charges_and_what_a_model_thinks_are_said_not_to_be_counted():
    far = {"name": "far", "api": "http://localhost:1/v1", "thinking_tokens": 9}
    said = "\n".join(remarks(edition(models=[far]), [], {}, []))
    assert "Not counted: the calls to far," in said and "Not counted: what far thinks before" in said
    assert "Not counted" not in "".join(remarks(edition(models=VALUES["models"][:1]), [], {}, []))
    alone = edition(models=[far])
    assert "Assumed, since" not in "".join(remarks(alone, costs(alone), {}, [])), "no number is made of it"


def test_keys_are_set_anew_as_in_snakemake(tmp_path, monkeypatch):
    path = tmp_path / "mine.yaml"
    models = [model for model in VALUES["models"] if "path" not in model]
    path.write_text(yaml.safe_dump(VALUES | {"facts": str(SHIPPED), "models": models}))
    out = tmp_path / "plan.json"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(plan, "measured", lambda results: ({"ic_lke": 3.0}, ["other"]))
    assert main(["plan", "--configfile", str(path), "--config", "gpus=0", "models=[]", "--output", str(out)]) == 0
    assert json.loads(out.read_text()) == []
    assert main(["plan", "--configfile", str(path), "--config", "gpus=0", "--output", str(out), "--by", "asking"]) == 0
    planned = costs(load(path, {"gpus": 0}), {"ic_lke": 3.0})
    assert [row["core_hours"] for row in json.loads(out.read_text())] == [row.core_hours for row in planned]
    # What YAML would read as a date, a time, a truth value or nothing is a text there.
    words = [
        "title=1:30",
        "contact=null",
        "edition=2026-01-01",
        "facts=yes",
        "suites={karr: {}}",
        "suites={belief: {}}",
    ]
    texts = {"title": "1:30", "contact": "null", "edition": "2026-01-01", "facts": "yes"}
    assert overrides(words) == texts | {"suites": {"karr": {}, "belief": {}}}


@pytest.mark.parametrize(
    "text",
    [
        "/runs/run #2",
        "0100",
        "1e3",
        "True",
        "a: b",
        "[a, b]",
        "&a",
        "/a\n/b",
        " /é😀 #2",
        "a\\b\udc80 #2",
        'it\'s "so"',
    ],
)
def test_a_model_and_facts_are_taken_as_they_are_given(text):
    """And not as YAML, where what follows " #" is a comment and 0100 a number; a text in quotes may be YAML's."""
    assert overrides([f"model={text}", f"facts={text}"]) == {"model": text, "facts": text}
    assert overrides(["model='/a b'", "facts="]) == {"model": "/a b", "facts": None}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--config", "gpus"], "--config: 'gpus' is no KEY=VALUE; give one like shards=4"),
        (["--config", "x.=1"], "--config: 'x.=1' is no KEY=VALUE; give one like shards=4"),
        (
            ["--config", "suites.ic_lke.own.shots=3"],
            "--config: 'suites.ic_lke.own.shots=3' has dots in its key; write the inner keys in braces: "
            "suites='{ic_lke: {own: {shots: 3}}}'\n",
        ),
        (["--config", "gpus={"], "gpus: must be a whole number"),
        (["--config", "gpu=1"], "gpu: is unknown; did you mean gpus?; see the keys allowed"),
        (["--output", "plan.txt"], "--output: plan.txt ends in '.txt'; allowed are .csv and .json"),
        (["--config", "shards=0"], "shards: must be at least 1"),
    ],
)
def test_a_wrong_plan_is_refused_with_its_reason(tmp_path, capsys, words, message):
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump(VALUES))
    assert main(["plan", "--configfile", str(path), *words]) == 1
    assert message in capsys.readouterr().err


def test_facts_with_a_misspelt_column_are_refused_and_not_counted_as_none(tmp_path, capsys):
    (tmp_path / "facts.csv").write_text("relation,subject_id,object_id\nP36,Q142,Q90\n")
    (tmp_path / "entities.csv").write_text("entity_id,label\n")
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump(VALUES | {"facts": str(tmp_path), "models": []}))
    assert main(["plan", "--configfile", str(path)]) == 1
    assert f"{tmp_path / 'facts.csv'}: lacks the column relation_id" in capsys.readouterr().err
