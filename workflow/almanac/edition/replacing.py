"""What a run replaces in the folder of an edition that was made before."""

from collections.abc import Sequence

from almanac.config import EditionConfig
from almanac.edition.layout import Layout
from almanac.errors import AlmanacError


def replaced(layout: Layout) -> list[str]:
    """Return a line on what a run replaces: models that it no longer asks, other facts, another size; or none.

    A folder that holds no edition, or a damaged one, loses nothing.

    Args:
        layout: the edition that is to be made.
    """
    try:
        before, config = Layout.open(layout.root).config, layout.config
    except (AlmanacError, OSError):
        return []
    models, asked = _origins(before), _origins(config)
    gone = [one for one in models if one not in asked]
    was: dict[str, Sequence[str | None]] = {"model": gone, "facts": [before.facts], "size": [before.size]}
    now: dict[str, Sequence[str | None]] = {"model": asked, "facts": [config.facts], "size": [config.size]}
    changed = [key for key, values in was.items() if not set(values) <= set(now[key])]
    if not changed:
        return []
    old, new = ("; ".join(f"{key} {', '.join(map(str, of[key]))}" for key in changed) for of in (was, now))
    return [f'{layout.root} was of {old}; it is made anew for {new}; keep both with ARGS="edition=NAME" of `make own`']


def _origins(config: EditionConfig) -> list[str]:
    return [model.path or model.hub or model.api or model.name for model in config.models]
