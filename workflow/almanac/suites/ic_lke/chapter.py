"""What the page shows of IC-LKE and its studies."""

from typing import Any

from almanac.suites.chapter import Chapter, Shown


def ic_lke(shown: Shown, options: Any) -> Chapter | None:
    return None


eic = sweep = separators = generated = positions = prompts = lambda *a: None
