# From requests to responses: the only step that runs a model. One job per model, suite, dataset, round and shard; a
# small model answers all rounds that are the same for every model in one job per shard.
# REQUIRED INPUTS: requests/…, models/MODEL/ or a checkpoint. OUTPUTS: responses/MODEL/SUITE/DATASET/ROUND/ABOUT/.

# For each rule: its name, the log of its jobs, the pattern of its models, and the rounds that one job answers.
ROUND = ("{suite}", "{dataset}", "{round}", "{about}")
ALONE = (
    "answer_requests",
    "answer_requests/{model}/{suite}/{dataset}/{round}-{about}-{shard}",
    JOBS.alone(),
    [ROUND],
)
TOGETHER = [
    (
        f"answer_together_{model}",
        "answer_together/{model}/{shard}",
        re.escape(model),
        [(*one, ALL) for one in rounds],
    )
    for model, rounds in JOBS.together.items()
]


# A job keeps existing responses (`update`) of the same model to the same requests.
for NAME, LOG, MODELS, ROUNDS in (ALONE, *TOGETHER):
    FROM = [LAYOUT.requests_folder(*one) for one in ROUNDS]
    INTO = [LAYOUT.responses_folder("{model}", *one) for one in ROUNDS]

    rule:
        """Run a model on a shard of requests: one response per request, also if it fails."""
        name:
            NAME
        input:
            requests=[LAYOUT.shard(folder, "requests", "{shard}") for folder in FROM],
            contexts=[folder / "contexts.parquet" for folder in FROM],
            first=JOBS.reusable,
            model=JOBS.model_files,
        output:
            responses=[
                update(LAYOUT.shard(folder, "responses", "{shard}")) for folder in INTO
            ],
            ended=[
                touch(LAYOUT.ended(LAYOUT.shard(folder, "responses", "{shard}")))
                for folder in INTO
            ],
        log:
            LAYOUT.log(LOG),
        wildcard_constraints:
            model=MODELS,
        conda:
            "../envs/models.yaml"
        threads: JOBS.threads
        resources:
            **by_name(JOBS.scoring_needs, "gpu"),
        params:
            version=VERSIONS["answer"],
            engine=EDITION.engine,
            model=JOBS.model_flags,
            wrapper=JOBS.wrappers,
            files=known_by(JOBS.users_model),
            reuse=lambda wildcards, input: flag("--reuse", input.first),
        shell:
            "python -m almanac answer {params.model} --engine {params.engine} --threads {threads} {params.reuse}"
            " --requests {input.requests} --contexts {input.contexts} --output {output.responses} 2> {log}"
