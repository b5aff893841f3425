"""The import contract: modules import downwards only, and what must not know of each other does not."""

import ast
from pathlib import Path

import pytest

import almanac

PACKAGE = Path(almanac.__file__).parent
BASE = {"errors", "rows", "columns", "tables", "frames", "options"}


def modules() -> dict[str, Path]:
    found = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()


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


GRAPH = {name: imported(ast.parse(path.read_text("utf-8")), set(MODULES)) for name, path in MODULES.items()}


def within(name: str, *packages: str) -> bool:
    return any(name == package or name.startswith(package + ".") for package in packages)


def breaches(of: str, *, but: tuple[str, ...] = (), never: tuple[str, ...] = ()) -> list[str]:
    """Imports of a package that it must not have: outside ``but``, where given, or inside ``never``."""
    return [
        f"{name} imports {target}"
        for name, targets in GRAPH.items()
        if within(name, of)
        for target in sorted(targets - {""})
        if within(target, *never) or (but and not within(target, *but))
    ]


def test_the_package_is_found_whole():
    assert {"cli", "config", "tables", "dataset.multiple_choice", "models.registry", "suites.ic_lke.suite"} <= set(
        GRAPH
    )
    assert "rows" in GRAPH["dataset.multiple_choice"]
    assert "tables" in GRAPH["verbs.build"], "from almanac import tables"


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
            for target in GRAPH[name]:
                visit(target, (*path, name))
            done.add(name)

    for name in GRAPH:
        visit(name, ())


OUTER = ("cli", "__main__", "verbs", "report", "edition", "config", "resources", "locked", "versions")
CONTRACT = {
    "errors": ("errors",),
    "rows": ("rows",),
    "absent": ("absent",),
    "columns": ("columns", "errors"),
    "tables": ("tables", "columns", "errors"),
    "frames": ("frames", "tables", "columns", "errors"),
    "options": ("options", "errors"),
    "sources": ("sources", *BASE),
    "dataset": ("dataset", "sources", *BASE),
    "planting": ("planting", "dataset", "sources", *BASE),
    "models": ("models", *BASE),
    "statistics": ("statistics", *BASE),
    "suites": ("suites", "statistics", "dataset", *BASE),
    "resources": ("resources", "errors"),
}


@pytest.mark.parametrize("package", CONTRACT)
def test_a_package_imports_only_what_lies_below_it(package):
    assert any(within(name, package) for name in GRAPH)
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
    assert breaches("edition", never=("models", "planting", "report", "verbs", "cli")) == []


def test_one_suite_does_not_know_another():
    suites = {name.split(".")[1] for name in GRAPH if name.startswith("suites.") and name.count(".") > 1}
    assert suites
    for suite in suites:
        others = tuple(f"suites.{other}" for other in suites - {suite})
        assert breaches(f"suites.{suite}", never=others) == []


def test_the_configuration_needs_settings_only():
    # What lies on the user's disk is looked at by its files alone.
    allowed = ("config", "options", "errors", "resources", "models.wrappers", "models.checkpoint", "models.digest")
    allowed += ("sources.files",)
    assert [found for found in breaches("config", but=allowed) if not found.endswith(".options")] == []
    for name, targets in GRAPH.items():
        if name.endswith(".options"):
            assert {target for target in targets if not target.endswith(".options")} <= {"options", "errors"}, name


def test_the_command_line_loads_no_verb_before_it_runs():
    tree = ast.parse(MODULES["cli"].read_text("utf-8"))
    assert imported(tree, set(MODULES), nested=False) <= {"", "errors"}
    assert not any(within(name, "verbs") for name in GRAPH["cli"])
    importers = [name for name, targets in GRAPH.items() if any(within(target, "verbs") for target in targets)]
    assert importers == []
