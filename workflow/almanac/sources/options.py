"""What can be set about a source; ``kind`` says which source it is."""

from typing import Annotated, ClassVar, Literal, NamedTuple

from pydantic import Field

from almanac.options import Options

GIGABYTE = 1_000_000_000


class Download(NamedTuple):
    """A file that a source is made of: its name, its address (none: a person must fetch it), a limit of its size."""

    name: str
    url: str | None
    max_bytes: int = 20 * GIGABYTE


class SourceOptions(Options):
    """What every source has."""

    licence: str | None = Field(default=None, description="the terms under which the facts may be used")
    redistributable: bool = Field(default=False, description="whether an edition may carry these facts")


class FilesOptions(SourceOptions):
    """A folder of fact tables."""

    kind: Literal["files"] = Field(default="files", description="files: a folder of tables (facts, entities, …)")
    path: str | None = Field(default=None, description="the folder; if none, the one given as `--config facts=FOLDER`")


class DumpOptions(SourceOptions):
    """A source that is made of files in its publisher's own format."""

    DOWNLOADS: ClassVar[tuple[Download, ...]] = ()

    path: str | None = Field(
        default=None, description="a folder that holds the publisher's files under their own names; none: download them"
    )


AnySource = Annotated[FilesOptions, Field(discriminator="kind")]
