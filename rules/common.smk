# What all rules share.
# REQUIRED INPUTS: the configuration. OUTPUTS: EDITION, RESULTS, PARTICIPANTS, VERSIONS and the functions below.
import os
import re
import sys
import time
from pathlib import Path
from shlex import quote

from snakemake.exceptions import WorkflowError

ROOT = Path(workflow.current_basedir.get_path_or_uri(secret_free=True)).resolve().parent
sys.path.insert(0, str(ROOT / "workflow"))

from almanac.config import Asking, check
from almanac.config.inputs import check_inputs, files, known, source_files
from almanac.dataset.options import DatasetOptions
from almanac.edition.layout import DATASET_TABLES, REQUEST_TABLES, Layout
from almanac.errors import AlmanacError
from almanac.models.options import ServerOptions
from almanac.models.wrappers import digests as wrapper_digests
from almanac.options import to_flags
from almanac.planting.options import TrainingOptions, WorldOptions
from almanac.resources import MOST_MINUTES, needs
from almanac.suites.drafting.options import DraftingOptions
from almanac.suites.facteval.options import WritingOptions
from almanac.suites.methods import METHODS
from almanac.versions import VERSIONS

REMARKS = []
try:
    EDITION = check(
        config,
        f"configuration of {config.get('edition')!r}",
        ROOT,
        tell=REMARKS.append,
    )
    RESULTS = f"results/{EDITION.edition}"
    check_inputs(EDITION, Path(RESULTS))
except AlmanacError as mistake:
    sys.exit(f"almanac: {mistake}")
if set(str(ROOT)) & set("{}"):
    sys.exit(
        f"almanac: {ROOT}: holds a brace, which Snakemake reads as its own; rename it"
    )
for REMARK in REMARKS if workflow.is_main_process else ():
    print(f"almanac: {REMARK}", file=sys.stderr)

STANDS = next(path for path in (Path(RESULTS), *Path(RESULTS).parents) if path.exists())
if not STANDS.is_dir() or not os.access(STANDS, os.W_OK):
    sys.exit(
        f"almanac: {RESULTS}: cannot be written, since {STANDS} is no writable folder; move it or mend its rights"
    )
PARTICIPANTS = EDITION.participants()
ASKED = list(EDITION.asked())
# Of small models, all that each is asked: they answer it in one job.
TOGETHER = EDITION.answered_together()
LAYOUT = Layout(Path(RESULTS), EDITION)
# Every table of the edition, from the datasets to the validation: what its page shows and its archive carries.
TABLES = [str(path) for path in LAYOUT.tables()]
# Of a planted model, what answering reads.
PLANTED = ("model.safetensors", "config.json", "tokenizer.json")
TAUGHT = EDITION.planting.taught
DRAFTING = EDITION.drafting
WRITING = EDITION.writing

# Sources that are copied, and those that are brought over the network or read from a publisher's files.
COPIED = [name for name, source in EDITION.sources.items() if source.kind == "files"]
PULLED = [name for name in EDITION.sources if name not in COPIED]
NOW = time.strftime("%Y-%m-%dT%H%MZ", time.gmtime())

# The suites that may ask a model again, in a second round, when it has answered the first.
METHODS_AGAIN = {
    name: method for name, method in METHODS.items() if method.ask_again is not None
}
SHARDS = [f"requests-{shard}" for shard in range(EDITION.shards)]


wildcard_constraints:
    dataset="|".join(EDITION.datasets) or "none",
    source="|".join(EDITION.sources) or "none",
    world="|".join(EDITION.planting.worlds) or "none",
    model="|".join(PARTICIPANTS) or "none",
    suite="|".join([*EDITION.suites.by_name(), "drafting", "writing"]),
    round=r"round\d",
    shard=r"\d+",
    date=r"\d{4}-\d\d-\d\d[^/]*",


# Jobs find the package without installing it, in every environment and on every node.
shell.prefix(f"set -euo pipefail; export PYTHONPATH={quote(str(ROOT / 'workflow'))}; ")
workflow.global_resources.setdefault("gpu", EDITION.gpus)


def model_of(wildcards):
    """The model entry of a job."""
    return PARTICIPANTS[wildcards.model].model


def seed_of_world(wildcards):
    """The seed of a planted model is its world's."""
    world = (
        PARTICIPANTS[wildcards.model].world
        if hasattr(wildcards, "model")
        else wildcards.world
    )
    return EDITION.planting.worlds[world].seed


def table_needs(resource):
    """A function that gives one resource of a job without a model."""
    return lambda wildcards, attempt: getattr(needs(0, 0, attempt=attempt), resource)


def training_needs(resource):
    """A function that gives one resource of a training job."""

    def of(wildcards, attempt):
        size = model_of(wildcards).size
        return getattr(
            needs(size, EDITION.corpus_tokens, training=True, attempt=attempt), resource
        )

    return of


def scoring_needs(resource):
    """A function that gives one resource of a scoring job."""

    def of(wildcards, attempt):
        model = model_of(wildcards)
        if resource == "gpu":
            return int(model.takes_gpu(EDITION.gpus))
        if model.api is not None and resource == "runtime":
            return MOST_MINUTES  # a server goes at its own pace
        # A job answers one suite's requests, or those of all suites.
        asked = (
            [wildcards] if hasattr(wildcards, "suite") else TOGETHER[wildcards.model]
        )
        tokens = sum(EDITION.shard_tokens(one.suite, one.dataset) for one in asked)
        return getattr(
            needs(model.size, tokens, model.dtype, attempt=attempt), resource
        )

    return of


def taught_flags(wildcards):
    """The flags of the real facts that a corpus teaches beside its world."""
    if TAUGHT is None:
        return ""
    doses = " ".join(map(str, TAUGHT.doses))
    return f"--real {RESULTS}/dataset/{TAUGHT.dataset} --real-facts {TAUGHT.facts} --real-doses {doses}"


def taught_tables(wildcards):
    """The tables of the real facts that a corpus teaches."""
    tables = ["entities", "facts", "templates"] if TAUGHT is not None else []
    return [f"{RESULTS}/dataset/{TAUGHT.dataset}/{table}.parquet" for table in tables]


def corpus_of(wildcards):
    """The folder of the corpus that a planted model is trained on: its world's, or the null of that."""
    which = "null" if model_of(wildcards).planted.permuted else "corpus"
    return f"{RESULTS}/planting/{PARTICIPANTS[wildcards.model].world}/{which}"


def null_of(wildcards):
    """What a null has from the corpus that it permutes: the tokenizer."""
    own = f"{RESULTS}/planting/{wildcards.world}/corpus/tokenizer/tokenizer.json"
    return own if wildcards.corpus == "null" else []


def null_flags(wildcards):
    """The flag that permutes the objects of a corpus."""
    return (
        f"--null-of {RESULTS}/planting/{wildcards.world}/corpus"
        if wildcards.corpus == "null"
        else ""
    )


def facts_folder(wildcards):
    """The folder that a dataset's facts are read from."""
    dataset = EDITION.datasets[wildcards.dataset]
    if dataset.world is not None:
        return f"{RESULTS}/planting/{dataset.world}/world"
    return f"{RESULTS}/sources/{dataset.source}"


def facts_mark(wildcards):
    """The file that is written last in that folder."""
    world = EDITION.datasets[wildcards.dataset].world
    return f"{facts_folder(wildcards)}/{'exposures.parquet' if world else 'pull.json'}"


def evidence_file(wildcards):
    """The texts that say a planted world's facts: its corpus; other sources bring their own."""
    world = EDITION.datasets[wildcards.dataset].world
    return f"{RESULTS}/planting/{world}/corpus/evidence.parquet" if world else []


def evidence_flags(wildcards, input):
    """The flags of the texts that say a planted world's facts."""
    return f"--evidence {quote(str(input.evidence))}" if input.evidence else ""


def dataset_tables(wildcards):
    """Every table of a dataset."""
    folder = f"{RESULTS}/dataset/{wildcards.dataset}"
    return [f"{folder}/{table}.parquet" for table in DATASET_TABLES]


def suite_flags(suite):
    """A function that gives the flags of a suite's settings on a dataset."""
    return lambda wildcards: to_flags(
        EDITION.suites.by_name()[suite][wildcards.dataset]
    )


def known_by(files_of):
    """A function that gives what a job's files of the user's are known by: one replaced by an older is noticed too."""
    return lambda wildcards: known(files_of(wildcards))


def suite_files(suite, verb):
    """A function that gives the user's files that a verb reads for a suite."""
    return lambda wildcards: [
        Path(path)
        for path in EDITION.suites.by_name()[suite][wildcards.dataset].files(verb)
    ]


def embedder_files(wildcards):
    """The model whose embeddings compare questions."""
    return files(EDITION.suites.facteval[wildcards.dataset], "embedder")


def embedder_flags(wildcards):
    """The model whose embeddings compare questions, and its layer."""
    asked = EDITION.suites.facteval[wildcards.dataset]
    layer = "" if asked.embedder_layer is None else f" --layer {asked.embedder_layer}"
    return f"--embedder {quote(asked.embedder)}{layer}"


def proofread_file(wildcards):
    """The drafted templates that a person has proofread for a dataset, if there are any."""
    return files(EDITION.datasets[wildcards.dataset], "file")


def proofread_flags(wildcards, input):
    """The flags of the drafted templates that a person has proofread."""
    return f"--drafts {quote(str(input.drafts))}" if input.drafts else ""


def drafts_file(wildcards):
    """The file of drafts for a person to proofread."""
    if DRAFTING is None:
        raise WorkflowError(
            "drafting: the configuration does not say who drafts; add `drafting: {dataset: …, model: …}`"
        )
    last = "round2" if DRAFTING.round_trip else "round1"
    return f"{RESULTS}/drafting/{DRAFTING.dataset}/{last}.jsonl"


def written_file(wildcards):
    """The file of written questions for a person to proofread."""
    if WRITING is None:
        raise WorkflowError(
            "writing: the configuration does not say who writes; add `writing: {dataset: …, model: …}`"
        )
    return f"{RESULTS}/writing/{WRITING.dataset}.jsonl"


def writing_flags(wildcards):
    """The flags of writing."""
    return to_flags(WRITING, WritingOptions)


def drafting_flags(wildcards):
    """The flags of drafting, the same in every step of it."""
    return to_flags(DRAFTING, DraftingOptions)


def drafting_answers(round):
    """A function that gives the drafting model's responses in a round."""
    return lambda wildcards: [
        f"{RESULTS}/responses/{DRAFTING.model}/drafting/{wildcards.dataset}/{round}/responses-{shard}.parquet"
        for shard in range(EDITION.shards)
    ]


def users_source(wildcards):
    """The user's files that a source is read from: the tables of a folder, or a publisher's files."""
    return source_files(EDITION, wildcards.source)


def copied_flags(wildcards):
    """The flags of a folder that is copied: where it is, and its terms."""
    source = EDITION.sources[wildcards.source]
    licence = f"--licence {quote(source.licence)}" if source.licence else ""
    free = "--redistributable" if source.redistributable else ""
    return f"--from {quote(EDITION.source_folder(wildcards.source))} {licence} {free}"


def pulled_flags(wildcards):
    """The kind and the flags of a source that is pulled."""
    source = EDITION.sources[wildcards.source]
    contact = f"--contact {quote(EDITION.contact)}" if EDITION.contact else ""
    return f"{source.kind} {contact} {to_flags(source)}"


def model_folder(wildcards):
    """Where a job finds its model: planted, pulled from a hub, or a directory of the user's."""
    return model_of(wildcards).path or f"{RESULTS}/models/{wildcards.model}"


def users_model(wildcards):
    """The files of a checkpoint, or of a served model's tokenizer, in a directory of the user's."""
    return files(model_of(wildcards), "checkpoint", "tokenizer")


def model_files(wildcards):
    """What a job waits for: a planted model, the record of a pull, or the user's own files."""
    model, folder = model_of(wildcards), model_folder(wildcards)
    if model.hub is not None:
        return f"{folder}/pull.json"
    if model.planted is not None:
        return [f"{folder}/{name}" for name in PLANTED]
    return users_model(wildcards)


def pull_flags(wildcards):
    """The flags that say which commit of which repository is fetched."""
    model = model_of(wildcards)
    code = "--trust-remote-code" if model.trust_remote_code else ""
    return f"--hub {quote(model.hub)} --revision {quote(model.revision)} {code}"


def model_flags(wildcards):
    """The flags that say which model answers."""
    model = model_of(wildcards)
    kinds = f"--kinds {' '.join(model.kinds)} " if model.kinds else ""
    if model.wrapper is not None:
        kinds += f"--wrapper {quote(model.wrapper)} "
    if model.api is not None:
        return kinds + to_flags(model, ServerOptions)
    # A model that asks the scheduler for no GPU does not take one behind its back either.
    device = model.device if model.takes_gpu(EDITION.gpus) else "cpu"
    where = f"--model {quote(model_folder(wildcards))} --family {model.family}"
    return f"{where} {kinds}--dtype {model.dtype} --device {device} {trust_flags(wildcards)}"


def reusing_flags(wildcards, input):
    """The flags that say which model answers a second round, and where it has answered the first."""
    return f"{model_flags(wildcards)} --reuse {quote(str(input.first))}"


def answering_alone():
    """The pattern of the models whose requests are answered a suite at a time; who drafts or writes is one there."""
    names = [
        re.escape(name) + (r"(?=/(?:drafting|writing)/)" if name in TOGETHER else "")
        for name in PARTICIPANTS
    ]
    return "|".join(names) or "none"


def wrapper_contents(wildcards):
    """What the wrappers say that a model may be asked by, so that a changed one is asked again."""
    return wrapper_digests(model_of(wildcards).wrapper)


def trust_flags(wildcards):
    """The flags that let a checkpoint's own code be fetched and run."""
    model = model_of(wildcards)
    return (
        f"--trust-remote-code --revision {quote(model.revision)}"
        if model.trust_remote_code
        else ""
    )


def measured(kind, suite=None):
    """The outcomes or measures of every suite, or of one, on every model and dataset."""
    return [
        f"{RESULTS}/{kind}/{asking.model}/{asking.suite}/{asking.dataset}.parquet"
        for asking in ASKED
        if suite in (None, asking.suite)
    ]


def null_tables(suite, tables):
    """A function that gives a suite's own tables of the null of a planted model, if the edition has one."""

    def of(wildcards):
        null = EDITION.null_of(Asking(wildcards.model, suite, wildcards.dataset))
        own = tables if null is not None else ()
        return [
            f"{RESULTS}/outcomes/{null.model}/{suite}/{null.dataset}.{table}.parquet"
            for table in own
        ]

    return of


def asked_again(suite):
    """A function that gives what a suite has asked a model in a second round, with its responses, if it wants one."""
    files = [
        f"{RESULTS}/requests/{suite}/{{dataset}}/round2/{{model}}/{table}.parquet"
        for table in [*REQUEST_TABLES, *METHODS[suite].asked_beside, *SHARDS]
    ] + [
        f"{RESULTS}/responses/{{model}}/{suite}/{{dataset}}/round2/responses-{shard}.parquet"
        for shard in range(EDITION.shards)
    ]
    return lambda wildcards: (
        [file.format(**wildcards) for file in files]
        if EDITION.suites.by_name()[suite][wildcards.dataset].asks_again
        else []
    )


def exposures_of(wildcards):
    """The exposures of a planted model, which its recovery is measured against."""
    planted = model_of(wildcards).planted is not None
    return [f"{RESULTS}/models/{wildcards.model}/exposures.parquet"] if planted else []
