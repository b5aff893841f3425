"""An edition as pandas frames."""

import pandas
import pytest

import almanac
from almanac.cli import main
from almanac.errors import AlmanacError


@pytest.fixture
def root(small):
    return small.root


def test_what_is_public_is_there_without_loading_it():
    assert set(almanac.__all__) == {"__version__", "read_edition"}
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


def test_an_archive_is_read_as_its_folder_is(root, tmp_path):
    assert main(["freeze", "--edition", str(root), "--output", str(tmp_path / "e.zip")]) == 0
    folder, frozen = almanac.read_edition(root), almanac.read_edition(str(tmp_path / "e.zip"))
    for table in ("findings", "measures", "between", "validation"):
        pandas.testing.assert_frame_equal(getattr(folder, table), getattr(frozen, table), check_dtype=False)


def test_what_is_not_there_is_named_with_what_is(root, tmp_path):
    found = almanac.read_edition(root)
    with pytest.raises(AlmanacError, match="is not asked of nobody; asked are"):
        found.outcomes("nobody", "ic_lke", found.datasets[0])
    with pytest.raises(AlmanacError, match="there is no 'fact' of"):
        found.dataset(found.datasets[0], "fact")
    with pytest.raises(AlmanacError, match="there is no table 'x'"):
        found.describe("x")
    with pytest.raises(AlmanacError, match="is no edition"):
        almanac.read_edition(tmp_path)
    assert "``where``" in found.describe("measures") and "Columns: suite, dataset" in found.describe("measures")
