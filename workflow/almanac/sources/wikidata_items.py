"""Wikidata's items in the order of their hashes, found without asking anybody.

A relation of many millions of facts cannot be sampled by hash buckets on a public server, which would have to look at
every fact for each bucket. But items are numbered, so that the subjects of the lowest hashes can be named beforehand.
"""

import functools
from hashlib import md5

from almanac.sources.wikidata_queries import ENTITY

LARGEST = 150_000_000  # no item has a larger number
LOWEST = b"\x01"  # hashes below this: one item in 256


@functools.cache
def lowest_items() -> tuple[str, ...]:
    """Return the addresses of the items, there or not, whose MD5 is the lowest, in its order; it takes about a minute.

    These are the subjects that `paging.gather` meets first, bucket by bucket.
    """
    start = f"{ENTITY}Q".encode()
    numbers = [number for number in range(1, LARGEST) if md5(b"%b%d" % (start, number)).digest() < LOWEST]
    numbers.sort(key=lambda number: md5(b"%b%d" % (start, number)).digest())
    return tuple(f"{ENTITY}Q{number}" for number in numbers)
