# The targets of Almanac. How each is made stands in rules/, the Python behind it in workflow/almanac/.
import os

from snakemake.utils import min_version

min_version("9.27")

if "edition" not in config:

    configfile: "config/config.yaml"


include: "rules/common.smk"
include: "rules/sources.smk"
include: "rules/dataset.smk"
include: "rules/planting.smk"
include: "rules/requests.smk"
include: "rules/responses.smk"
include: "rules/measures.smk"
include: "rules/report.smk"
include: "rules/edition.smk"


wildcard_constraints:
    dataset="|".join(EDITION.datasets) or "none",
    source="|".join(EDITION.sources) or "none",
    world="|".join(EDITION.planting.worlds) or "none",
    model="|".join(PARTICIPANTS) or "none",
    suite="ic_lke",
    shard=r"\d+",


localrules:
    all,
    data,
    validation,
    edition,


rule all:
    """The page that says what the models know."""
    input:
        f"{RESULTS}/report.html",


rule data:
    """The datasets and everything that will be asked, without any model."""
    input:
        expand(f"{RESULTS}/dataset/{{dataset}}/facts.parquet", dataset=EDITION.datasets),
        expand(
            f"{RESULTS}/requests/ic_lke/{{dataset}}/round1/items.parquet",
            dataset=EDITION.suites.ic_lke,
        ),


rule validation:
    """What the methods recover of planted knowledge."""
    input:
        f"{RESULTS}/measures/validation.parquet",


rule edition:
    """One archive that can be cited and verified."""
    input:
        f"results/editions/{EDITION.edition}.zip",


onsuccess:
    shell("python -m almanac report spent --edition {RESULTS} 2> /dev/null")


onerror:
    shell("python -m almanac report failed --edition {RESULTS} >&2 2> /dev/null")
