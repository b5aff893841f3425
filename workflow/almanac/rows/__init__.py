"""The rows of every table that passes between steps: one frozen dataclass for each table, which is also its schema.

`tables.py` derives the Parquet schema from these annotations and checks it on write. A field that may be null is
annotated ``| None``; lists are tuples, so that rows can be hashed and compared. ``KEY`` names the columns that
identify a row.
"""

from almanac.rows.dataset import Choices, Draft, Exposure, LedgerEntry, Rating, Refused, RelationCount
from almanac.rows.measures import Agreement, Knowledge, Measure, Outcome, OutcomeKind, Standing, Validation
from almanac.rows.requests import (
    KINDS,
    STATUSES,
    Context,
    Item,
    Kind,
    Link,
    NotAsked,
    Request,
    Response,
    Setting,
    Status,
)
from almanac.rows.sources import ALIAS, BucketSize, Entity, Evidence, Fact, Omission, Popularity, Relation, Template
