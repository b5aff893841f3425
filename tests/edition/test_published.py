"""An edition made again is held against what the project carries of it: the same, other weights, or another edition."""

import csv
import json
import shutil

import polars as pl
import pytest
import yaml

from almanac.cli import main
from almanac.edition import published
from almanac.edition.layout import Layout
from almanac.edition.manifest import digest, written
from almanac.errors import AlmanacError
from almanac.report.trust import EDITION


@pytest.fixture(scope="module")
def archive(small, tmp_path_factory):
    """A frozen edition, and what is published of it."""
    folder = tmp_path_factory.mktemp("published")
    assert not main(["freeze", "--edition", f"{small.root}", "--output", f"{folder}", "--publish", f"{folder / 'was'}"])
    [path] = folder.glob("*.zip")
    return path


@pytest.fixture
def held(archive, tmp_path, capsys):
    """Hold the archive against what was published of it, after some change to that; return the status and the lines."""

    def run(change=lambda folder: None):
        folder = tmp_path / "was"
        folder.mkdir()
        for path in (archive.parent / "was").iterdir():
            (folder / path.name).write_bytes(path.read_bytes())
        change(folder)
        status = main(["verify", "rebuild", f"{archive}", "--against", f"{folder}"])
        return status, capsys.readouterr()

    return run


def test_what_is_published_shows_the_figures_that_its_page_of_markdown_names(small, tmp_path):
    shutil.copytree(small.root, tmp_path / "e")
    layout, folder = Layout.open(tmp_path / "e"), tmp_path / "was"
    (layout.shown("tables") / "summary.md").write_text("## Found\n\n![Found](../figures/own-curve.svg)\n")
    (layout.shown("figures") / "own-curve.svg").write_text("<svg/>")
    published.publish(layout, {"almanac": "0", "digest": "0"}, folder)
    (folder / "of-an-earlier-state.svg").write_text("<svg/>")
    published.publish(layout, {"almanac": "0", "digest": "1"}, folder)
    assert (folder / "README.md").read_text().endswith("## Found\n\n![Found](own-curve.svg)\n")
    assert [(one.name, one.read_text()) for one in folder.glob("*.svg")] == [("own-curve.svg", "<svg/>")]


def test_no_folder_of_something_else_is_published_into(small, tmp_path):
    (tmp_path / "README.md").write_text("mine")
    with pytest.raises(AlmanacError, match=r"holds README.md, and no published edition; name a new folder"):
        published.publish(small, {"almanac": "0", "digest": "1"}, tmp_path)
    assert (tmp_path / "README.md").read_text() == "mine"


def altered(folder, start):
    """Say that a file was another when the edition was published."""
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    entry = next(one for one in manifest["files"] if one["path"].startswith(start))
    entry["sha256"] = "0" * 64
    manifest["digest"] = digest(manifest)
    path.write_bytes(written(manifest))
    return entry["path"]


def moved(folder, column, to):
    """Change the numbers of a column of the findings to what a function says of a row."""
    path = folder / "findings.csv"
    with path.open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    for row in rows:
        row[column] = to(row)
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, rows[0])
        writer.writeheader()
        writer.writerows(rows)


KNOWN = "known, of these relations"


def test_the_same_edition_agrees_to_the_digit(held):
    status, printed = held()
    assert (status, "almanac: " in printed.err) == (0, False)
    assert printed.out.count(", 0 of them differ") == 3 and "\n0 " not in printed.out
    assert printed.out.endswith("the rebuild agrees\n")


def test_where_the_answers_are_equal_every_number_is(held):
    status, printed = held(lambda folder: moved(folder, KNOWN, lambda row: float(row[KNOWN] or 0) + 1e-6))
    assert status == 1
    assert f"findings: base, invented, IC-LKE: {KNOWN}: " in printed.out


def test_other_weights_may_move_a_number_within_its_interval(held):
    def change(folder):
        altered(folder, "responses/")
        moved(folder, KNOWN, lambda row: row[f"{KNOWN}, low"])

    status, printed = held(change)
    assert (status, "1 of them differ" in printed.out) == (0, True)
    assert "published intervals, 0 of which" in printed.out


def test_other_weights_may_be_asked_something_else_in_a_later_round(held):
    def change(folder):
        altered(folder, "responses/")
        altered(folder, "requests/karr/invented/expected/base/")

    status, printed = held(change)
    assert (status, printed.out.count(", 2 of them differ")) == (0, 1)


def test_other_weights_may_not_move_most_numbers_out_of_their_intervals(held):
    def change(folder):
        altered(folder, "responses/")
        for column in (KNOWN, "known, of other relations", "above chance, of these relations"):
            for end in (", low", ", high"):
                moved(folder, column + end, lambda row: "0.99")

    status, printed = held(change)
    assert (status, "[0.99, 0.99]" in printed.out) == (1, True)
    assert printed.out.endswith("the rebuild differs\n")


@pytest.mark.parametrize("start", ["dataset/", "requests/"])
def test_what_is_asked_must_be_equal_whoever_answers(held, start):
    names = []
    status, printed = held(lambda folder: names.append(altered(folder, start)))
    assert (status, f"  {names[0]}\n" in printed.out) == (1, True)


def test_a_number_that_other_weights_do_not_have_is_told(held):
    def change(folder):
        altered(folder, "responses/")
        for end in ("", ", low", ", high"):  # of a row that has none of these in the rebuild
            moved(folder, f"null{end}", lambda row: "0.5")

    _, printed = held(change)
    assert "null: 0.5 [0.5, 0.5] was published, rebuilt it is None" in printed.out


def test_rows_of_one_name_meet_in_their_order(held):
    def change(folder):
        path = folder / "findings.csv"
        lines = path.read_text().splitlines(keepends=True)
        path.write_text("".join([*lines, lines[-1]]))

    status, printed = held(change)
    assert (status, printed.out.count("only in the published edition")) == (1, 1)
    assert printed.out.count("values of the published tables, 0 of them differ") == 1


def test_a_column_that_is_gone_is_told(held):
    def change(folder):
        path = folder / "findings.csv"
        path.write_text(path.read_text().replace("chance", "luck", 1))

    status, printed = held(change)
    assert (status, "column 'chance': only in the rebuild" in printed.out) == (1, True)
    assert "column 'luck': only in the published edition" in printed.out


def test_a_column_that_an_edition_published_before_does_not_have_is_told_and_is_no_difference(held):
    def change(folder):
        pl.read_csv(folder / "findings.csv", infer_schema=False).drop("p_unadjusted").write_csv(folder / "findings.csv")

    status, printed = held(change)
    assert (status, "findings: column 'p_unadjusted': only in the rebuild\n" in printed.out) == (0, True)


def test_a_row_that_is_gone_is_told(held):
    def change(folder):
        path = folder / "findings.csv"
        path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))

    status, printed = held(change)
    assert (status, ": only in the rebuild" in printed.out) == (1, True)


def test_a_published_edition_that_is_not_there_or_was_changed_is_refused(held, archive, capsys):
    assert main(["verify", "rebuild", f"{archive}"]) == 1
    assert "there is no published edition" in capsys.readouterr().err
    path = "manifest.json"
    status, printed = held(lambda folder: (folder / path).write_text((folder / path).read_text().replace("0.1.0", "9")))
    assert (status, "its files and fields give the digest" in printed.err) == (1, True)


def test_a_row_is_found_again_though_a_cell_of_its_key_is_empty():
    """The order of all methods has an empty level."""
    path, key = published.FOLDER / "almanac-2026.14" / "standings.csv", published.CARRIED["standings"][0]
    rows = published._read(path, key)
    assert rows.filter(pl.col("axis") == "all").height >= 15
    assert rows.join(rows, on=[*key, published.NTH], how="anti").is_empty()


def test_what_is_cited_is_the_edition_whose_tables_the_pages_show():
    """The digest stands in the README, for BibTeX, and in CITATION.cff."""
    root = published.FOLDER.parents[1]
    digest_of = published.manifest_of(published.FOLDER / EDITION)["digest"]
    readme = (root / "README.md").read_text("utf-8")
    [cited] = yaml.safe_load((root / "CITATION.cff").read_text("utf-8"))["references"]
    assert f"Digest \\url{{{digest_of}}}" in readme and f"**{cited['title']}**" in readme
    assert (cited["title"], cited["identifiers"][0]["value"]) == (EDITION.replace("almanac-", "Almanac "), digest_of)
    assert (root / "config" / f"{EDITION.replace('-', '_').replace('.', '_')}.yaml").is_file()
