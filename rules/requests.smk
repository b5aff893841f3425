# From datasets to requests: the texts that models are asked; a later round depends on earlier requests or responses.
# REQUIRED INPUTS: dataset/DATASET/, the requests and responses of earlier rounds.
# OUTPUTS: requests/SUITE/DATASET/ROUND/ABOUT/, one request file per shard; for authors AUTHOR/DATASET.jsonl.


for SUITE in (*SUITES.values(), *AUTHORS.values()):
    for AT in SUITE.rounds:

        rule:
            """Write the requests of a suite on a dataset, in its first round or from earlier rounds."""
            name:
                f"ask_{SUITE.name}"
                + (f"_{AT.name}" if AT is not SUITE.rounds[0] else "")
            input:
                JOBS.dataset,
                partial(JOBS.files, SUITE),
                partial(JOBS.before, SUITE, AT),
            output:
                JOBS.asked(SUITE, AT),
            log:
                LAYOUT.log(
                    f"ask_{SUITE.name}/{{dataset}}-{AT.name}"
                    + "-{about}" * AT.about_one
                ),
            conda:
                "../envs/tables.yaml"
            resources:
                **by_name(JOBS.table_needs),
            params:
                version=VERSIONS["ask"],
                suite=SUITE.name,
                shards=EDITION.shards,
                options=partial(JOBS.asks, SUITE),
                files=known_by(partial(JOBS.files, SUITE)),
                before=partial(JOBS.before_flags, SUITE, AT),
                dataset=subpath(input[0], parent=True),
                out=subpath(output[0], parent=True),
            shell:
                "python -m almanac ask {params.suite} --dataset {params.dataset} --shards {params.shards}"
                " {params.options} {params.before} --output {params.out} 2> {log}"


for AUTHOR in AUTHORS.values():

    rule:
        """Filter the texts that a model has written into a file that a person proofreads."""
        name:
            f"write_{AUTHOR.name}"
        input:
            JOBS.dataset,
            partial(JOBS.before, AUTHOR, None),
        output:
            LAYOUT.written(AUTHOR.name, "{dataset}"),
        log:
            LAYOUT.log(f"write_{AUTHOR.name}/{{dataset}}"),
        conda:
            "../envs/tables.yaml"
        resources:
            **by_name(JOBS.table_needs),
        params:
            version=VERSIONS["build"],
            author=AUTHOR.name,
            options=partial(JOBS.asks, AUTHOR),
            rounds=partial(JOBS.before_flags, AUTHOR, None),
            dataset=subpath(input[0], parent=True),
        shell:
            "python -m almanac build {params.author} --dataset {params.dataset} {params.rounds} {params.options}"
            " --output {output} 2> {log}"
