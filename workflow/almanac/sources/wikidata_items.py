"""Wikidata items sorted by hash, computed without a server.

A relation with many millions of facts cannot be sampled by hash buckets on a public server, which would have to scan
all facts for each bucket. But items are numbered, so the subjects with the lowest hashes can be listed beforehand.
"""

import functools
from hashlib import md5

from almanac.sources.wikidata_queries import ENTITY

LARGEST = 150_000_000  # upper bound of item numbers
LOWEST = b"\x01"  # upper bound of the listed hashes: one item in 256


@functools.cache
def lowest_items() -> tuple[str, ...]:
    """Return the addresses of the items with the lowest MD5, sorted by it; items need not exist. Takes about a minute.

    These are the subjects that `paging.gather` would find first, bucket by bucket.
    """
    start = f"{ENTITY}Q".encode()
    numbers = [number for number in range(1, LARGEST) if md5(b"%b%d" % (start, number)).digest() < LOWEST]
    numbers.sort(key=lambda number: md5(b"%b%d" % (start, number)).digest())
    return tuple(f"{ENTITY}Q{number}" for number in numbers)
