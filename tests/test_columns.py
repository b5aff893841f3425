"""A row class is its schema; the refusals of rows that do not fit are in test_tables.py, where files are written."""

import dataclasses
import importlib
import inspect
import pkgutil
import re

import pyarrow as pa

from almanac import rows
from almanac.columns import columns, described, schema
from almanac.planting.corpus import Document
from almanac.rows import Agreement, Exposure, Item, Knowledge, Measure, Response
from almanac.schema import tables_text
from almanac.suites.listing import SUITES

ROWS = [kind for _, kind in inspect.getmembers(rows, dataclasses.is_dataclass)]
OWN = [kind for suite in SUITES.values() for at in ("asked", "judged") for kind in suite.tables(at).values()]


def test_every_row_class_has_a_key_made_of_its_columns():
    """Those of the suites' own tables too: a frozen edition describes each table by its key."""
    assert len(ROWS) > 15 and len(OWN) > 15
    for kind in (*ROWS, *OWN):
        assert kind.KEY
        assert set(kind.KEY) <= set(columns(kind))


def test_the_list_of_tables_has_every_column_of_every_suite():
    text = tables_text()
    for suite in SUITES.values():
        for name, own in suite.own.items():
            [part] = [one for one in text.split("\n## ") if one.startswith(f"`{name}`") and f"`{suite.name}`" in one]
            assert inspect.getdoc(own.row).partition("\n")[0] in part
            for column, meaning in described(own.row)[1].items():
                assert re.search(rf"^\| (\*\*)?`{column}`.* \| {re.escape(meaning)} \|$", part, re.MULTILINE)


def test_every_column_has_a_meaning_and_nothing_else_has():
    """In the list of tables, in the description of a frozen edition, and in a notebook's `describe`."""
    for kind in (*ROWS, *OWN, Document):
        assert list(described(kind)[1]) == columns(kind), kind
        said = inspect.getdoc(kind).partition("Attributes:")[2]
        assert set(re.findall(r"^    (\w+): ", said, re.MULTILINE)) <= set(columns(kind)), kind


def test_a_meaning_is_the_classs_own_or_that_of_every_table():
    assert described(Knowledge)[1]["model"] == "the model's name"
    assert described(Measure)[1]["where"].startswith("which items are counted, as JSON: conditions by columns")
    assert described(Agreement)[1]["kappa_low"] == "the lower limit of the 95 % interval of `kappa`"
    assert described(Measure)[1]["low"] == "the lower limit of its interval"


def test_every_row_class_of_a_topic_is_public():
    modules = [importlib.import_module(f"almanac.rows.{module.name}") for module in pkgutil.iter_modules(rows.__path__)]
    written = {name for module in modules for name, _ in inspect.getmembers(module, dataclasses.is_dataclass)}
    assert written == {kind.__name__ for kind in ROWS}
    assert written <= set(vars(rows))


def test_a_schema_knows_what_may_be_missing():
    found = {field.name: (str(field.type), field.nullable) for field in schema(Item)}
    assert found["template_id"] == ("string", True)
    assert found["experiment"] == ("string", False)
    assert columns(Exposure) == ["fact_id", "dose"]
    assert schema(Response).field("ranks").type == pa.list_(pa.field("element", pa.int64(), nullable=True))
