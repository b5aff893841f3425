"""Head, torso and tail buckets by popularity (Head-to-Tail, section 2), computed with integers.

Each bucket holds about a third of the total popularity. Only a histogram of the scores is needed, so memory grows with
the number of different scores and not with the table. This module belongs to the sources rather than to the dataset
because the largest sources draw their facts by bucket.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from almanac.errors import AlmanacError
from almanac.rows import BucketSize

Bucket = Literal["head", "torso", "tail"]
BUCKETS: tuple[Bucket, ...] = ("head", "torso", "tail")
Shape = Literal["thirds", "no_head", "no_torso", "tail_only", "all_equal", "all_zero", "empty"]


@dataclass(frozen=True)
class Cuts:
    """The borders between the buckets of a group of entities.

    ``tail_to`` is the largest score of the tail, ``torso_to`` that of the torso (both inclusive). ``shape`` says
    whether there are three buckets (``thirds``) and, if not, why:

    - ``no_head``: the largest score belongs to the torso;
    - ``no_torso``: a single score, shared by many entities, crosses both thirds;
    - ``tail_only``: entities of the largest score hold more than two thirds of the total, so that all is tail;
    - ``all_equal``: all scores are equal, so that all is tail;
    - ``all_zero`` and ``empty``: there is no popularity to divide, and nothing has a bucket.
    """

    shape: Shape
    total: int
    tail_to: int
    torso_to: int

    def bucket(self, score: int) -> Bucket | None:
        """Return the bucket of a score, or None if nothing has a bucket."""
        if self.total == 0:
            return None
        if score <= self.tail_to:
            return "tail"
        return "torso" if score <= self.torso_to else "head"


def cuts(histogram: Mapping[int, int]) -> Cuts:
    """Find the borders between tail, torso and head.

    Scores are summed in ascending order. The tail ends with the first score whose running sum reaches 1/3 of the total,
    the torso with the first that reaches 2/3 (compared as 3 * sum >= total, so that nothing is rounded). Equal scores
    share a bucket. Without ties this equals the paper's rule, which sums in descending order: an entity that straddles
    a border belongs to the less popular bucket.

    Args:
        histogram: number of entities by score; scores that no entity has may be absent or 0.

    Raises:
        AlmanacError: a score is below 0.
    """
    ascending = sorted(score for score, count in histogram.items() if count)
    if ascending and ascending[0] < 0:
        raise AlmanacError(f"popularity: a score is {ascending[0]}; scores count something and cannot be below 0")
    total = sum(score * histogram[score] for score in ascending)
    if total == 0:
        return Cuts("all_zero" if ascending else "empty", 0, 0, 0)
    tail_to = torso_to = reached = 0
    for score in ascending:
        below, reached = reached, reached + score * histogram[score]
        if 3 * below < total <= 3 * reached:
            tail_to = score
        if 3 * below < 2 * total <= 3 * reached:
            torso_to = score
    return Cuts(_shape(ascending, tail_to, torso_to), total, tail_to, torso_to)


def _shape(ascending: Sequence[int], tail_to: int, torso_to: int) -> Shape:
    largest = ascending[-1]
    if len(ascending) == 1:
        return "all_equal"
    if tail_to == largest:
        return "tail_only"
    if torso_to == largest:
        return "no_head"
    return "no_torso" if tail_to == torso_to else "thirds"


def sizes(source: str, kind: str, histogram: Mapping[int, int], found: Cuts) -> list[BucketSize]:
    """Return the number of entities and the popularity in each bucket of a type (the paper's Table 1)."""
    out = []
    for bucket in BUCKETS:
        scores = {score: n for score, n in histogram.items() if n and found.bucket(score) == bucket}
        popularity = sum(score * n for score, n in scores.items())
        lowest, highest = (min(scores), max(scores)) if scores else (None, None)
        out.append(BucketSize(source, kind, bucket, sum(scores.values()), popularity, lowest, highest, found.shape))
    return out
