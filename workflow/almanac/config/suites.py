"""Configuration of an edition's suites and authors: one key for each that is installed."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pydantic import Field, SerializerFunctionWrapHandler, create_model, model_serializer

from almanac.config.datasets import Name
from almanac.options import Options
from almanac.suites.listing import AUTHORS, SUITES
from almanac.suites.options import AuthorOptions, SuiteOptions


class SettingsBySuite(Options):
    """The suites that are asked: one field per suite, with its settings by dataset."""

    def by_name(self) -> dict[str, Mapping[str, SuiteOptions]]:
        """Return the settings of every suite, by suite and then by dataset."""
        return {name: getattr(self, name) for name in type(self).model_fields}

    @model_serializer(mode="wrap")
    def _asked(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out suites that are not asked from the record: they need not be installed where it is read."""
        return {name: settings for name, settings in handler(self).items() if settings}


class AuthorConfig(AuthorOptions):
    """An author's settings in an edition: the model that writes, the dataset, and the author's options."""

    dataset: Name = Field(description="the dataset whose facts are shown")
    model: Name = Field(description="the model that writes: one of `models`, causal or on a server")


class SettingsByAuthor(Options):
    """The authors, whose texts a person proofreads: one field per author."""

    def authors(self) -> dict[str, AuthorConfig]:
        """Return the settings of every author that the edition has."""
        return {name: options for name in AUTHORS if (options := getattr(self, name)) is not None}


if TYPE_CHECKING:
    SuitesConfig = SettingsBySuite
    AuthorsConfig = SettingsByAuthor
else:
    SuitesConfig = create_model(
        "SuitesConfig",
        __base__=SettingsBySuite,
        **{
            name: (
                dict[Name, suite.options],
                Field(default_factory=dict, description=f"{suite.label}, {suite.summary}: settings by dataset"),
            )
            for name, suite in SUITES.items()
        },
    )
    AuthorsConfig = create_model(
        "AuthorsConfig",
        __base__=SettingsByAuthor,
        **{
            name: (
                create_model(f"{author.label}Config", __base__=(author.options, AuthorConfig)) | None,
                Field(default=None, description=f"{author.summary}: `snakemake {name}`"),
            )
            for name, author in AUTHORS.items()
        },
    )
