# Bring data: the only step that may use the network.
# REQUIRED INPUTS: the files, servers and repositories that the configuration's `sources` and `models` name.
# OUTPUTS: sources/SOURCE/ and models/MODEL/, each with pull.json; snapshots in results/snapshots/, which are kept.


rule pull_files:
    """Copy a folder of fact tables, or make one from a file of triples, and record what was copied."""
    input:
        JOBS.source_files,
    output:
        LAYOUT.source("{source}") / sealed.PULLED,
    log:
        LAYOUT.log("pull_files/{source}"),
    wildcard_constraints:
        source="|".join(COPIED) or "none",
    conda:
        "../envs/tables.yaml"
    resources:
        **by_name(JOBS.table_needs),
    params:
        version=VERSIONS["pull"],
        source=JOBS.copied,
        files=known_by(JOBS.source_files),
        out=subpath(output[0], parent=True),
    shell:
        "python -m almanac pull files {params.source} --output {params.out} --replace 2> {log}"


rule pull_source:
    """Extract a source's tables from its frozen snapshot; make the first snapshot if there is none."""
    input:
        JOBS.source_files,
    output:
        LAYOUT.source("{source}") / sealed.PULLED,
    log:
        LAYOUT.log("pull_source/{source}"),
    wildcard_constraints:
        source="|".join(PULLED) or "none",
    conda:
        "../envs/sources.yaml"
    resources:
        mem_mb=by_name(JOBS.table_needs)["mem_mb"],
        runtime=24 * 60,  # minutes: public servers set the pace
    params:
        version=VERSIONS["pull"],
        source=JOBS.pulled,
        files=known_by(JOBS.source_files),
        out=subpath(output[0], parent=True),
    shell:
        "python -m almanac pull {params.source} --output {params.out} --replace 2> {log}"


rule repull_source:
    """Make another dated snapshot of a source, and report what has changed. The edition keeps its snapshot."""
    output:
        LAYOUT.source("{source}") / "changes" / "{date}.json",
    log:
        LAYOUT.log("repull_source/{source}-{date}"),
    wildcard_constraints:
        source="|".join(PULLED) or "none",
    conda:
        "../envs/sources.yaml"
    resources:
        mem_mb=by_name(JOBS.table_needs)["mem_mb"],
        runtime=24 * 60,  # minutes: public servers set the pace
    params:
        version=VERSIONS["pull"],
        source=JOBS.pulled,
    shell:
        "python -m almanac pull {params.source} --again {wildcards.date}"
        " --output {output} > {log} 2>&1"


rule pull_model:
    """Fetch a checkpoint from the hub at its commit, so that every later step is offline."""
    output:
        LAYOUT.model("{model}") / sealed.PULLED,
    log:
        LAYOUT.log("pull_model/{model}"),
    # First, so that a failed download is known before other jobs run.
    priority: 1
    conda:
        "../envs/models.yaml"
    resources:
        **by_name(JOBS.table_needs),
    params:
        version=VERSIONS["pull"],
        model=JOBS.pull_flags,
        out=subpath(output[0], parent=True),
    shell:
        "python -m almanac pull model {params.model} --output {params.out} 2> {log}"
