"""The options of each kind of source; ``kind`` selects the source."""

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple, Self, Union

from pydantic import Discriminator, Field, Tag, model_validator

from almanac.options import OnDisk, Options

GIGABYTE = 1_000_000_000
DBPEDIA_DUMP = (
    "https://downloads.dbpedia.org/repo/dbpedia/mappings/mappingbased-objects/2022.12.01/"
    "mappingbased-objects_lang=en.ttl.bz2"
)


Address = Annotated[str, Field(pattern=r"^https?://")]
NOBEL = ("P166", "P166/P585", "P569", "P21")  # the relations that are pulled for Nobel laureates
OF_LAMA = 41  # number of LAMA's relations of T-REx


class Download(NamedTuple):
    """A file of a source: its name, its address (None: it must be downloaded by hand), and a limit of its size."""

    name: str
    url: str | None
    max_bytes: int = 20 * GIGABYTE


class SourceOptions(Options):
    """The options that all sources have."""

    if TYPE_CHECKING:
        kind: str  # a Literal in each subclass; also the name of the module that reads this kind of source

    licence: str | None = Field(
        default=None,
        description="the terms under which the facts may be used; none: an edition of them cannot be frozen",
    )
    redistributable: bool = Field(default=False, description="whether an edition may carry these facts")

    RELATIONS: ClassVar[int | None] = None  # the number of relations, for kinds where it is fixed

    def idle(self) -> dict[str, tuple[str, ...]]:
        """Return the settings that have no effect, by the setting that makes them so (such as ``nobel: false``)."""
        return {}

    @model_validator(mode="after")
    def _all_are_read(self) -> Self:
        for why, names in self.idle().items():
            if changed := [name for name in names if getattr(self, name) != type(self).model_fields[name].default]:
                raise ValueError(f"{changed[0]}: is not read with {why}; leave it out")
        return self

    def count(self) -> int | None:
        """Return the largest possible number of relations, or None if neither settings nor kind determine it."""
        return len(getattr(self, "relations", ())) or self.RELATIONS


class FilesOptions(SourceOptions):
    """A folder of fact tables, an archive of one, or one file of subject, relation and object."""

    kind: Literal["files"] = Field(
        default="files",
        description="files: a folder of tables (facts, entities, …), or one file of subject, relation and object",
    )
    path: Annotated[str | None, OnDisk("facts")] = Field(
        default=None, description="the folder, a zip or tar archive of it, or the file; if none, `--config facts=PATH`"
    )


class Manners(Options):
    """How servers are queried: pauses, retries and limits. They do not change what is fetched."""

    pause: float = Field(default=1.0, ge=0, description="seconds between two requests, which never overlap")
    attempts: int = Field(default=6, ge=1, description="how often a request is made before the pull gives up")
    wait: float = Field(
        default=2.0, gt=0, description="seconds before the second attempt; doubled for each further one"
    )
    max_wait: float = Field(default=900.0, ge=0, description="the longest Retry-After, in seconds, that is obeyed")
    timeout: int = Field(default=90, ge=1, description="seconds within which a server must send something")
    deadline: float = Field(default=300.0, gt=0, description="seconds within which an answer must be complete")
    max_bytes: int = Field(default=512_000_000, ge=1, description="most bytes of an answer, decompressed")


class NetworkOptions(SourceOptions, Manners):
    """A source that is fetched over the network and frozen as a snapshot."""

    snapshot: str | None = Field(
        default=None, description="date of the snapshot to read; none: the first with these settings"
    )


class WikidataOptions(NetworkOptions):
    """Facts of Wikidata, over SPARQL."""

    kind: Literal["wikidata"] = Field(default="wikidata", description="wikidata: facts over SPARQL")
    licence: str = Field(default="CC0-1.0", description="the terms under which the facts may be used")
    redistributable: bool = Field(default=True, description="whether an edition may carry these facts")
    endpoint: Address = Field(
        default="https://query.wikidata.org/sparql", description="the address that answers SPARQL"
    )
    relations: tuple[Annotated[str, Field(pattern=r"^P[1-9][0-9]*(/P[1-9][0-9]*)?$")], ...] = Field(
        default=(), description="properties (P36), or a qualifier of one (P166/P585: when an award was received)"
    )
    nobel: bool = Field(default=False, description="also pull Nobel laureates: prize, its year, birth year, gender")
    nobel_until: int | None = Field(
        default=None, ge=1901, description="the last year whose prizes count (none: all; 954 people had one by 2022)"
    )
    property_aliases: bool = Field(
        default=False,
        description="also pull the properties' aliases, as templates of the style `alias` (`[X] ALIAS [Y].`)",
    )
    ranks: Literal["accepted", "best"] = Field(
        default="accepted",
        description="accepted: all statements except deprecated ones; best: the preferred ones, where there are any",
    )
    facts: int | None = Field(
        default=None, ge=1, description="about how many facts per relation to sample, reproducibly; none: all"
    )
    page: int = Field(default=20_000, ge=1, description="approximate number of rows per query")
    batch: int = Field(default=200, ge=1, description="entities per query for names")
    names: Literal["sparql", "api"] = Field(
        default="sparql", description="where labels, aliases and sitelinks come from; api: wbgetentities"
    )
    api: Address = Field(default="https://www.wikidata.org/w/api.php", description="the address of wbgetentities")

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not self.relations and not self.nobel:
            raise ValueError("names no relations and not `nobel: true`; there is nothing to pull")
        return self

    def idle(self) -> dict[str, tuple[str, ...]]:
        """Return `nobel_until` without `nobel`, and `api` where names come over SPARQL."""
        return {
            **({} if self.nobel else {"nobel: false": ("nobel_until",)}),
            **({} if self.names == "api" else {"names: sparql": ("api",)}),
        }

    def count(self) -> int:
        """Return the number of pulled relations, including those of laureates."""
        return len({*self.relations, *(NOBEL if self.nobel else ())})


class DumpOptions(NetworkOptions):
    """A source that is read from files in their publisher's format."""

    DOWNLOADS: ClassVar[tuple[Download, ...]] = ()

    path: Annotated[str | None, OnDisk("downloads")] = Field(
        default=None, description="a folder that holds the publisher's files under their own names; none: download them"
    )

    def downloads(self) -> tuple[Download, ...]:
        """Return the files that this source is read from."""
        return self.DOWNLOADS


class DbpediaOptions(DumpOptions):
    """Facts of DBpedia: over SPARQL where a few properties are named, or from the pinned dump."""

    DOWNLOADS: ClassVar = (Download("mappingbased-objects_lang=en.ttl.bz2", DBPEDIA_DUMP, 4 * GIGABYTE),)

    kind: Literal["dbpedia"] = Field(default="dbpedia", description="dbpedia: facts over SPARQL or from a dump")
    licence: str = Field(default="CC-BY-SA-3.0", description="the terms under which the facts may be used")
    redistributable: bool = Field(default=True, description="whether an edition may carry these facts")
    by: Literal["sparql", "dump"] = Field(default="dump", description="where the facts come from")
    endpoint: Address = Field(default="https://dbpedia.org/sparql", description="the address that answers SPARQL")
    relations: tuple[str, ...] = Field(
        default=(), description="properties of the ontology (capital), or their full addresses; none: all of the dump"
    )
    facts: int | None = Field(
        default=None, ge=1, description="with SPARQL: about how many facts per relation to sample; none: all"
    )
    pool: int | None = Field(
        default=None,
        ge=1,
        description="with the dump: subjects to draw per relation in each of head, torso and tail, among those with "
        "one object; none: all facts",
    )
    seed: int = Field(default=0, ge=0, description="seed of the draw of `pool`")
    page: int = Field(default=5_000, ge=1, description="approximate number of rows per query")
    batch: int = Field(default=100, ge=1, description="entities per query for names")

    @model_validator(mode="after")
    def _few(self) -> Self:
        if self.by == "sparql" and not self.relations:
            raise ValueError("by: sparql needs relations; for all of them take by: dump")
        return self

    def idle(self) -> dict[str, tuple[str, ...]]:
        """Return the settings that apply only to the other value of `by`."""
        if self.by == "sparql":
            return {"by: sparql (for fewer facts set facts)": ("pool",), "by: sparql": ("seed", "path")}
        return {"by: dump (for fewer facts set pool)": ("facts",), "by: dump": ("endpoint", "page", "batch")}

    def downloads(self) -> tuple[Download, ...]:
        """Return the dump, or nothing if the facts come over SPARQL."""
        return self.DOWNLOADS if self.by == "dump" else ()


class DrawnOptions(DumpOptions):
    """A source too large to be used completely: all of it counts for popularity, and facts are drawn by bucket."""

    pool: int = Field(default=2000, ge=1, description="subjects to draw per relation in each of head, torso and tail")
    last_year: int = Field(default=2020, ge=0, description="the last year that is taken into account")
    seed: int = Field(default=0, ge=0, description="seed of the draw")


IMDB = "https://datasets.imdbws.com/"
GOODREADS = "https://mcauleylab.ucsd.edu/public_datasets/gdrive/goodreads/"
LAMA = Download("data.zip", "https://dl.fbaipublicfiles.com/LAMA/data.zip")


class ImdbOptions(DrawnOptions):
    """Films, series and the people who make them (IMDb)."""

    DOWNLOADS: ClassVar = tuple(
        Download(f"{name}.tsv.gz", f"{IMDB}{name}.tsv.gz")
        for name in ("title.basics", "title.ratings", "title.crew", "title.principals", "name.basics")
    )

    kind: Literal["imdb"] = Field(default="imdb", description="imdb: films, series, people")
    people: Literal["unique", "faithful"] = Field(
        default="unique",
        description="the people whose popularity determines head, torso and tail; unique: all; faithful: those with a "
        "unique name, as in the released code",
    )
    licence: str = Field(default="IMDb: personal, non-commercial", description="the terms of use")


class GoodreadsOptions(DrawnOptions):
    """Books (Goodreads, as collected by UCSD)."""

    DOWNLOADS: ClassVar = tuple(
        Download(name, f"{GOODREADS}{name}") for name in ("goodreads_books.json.gz", "goodreads_book_authors.json.gz")
    )

    kind: Literal["goodreads"] = Field(default="goodreads", description="goodreads: books")
    licence: str = Field(default="UCSD Goodreads: academic use", description="the terms of use")
    last_year: int = Field(default=2015, ge=0, description="the last year in which a book may have been published")


class MagOptions(DrawnOptions):
    """Papers, journals and conferences (Microsoft Academic Graph, retired in 2021)."""

    DOWNLOADS: ClassVar = tuple(
        Download(f"{name}.txt.zst", None, 100 * GIGABYTE)
        for name in ("Papers", "PaperAuthorAffiliations", "Authors", "Journals", "ConferenceInstances")
    )

    kind: Literal["mag"] = Field(default="mag", description="mag: papers, journals, conferences")
    licence: str = Field(default="ODC-BY-1.0", description="the terms of use")
    redistributable: bool = Field(default=True, description="whether an edition may carry these facts")


class OpenalexOptions(DrawnOptions):
    """Papers and journals (OpenAlex): the successor of MAG."""

    kind: Literal["openalex"] = Field(default="openalex", description="openalex: papers, journals")
    licence: str = Field(default="CC0-1.0", description="the terms of use")
    redistributable: bool = Field(default=True, description="whether an edition may carry these facts")
    parts: tuple[str, ...] = Field(
        min_length=1,
        description="parts of the snapshot's works (data/jsonl/works/…/part_000.gz) from which facts are drawn",
    )

    def downloads(self) -> tuple[Download, ...]:
        """Return the parts; file names have `-` instead of `/`."""
        return tuple(
            Download(part.replace("/", "-"), f"https://openalex.s3.amazonaws.com/{part}") for part in self.parts
        )


class DblpOptions(DrawnOptions):
    """Theses in computer science (DBLP); authors are popular by their number of mentions."""

    kind: Literal["dblp"] = Field(default="dblp", description="dblp: theses")
    mentions: Literal["all", "authors"] = Field(
        default="all",
        description="which mentions count for a person's popularity; all: as author or editor, as in the released "
        "code; authors: as author alone, as in the paper",
    )
    licence: str = Field(default="CC0-1.0", description="the terms of use")
    redistributable: bool = Field(default=True, description="whether an edition may carry these facts")
    release: str = Field(pattern=r"^\d{4}-\d{2}-\d{2}$", description="the date of the release: dblp-DATE.xml.gz")
    dtd: str = Field(default="2019-11-22", pattern=r"^\d{4}-\d{2}-\d{2}$", description="the date of its DTD")

    def downloads(self) -> tuple[Download, ...]:
        """Return the release and its DTD."""
        names = (f"dblp-{self.release}.xml.gz", f"dblp-{self.dtd}.dtd")
        return tuple(Download(name, f"https://dblp.org/xml/release/{name}") for name in names)


class TrexOptions(DumpOptions):
    """Facts aligned with sentences (T-REx)."""

    kind: Literal["trex"] = Field(default="trex", description="trex: facts with the sentences that state them")
    licence: str = Field(default="CC-BY-SA-4.0", description="the terms of use")
    redistributable: bool = Field(default=True, description="whether an edition may carry these facts")
    form: Literal["documents", "lama", "tables"] = Field(
        default="documents",
        description="documents: all of T-REx; lama: the facts that LAMA probes; tables: only facts and entities",
    )
    relations: tuple[Annotated[str, Field(pattern=r"^P[1-9]\d*$")], ...] = Field(
        default=(), description="properties to keep (form tables keeps all); none: all"
    )
    evidence: int = Field(default=3, ge=0, description="sentences to keep per fact, at most")
    dates: Literal["iso", "text"] = Field(
        default="iso",
        description="how dates are written; iso: 1968-10-24; text: the most frequent form in the documents (24 October "
        "1968), with 1968-10-24 as an alias",
    )

    def downloads(self) -> tuple[Download, ...]:
        """Return the files of the form."""
        forms = {
            "documents": (Download("TREx.zip", "https://ndownloader.figshare.com/files/8760241"),),
            "lama": (LAMA,),
            "tables": (Download("facts.jsonl.gz", None), Download("entities.jsonl.gz", None)),
        }
        return forms[self.form]

    def idle(self) -> dict[str, tuple[str, ...]]:
        """Return the settings of sentences and dates if the form has none."""
        idle = {"documents": (), "lama": ("dates",), "tables": ("evidence", "dates")}
        return {f"form: {self.form}": idle[self.form]}

    def count(self) -> int | None:
        """Return the number of named relations, or of LAMA's; None if all of the documents or tables are read."""
        found = len(self.relations) or (OF_LAMA if self.form == "lama" else None)
        return None if self.form == "tables" else found


class GoogleReOptions(DumpOptions):
    """Dates and places of birth, places of death, with the texts that state them (Google-RE, as in LAMA)."""

    DOWNLOADS: ClassVar = (LAMA,)
    RELATIONS: ClassVar = 3

    kind: Literal["google_re"] = Field(default="google_re", description="google_re: births and deaths, with texts")
    licence: str = Field(default="CC-BY-NC-4.0 (LAMA)", description="the terms of use")


class BiolamaOptions(DumpOptions):
    """Biomedical facts (BioLAMA)."""

    DOWNLOADS: ClassVar = (Download("data.tar.gz", None),)

    kind: Literal["biolama"] = Field(default="biolama", description="biolama: biomedical facts")
    part: Literal["wikidata", "umls", "ctd"] = Field(
        default="wikidata", description="which of its three knowledge bases"
    )
    split: Literal["released", "none"] = Field(
        default="released",
        description="released: BioLAMA's train and test facts; none: the dataset splits the facts of all parts anew, "
        "or asks all of them (`train: 0`)",
    )

    def count(self) -> int | None:
        """Return the number of UMLS relations with facts; None for the other parts."""
        return 16 if self.part == "umls" else None


class BearOptions(DumpOptions):
    """Facts of Wikidata with balanced objects (BEAR)."""

    DOWNLOADS: ClassVar = (Download("BEAR.zip", "https://github.com/lm-pub-quiz/BEAR/archive/refs/heads/main.zip"),)

    kind: Literal["bear"] = Field(default="bear", description="bear: facts of Wikidata with balanced objects")
    licence: str = Field(default="CC-BY-SA", description="the terms of use")
    redistributable: bool = Field(default=True, description="whether an edition may carry these facts")
    part: Literal["bear", "big"] = Field(default="bear", description="bear: BEAR; big: BEAR-big")


class KamelOptions(DumpOptions):
    """Facts of Wikidata with several objects and literals (KAMEL)."""

    DOWNLOADS: ClassVar = (Download("KAMEL.zip", "https://github.com/JanKalo/KAMEL/archive/refs/heads/master.zip"),)

    kind: Literal["kamel"] = Field(default="kamel", description="kamel: facts of Wikidata, with literals and questions")
    licence: str = Field(default="KAMEL: none is stated", description="the terms of use")


class LpaqaOptions(DumpOptions):
    """Facts of T-REx with mined and paraphrased prompts (LPAQA)."""

    DOWNLOADS: ClassVar = (Download("LPAQA.zip", "https://github.com/jzbjyb/LPAQA/archive/refs/heads/master.zip"),)
    RELATIONS: ClassVar = OF_LAMA

    kind: Literal["lpaqa"] = Field(default="lpaqa", description="lpaqa: facts of T-REx with many prompts per relation")
    licence: str = Field(default="LPAQA: none is stated", description="the terms of use")
    prompts: tuple[Literal["mine", "paraphrase", "manual_paraphrase"], ...] = Field(
        default=("mine", "paraphrase", "manual_paraphrase"),
        description="the sets of prompts that become templates, in this order",
    )


class KassessOptions(DumpOptions):
    """Facts of T-REx with many templates and names (KAssess, the data released with KaRR)."""

    DOWNLOADS: ClassVar = (
        Download("data_for_KAssess.zip", "https://zenodo.org/records/13144454/files/data_for_KAssess.zip"),
    )

    kind: Literal["kassess"] = Field(
        default="kassess", description="kassess: facts of T-REx as Dong et al. released them"
    )
    licence: str = Field(default="KAssess: none is stated", description="the terms of use")
    facts: str = Field(default="my_TREx_main_new", min_length=1, description="the folder of its facts (P….jsonl)")
    objects: str | None = Field(
        default=None,
        description="the file of the objects' names, without .json; none: allobj2alias, or else the only model's",
    )

    def count(self) -> int | None:
        """Return the number of relations of the released facts; None for another folder of facts."""
        return 600 if self.facts == type(self).model_fields["facts"].default else None


class MyriadlamaOptions(DumpOptions):
    """Facts of LAMA's relations with many templates (MyriadLAMA, or a table of one's own in its columns)."""

    DOWNLOADS: ClassVar = (Download("train.parquet", None),)

    kind: Literal["myriadlama"] = Field(
        default="myriadlama", description="myriadlama: facts with many templates per relation, in MyriadLAMA's format"
    )
    licence: str = Field(default="MyriadLAMA: see its page", description="the terms of use")


class UmlsOptions(DumpOptions):
    """Biomedical facts (UMLS Metathesaurus, under the user's own licence)."""

    DOWNLOADS: ClassVar = tuple(Download(f"{name}.RRF", None, 100 * GIGABYTE) for name in ("MRCONSO", "MRREL", "MRSTY"))

    kind: Literal["umls"] = Field(default="umls", description="umls: biomedical facts")
    licence: str = Field(default="UMLS Metathesaurus licence", description="the terms of use")
    language: str = Field(default="ENG", description="the language of the names")
    relations: tuple[str, ...] = Field(min_length=1, description="relations to keep (RELA: may_treat, …)")
    subject: Literal["first", "second"] = Field(
        default="first", description="which concept of a row is the subject: CUI1 (as in BioLAMA) or CUI2"
    )


KINDS: dict[str, type[NetworkOptions]] = {
    "wikidata": WikidataOptions,
    "dbpedia": DbpediaOptions,
    "imdb": ImdbOptions,
    "goodreads": GoodreadsOptions,
    "mag": MagOptions,
    "openalex": OpenalexOptions,
    "dblp": DblpOptions,
    "trex": TrexOptions,
    "google_re": GoogleReOptions,
    "biolama": BiolamaOptions,
    "umls": UmlsOptions,
    "bear": BearOptions,
    "kamel": KamelOptions,
    "lpaqa": LpaqaOptions,
    "kassess": KassessOptions,
    "myriadlama": MyriadlamaOptions,
}


def _kind(value: Any) -> str:
    """Return the kind of a source, before or after validation; the default is ``files``."""
    kind = value.get("kind", "files") if isinstance(value, dict) else getattr(value, "kind", "files")
    return str(kind)


if TYPE_CHECKING:
    AnySource = FilesOptions | NetworkOptions
else:
    AnySource = Annotated[
        Union[tuple(Annotated[one, Tag(kind)] for kind, one in [("files", FilesOptions), *KINDS.items()])],  # noqa: UP007
        Discriminator(
            _kind,
            custom_error_type="kind",
            custom_error_message=f"kind must be one of files, {', '.join(KINDS)}",
        ),
    ]
