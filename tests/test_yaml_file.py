"""A YAML file is read whole or refused, with the file and the line: no part of it is dropped."""

from pathlib import Path

import pytest

from almanac.errors import AlmanacError, no_configuration
from almanac.locked import mistake_in
from almanac.yaml_file import read_yaml

REPOSITORY = Path(__file__).parents[1]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("suites:\n  karr: {}\nshards: 1\nsuites: {}\n", "the key suites is given in line 1 and again in line 4"),
        ("suites:\n  karr: {}\n  karr: {}\n", "the key karr is given in line 2 and again in line 3"),
        ("suites: {a: 1, a: 2}\n", "the key a is given in line 1 and again in line 1"),
        ("edition: mine\nmodels: [a,\n", "line 3, column 1"),
        ("edition: mine\n\tmodels: a\n", "line 2, column 1"),
        ("edition: mine\ntitle: 2020-13-45\n", "2020-13-45 in line 2 cannot be read (month must be in 1..12"),
        ("edition: mine\nshards: 0x_\n", "0x_ in line 2 cannot be read (invalid literal for int()"),
        pytest.param("edition: " + "[" * 3000, "stand too deep in each other; mend the line", id="brackets"),
        ("- a\n", "must hold keys and values, found list"),
        ("# nothing\n", "is empty; write keys and values into it"),
    ],
)
def test_a_file_of_which_a_part_would_be_lost_is_refused_before_snakemake_reads_it(tmp_path, text, said):
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(AlmanacError) as error:
        read_yaml(path)
    assert str(error.value).startswith(f"{path}: ") and said in str(error.value)
    assert mistake_in(["--cores", "1", "--configfile", str(path)]) == str(error.value)


def test_a_file_in_another_encoding_and_a_folder_are_named(tmp_path):
    (tmp_path / "mine.yaml").write_text("edition: mine\n", encoding="utf-16")
    said = mistake_in(["--configfile", str(tmp_path / "mine.yaml")])
    assert said == f"{tmp_path / 'mine.yaml'}: is no text in UTF-8 (invalid start byte); save it as UTF-8"
    assert mistake_in(["--configfile", str(tmp_path)]) == f"{tmp_path}: is a folder; name a configuration file"


def test_what_one_mapping_takes_over_from_another_is_not_given_twice(tmp_path):
    text = "one: &one {a: 1, b: 2}\ninner: {two: &two {<<: *one, a: 3}}\nthree: {<<: *two, b: 4}\n"
    (tmp_path / "mine.yaml").write_text(text)
    assert read_yaml(tmp_path / "mine.yaml")["three"] == {"a": 3, "b": 4}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("data/mine.yaml", "there is no configuration file data/mine.yaml; name one that is there"),
        ("config/nobell.yaml", "there is no configuration file config/nobell.yaml; did you mean config/nobel.yaml?"),
        ("nobel.yml", "there is no configuration file nobel.yml; did you mean config/nobel.yaml?"),
    ],
)
def test_another_configuration_is_offered_only_where_its_name_is_alike(monkeypatch, name, said):
    monkeypatch.chdir(REPOSITORY)
    assert no_configuration(Path(name)) == said
