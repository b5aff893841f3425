# The targets of Almanac. How each is made stands in rules/, the Python behind it in workflow/almanac/.
from snakemake.utils import min_version

min_version("9.27")

if "datasets" not in config:

    configfile: "config/config.yaml"


include: "rules/common.smk"
include: "rules/sources.smk"
include: "rules/dataset.smk"
include: "rules/planting.smk"
include: "rules/requests.smk"
include: "rules/responses.smk"
include: "rules/drafting.smk"
include: "rules/writing.smk"
include: "rules/measures.smk"
include: "rules/report.smk"
include: "rules/edition.smk"


localrules:
    all,
    data,
    validation,
    drafts,
    written,
    edition,
    repull,


rule all:
    """The page that says what the models know, and all it was made of; without models, what they would be asked."""
    input:
        LAYOUT.products() if ASKED else LAYOUT.questions(),


rule data:
    """The datasets and everything that will be asked, without any model."""
    input:
        LAYOUT.questions(),


rule validation:
    """What the methods recover of planted knowledge."""
    input:
        f"{RESULTS}/measures/validation.parquet",


for SUITE in METHODS:

    rule:
        name:
            SUITE
        input:
            measured("measures", SUITE),


rule drafts:
    """Templates that a model has drafted, in one file for a person to proofread."""
    input:
        drafts_file,


rule written:
    """Questions that a model has written, in one file for a person to proofread."""
    input:
        written_file,


rule repull:
    """Ask every public source again, and report what changed since."""
    input:
        expand(f"{RESULTS}/sources/{{source}}/changes/{NOW}.json", source=PULLED),


rule edition:
    """One archive that can be cited and verified."""
    input:
        LAYOUT.products(),
        f"results/editions/{EDITION.edition}.zip",


onsuccess:
    shell("python -m almanac report after --edition {RESULTS} 2> /dev/null")


onerror:
    shell("python -m almanac report failed --edition {RESULTS} >&2 2> /dev/null")
