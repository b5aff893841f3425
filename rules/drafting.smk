# From a dataset to drafts of templates, for a person to proofread; `snakemake drafts`, no part of `all`.
# REQUIRED INPUTS: dataset/DATASET/, responses/MODEL/drafting/. OUTPUTS: requests/drafting/, drafting/DATASET/.


rule ask_drafts:
    """Have templates drafted from facts, and those that are there said in other words."""
    input:
        facts=f"{RESULTS}/dataset/{{dataset}}/facts.parquet",
        tables=expand(
            f"{RESULTS}/dataset/{{{{dataset}}}}/{{table}}.parquet",
            table=["entities", "relations", "templates"],
        ),
        prompts=ROOT / "resources" / "prompts" / "drafting.yaml",
    output:
        expand(
            f"{RESULTS}/requests/drafting/{{{{dataset}}}}/round1/{{table}}.parquet",
            table=[
                "items",
                "links",
                "contexts",
                *(f"requests-{shard}" for shard in range(EDITION.shards)),
            ],
        ),
    log:
        f"{RESULTS}/logs/ask_drafts/{{dataset}}.log",
    conda:
        "../envs/tables.yaml"
    resources:
        mem_mb=table_needs("mem_mb"),
        runtime=table_needs("runtime"),
    params:
        version=VERSIONS["ask"],
        shards=EDITION.shards,
        options=drafting_flags,
        dataset=subpath(input.facts, parent=True),
        out=f"{RESULTS}/requests/drafting/{{dataset}}/round1",
    shell:
        "python -m almanac ask drafts --dataset {params.dataset} --shards {params.shards} {params.options}"
        " --output {params.out} 2> {log}"


rule build_drafts:
    """Judge what the model wrote; what is dropped stays in the file with the reason."""
    input:
        facts=f"{RESULTS}/dataset/{{dataset}}/facts.parquet",
        tables=expand(
            f"{RESULTS}/dataset/{{{{dataset}}}}/{{table}}.parquet",
            table=["entities", "relations", "templates"],
        ),
        asked=f"{RESULTS}/requests/drafting/{{dataset}}/round1/items.parquet",
        links=f"{RESULTS}/requests/drafting/{{dataset}}/round1/links.parquet",
        answered=drafting_answers("round1"),
    output:
        f"{RESULTS}/drafting/{{dataset}}/round1.jsonl",
    log:
        f"{RESULTS}/logs/build_drafts/{{dataset}}.log",
    conda:
        "../envs/tables.yaml"
    resources:
        mem_mb=table_needs("mem_mb"),
        runtime=table_needs("runtime"),
    params:
        version=VERSIONS["build"],
        options=drafting_flags,
        dataset=subpath(input.facts, parent=True),
        asked=subpath(input.asked, parent=True),
    shell:
        "python -m almanac build drafts --dataset {params.dataset} --asked {params.asked}"
        " --responses {input.answered} {params.options} --output {output} 2> {log}"


rule ask_round_trip:
    """Ask of each draft that is kept, filled with facts, which relation it speaks of."""
    input:
        facts=f"{RESULTS}/dataset/{{dataset}}/facts.parquet",
        tables=expand(
            f"{RESULTS}/dataset/{{{{dataset}}}}/{{table}}.parquet",
            table=["entities", "relations", "templates"],
        ),
        drafts=f"{RESULTS}/drafting/{{dataset}}/round1.jsonl",
    output:
        expand(
            f"{RESULTS}/requests/drafting/{{{{dataset}}}}/round2/{{table}}.parquet",
            table=[
                "items",
                "links",
                "contexts",
                *(f"requests-{shard}" for shard in range(EDITION.shards)),
            ],
        ),
    log:
        f"{RESULTS}/logs/ask_round_trip/{{dataset}}.log",
    conda:
        "../envs/tables.yaml"
    resources:
        mem_mb=table_needs("mem_mb"),
        runtime=table_needs("runtime"),
    params:
        version=VERSIONS["ask"],
        shards=EDITION.shards,
        options=drafting_flags,
        dataset=subpath(input.facts, parent=True),
        out=f"{RESULTS}/requests/drafting/{{dataset}}/round2",
    shell:
        "python -m almanac ask drafts --dataset {params.dataset} --drafts {input.drafts} --shards {params.shards}"
        " {params.options} --output {params.out} 2> {log}"


rule build_round_trip:
    """Drop the drafts that do not lead the model back to their relation."""
    input:
        drafts=f"{RESULTS}/drafting/{{dataset}}/round1.jsonl",
        asked=f"{RESULTS}/requests/drafting/{{dataset}}/round2/items.parquet",
        links=f"{RESULTS}/requests/drafting/{{dataset}}/round2/links.parquet",
        answered=drafting_answers("round2"),
    output:
        f"{RESULTS}/drafting/{{dataset}}/round2.jsonl",
    log:
        f"{RESULTS}/logs/build_round_trip/{{dataset}}.log",
    conda:
        "../envs/tables.yaml"
    resources:
        mem_mb=table_needs("mem_mb"),
        runtime=table_needs("runtime"),
    params:
        version=VERSIONS["build"],
        options=drafting_flags,
        dataset=f"{RESULTS}/dataset/{{dataset}}",
        asked=subpath(input.asked, parent=True),
    shell:
        "python -m almanac build drafts --dataset {params.dataset} --drafts {input.drafts} --asked {params.asked}"
        " --responses {input.answered} {params.options} --output {output} 2> {log}"
