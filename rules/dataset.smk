# From facts to datasets.
# REQUIRED INPUTS: sources/SOURCE/ or planting/WORLD/world/. OUTPUTS: edition.json, dataset/DATASET/.


rule record_edition:
    """Write the whole configuration, with every default, for the steps that read the edition as a whole."""
    output:
        LAYOUT.record(),
    log:
        LAYOUT.log("record_edition"),
    conda:
        "../envs/tables.yaml"
    resources:
        **by_name(JOBS.table_needs),
    params:
        version=VERSIONS["build"],
        # A function, so that braces in a title are not taken for wildcards.
        settings=lambda wildcards: EDITION.model_dump_json(),
    shell:
        'python -m almanac build edition --settings "$ALMANAC_SETTINGS" --output {output} 2> {log}'


rule build_dataset:
    """Filter the relations, split the facts, draw the wrong choices (T-REx-MC)."""
    input:
        facts=lambda wildcards: LAYOUT.facts_record(wildcards.dataset),
        drafts=JOBS.drafts,
        evidence=JOBS.evidence,
    output:
        [LAYOUT.dataset("{dataset}", table) for table in DATASET_TABLES],
    log:
        LAYOUT.log("build_dataset/{dataset}"),
    conda:
        "../envs/tables.yaml"
    resources:
        **by_name(JOBS.building_needs),
    params:
        version=VERSIONS["build"],
        facts=lambda wildcards: LAYOUT.facts(wildcards.dataset),
        drafts=lambda wildcards, input: flag("--drafts", input.drafts),
        files=known_by(JOBS.drafts),
        evidence=lambda wildcards, input: flag("--evidence", input.evidence),
        options=JOBS.dataset_options,
        out=subpath(output[0], parent=True),
    shell:
        "python -m almanac build dataset --facts {params.facts} {params.drafts} {params.evidence} {params.options}"
        " --output {params.out} > {log} 2>&1"
