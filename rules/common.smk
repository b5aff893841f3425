# Shared by all rules.
# REQUIRED INPUTS: the configuration. OUTPUTS: EDITION, RESULTS, LAYOUT, JOBS, SUITES, VERSIONS and the functions below.
import os
import re
import sys
import time
from functools import partial
from pathlib import Path
from shlex import quote

HERE = workflow.current_basedir.get_path_or_uri(secret_free=True)
ROOT = Path(HERE).resolve().parent
# In a package installed by pip, the rules lie in the package itself.
CHECKOUT = (ROOT / "workflow" / "almanac").is_dir()
if not (CHECKOUT or (ROOT.parent / "project.py").is_file()):
    sys.exit(
        f"almanac: {HERE}: the rules are there without the package that their commands run; "
        "clone the whole project and name the Snakefile of the clone"
    )
if set(str(ROOT)) & set("{}"):
    sys.exit(
        f"almanac: {ROOT}: holds a brace, which Snakemake reads as its own; rename it"
    )
if not CHECKOUT and workflow.deployment_settings.deployment_method:
    sys.exit(
        "almanac: an environment for each step needs a checkout of the project, not an installed package; clone it"
    )
# Only a checkout needs this: of an installed package, all packages next to it would precede the standard library.
if CHECKOUT:
    sys.path.insert(0, str(ROOT / "workflow"))

from almanac import locked, sealed
from almanac.clusters import check_cluster
from almanac.config import check, handed
from almanac.config.inputs import check_inputs, check_pinned, check_writable
from almanac.edition import replacing
from almanac.edition.costs import expected
from almanac.edition.jobs import CORPUS, PLANTED, TAUGHT, Jobs, by_name, flag, known_by
from almanac.edition.layout import ALL, BETWEEN, DATASET_TABLES, SHOWN, Layout
from almanac.errors import AlmanacError
from almanac.locked import EXPECTED, MADE, TARGETS, begin, mistake_in, stop_in_a_thread
from almanac.options import to_flags
from almanac.suites.listing import AUTHORS, SUITES
from almanac.versions import VERSIONS

# Checked here too, for runs without `make` and without the logger, which check it earlier.
if workflow.is_main_process and (MISTAKE := mistake_in(sys.argv[1:])) is not None:
    sys.exit(f"almanac: {MISTAKE}")

REMARKS = []
# For messages: the edition's name, or the last configuration file if no edition is named.
NAMED = f"configuration of {config.get('edition')!r}"
if not config.get("edition") and workflow.configfiles:
    NAMED = str(workflow.configfiles[-1])
try:
    # Whether jobs run on other machines than this one.
    AWAY = workflow.remote_exec
    if workflow.is_main_process:
        AWAY = check_cluster(sys.argv[1:], Path(workflow.main_snakefile))
    FOLDERS = [Path(path).resolve().parent for path in workflow.configfiles]
    EDITION = check(config, NAMED, ROOT, tell=REMARKS.append, folders=FOLDERS)
    HANDED = handed(EDITION)
    RESULTS = f"results/{EDITION.edition}"
    check_inputs(EDITION, Path(RESULTS))
    check_writable(Path(RESULTS))
    LAYOUT = Layout(Path(RESULTS), EDITION)
    JOBS = Jobs(EDITION, LAYOUT, 1 if AWAY else workflow.resource_settings.cores or 1)
    if workflow.is_main_process:
        RUNS = not workflow.output_settings.dryrun and begin(
            sys.argv[1:], Path(RESULTS)
        )
        replacing.check_copied(LAYOUT, Path(".snakemake"))
        replacing.check_served(LAYOUT)
        for REMARK in (*REMARKS, *replacing.replaced(LAYOUT)):
            print(f"almanac: {REMARK}", file=sys.stderr)
        if RUNS and {"--touch", "-t"}.isdisjoint(sys.argv):
            replacing.doubt(LAYOUT, JOBS, Path(".snakemake"))
    elif AWAY:
        locked.check_run(Path(RESULTS))
except AlmanacError as mistake:
    sys.exit(f"almanac: {mistake}")
# The models that any suite is asked of, in the order of the configuration.
ASKED = list(dict.fromkeys(asking.model for asking in EDITION.asked()))
# Every table of the edition, from the datasets to the validation: the page shows them, the archive carries them.
TABLES = [str(path) for path in LAYOUT.tables()]

# Sources that are copied from the user's files, and sources from the network or a publisher's files.
COPIED = [name for name, source in EDITION.sources.items() if source.kind == "files"]
PULLED = [name for name in EDITION.sources if name not in COPIED]
NOW = time.strftime("%Y-%m-%dT%H%MZ", time.gmtime())


wildcard_constraints:
    dataset="|".join(EDITION.datasets) or "none",
    source="|".join(EDITION.sources) or "none",
    world="|".join(EDITION.planting.worlds) or "none",
    model="|".join(map(re.escape, JOBS.participants)) or "none",
    about="|".join(map(re.escape, [ALL, *JOBS.participants])),
    suite="|".join([*SUITES, *AUTHORS]),
    round=r"[a-z_]+",
    shard=r"\d+",
    date=r"\d{4}-\d\d-\d\d[^/]*",


# PYTHONPATH: jobs find a checkout's package without installing it, in every environment and on every node.
# PYTHONDONTWRITEBYTECODE: container images often set it, and then each of many short jobs compiles the package again.
# PYTHONSAFEPATH: jobs do not import a file of the working folder that is named like a module (statistics.py).
# POLARS_MAX_THREADS: jobs keep to their threads. OMP_WAIT_POLICY: waiting threads leave the core to other programs.
FOUND = f"PYTHONPATH={quote(str(ROOT / 'workflow'))}${{{{PYTHONPATH:+:$PYTHONPATH}}}}"
shell.prefix(
    "set -euo pipefail; unset PYTHONDONTWRITEBYTECODE; export PYTHONSAFEPATH=1 OMP_WAIT_POLICY=passive; "
    f"export {FOUND if CHECKOUT else ''} ALMANAC_SETTINGS={HANDED} POLARS_MAX_THREADS=${{{{OMP_NUM_THREADS:-1}}}}; "
)
REPORTED = JOBS.reported(sys.argv[1:])  # flags for the summary at the end
if workflow.is_main_process:
    # The logger prints the summary if there is nothing to do: then `onsuccess` is not called.
    os.environ[MADE] = REPORTED
    EXPECTED |= expected(EDITION)
workflow.global_resources.setdefault("gpu", EDITION.gpus)


def refuse_unpinned():
    """End a run that would fetch a model without a pinned commit."""
    try:
        check_pinned(EDITION)
    except AlmanacError as mistake:
        sys.exit(f"almanac: {mistake}")


def lift_limit():
    """Lift Snakemake's limit of 100 jobs a second: with it, each ended job adds a scan a second of all waiting jobs."""
    limit = workflow.scheduler.job_rate_limiter
    if limit and (limit.max_jobs, limit.timespan) == (100, 1):
        workflow.scheduler.job_rate_limiter = None


def of_models(wildcards):
    """All files of a finished edition; without models it is refused, so that it is not frozen and replaces no page."""
    if not ASKED:
        sys.exit(
            f"almanac: {EDITION.edition} asks no model, so there is nothing to freeze; "
            "name one (models, or model=… of config/own.yaml), or its record: --configfile results/EDITION/edition.json"
        )
    return LAYOUT.products()


def of_chapter(wildcards):
    """The page's chapter of a table or figure, for `--report`: the first part of the file's name."""
    return wildcards.name.partition("-")[0]
