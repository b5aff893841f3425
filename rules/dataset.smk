# From facts to datasets.
# REQUIRED INPUTS: sources/SOURCE/ or planting/WORLD/world/. OUTPUTS: edition.json, dataset/DATASET/.


rule record_edition:
    """Write the whole configuration down, with every default, for the steps that read the edition as one."""
    output:
        f"{RESULTS}/edition.json",
    log:
        f"{RESULTS}/logs/record_edition.log",
    conda:
        "../envs/tables.yaml"
    resources:
        mem_mb=table_needs("mem_mb"),
        runtime=table_needs("runtime"),
    params:
        version=VERSIONS["build"],
        # By a function: braces in a title are no wildcards.
        settings=lambda wildcards: EDITION.model_dump_json(),
    shell:
        "python -m almanac build edition --settings {params.settings:q} --output {output} 2> {log}"


rule build_dataset:
    """Filter the relations, split the facts, draw the wrong choices (T-REx-MC)."""
    input:
        facts=facts_mark,
        drafts=proofread_file,
        evidence=evidence_file,
    output:
        expand(
            f"{RESULTS}/dataset/{{{{dataset}}}}/{{table}}.parquet",
            table=[
                "entities",
                "relations",
                "facts",
                "choices",
                "templates",
                "popularity",
                "evidence",
                "refused",
                "counts",
            ],
        ),
    log:
        f"{RESULTS}/logs/build_dataset/{{dataset}}.log",
    conda:
        "../envs/tables.yaml"
    resources:
        mem_mb=table_needs("mem_mb"),
        runtime=table_needs("runtime"),
    params:
        version=VERSIONS["build"],
        facts=facts_folder,
        drafts=proofread_flags,
        files=known_by(proofread_file),
        evidence=evidence_flags,
        options=lambda wildcards: to_flags(
            EDITION.datasets[wildcards.dataset], DatasetOptions
        ),
        out=f"{RESULTS}/dataset/{{dataset}}",
    shell:
        "python -m almanac build dataset --facts {params.facts} {params.drafts} {params.evidence} {params.options}"
        " --output {params.out} > {log} 2>&1"
