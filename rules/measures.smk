# From responses to numbers.
# REQUIRED INPUTS: requests/…, responses/…, exposures of planted models. OUTPUTS: outcomes/, measures/.


for SUITE, METHOD in METHODS.items():

    rule:
        name:
            f"measure_{SUITE}"
        input:
            dataset_tables,
            suite_files(SUITE, "measure"),
            expand(
                f"{RESULTS}/requests/{SUITE}/{{{{dataset}}}}/round1/{{table}}.parquet",
                table=[*REQUEST_TABLES, *METHOD.asked_beside, *SHARDS],
            ),
            expand(
                f"{RESULTS}/responses/{{{{model}}}}/{SUITE}/{{{{dataset}}}}/round1/responses-{{shard}}.parquet",
                shard=range(EDITION.shards),
            ),
            asked_again(SUITE),
            exposures_of,
            null_tables(SUITE, METHOD.measured_beside),
            edition=f"{RESULTS}/edition.json",
        output:
            f"{RESULTS}/outcomes/{{model}}/{SUITE}/{{dataset}}.parquet",
            f"{RESULTS}/measures/{{model}}/{SUITE}/{{dataset}}.parquet",
            expand(
                f"{RESULTS}/outcomes/{{{{model}}}}/{SUITE}/{{{{dataset}}}}.{{table}}.parquet",
                table=METHOD.beside_outcomes,
            ),
        log:
            f"{RESULTS}/logs/measure_{SUITE}/{{model}}/{{dataset}}.log",
        conda:
            "../envs/measures.yaml"
        resources:
            mem_mb=table_needs("mem_mb"),
            runtime=table_needs("runtime"),
        params:
            version=VERSIONS["measure"],
            suite=SUITE,
            files=known_by(suite_files(SUITE, "measure")),
            edition=subpath(input.edition, parent=True),
        shell:
            "python -m almanac measure {params.suite} --edition {params.edition} --model {wildcards.model}"
            " --dataset {wildcards.dataset} 2> {log}"


rule measure_similarity:
    """Compare FactEval's questions that a model has written with those from templates."""
    input:
        expand(
            f"{RESULTS}/requests/facteval/{{{{dataset}}}}/round1/{{table}}.parquet",
            table=["items", "questions"],
        ),
        embedder_files,
    output:
        f"{RESULTS}/measures/similarity/{{dataset}}.parquet",
    log:
        f"{RESULTS}/logs/measure_similarity/{{dataset}}.log",
    conda:
        "../envs/models.yaml"
    resources:
        mem_mb=table_needs("mem_mb"),
        runtime=table_needs("runtime"),
    params:
        version=VERSIONS["measure"],
        embedder=embedder_flags,
        files=known_by(embedder_files),
        requests=subpath(input[0], parent=True),
    shell:
        "python -m almanac measure similarity --requests {params.requests} {params.embedder} --output {output} 2> {log}"


rule measure_validation:
    """Hold what the methods recover against what the planted models were taught."""
    input:
        edition=f"{RESULTS}/edition.json",
        outcomes=measured("outcomes"),
    output:
        f"{RESULTS}/measures/validation.parquet",
    log:
        f"{RESULTS}/logs/measure_validation.log",
    conda:
        "../envs/measures.yaml"
    resources:
        mem_mb=table_needs("mem_mb"),
        runtime=table_needs("runtime"),
    params:
        version=VERSIONS["measure"],
        edition=subpath(input.edition, parent=True),
    shell:
        "python -m almanac measure validation --edition {params.edition} > {log} 2>&1"


rule measure_comparison:
    """Put the models side by side: board, relations, correlations, subsumption, tuned against base."""
    input:
        edition=f"{RESULTS}/edition.json",
        outcomes=measured("outcomes", "ic_lke"),
    output:
        f"{RESULTS}/measures/comparison.parquet",
    log:
        f"{RESULTS}/logs/measure_comparison.log",
    conda:
        "../envs/measures.yaml"
    resources:
        mem_mb=table_needs("mem_mb"),
        runtime=table_needs("runtime"),
    params:
        version=VERSIONS["measure"],
        edition=subpath(input.edition, parent=True),
    shell:
        "python -m almanac measure comparison --edition {params.edition} > {log} 2>&1"
