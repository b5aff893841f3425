"""docs/errors.md: each message in it is one that the program can give, and each of its sections is in its index."""

import ast
import re
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
DOCUMENT = (REPOSITORY / "docs" / "errors.md").read_text(encoding="utf-8")
MESSAGES = [
    message
    for line in DOCUMENT.splitlines()
    if line.startswith("| ") and not line.startswith(("| message", "| ---"))
    for message in re.findall(r"`([^`]*)`", re.split(r"(?<!\\)\|", line)[1])
]
OF_SNAKEMAKE = {
    "Error: Directory cannot be locked",
    "Failed to solve scheduling problem with ILP solver, falling back to greedy scheduler.",
    "Restored previous version of results/… (updating job failed).",
    "Output … has older modification time (…) than input … This could indicate a clock skew problem",
}
ALIKE = 3  # words in a row that must be the program's own; what differs from case to case is none of them
MOSTLY_VALUES = ("refuses (HTTP 403)", "kind 'lpaqa'")  # messages of fewer words of their own


def words(text):
    return re.findall(r"[^\W\d_]+", text)


def said(tree):
    """Yield the texts of a module, but for docstrings, with a gap where a value is put in."""
    for node in ast.walk(tree):
        for child in ast.iter_child_nodes(node):
            if isinstance(node, ast.Expr) and isinstance(child, ast.Constant):
                child.value = None
        if isinstance(node, ast.JoinedStr):
            yield " ".join(part.value if isinstance(part, ast.Constant) else " " for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


@pytest.fixture(scope="module")
def program():
    modules = sorted((REPOSITORY / "workflow").rglob("*.py"))
    texts = [text for path in modules for text in said(ast.parse(path.read_text(encoding="utf-8")))]
    return "\n".join(f" {' '.join(words(text))} " for text in texts)


@pytest.mark.parametrize("message", sorted(set(MESSAGES) - OF_SNAKEMAKE))
def test_a_message_of_the_document_is_one_that_the_program_can_give(program, message):
    own = words(message)
    least = min(len(own), 2 if any(part in message for part in MOSTLY_VALUES) else ALIKE)
    runs = (" ".join(own[at : at + least]) for at in range(len(own) - least + 1))
    assert any(f" {run} " in program for run in runs)


def test_each_section_is_in_the_index():
    sections = re.findall(r"^## (.*)$", DOCUMENT, re.MULTILINE)
    index = re.findall(r"^- \[(.*)\]\(#(.*)\)$", DOCUMENT, re.MULTILINE)
    assert index == [(name, name.lower().replace(" ", "-")) for name in sections]


def test_no_message_is_listed_twice():
    rows = [line for line in DOCUMENT.splitlines() if line.startswith("| ") and not line.startswith("| message")]
    assert len({row for row in rows if "---" not in row}) == len([row for row in rows if "---" not in row])
