"""How a question names its subject: by its name, and what distinguishes it from namesakes (docs/head_to_tail.md)."""

from functools import cached_property

import polars as pl

from almanac.rows import Entity
from almanac.suites.data import Data
from almanac.suites.head_to_tail.templates import QuestionWording

TITLES = ("imdb.namesakes", "imdb.first_year")  # relations that distinguish titles
YEARS_OF_TITLES = ("title_start_year", "title_release_year")  # templates that ask for the year: names must not say it


def contexts(wording: QuestionWording) -> tuple[str, ...]:
    """Return the relations that distinguish a template's subjects, in the order of their objects in the name."""
    relation, _, name = wording.template_id.partition("/")
    source, _, local = relation.partition(".")
    degree = local.partition("_")[0]
    if name in YEARS_OF_TITLES:
        return TITLES[:1]
    return {
        None: (),
        "start_year": TITLES,
        "known_for": ("imdb.first_known_for", *TITLES),
        "in_title": TITLES if name == "title_character" else ("imdb.first_known_for", *TITLES),
        "published": (f"{source}.publication_year",),
        "thesis": (f"{source}.{degree}_title",),
        "from_school_in_year": (f"{source}.{degree}_school", f"{source}.{degree}_year"),
    }[wording.context]


class Naming:
    """Names the subjects of a dataset; works on columns."""

    def __init__(self, data: Data) -> None:
        self._data = data

    def named(self, pool: pl.DataFrame, wording: QuestionWording) -> pl.DataFrame:
        """Add ``name``, the subject's name with its context, and ``namesakes``, how many titles share a title's name.

        Args:
            pool: questions with ``subject_id``, ``own`` (the subject's plain name) and ``part`` (a title's character).
            wording: the template, which determines the context.
        """
        pool = pool.join(self._titles, on="subject_id", how="left", maintain_order="left")
        return self._with(pool, wording).with_columns(pl.coalesce("name", "own").alias("name"))

    def _with(self, pool: pl.DataFrame, wording: QuestionWording) -> pl.DataFrame:
        """Add ``name``; null where the subject's context is unknown."""
        own, context = pl.col("own"), wording.context
        if context is None:
            paper = wording.domain == "academics" and "/paper_" in wording.template_id
            return pool.with_columns(name=pl.format('"{}"', own) if paper else own)
        if context == "start_year":
            return pool.with_columns(name="title")
        if context == "in_title" and wording.template_id.endswith("/title_character"):
            return pool.with_columns(name=pl.format("{} in {}", "part", pl.coalesce("title", "own")))
        if context in ("known_for", "in_title"):
            known = self._values("imdb.first_known_for", "known")
            titles = self._titles.select(pl.col("subject_id").alias("known"), pl.col("title").alias("known_title"))
            pool = pool.join(known, on="subject_id", how="left", maintain_order="left")
            pool = pool.join(titles, on="known", how="left", maintain_order="left")
            form = "{} (known for {})" if context == "known_for" else "{} in {}"
            return pool.with_columns(name=pl.format(form, own, "known_title"))
        form = {"published": "{} (published in {})", "thesis": "{} (thesis: {})"}.get(context, "{} from {} in {}")
        for relation in contexts(wording):
            pool = pool.join(self._values(relation, relation), on="subject_id", how="left", maintain_order="left")
        return pool.with_columns(name=pl.format(form, own, *contexts(wording)))

    def _values(self, relation: str, name: str) -> pl.DataFrame:
        """Return each subject's object of a relation, in the column ``name``; of several objects the first by key."""
        own = self._data.triples.filter(relation_id=relation).select("subject_id", pl.col("object").alias(name))
        return own.sort("subject_id", name).unique("subject_id", keep="first", maintain_order=True)

    @cached_property
    def _titles(self) -> pl.DataFrame:
        """Titles with their ``title``, which includes the year if others share the name, and their ``namesakes``."""
        shared = self._values("imdb.namesakes", "namesakes").with_columns(pl.col("namesakes").cast(pl.Int64))
        years = self._values("imdb.first_year", "year")
        labels = self._data.frame("entities", Entity, ["entity_id", "label"])
        labels = labels.rename({"entity_id": "subject_id", "label": "plain"})
        found = shared.join(years, on="subject_id", how="left").join(labels, on="subject_id", how="inner")
        dated = (pl.col("namesakes") > 0) & pl.col("year").is_not_null()
        title = pl.when(dated).then(pl.format("{} ({})", "plain", "year")).otherwise("plain")
        return found.select("subject_id", "namesakes", title.alias("title"))
