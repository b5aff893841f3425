# Models whose knowledge is known: an invented world, a corpus with its ledger, training.
# REQUIRED INPUTS: dataset/DATASET/ where real facts are taught too. OUTPUTS: planting/WORLD/, models/MODEL/.


rule plant_world:
    """Invent entities, relations and facts, each fact with the dose it is to be taught at."""
    input:
        ROOT / "resources" / "planting" / "world.yaml",
    output:
        expand(
            f"{RESULTS}/planting/{{{{world}}}}/world/{{table}}.parquet",
            table=[
                "entities",
                "relations",
                "facts",
                "templates",
                "popularity",
                "exposures",
            ],
        ),
    log:
        f"{RESULTS}/logs/plant_world/{{world}}.log",
    conda:
        "../envs/models.yaml"
    resources:
        mem_mb=table_needs("mem_mb"),
        runtime=table_needs("runtime"),
    params:
        version=VERSIONS["plant"],
        seed=seed_of_world,
        options=lambda wildcards: to_flags(
            EDITION.planting.worlds[wildcards.world], WorldOptions
        ),
        out=f"{RESULTS}/planting/{{world}}/world",
    shell:
        "python -m almanac plant world --seed {params.seed} {params.options} --output {params.out} 2> {log}"


rule plant_corpus:
    """Write the documents that teach a world, or of its null, their exposure ledger, and the tokenizer."""
    input:
        world=f"{RESULTS}/planting/{{world}}/world/exposures.parquet",
        taught=taught_tables,
        wordings=ROOT / "resources" / "planting" / "formats.yaml",
        null_of=null_of,
    output:
        expand(
            f"{RESULTS}/planting/{{{{world}}}}/{{{{corpus}}}}/{{table}}.parquet",
            table=["documents", "ledger", "exposures", "evidence"],
        ),
        f"{RESULTS}/planting/{{world}}/{{corpus}}/tokenizer/tokenizer.json",
    log:
        f"{RESULTS}/logs/plant_corpus/{{world}}-{{corpus}}.log",
    wildcard_constraints:
        corpus="corpus|null",
    conda:
        "../envs/models.yaml"
    resources:
        mem_mb=table_needs("mem_mb"),
        runtime=table_needs("runtime"),
    params:
        version=VERSIONS["plant"],
        seed=seed_of_world,
        options=f"{to_flags(EDITION.planting.corpus)} {to_flags(EDITION.planting.tokenizer)}",
        taught=taught_flags,
        world=subpath(input.world, parent=True),
        null=null_flags,
        out=f"{RESULTS}/planting/{{world}}/{{corpus}}",
    shell:
        "python -m almanac plant corpus --seed {params.seed} --world {params.world} {params.options} {params.taught}"
        " {params.null} --output {params.out} 2> {log}"


rule plant_model:
    """Train a small model on a world's corpus; the same seed gives the same weights."""
    input:
        lambda wildcards: expand(
            f"{corpus_of(wildcards)}/{{table}}.parquet",
            table=["documents", "ledger", "exposures"],
        ),
    output:
        expand(
            f"{RESULTS}/models/{{{{model}}}}/{{file}}",
            file=[
                "model.safetensors",
                "config.json",
                "tokenizer.json",
                "loss.csv",
                "ledger.parquet",
                "exposures.parquet",
            ],
        ),
    log:
        f"{RESULTS}/logs/plant_model/{{model}}.log",
    conda:
        "../envs/models.yaml"
    resources:
        mem_mb=training_needs("mem_mb"),
        runtime=training_needs("runtime"),
    params:
        version=VERSIONS["plant"],
        seed=seed_of_world,
        corpus=corpus_of,
        options=lambda wildcards: to_flags(model_of(wildcards).planted, TrainingOptions),
        out=f"{RESULTS}/models/{{model}}",
    shell:
        "python -m almanac plant model --seed {params.seed} --corpus {params.corpus} {params.options}"
        " --output {params.out} 2> {log}"
