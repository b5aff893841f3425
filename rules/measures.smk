# From responses to numbers.
# REQUIRED INPUTS: requests/…, responses/…, exposures of planted models. OUTPUTS: outcomes/, measures/.


rule measure_ic_lke:
    """Judge a model's answers and compute its numbers with intervals."""
    input:
        edition=f"{RESULTS}/edition.json",
        facts=f"{RESULTS}/dataset/{{dataset}}/facts.parquet",
        asked=expand(
            f"{RESULTS}/requests/ic_lke/{{{{dataset}}}}/round1/{{table}}.parquet",
            table=[
                "items",
                "links",
                *(f"requests-{shard}" for shard in range(EDITION.shards)),
            ],
        ),
        answered=expand(
            f"{RESULTS}/responses/{{{{model}}}}/ic_lke/{{{{dataset}}}}/round1/responses-{{shard}}.parquet",
            shard=range(EDITION.shards),
        ),
        taught=exposures_of,
    output:
        f"{RESULTS}/outcomes/{{model}}/ic_lke/{{dataset}}.parquet",
        f"{RESULTS}/measures/{{model}}/ic_lke/{{dataset}}.parquet",
    log:
        f"{RESULTS}/logs/measure_ic_lke/{{model}}/{{dataset}}.log",
    conda:
        "../envs/measures.yaml"
    resources:
        mem_mb=table_needs("mem_mb"),
        runtime=table_needs("runtime"),
    params:
        version=VERSIONS["measure"],
        edition=subpath(input.edition, parent=True),
    shell:
        "python -m almanac measure ic_lke --edition {params.edition} --model {wildcards.model}"
        " --dataset {wildcards.dataset} 2> {log}"


rule measure_karr:
    """Compute every fact's KaRR, choose the thresholds, judge the baselines."""
    input:
        edition=f"{RESULTS}/edition.json",
        facts=f"{RESULTS}/dataset/{{dataset}}/facts.parquet",
        asked=expand(
            f"{RESULTS}/requests/karr/{{{{dataset}}}}/round1/{{table}}.parquet",
            table=[
                "items",
                "links",
                "draws",
                *(f"requests-{shard}" for shard in range(EDITION.shards)),
            ],
        ),
        answered=expand(
            f"{RESULTS}/responses/{{{{model}}}}/karr/{{{{dataset}}}}/round1/responses-{{shard}}.parquet",
            shard=range(EDITION.shards),
        ),
        taught=exposures_of,
    output:
        f"{RESULTS}/outcomes/{{model}}/karr/{{dataset}}.parquet",
        f"{RESULTS}/outcomes/{{model}}/karr/{{dataset}}.values.parquet",
        f"{RESULTS}/outcomes/{{model}}/karr/{{dataset}}.leaves.parquet",
        f"{RESULTS}/measures/{{model}}/karr/{{dataset}}.parquet",
    log:
        f"{RESULTS}/logs/measure_karr/{{model}}/{{dataset}}.log",
    conda:
        "../envs/measures.yaml"
    resources:
        mem_mb=table_needs("mem_mb"),
        runtime=table_needs("runtime"),
    params:
        version=VERSIONS["measure"],
        edition=subpath(input.edition, parent=True),
    shell:
        "python -m almanac measure karr --edition {params.edition} --model {wildcards.model}"
        " --dataset {wildcards.dataset} 2> {log}"


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
