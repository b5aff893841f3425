# From datasets to requests: what is asked, as text, of every model; and in a second round, of one that has answered.
# REQUIRED INPUTS: dataset/DATASET/, responses/MODEL/ of the first round. OUTPUTS: requests/SUITE/DATASET/round1/ and
# round2/MODEL/, one request file a shard.


for SUITE, METHOD in METHODS.items():

    rule:
        name:
            f"ask_{SUITE}"
        input:
            dataset_tables,
            suite_files(SUITE, "ask"),
        output:
            expand(
                f"{RESULTS}/requests/{SUITE}/{{{{dataset}}}}/round1/{{table}}.parquet",
                table=[*REQUEST_TABLES, *METHOD.asked_beside, *SHARDS],
            ),
        log:
            f"{RESULTS}/logs/ask_{SUITE}/{{dataset}}.log",
        conda:
            "../envs/tables.yaml"
        resources:
            mem_mb=table_needs("mem_mb"),
            runtime=table_needs("runtime"),
        params:
            version=VERSIONS["ask"],
            suite=SUITE,
            shards=EDITION.shards,
            options=suite_flags(SUITE),
            files=known_by(suite_files(SUITE, "ask")),
            dataset=subpath(input[0], parent=True),
            out=subpath(output[0], parent=True),
        shell:
            "python -m almanac ask {params.suite} --dataset {params.dataset} --shards {params.shards} {params.options}"
            " --output {params.out} 2> {log}"


for SUITE, METHOD in METHODS_AGAIN.items():

    rule:
        name:
            f"ask_{SUITE}_again"
        input:
            dataset_tables,
            links=f"{RESULTS}/requests/{SUITE}/{{dataset}}/round1/links.parquet",
            asked=expand(
                f"{RESULTS}/requests/{SUITE}/{{{{dataset}}}}/round1/{{table}}.parquet",
                table=["items", *METHOD.asked_beside, *SHARDS],
            ),
            answered=expand(
                f"{RESULTS}/responses/{{{{model}}}}/{SUITE}/{{{{dataset}}}}/round1/responses-{{shard}}.parquet",
                shard=range(EDITION.shards),
            ),
        output:
            expand(
                f"{RESULTS}/requests/{SUITE}/{{{{dataset}}}}/round2/{{{{model}}}}/{{table}}.parquet",
                table=[*REQUEST_TABLES, *METHOD.asked_beside, *SHARDS],
            ),
        log:
            f"{RESULTS}/logs/ask_{SUITE}_again/{{model}}/{{dataset}}.log",
        conda:
            "../envs/tables.yaml"
        resources:
            mem_mb=table_needs("mem_mb"),
            runtime=table_needs("runtime"),
        params:
            version=VERSIONS["ask"],
            suite=SUITE,
            shards=EDITION.shards,
            options=suite_flags(SUITE),
            dataset=subpath(input[0], parent=True),
            after=subpath(input.links, parent=True),
            out=subpath(output[0], parent=True),
        shell:
            "python -m almanac ask {params.suite} --dataset {params.dataset} --shards {params.shards} {params.options}"
            " --after {params.after} --responses {input.answered} --output {params.out} 2> {log}"
