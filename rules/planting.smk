# Models whose knowledge is known: an invented world, a corpus with its ledger, training.
# REQUIRED INPUTS: dataset/DATASET/ if real facts are taught too. OUTPUTS: planting/WORLD/, models/MODEL/.


rule plant_world:
    """Invent entities, relations and facts, and the dose at which each fact is taught."""
    input:
        ROOT / "resources" / "planting" / "world.yaml",
    output:
        list(LAYOUT.world("{world}")),
    log:
        LAYOUT.log("plant_world/{world}"),
    conda:
        "../envs/models.yaml"
    resources:
        **by_name(JOBS.table_needs),
    params:
        version=VERSIONS["plant"],
        seed=JOBS.seed,
        options=JOBS.world,
        out=subpath(output[0], parent=True),
    shell:
        "python -m almanac plant world --seed {params.seed} {params.options} --output {params.out} 2> {log}"


rule plant_corpus:
    """Write the documents that teach a world (or its null), their exposure ledger, and the tokenizer."""
    input:
        world=LAYOUT.planting("{world}") / "world" / "exposures.parquet",
        taught=JOBS.taught_tables,
        wordings=ROOT / "resources" / "planting" / "formats.yaml",
        null_of=JOBS.null_of,
    output:
        [LAYOUT.planting("{world}") / "{corpus}" / name for name in CORPUS],
    log:
        LAYOUT.log("plant_corpus/{world}-{corpus}"),
    wildcard_constraints:
        corpus="|".join(JOBS.corpora),
    conda:
        "../envs/models.yaml"
    resources:
        **by_name(JOBS.table_needs),
    params:
        version=VERSIONS["plant"],
        seed=JOBS.seed,
        options=f"{to_flags(EDITION.planting.corpus)} {to_flags(EDITION.planting.tokenizer)}",
        taught=JOBS.taught,
        world=subpath(input.world, parent=True),
        null=JOBS.null,
        out=subpath(output[0], parent=True),
    shell:
        "python -m almanac plant corpus --seed {params.seed} --world {params.world} {params.options} {params.taught}"
        " {params.null} --output {params.out} 2> {log}"


rule plant_model:
    """Train a small model on a world's corpus; the same seed gives the same weights."""
    input:
        lambda wildcards: [JOBS.corpus(wildcards) / name for name in TAUGHT],
    output:
        # `update`: a job keeps a model made from the same inputs, so that a copied folder is not trained again.
        [update(LAYOUT.model("{model}") / name) for name in PLANTED],
        touch(LAYOUT.ended(LAYOUT.model("{model}"))),
    log:
        LAYOUT.log("plant_model/{model}"),
    conda:
        "../envs/models.yaml"
    resources:
        **by_name(JOBS.training_needs),
    params:
        version=VERSIONS["plant"],
        seed=JOBS.seed,
        corpus=JOBS.corpus,
        options=JOBS.training,
        out=subpath(output[0], parent=True),
    shell:
        "python -m almanac plant model --seed {params.seed} --corpus {params.corpus} {params.options}"
        " --output {params.out} 2> {log}"
