# From requests to responses: the only step that runs a model, one job a model, suite, dataset, round and shard.
# REQUIRED INPUTS: requests/…, models/MODEL/ or a checkpoint. OUTPUTS: responses/MODEL/SUITE/DATASET/ROUND/.


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
    shell:
        "python -m almanac answer {params.model} --engine {params.engine} --threads {threads}"
        " --requests {input.requests} --contexts {input.contexts} --output {output} 2> {log}"
