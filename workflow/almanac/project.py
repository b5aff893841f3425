"""Where the project's files lie that are no Python: rules, configurations, prompts, the facts that ship.

In a checkout the package lies among them; one that pip has installed carries them (`pyproject.toml` says which).
"""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
_CARRIED = _PACKAGE / "_project"
INSTALLED = _CARRIED.is_dir()
PROJECT = _CARRIED if INSTALLED else _PACKAGE.parents[1]
RESOURCES = PROJECT / "resources"


def there(path: Path) -> Path:
    """Return a path as it is, or the project's own of that name where nothing is there from the working folder."""
    own = PROJECT / path
    return own if not path.exists() and own.exists() else path
