"""An edition as pandas frames."""

import re
import shutil
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pandas
import pytest
from tests.models.tiny_networks import llama
from tests.models.tiny_tokenizers import byte_level
from transformers import BertConfig, BertModel

import almanac
from almanac.cli import main
from almanac.edition import notebook
from almanac.edition.archive import freeze
from almanac.edition.layout import Layout
from almanac.errors import AlmanacError

PUBLISHED = Path(__file__).resolve().parents[2] / "resources/editions/almanac-2026.14"
DOCUMENT, CHECKPOINTS = (
    (Path(__file__).resolve().parents[2] / "docs" / f"{name}.md").read_text(encoding="utf-8")
    for name in ("notebook", "checkpoints")
)


@pytest.fixture
def root(small):
    return small.root


def test_what_is_public_is_there_without_loading_it():
    assert set(almanac.__all__) == {"__version__", "measure", "read_edition", "shares"}
    assert dir(almanac) == sorted(almanac.__all__), "what a notebook offers to complete"
    with pytest.raises(AttributeError, match="no attribute 'read'"):
        almanac.read  # noqa: B018


def test_tables_are_frames_whose_numbers_are_those_of_the_edition(root):
    found = almanac.read_edition(root)
    assert found.name in repr(found) and found.models and found.datasets
    assert isinstance(found.findings, pandas.DataFrame)
    assert set(found.findings["model"]) == set(found.models)
    row = found.measures.query("metric == 'headline'").iloc[0]
    same = found.findings.query("model == @row.model and suite == @row.suite and dataset == @row.dataset")
    assert row.value in set(same["known"])
    items = found.outcomes(row.model, row.suite, row.dataset)
    assert len(items) >= row.n and {"item", "outcome", "hit", "relation"} <= set(items.columns)
    assert set(found.dataset(row.dataset)["fact_id"]) >= set(items["fact"].dropna())


def test_the_published_table_of_findings_has_the_p_of_each_test_as_the_frame_does(root):
    found, published = almanac.read_edition(root).findings, pandas.read_csv(root / "tables" / "findings.csv")
    assert found["p_unadjusted"].notna().any()
    columns = ["model", "method", "p", "p_unadjusted"]
    pandas.testing.assert_frame_equal(found[columns], published[columns])


def test_the_facts_that_a_method_calls_known_are_those_of_its_finding(root):
    found = almanac.read_edition(root)
    known = found.known
    assert set(known["model"]) == set(found.models)
    facts = found.dataset(found.datasets[0]).set_index("fact_id")
    names = found.dataset(found.datasets[0], "entities").set_index("entity_id")["label"]
    for row in found.findings.query("facts > 0").itertuples():
        own = known.query("model == @row.model and dataset == @row.dataset and method == @row.method")
        if row.verdict in ("format not taught", "mostly invalid answers"):  # its answers say nothing of facts
            assert own.empty
            continue
        assert len(own) == row.facts
        assert own.groupby("relation")["right"].mean().mean() == pytest.approx(row.known)
        assert list(own["known"]) == [share > 0.5 for share in own["right"]]
        assert list(own["subject"]) == [names[facts.loc[fact, "subject_id"]] for fact in own["fact"]]
    row = known.iloc[0]
    counted = known.groupby(["dataset", "model", "fact"])["known"].agg(["size", "sum"]).reset_index()
    pandas.testing.assert_frame_equal(  # of these the page says which facts all, some and no methods call known
        counted.set_axis(found.knowledge.columns, axis=1),
        found.knowledge.sort_values(["dataset", "model", "fact_id"], ignore_index=True),
        check_dtype=False,
    )
    items = found.outcomes(row.model, row.suite, row.dataset).query("fact == @row.fact")
    assert items["prediction"].notna().any()


def test_shares_in_groups_of_ones_own_are_those_of_the_page_and_of_its_rows(root):
    found = almanac.read_edition(root)
    known, keys = found.known, ["model", "dataset", "suite", "method"]
    whole = almanac.shares(known, [*keys, "where"])
    page = found.findings.merge(whole, on=keys, suffixes=("", " again")).query("known.notna()")
    assert len(page) == len(whole) > 2
    for name in ("known", "low", "high", "facts"):
        assert list(page[name]) == pytest.approx(list(page[f"{name} again"])), name
    known["long"] = known["object"].str.len() > known["object"].str.len().median()
    parts = almanac.shares(known, [*keys, "where", "long"])
    assert set(parts["long"]) == {True, False} and parts["facts"].sum() == whole["facts"].sum()
    assert almanac.shares(known, [*keys, "where", "model"]).equals(whole)
    row = parts.iloc[0]
    own = known.loc[(known[[*keys, "where", "long"]] == row[[*keys, "where", "long"]]).all(axis=1)]
    assert (
        row.known == pytest.approx(own.groupby("relation")["right"].mean().mean()) and row.low <= row.known <= row.high
    )
    with pytest.raises(AlmanacError, match=r"a group has several values of 'model', such as .* and .*; add it to by"):
        almanac.shares(known, ["method", "long"])
    with pytest.raises(AlmanacError, match="there is no column 'metod'; did you mean method"):
        almanac.shares(known, "metod")
    with pytest.raises(AlmanacError, match="'known' is a column of the result; rename yours"):
        almanac.shares(known, [*keys, "known"])
    with pytest.raises(AlmanacError, match="a fact occurs twice by one method of a model"):
        almanac.shares(pandas.concat([known, known.head(1)]), keys)


def test_where_nothing_is_answered_nothing_is_known_in_the_same_columns(root, monkeypatch):
    found = almanac.read_edition(root)
    columns = list(found.known.columns)
    monkeypatch.setattr(notebook, "called", lambda *_: ())
    assert len(found.known) == 0 and list(found.known.columns) == columns


def test_an_archive_is_read_as_its_folder_is(root, tmp_path):
    assert main(["freeze", "--edition", str(root), "--output", str(tmp_path / "e.zip")]) == 0
    folder, frozen = almanac.read_edition(root), almanac.read_edition(str(tmp_path / "e.zip"))
    for table in ("findings", "measures", "known", "between", "validation", "agreements", "knowledge"):
        pandas.testing.assert_frame_equal(getattr(folder, table), getattr(frozen, table), check_dtype=False)
    row = folder.measures.iloc[0]
    one, other = (edition.outcomes(row.model, row.suite, row.dataset) for edition in (folder, frozen))
    pandas.testing.assert_frame_equal(one, other, check_dtype=False)


def test_an_archive_that_was_unpacked_by_hand_is_refused_with_what_to_name(root, tmp_path):
    freeze(Layout.open(root), tmp_path / "e.zip")
    with zipfile.ZipFile(tmp_path / "e.zip") as archive:
        archive.extractall(tmp_path / "e")
    with pytest.raises(AlmanacError, match=r"2026.14: holds what is published of an edition .* not the edition;"):
        almanac.read_edition(PUBLISHED)
    assert {"model", "method", "verdict"} <= set(pandas.read_csv(PUBLISHED / "findings.csv").columns)
    with pytest.raises(AlmanacError, match=r"e: is an archive that was unpacked; name the archive itself"):
        almanac.read_edition(tmp_path / "e")


def test_what_is_not_there_is_named_with_what_is(root, tmp_path):
    found = almanac.read_edition(root)
    some = next(iter(found.measures.itertuples()))
    with pytest.raises(AlmanacError, match="there is no model 'nobody'"):
        found.outcomes("nobody", some.suite, some.dataset)
    with pytest.raises(AlmanacError, match=f"there is no suite '{some.suite}_'; did you mean {some.suite}"):
        found.outcomes(some.model, f"{some.suite}_", some.dataset)
    with pytest.raises(AlmanacError, match="there is no 'fact' of"):
        found.dataset(found.datasets[0], "fact")
    for table in ("findings", "known"):
        assert all(f"{column}, " in f"{found.describe(table)}, " for column in getattr(found, table))
    [*shared, own] = re.findall(r"^  (\S+): ", found.describe("outcomes"), re.MULTILINE)
    assert set(shared) <= set(found.outcomes(some.model, some.suite, some.dataset)) and own == "…"
    with pytest.raises(AlmanacError, match="there is no table 'x'"):
        found.describe("x")
    with pytest.raises(AlmanacError, match="is no edition"):
        almanac.read_edition(tmp_path)
    for table in ("facts", "measures"):
        frame = found.measures if table == "measures" else found.dataset(found.datasets[0], table)
        assert re.findall(r"^  (\S+): \S", found.describe(table), re.MULTILINE) == list(frame)


TEN_LINES = """
import almanac
from transformers import AutoModelForCausalLM, AutoTokenizer

model = AutoModelForCausalLM.from_pretrained("{path}")
tokenizer = AutoTokenizer.from_pretrained("{path}")
frame = almanac.measure(model, tokenizer, "ic_lke", sample=1)
headline = frame[frame.metric == "headline"]
"""


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    folder = tmp_path_factory.mktemp("notebook") / "tiny"
    tokenizer = byte_level()
    llama(len(tokenizer), 1024).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def test_ten_lines_from_a_model_and_the_facts_that_ship_to_a_frame(checkpoint):
    found = {}
    exec(TEN_LINES.format(path=checkpoint), found)
    [known] = found["headline"].to_dict("records")
    assert known["suite"] == "ic_lke" and 0 <= known["low"] <= known["value"] <= known["high"] <= 1
    assert known["n"] > 20, "a fact of each relation that ships"
    again = almanac.measure(checkpoint, None, "ic_lke", sample=1)
    pandas.testing.assert_frame_equal(again.drop(columns="model"), found["frame"].drop(columns="model"))


def test_the_blocks_of_the_document_run_as_printed(root, checkpoint, tmp_path, monkeypatch):
    shutil.copytree(root, tmp_path / "results" / "demo")
    shutil.copytree(checkpoint, tmp_path / "results" / "demo" / "models" / "base", dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    found, shown = {}, []
    for block in re.findall(r"```python\n(.*?)```", DOCUMENT, re.DOTALL):
        *lines, last = block.strip().splitlines()
        exec("\n".join([*lines, f"shown = {last}"]), found)
        shown.append(found["shown"])
    *_, groups, tested, items, measured = shown
    assert set(groups["name"]) == set(tested.index) and tested["p"].between(0, 1).all()
    assert len(items) and "headline" in set(measured["metric"])
    pivot = re.findall(r"```python\n(.*?)```", DOCUMENT, re.DOTALL)[1].strip()
    exec(
        pivot.replace("method == 'IC-LKE'", "method == 'ParaRel'").replace("\nknown[known", "\none = known[known"),
        found,
    )
    first, second = (found["by"].query("model == @name") for name in (found["first"], found["second"]))
    knows, misses = set(first.query("known")["fact"]), set(second.query("not known")["fact"])
    assert 0 < len(found["one"]) == len(knows & misses) <= len(knows)


def test_the_blocks_about_checkpoints_find_when_a_fact_was_learnt_for_good(tmp_path, monkeypatch):
    models = ["step-9", "step-10", "step-200"]  # in this order, which is not that of their letters
    answers = {"a": [1, 1, 1], "b": [1, 0, 1], "c": [0, 1, 1], "d": [1, 1, 0], "e": [0, 0, None]}
    rows = [
        {"method": "IC-LKE", "model": model, "relation": "r", "subject": subject, "object": "o", "known": bool(hit)}
        for subject, hits in answers.items()
        for model, hit in zip(models, hits, strict=True)
        if hit is not None
    ]
    edition = SimpleNamespace(models=models, known=pandas.DataFrame(rows))
    monkeypatch.setattr(almanac, "read_edition", lambda _: edition)
    monkeypatch.setattr(pandas.DataFrame, "plot", lambda self, **_: None)
    monkeypatch.chdir(tmp_path)
    times = "".join(f"r,{subject},o,{at}\n" for at, subject in enumerate("abcde"))
    (tmp_path / "times.csv").write_text(f"relation,subject,object,times\n{times}")
    found = {}
    for block in re.findall(r"```python\n(.*?)```", CHECKPOINTS, re.DOTALL):
        exec(block, found)
    never = "not learnt"
    assert found["learnt"].tolist() == ["step-9", "step-200", "step-10", never, never]
    assert found["lost"].tolist() == [False, False, False, True, False]
    assert found["share"].loc[:, "step-9"].tolist() == [1.0, 0.5], "a alone was never read; of b to e two are known"


def test_whatever_suite_is_asked_has_the_settings_of_make_own(checkpoint, capsys):
    found = almanac.measure(checkpoint, None, "eic_lke", sample=1)
    assert (set(found["model"]), set(found["dataset"])) == ({checkpoint.name}, {"facts"})
    assert capsys.readouterr().out == "", "a cell of a notebook has the frame alone"


def test_calls_of_several_threads_wait_for_each_other(checkpoint):
    before = sys.stdout
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(lambda _: almanac.measure(checkpoint, None, "ic_lke", sample=1), range(2))
    pandas.testing.assert_frame_equal(first, second)
    assert sys.stdout is before


def test_what_cannot_be_measured_so_is_refused_in_words(checkpoint, tmp_path, capsys):
    for words, message in [
        ({"suite": "karrr"}, "there is no suite 'karrr'; did you mean karr?"),
        ({"suite": "ic_lke", "shot": 3}, "ic_lke: there is no setting 'shot'; did you mean shots?"),
        ({"suite": "karr", "templates": "x"}, "karr: templates: "),
        ({"suite": "ic_lke", "models": ["base"]}, "ic_lke: there is no setting 'models'"),
        ({"suite": "karr", "spurious": True}, "karr: asks in several rounds with these settings"),
        ({"suite": "ic_lke", "facts": "nowhere"}, "there is no folder nowhere"),
        ({"suite": "ic_lke", "facts": pandas.DataFrame()}, "measure: facts: name a file or folder"),
        ({"suite": "ic_lke", "dataset": "facts"}, "measure: dataset: give settings of the dataset, such as"),
        ({"suite": "ic_lke", "dataset": {"min_fact": 3}}, "dataset: min_fact: is unknown; did you mean min_facts?"),
    ]:
        with pytest.raises(AlmanacError) as error:
            almanac.measure(checkpoint, None, **words)
        assert message in str(error.value)
    capsys.readouterr()
    rows = "".join(f"s{at},borders,o{at % 5}\n" for at in range(20))
    (tmp_path / "few.csv").write_text(f"subject,relation,object\n{rows}")
    with pytest.raises(AlmanacError, match="head_to_tail: nothing of these facts is asked; what is printed above"):
        almanac.measure(checkpoint, None, "head_to_tail", tmp_path / "few.csv")
    assert "borders" in capsys.readouterr().err
    (tmp_path / "two.csv").write_text(f"subject,relation,object\n{rows}Peru,continent,America\n")
    almanac.measure(checkpoint, None, "ic_lke", tmp_path / "two.csv", dataset={"train": 4}, shots=4)
    assert "left out, having too few facts or objects: continent" in capsys.readouterr().err
    with pytest.raises(AlmanacError, match="no relation has 30 facts"):
        almanac.measure(checkpoint, None, "ic_lke", tmp_path / "few.csv", dataset={"min_facts": 30})
    assert "0 of 1 relations qualify" in capsys.readouterr().err
    with pytest.raises(AlmanacError, match="needs its tokenizer"):
        almanac.measure(object(), None, "ic_lke")
    headless = BertModel(BertConfig(hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8))
    with pytest.raises(AlmanacError, match="measure: BertModel has no head that predicts tokens; load the checkpoint"):
        almanac.measure(headless, "a tokenizer, at which nobody looks", "ic_lke")
