# From requests to responses: the only step that runs a model, one job a model, suite, dataset, round and shard; small
# models answer the first round of all suites and datasets in one.
# REQUIRED INPUTS: requests/…, models/MODEL/ or a checkpoint. OUTPUTS: responses/MODEL/SUITE/DATASET/ROUND/.

ANSWER = (
    "python -m almanac answer {params.model} --engine {params.engine} --threads {threads}"
    " --requests {input.requests} --contexts {input.contexts} --output {output} 2> {log}"
)


rule answer_requests:
    """Run a model on a shard of requests: one response each, whatever happened."""
    input:
        requests=f"{RESULTS}/requests/{{suite}}/{{dataset}}/{{round}}/requests-{{shard}}.parquet",
        contexts=f"{RESULTS}/requests/{{suite}}/{{dataset}}/{{round}}/contexts.parquet",
        model=model_files,
    output:
        f"{RESULTS}/responses/{{model}}/{{suite}}/{{dataset}}/{{round}}/responses-{{shard}}.parquet",
    log:
        f"{RESULTS}/logs/answer_requests/{{model}}/{{suite}}/{{dataset}}/{{round}}-{{shard}}.log",
    wildcard_constraints:
        model=answering_alone(),
    conda:
        "../envs/models.yaml"
    threads: 1
    resources:
        mem_mb=scoring_needs("mem_mb"),
        runtime=scoring_needs("runtime"),
        gpu=scoring_needs("gpu"),
    params:
        version=VERSIONS["answer"],
        engine=EDITION.engine,
        model=model_flags,
        wrapper=wrapper_contents,
        files=known_by(users_model),
    shell:
        ANSWER


use rule answer_requests as answer_again with:
    input:
        requests=f"{RESULTS}/requests/{{suite}}/{{dataset}}/round2/{{model}}/requests-{{shard}}.parquet",
        contexts=f"{RESULTS}/requests/{{suite}}/{{dataset}}/round2/{{model}}/contexts.parquet",
        first=f"{RESULTS}/responses/{{model}}/{{suite}}/{{dataset}}/round1/responses-{{shard}}.parquet",
        model=model_files,
    output:
        update(
            f"{RESULTS}/responses/{{model}}/{{suite}}/{{dataset}}/round2/responses-{{shard}}.parquet"
        ),
    log:
        f"{RESULTS}/logs/answer_again/{{model}}/{{suite}}/{{dataset}}-{{shard}}.log",
    wildcard_constraints:
        suite="|".join(METHODS_AGAIN) or "none",
    params:
        version=VERSIONS["answer"],
        engine=EDITION.engine,
        model=reusing_flags,
        wrapper=wrapper_contents,
        files=known_by(users_model),


ruleorder: answer_again > answer_requests


# What is there of the same requests and the same model stays: another suite is answered without the others once more.
for MODEL, ASKINGS in TOGETHER.items():

    rule:
        name:
            f"answer_together_{MODEL}"
        input:
            requests=[
                f"{RESULTS}/requests/{asking.suite}/{asking.dataset}/round1/requests-{{shard}}.parquet"
                for asking in ASKINGS
            ],
            contexts=[
                f"{RESULTS}/requests/{asking.suite}/{asking.dataset}/round1/contexts.parquet"
                for asking in ASKINGS
            ],
            model=model_files,
        output:
            [
                update(
                    f"{RESULTS}/responses/{{model}}/{asking.suite}/{asking.dataset}/round1/responses-{{shard}}.parquet"
                )
                for asking in ASKINGS
            ],
        log:
            f"{RESULTS}/logs/answer_together/{{model}}/{{shard}}.log",
        wildcard_constraints:
            model=re.escape(MODEL),
        conda:
            "../envs/models.yaml"
        threads: 1
        resources:
            mem_mb=scoring_needs("mem_mb"),
            runtime=scoring_needs("runtime"),
            gpu=scoring_needs("gpu"),
        params:
            version=VERSIONS["answer"],
            engine=EDITION.engine,
            model=model_flags,
            wrapper=wrapper_contents,
            files=known_by(users_model),
        shell:
            ANSWER
