# From a dataset to questions that a model writes, for a person to proofread; `snakemake written`, no part of `all`.
# REQUIRED INPUTS: dataset/DATASET/, responses/MODEL/writing/. OUTPUTS: requests/writing/, writing/DATASET.jsonl.


rule ask_writing:
    """Have a statement, a sentence with a blank and a question written of each fact."""
    input:
        facts=f"{RESULTS}/dataset/{{dataset}}/facts.parquet",
        tables=expand(
            f"{RESULTS}/dataset/{{{{dataset}}}}/{{table}}.parquet",
            table=["entities", "relations"],
        ),
        prompts=ROOT / "resources" / "prompts" / "facteval.yaml",
    output:
        expand(
            f"{RESULTS}/requests/writing/{{{{dataset}}}}/round1/{{table}}.parquet",
            table=["items", "links", "contexts", *SHARDS],
        ),
    log:
        f"{RESULTS}/logs/ask_writing/{{dataset}}.log",
    conda:
        "../envs/tables.yaml"
    resources:
        mem_mb=table_needs("mem_mb"),
        runtime=table_needs("runtime"),
    params:
        version=VERSIONS["ask"],
        shards=EDITION.shards,
        options=writing_flags,
        dataset=subpath(input.facts, parent=True),
        out=subpath(output[0], parent=True),
    shell:
        "python -m almanac ask writing --dataset {params.dataset} --shards {params.shards} {params.options}"
        " --output {params.out} 2> {log}"


rule build_writing:
    """Judge what the model wrote; what is dropped stays in the file with the reason."""
    input:
        facts=f"{RESULTS}/dataset/{{dataset}}/facts.parquet",
        entities=f"{RESULTS}/dataset/{{dataset}}/entities.parquet",
        asked=f"{RESULTS}/requests/writing/{{dataset}}/round1/items.parquet",
        links=f"{RESULTS}/requests/writing/{{dataset}}/round1/links.parquet",
        answered=lambda wildcards: expand(
            f"{RESULTS}/responses/{WRITING.model}/writing/{wildcards.dataset}/round1/responses-{{shard}}.parquet",
            shard=range(EDITION.shards),
        ),
    output:
        f"{RESULTS}/writing/{{dataset}}.jsonl",
    log:
        f"{RESULTS}/logs/build_writing/{{dataset}}.log",
    conda:
        "../envs/tables.yaml"
    resources:
        mem_mb=table_needs("mem_mb"),
        runtime=table_needs("runtime"),
    params:
        version=VERSIONS["build"],
        dataset=subpath(input.facts, parent=True),
        asked=subpath(input.asked, parent=True),
    shell:
        "python -m almanac build writing --dataset {params.dataset} --asked {params.asked}"
        " --responses {input.answered} --output {output} 2> {log}"
