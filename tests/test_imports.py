"""Who may know of whom: modules import downwards only, no suite is named outside itself, one module builds paths."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import almanac
from almanac.config import EditionConfig
from almanac.edition.layout import Layout
from almanac.suites.listing import ASKING, AUTHORS, SUITES

PACKAGE = Path(almanac.__file__).parent
BASE = {
    *("errors", "rows", "columns", "sealed", "tables", "frames", "options", "project", "punctuation", "unfinished"),
    *("weight_files", "yaml_file"),
}


def modules() -> dict[str, Path]:
    found = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()


def test_a_class_has_its_name_alone():
    written: dict[str, list[str]] = {}
    for name, path in MODULES.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                written.setdefault(node.name, []).append(name)
    assert len(written) > 300, "the classes of the package were not found"
    assert {name: where for name, where in written.items() if len(where) > 1} == {}


def imported(tree: ast.AST, known: set[str], nested: bool = True) -> set[str]:
    """The package's own modules that a module imports, anywhere in it or only when it is loaded."""
    found: set[str] = set()
    for node in ast.walk(tree) if nested else ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: a relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            inside = name.removeprefix("almanac").removeprefix(".")
            if name.split(".")[0] != "almanac":
                continue
            while inside not in known:
                inside = inside.rpartition(".")[0]
            found.add(inside)
    return found


@cache
def graph() -> dict[str, set[str]]:
    """What each module imports; read once, by the worker that runs these tests."""
    return {name: imported(ast.parse(path.read_text("utf-8")), set(MODULES)) for name, path in MODULES.items()}


def within(name: str, *packages: str) -> bool:
    return any(name == package or name.startswith(package + ".") for package in packages)


def breaches(of: str, *, but: tuple[str, ...] = (), never: tuple[str, ...] = ()) -> list[str]:
    """Imports of a package that it must not have: outside ``but``, where given, or inside ``never``."""
    return [
        f"{name} imports {target}"
        for name, targets in graph().items()
        if within(name, of)
        for target in sorted(targets - {""})
        if within(target, *never) or (but and not within(target, *but))
    ]


def test_the_package_is_found_whole():
    assert {"cli", "config", "tables", "dataset.multiple_choice", "models.registry", "suites.ic_lke.suite"} <= set(
        graph()
    )
    assert "rows" in graph()["dataset.multiple_choice"]
    assert "tables" in graph()["verbs.build"], "from almanac import tables"


def test_the_reader_of_imports_sees_every_form():
    source = "import almanac.tables\nfrom almanac import rows, __version__\n"
    source += "def f():\n    from almanac.models.registry import load\n"
    known = {"", "tables", "rows", "models", "models.registry"}
    assert imported(ast.parse(source), known) == {"", "tables", "rows", "models.registry"}
    assert imported(ast.parse(source), known, nested=False) == {"", "tables", "rows"}


def test_there_is_no_import_cycle():
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, "a cycle: " + " > ".join((*path[path.index(name) :], name))
        if name not in done:
            for target in graph()[name]:
                visit(target, (*path, name))
            done.add(name)

    for name in graph():
        visit(name, ())


FOLDERS = {name.split(".")[1] for name in MODULES if name.startswith("suites.") and name.count(".") > 1}
OUTER = ("cli", "__main__", "verbs", "report", "edition", "config", "job_size", "locked", "versions")
CONTRACT = {
    "errors": ("errors", "project"),
    "rows": ("rows",),
    "columns": ("columns", "errors"),
    "tables": ("tables", "columns", "sealed", "unfinished", "errors"),
    "frames": ("frames", "tables", "columns", "errors"),
    "options": ("options", "errors", "project"),
    "sources": ("sources", *BASE),
    "dataset": ("dataset", "sources", *BASE),
    "planting": ("planting", "dataset", "sources", *BASE),
    "models": ("models", "progress", *BASE),
    "statistics": ("statistics", *BASE),
    # records, checking: a table of any of several forms, and templates in it; lpaqa: prompts as they are published
    "suites": ("suites", "statistics", "dataset", "sources.records", "sources.checking", "sources.lpaqa", *BASE),
    "job_size": ("job_size", "errors"),
    "weight_files": ("weight_files",),
}


@pytest.mark.parametrize("package", CONTRACT)
def test_a_package_imports_only_what_lies_below_it(package):
    assert any(within(name, package) for name in graph())
    assert breaches(package, but=CONTRACT[package]) == []


@pytest.mark.parametrize("package", ["sources", "dataset", "planting", "models", "statistics", "suites"])
def test_nothing_below_knows_the_configuration_the_pages_or_the_command_line(package):
    assert breaches(package, never=OUTER) == []


def test_models_and_suites_never_meet():
    assert breaches("models", never=("suites", "dataset", "sources", "planting")) == []
    assert breaches("suites", never=("models", "planting")) == []


def test_planting_knows_no_suite_and_no_model():
    assert breaches("planting", never=("suites", "models")) == []


def test_pages_and_editions_run_no_model():
    assert breaches("report", never=("models", "planting", "verbs", "cli")) == []
    assert breaches("edition", never=("report", "verbs", "cli")) == []
    # What jobs are planned by: settings, and which wrappers there are.
    found = breaches("edition", never=("models", "planting"))
    assert [one for one in found if not one.endswith((".options", "models.wrappers"))] == []


def test_one_suite_does_not_know_another():
    assert FOLDERS
    for suite in FOLDERS:
        others = tuple(f"suites.{other}" for other in FOLDERS - {suite})
        assert breaches(f"suites.{suite}", never=others) == []


def test_the_list_alone_knows_the_suites():
    folders = tuple(f"suites.{folder}" for folder in FOLDERS)
    found = {name for name, targets in graph().items() for target in targets if within(target, *folders)}
    assert {name for name in found if not within(name, *folders)} == {"suites.listing"}


def test_the_configuration_needs_settings_only():
    # What lies on the user's disk is looked at by its files alone.
    allowed = ("config", "options", "errors", "job_size", "models.wrappers", "models.checkpoint", "models.digest")
    allowed += ("models.hub_cache", "project", "sealed", "weight_files", "yaml_file", "sources.files")
    allowed += ("suites.listing",)  # of the list: what can be asked, whose settings are keys
    assert [found for found in breaches("config", but=allowed) if not found.endswith(".options")] == []
    for name, targets in graph().items():
        if name.endswith(".options"):
            # `rows` for the words that a table has, such as the kinds of request
            assert {one for one in targets if not one.endswith(".options")} <= {"options", "errors", "rows"}, name


def test_the_command_line_loads_no_verb_before_it_runs():
    tree = ast.parse(MODULES["cli"].read_text("utf-8"))
    assert imported(tree, set(MODULES), nested=False) <= {"", "errors", "loading", "job_size"}
    assert not any(within(name, "verbs") for name in graph()["cli"])
    importers = [name for name, targets in graph().items() if any(within(target, "verbs") for target in targets)]
    assert importers == []


# No suite by its name, and no path, outside of the place that has it. Rules are read as text, without their comments.

RULES = [PACKAGE.parents[1] / "Snakefile", *sorted((PACKAGE.parents[1] / "rules").glob("*.smk"))]
TEMPLATES = sorted((PACKAGE / "report" / "templates").iterdir())


def literals(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Every text of a module but its documentation: docstrings, and the examples of a command."""
    documented = set()
    for node in ast.walk(tree):
        first = node.body[0] if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and node.body else None
        if isinstance(first, ast.Expr):
            documented.add(first.value)
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["EXAMPLES"]:
            documented.add(node.value)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in documented:
            yield node.lineno, node.value


def identifiers(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Every name of a module: of values, attributes, functions, classes, arguments and what is imported."""
    kinds = {ast.Name: "id", ast.Attribute: "attr", ast.FunctionDef: "name", ast.ClassDef: "name"}
    kinds |= {ast.arg: "arg", ast.keyword: "arg", ast.alias: "name"}
    for node in ast.walk(tree):
        found = getattr(node, kinds[type(node)], None) if type(node) in kinds else None
        if found is not None:
            yield getattr(node, "lineno", 0), found


def named(words: set[str]) -> re.Pattern[str]:
    """A pattern of whole words, whatever their case: `KarrOptions` and `KARR_1` have one, `writing` has no `writ`."""
    listed = "|".join(sorted(map(re.escape, words), key=len, reverse=True))
    return re.compile(
        rf"(?<![a-z])(?:{listed})(?![a-z])|(?<![A-Za-z])(?:{listed})(?=[A-Z])".replace(listed, f"(?i:{listed})")
    )


def suites_named(source: str, rule: bool = False) -> list[str]:
    """Where a module, or a rule, names a suite or an author; authors go by words of every day, so by literals alone."""
    labels = {one.label for one in SUITES.values() if re.search(r".[A-Z]", one.label)}  # no plain words
    of_suites = named({*SUITES, *labels, *FOLDERS - set(AUTHORS)})
    of_all = named({*SUITES, *labels, *FOLDERS, *AUTHORS})
    if rule:
        lines = [line.partition("#")[0] for line in source.splitlines()]
        texts = [(at, text) for at, line in enumerate(lines, 1) for text in re.findall(r'"([^"]*)"', line)]
        return [f"{at}: {line}" for at, line in enumerate(lines, 1) if of_suites.search(line)] + [
            f"{at}: {text!r}" for at, text in texts if of_all.search(text)
        ]
    tree = ast.parse(source)
    found = [(at, text) for at, text in identifiers(tree) if of_suites.search(text)]
    found += [(at, text) for at, text in literals(tree) if of_all.search(text)]
    return [f"{at}: {text[:80]!r}" for at, text in found]


def test_no_suite_is_named_outside_its_folder_and_the_list():
    sources = {
        name: path
        for name, path in MODULES.items()
        if not within(name, "suites.listing", *(f"suites.{folder}" for folder in FOLDERS))
    }
    assert len(sources) > 150
    found = {name: suites_named(path.read_text("utf-8")) for name, path in sources.items()}
    found |= {path.name: suites_named(path.read_text("utf-8"), rule=True) for path in (*RULES, *TEMPLATES)}
    places = [f"{name}, line {line}" for name, lines in found.items() for line in lines]
    assert not places, "a suite is named outside its folder:\n" + "\n".join(places)


def test_the_reader_of_names_sees_every_form():
    source = '''"""On KaRR."""
import almanac.suites.karr
class KarrOptions: pass
def of(facteval_rows=1): return rows.ic_lke
KIND = {"karr": f"the {1} of IC-LKE", "drafting": 2}
writing = "handwriting"
EXAMPLES = "almanac ask karr"
'''
    found = [line.partition(":")[0] for line in suites_named(source)]
    assert sorted(found) == ["2", "3", "4", "4", "5", "5", "5"]
    assert len(suites_named('rule karr: # karr\n    "python -m almanac ask writing"', rule=True)) == 2
    assert set(ASKING) == {*SUITES, *AUTHORS}


def tops() -> set[str]:
    """What stands in an edition's folder, by the layout itself."""
    layout = Layout(Path(), EditionConfig(edition="any"))
    things = [
        layout.record(),
        layout.page(),
        layout.logs(),
        layout.between("across"),
        layout.source("x"),
        layout.planting("x"),
    ]
    things += [layout.model("x"), layout.dataset_folder("x"), layout.requests_folder(*"xxxx")]
    things += [layout.responses_folder(*"xxxxx"), *map(layout.shown, ("tables", "figures"))]
    return {path.parts[0] for path in things} | {"outcomes"}


def paths_built(source: str, rule: bool = False) -> list[str]:
    """Where a path of an edition is built: ``FOLDER / "measures"``, a text ``{folder}/measures/…``, a shard's name.

    What ships lies in `RESOURCES`, with names of its own.
    """
    inside = "|".join(map(re.escape, tops()))
    joined = re.compile(rf"^(?:{inside})(?:/|$)|^(?:requests|responses)-")
    within_text = re.compile(rf"\}}/(?:{inside})(?:[/\"']|$)|/(?:requests|responses)-")
    if rule:
        found = re.findall(r'(?<!"resources" )/\s*f?"([^"]*)"', source)
        return [text for text in found if joined.search(text)] + within_text.findall(source)
    out = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            right = node.right.values[0] if isinstance(node.right, ast.JoinedStr) else node.right
            shipped = ast.unparse(node.left) == "RESOURCES"
            if isinstance(right, ast.Constant) and joined.search(str(right.value)) and not shipped:
                out.append(f"{node.lineno}: {ast.unparse(node)}")
        elif isinstance(node, ast.JoinedStr) and within_text.search(ast.unparse(node)):
            out.append(f"{node.lineno}: {ast.unparse(node)}")
    return out


# Who names shards besides: what writes and reads a folder of requests, wherever it lies.
SHARDS = {"edition.asking"}


def test_one_module_alone_builds_paths_of_an_edition():
    found = {name: paths_built(path.read_text("utf-8")) for name, path in MODULES.items() if name != "edition.layout"}
    found |= {path.name: paths_built(path.read_text("utf-8"), rule=True) for path in RULES}
    assert {name for name, lines in found.items() if lines} == SHARDS, {name: x for name, x in found.items() if x}
    assert paths_built(MODULES["edition.layout"].read_text("utf-8"))


def test_the_reader_of_paths_sees_every_form():
    source = """a / "measures" / "x"
a / f"responses-{n}.parquet"
f"{a}/outcomes/{b}"
a / "edition.json"
a / "mine"
f"{a} has measures"
"""
    assert sorted(line.partition(":")[0] for line in paths_built(source)) == ["1", "2", "3", "4"]
    assert paths_built('LAYOUT.x() / "requests-{shard}.parquet"', rule=True)
