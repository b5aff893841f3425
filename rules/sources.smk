# Bringing data: the only step that may touch the network.
# REQUIRED INPUTS: what the configuration's `sources` and `models` name.
# OUTPUTS: sources/SOURCE/ and models/MODEL/, each with pull.json.


rule pull_files:
    """Copy a folder of fact tables and record what was copied."""
    input:
        source_files,
    output:
        f"{RESULTS}/sources/{{source}}/pull.json",
    log:
        f"{RESULTS}/logs/pull_files/{{source}}.log",
    conda:
        "../envs/tables.yaml"
    resources:
        mem_mb=table_needs("mem_mb"),
        runtime=table_needs("runtime"),
    params:
        version=VERSIONS["pull"],
        source=source_flags,
        out=f"{RESULTS}/sources/{{source}}",
    shell:
        "python -m almanac pull files {params.source} --output {params.out} 2> {log}"


rule pull_model:
    """Fetch a checkpoint from the hub at its commit, so that every later step is offline."""
    output:
        f"{RESULTS}/models/{{model}}/pull.json",
    log:
        f"{RESULTS}/logs/pull_model/{{model}}.log",
    conda:
        "../envs/models.yaml"
    resources:
        mem_mb=table_needs("mem_mb"),
        runtime=table_needs("runtime"),
    params:
        version=VERSIONS["pull"],
        hub=lambda wildcards: model_of(wildcards).hub,
        revision=lambda wildcards: model_of(wildcards).revision,
        code=lambda wildcards: (
            "--trust-remote-code" if model_of(wildcards).trust_remote_code else ""
        ),
        out=subpath(output[0], parent=True),
    shell:
        "python -m almanac pull model --hub {params.hub} --revision {params.revision} {params.code}"
        " --output {params.out} 2> {log}"
