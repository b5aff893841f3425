"""Paths of the project's files that are not Python: rules, configurations, prompts, the facts that ship.

In a checkout they lie next to the package; an installed package contains them (see `pyproject.toml`).
"""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
_CARRIED = _PACKAGE / "_project"
INSTALLED = _CARRIED.is_dir()
PROJECT = _CARRIED if INSTALLED else _PACKAGE.parents[1]
RESOURCES = PROJECT / "resources"


def there(path: Path) -> Path:
    """Return a path unchanged if it exists, else the project's file of that name if there is one."""
    in_project = PROJECT / path
    return in_project if not path.exists() and in_project.exists() else path
