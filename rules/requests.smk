# From datasets to requests: what is asked, as text, before any model is known.
# REQUIRED INPUTS: dataset/DATASET/. OUTPUTS: requests/SUITE/DATASET/round1/, one request file a shard.


rule ask_ic_lke:
    """Put every test fact behind in-context examples, with its choices."""
    input:
        expand(
            f"{RESULTS}/dataset/{{{{dataset}}}}/{{table}}.parquet",
            table=["entities", "facts", "choices", "templates"],
        ),
    output:
        expand(
            f"{RESULTS}/requests/ic_lke/{{{{dataset}}}}/round1/{{table}}.parquet",
            table=["items", "links", "contexts"],
        ),
        expand(
            f"{RESULTS}/requests/ic_lke/{{{{dataset}}}}/round1/requests-{{shard}}.parquet",
            shard=range(EDITION.shards),
        ),
    log:
        f"{RESULTS}/logs/ask_ic_lke/{{dataset}}.log",
    conda:
        "../envs/tables.yaml"
    resources:
        mem_mb=table_needs("mem_mb"),
        runtime=table_needs("runtime"),
    params:
        version=VERSIONS["ask"],
        shards=EDITION.shards,
        options=lambda wildcards: to_flags(EDITION.suites.ic_lke[wildcards.dataset]),
        dataset=subpath(input[0], parent=True),
        out=f"{RESULTS}/requests/ic_lke/{{dataset}}/round1",
    shell:
        "python -m almanac ask ic_lke --dataset {params.dataset} --shards {params.shards} {params.options}"
        " --output {params.out} 2> {log}"


rule ask_karr:
    """Draw templates, names, other subjects and relations for every test fact, and put each string once."""
    input:
        expand(
            f"{RESULTS}/dataset/{{{{dataset}}}}/{{table}}.parquet",
            table=["entities", "relations", "facts", "choices", "templates"],
        ),
    output:
        expand(
            f"{RESULTS}/requests/karr/{{{{dataset}}}}/round1/{{table}}.parquet",
            table=["items", "links", "contexts", "draws", "refused"],
        ),
        expand(
            f"{RESULTS}/requests/karr/{{{{dataset}}}}/round1/requests-{{shard}}.parquet",
            shard=range(EDITION.shards),
        ),
    log:
        f"{RESULTS}/logs/ask_karr/{{dataset}}.log",
    conda:
        "../envs/tables.yaml"
    resources:
        mem_mb=table_needs("mem_mb"),
        runtime=table_needs("runtime"),
    params:
        version=VERSIONS["ask"],
        shards=EDITION.shards,
        options=lambda wildcards: to_flags(EDITION.suites.karr[wildcards.dataset]),
        dataset=subpath(input[0], parent=True),
        out=f"{RESULTS}/requests/karr/{{dataset}}/round1",
    shell:
        "python -m almanac ask karr --dataset {params.dataset} --shards {params.shards} {params.options}"
        " --output {params.out} 2> {log}"
