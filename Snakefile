# The targets of Almanac. How each is made stands in rules/, the Python behind it in workflow/almanac/.
import os

from snakemake.utils import min_version

min_version("9.27")

# The demo's configuration: that of the working folder or, where it has none, the project's.
DEMO = "config/config.yaml"
if not os.path.exists(DEMO):
    DEMO = workflow.current_basedir.join(DEMO).get_path_or_uri(secret_free=True)

if "datasets" not in config:

    configfile: DEMO


report: "workflow/report/workflow.rst"


include: "rules/common.smk"
include: "rules/sources.smk"
include: "rules/dataset.smk"
include: "rules/planting.smk"
include: "rules/requests.smk"
include: "rules/responses.smk"
include: "rules/measures.smk"
include: "rules/report.smk"
include: "rules/edition.smk"


localrules:
    all,
    data,
    validation,
    edition,
    repull,


rule all:
    """The page that says what the models know, and all it was made of; without models, what they would be asked."""
    input:
        LAYOUT.products() if ASKED else [*LAYOUT.questions(), LAYOUT.record()],


rule data:
    """The datasets and everything that will be asked, without any model."""
    input:
        LAYOUT.questions(),
        LAYOUT.record(),


rule validation:
    """What the methods recover of planted knowledge, and the edition's record, by which bars are held against it."""
    input:
        LAYOUT.between("validation"),
        LAYOUT.record(),


for SUITE in SUITES:

    rule:
        """The numbers of one suite alone, of every model and dataset that it asks."""
        name:
            SUITE
        input:
            JOBS.measured(SUITE),
            LAYOUT.record(),


# Texts that a model has written, in one file for a person to proofread.
for AUTHOR in AUTHORS:

    rule:
        """What a model has written, of every dataset, in one file each."""
        name:
            AUTHOR
        input:
            partial(JOBS.written, AUTHOR),


rule repull:
    """Ask every public source again, and report what changed since."""
    input:
        [LAYOUT.source(name) / "changes" / f"{NOW}.json" for name in PULLED],


rule edition:
    """One archive that can be cited and verified."""
    input:
        of_models,
        LAYOUT.frozen(),


TARGETS += [rule.name for rule in workflow.rules if not rule.has_wildcards()]
TARGETS += rules.all.input


onstart:
    # Before the first job; a dry run is a plan, which needs no commits.
    refuse_unpinned()
    lift_limit()
    stop_in_a_thread()
    if not workflow.touch:
        replacing.remember(workflow, LAYOUT, Path(".snakemake"))
        anew = (path for job in workflow.dag.needrun_jobs() for path in job.output)
        replacing.drop_page(LAYOUT, map(str, anew))


onsuccess:
    shell("python -m almanac report after {REPORTED} 2> /dev/null")


onerror:
    shell("python -m almanac report failed --edition {RESULTS} >&2 2> /dev/null")
