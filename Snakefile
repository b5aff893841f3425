# The targets of Almanac. rules/ has the rules that make them, workflow/almanac/ the Python code.
import os

from snakemake.utils import min_version

min_version("9.27")

# The demo's configuration: the working folder's, or else the project's.
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
    """The page with what the models know, and all tables behind it; without models, only the questions."""
    input:
        LAYOUT.products() if ASKED else [*LAYOUT.questions(), LAYOUT.record()],


rule data:
    """The datasets and the questions of every suite's first round, without any model."""
    input:
        LAYOUT.questions(),
        LAYOUT.record(),


rule validation:
    """What the methods recover of planted knowledge, and the edition's record, which has the bars for it."""
    input:
        LAYOUT.between("validation"),
        LAYOUT.record(),


for SUITE in SUITES:

    rule:
        """The measures of one suite, of every model and dataset that it asks."""
        name:
            SUITE
        input:
            JOBS.measured(SUITE),
            LAYOUT.record(),


# Texts that a model has written, for a person to proofread.
for AUTHOR in AUTHORS:

    rule:
        """The texts that a model has written, in one file."""
        name:
            AUTHOR
        input:
            partial(JOBS.written, AUTHOR),


rule repull:
    """Ask every public source again, and report what has changed since."""
    input:
        [LAYOUT.source(name) / "changes" / f"{NOW}.json" for name in PULLED],


rule edition:
    """One archive of the edition, to be cited and verified."""
    input:
        of_models,
        LAYOUT.frozen(),


TARGETS += [rule.name for rule in workflow.rules if not rule.has_wildcards()]
TARGETS += rules.all.input


onstart:
    # Only now, before the first job: a dry run does not need the commits of models.
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
