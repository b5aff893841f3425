# From requests to responses: the only step that runs a model, one job a model, suite, dataset, round and shard; small
# models answer what is asked of all alike in one.
# REQUIRED INPUTS: requests/…, models/MODEL/ or a checkpoint. OUTPUTS: responses/MODEL/SUITE/DATASET/ROUND/ABOUT/.

ROUND = ("{suite}", "{dataset}", "{round}", "{about}")
ANSWER = (
    "python -m almanac answer {params.model} --engine {params.engine} --threads {threads} {params.reuse}"
    " --requests {input.requests} --contexts {input.contexts} --output {output} 2> {log}"
)


# What is there of the same requests and the same model stays.
rule answer_requests:
    """Run a model on a shard of requests: one response each, whatever happened."""
    input:
        requests=LAYOUT.shard(LAYOUT.requests_folder(*ROUND), "requests", "{shard}"),
        contexts=LAYOUT.requests_folder(*ROUND) / "contexts.parquet",
        first=JOBS.reusable,
        model=JOBS.model_files,
    output:
        update(
            LAYOUT.shard(
                LAYOUT.responses_folder("{model}", *ROUND), "responses", "{shard}"
            )
        ),
    log:
        LAYOUT.log("answer_requests/{model}/{suite}/{dataset}/{round}-{about}-{shard}"),
    wildcard_constraints:
        model=JOBS.alone(),
    conda:
        "../envs/models.yaml"
    threads: 1
    resources:
        mem_mb=JOBS.scoring_needs("mem_mb"),
        runtime=JOBS.scoring_needs("runtime"),
        gpu=JOBS.scoring_needs("gpu"),
    params:
        version=VERSIONS["answer"],
        engine=EDITION.engine,
        model=JOBS.model_flags,
        wrapper=JOBS.wrappers,
        files=known_by(JOBS.users_model),
        reuse=lambda wildcards, input: "".join(
            f"--reuse {quote(str(path))}" for path in input.first
        ),
    shell:
        ANSWER


for MODEL, ROUNDS in JOBS.together.items():

    rule:
        name:
            f"answer_together_{MODEL}"
        input:
            requests=[
                LAYOUT.shard(LAYOUT.requests_folder(*one, ALL), "requests", "{shard}")
                for one in ROUNDS
            ],
            contexts=[
                LAYOUT.requests_folder(*one, ALL) / "contexts.parquet"
                for one in ROUNDS
            ],
            model=JOBS.model_files,
        output:
            [
                update(
                    LAYOUT.shard(
                        LAYOUT.responses_folder("{model}", *one, ALL),
                        "responses",
                        "{shard}",
                    )
                )
                for one in ROUNDS
            ],
        log:
            LAYOUT.log("answer_together/{model}/{shard}"),
        wildcard_constraints:
            model=re.escape(MODEL),
        conda:
            "../envs/models.yaml"
        threads: 1
        resources:
            mem_mb=JOBS.scoring_needs("mem_mb"),
            runtime=JOBS.scoring_needs("runtime"),
            gpu=JOBS.scoring_needs("gpu"),
        params:
            version=VERSIONS["answer"],
            engine=EDITION.engine,
            model=JOBS.model_flags,
            wrapper=JOBS.wrappers,
            files=known_by(JOBS.users_model),
            reuse="",
        shell:
            ANSWER
