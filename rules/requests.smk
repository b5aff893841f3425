# From datasets to requests: what is asked, as text, before any model is known.
# REQUIRED INPUTS: dataset/DATASET/. OUTPUTS: requests/SUITE/DATASET/round1/, one request file a shard.


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
            dataset=subpath(input[0], parent=True),
            out=subpath(output[0], parent=True),
        shell:
            "python -m almanac ask {params.suite} --dataset {params.dataset} --shards {params.shards} {params.options}"
            " --output {params.out} 2> {log}"
