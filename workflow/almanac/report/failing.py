"""Why models did not answer: requests that failed, texts that are too long, and what their kind of model cannot do."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from almanac.config import Asking
from almanac.edition.layout import Layout
from almanac.suites.answers import statuses
from almanac.suites.listing import SUITES

NOT_FINITE = "are the weights whole, or is float16 too small a dtype for them?"


@dataclass(frozen=True)
class Failures:
    """Why so many of the requests to a model have no answer: ``reasons``, each with its number, ``of`` so many.

    ``again``: the rule that asks them again, where they may then be answered.
    """

    reasons: Mapping[str, int]
    of: int
    again: str = ""

    @property
    def count(self) -> int:
        """Return how many have none."""
        return sum(self.reasons.values())

    @property
    def every(self) -> bool:
        """Return whether all of them have none."""
        return self.count == self.of

    @property
    def limit(self) -> str | None:
        """Return how many tokens the model reads at most, where any reason says so."""
        found = (re.search(r"reads at most (\d+)", reason) for reason in self.reasons)
        return next((one[1] for one in found if one), None)

    @property
    def commonest(self) -> str:
        """Return the commonest reason, without a dot at its end."""
        return max(self.reasons, key=lambda one: self.reasons[one]).rstrip(".")

    def told(self, model: str) -> str:
        """Return how many failed, and the commonest reason."""
        most = ", most often" if len(self.reasons) > 1 else ""
        remedy = f"; {NOT_FINITE}" if "finite" in self.commonest else "."
        if self.again:
            remedy = f'; a run with --forcerun {self.again} (of make: ARGS="--forcerun {self.again}") asks these again.'
        count = f"All {self.of:,}" if self.every else f"{self.count:,} of {self.of:,}"
        return f"{count} requests of {model} failed{most}: {self.commonest}{remedy}"


class Unanswered(NamedTuple):
    """What was not answered, and why.

    Attributes:
        failed: what failed, by model.
        too_long: texts that are longer than a model reads, by what was asked.
        unsupported: requests that a model or its server cannot answer, by what was asked.
    """

    failed: Mapping[str, Failures] = {}
    too_long: Mapping[Asking, Failures] = {}
    unsupported: Mapping[Asking, Failures] = {}

    def notes(self) -> Iterator[str]:
        """Yield which suites' texts are too long for which models, alike ones together, and what may be done."""
        of: dict[str, list[tuple[Asking, Failures]]] = defaultdict(list)
        for asking, found in self.too_long.items():
            of[asking.model].append((asking, found))
        models: dict[str, list[str]] = defaultdict(list)
        for model, own in of.items():
            limits = [found.limit for _, found in own if found.limit]
            read = f" (at most {limits[0]} tokens are read)" if limits else ""
            counts = "; ".join(
                f"{found.count:,} of {found.of:,} texts of {SUITES[asking.suite].label} ({asking.dataset})"
                for asking, found in own
            )
            remedy = "Fewer examples, a shorter wrapper or less thinking make a text shorter."
            models[f"{read}: {counts}. {remedy}"].append(model)
        for told, names in models.items():
            yield f"Too long for {', '.join(names)}{told}"


def unanswered(layout: Layout) -> Unanswered:
    """Return what was not answered."""
    files: dict[Asking, list[Path]] = defaultdict(list)
    for asking in layout.config.asked():
        for one in layout.rounds(asking):
            files[asking._replace(model=one.answerer)] += one.responses
    found = {asking: statuses(dict.fromkeys(own)) for asking, own in files.items()}
    asked = {asking: sum(count.total() for count in own.values()) for asking, own in found.items()}
    failed: dict[str, Counter[str]] = defaultdict(Counter)
    together, everybody = layout.config.answering_together(), layout.config.participants()

    def again(model: str) -> str:
        if everybody[model].model.api is None:  # A model that runs here would fail again.
            return ""
        return f"answer_together_{model}" if model in together else "answer_requests"

    for asking, own in found.items():
        failed[asking.model].update(own.get("failed", {}))
    return Unanswered(
        {
            model: Failures(own, sum(count for asking, count in asked.items() if asking.model == model), again(model))
            for model, own in failed.items()
            if own
        },
        {asking: Failures(own["too_long"], asked[asking]) for asking, own in found.items() if "too_long" in own},
        {asking: Failures(own["unsupported"], asked[asking]) for asking, own in found.items() if "unsupported" in own},
    )
