"""The suites of an edition: the settings of each by dataset."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from almanac.config.names import Name
from almanac.options import Named, Options
from almanac.suites.facteval.options import FactEvalOptions
from almanac.suites.ic_lke.eic.options import EicOptions
from almanac.suites.ic_lke.generated.options import GeneratedOptions
from almanac.suites.ic_lke.options import IcLkeOptions
from almanac.suites.ic_lke.positions.options import PositionOptions
from almanac.suites.ic_lke.prompts.options import PromptsOptions
from almanac.suites.ic_lke.separators.options import SeparatorOptions
from almanac.suites.ic_lke.sweep.options import SweepOptions
from almanac.suites.karr.options import KarrOptions
from almanac.suites.options import SuiteOptions


class KarrConfig(KarrOptions):
    """KaRR's settings in an edition: they name a file of the user's."""

    labels: Annotated[str | None, Named("file", "ask")] = Field(
        default=None, description=KarrOptions.model_fields["labels"].description
    )


class SuitesConfig(Options):
    """Which suite is asked of which dataset, and how."""

    ic_lke: dict[Name, IcLkeOptions] = Field(default_factory=dict, description="IC-LKE: settings by dataset")
    lke_prompts: dict[Name, PromptsOptions] = Field(
        default_factory=dict, description="IC-LKE's choices behind written and mined prompts: settings by dataset"
    )
    eic_lke: dict[Name, EicOptions] = Field(
        default_factory=dict, description="EIC-LKE, many facts in one text: settings by dataset"
    )
    lke_sweep: dict[Name, SweepOptions] = Field(
        default_factory=dict, description="IC-LKE by the number of examples: settings by dataset"
    )
    lke_separators: dict[Name, SeparatorOptions] = Field(
        default_factory=dict, description="IC-LKE by what stands between subject and object: settings by dataset"
    )
    lke_positions: dict[Name, PositionOptions] = Field(
        default_factory=dict,
        description="the probability of objects by their place in a text: settings by dataset",
    )
    lke_generated: dict[Name, GeneratedOptions] = Field(
        default_factory=dict, description="whether models write the object: settings by dataset"
    )
    karr: dict[Name, KarrConfig] = Field(default_factory=dict, description="KaRR: settings by dataset")
    facteval: dict[Name, FactEvalOptions] = Field(default_factory=dict, description="FactEval: settings by dataset")

    def by_name(self) -> dict[str, Mapping[str, SuiteOptions]]:
        """Return the settings of every suite, by its name and then by dataset."""
        return {name: getattr(self, name) for name in type(self).model_fields}
