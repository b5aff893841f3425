# From responses to outcomes and measures.
# REQUIRED INPUTS: requests/…, responses/…, exposures of planted models. OUTPUTS: outcomes/, measures/.


# Measuring gets the whole configuration from the environment (common.smk), but depends only on `params`. The edition's
# record cannot be an input: when it is made anew, Snakemake ignores the params of all jobs that have it as an input,
# `ancient` or not.
# One process per model; results whose inputs have not changed are kept.
for MODEL in ASKED:

    rule:
        """Judge one model's answers to all suites, and compute its measures."""
        name:
            f"measure_{MODEL}"
        input:
            JOBS.measured_from(MODEL),
        output:
            [update(path) for path in JOBS.measures(MODEL)],
            touch(LAYOUT.ended(LAYOUT.numbers(MODEL))),
        log:
            LAYOUT.log(f"measure_model/{MODEL}"),
        conda:
            "../envs/measures.yaml"
        resources:
            **by_name(JOBS.table_needs),
        params:
            version=VERSIONS["measure"],
            model=MODEL,
            settings=JOBS.settings(MODEL),
            edition=lambda wildcards: RESULTS,
        shell:
            'python -m almanac measure model --edition {params.edition} --settings "$ALMANAC_SETTINGS" --model {params.model:q}'
            " 2> {log}"


rule measure_across:
    """Compare the models, and compare what the methods recover with what planted models were taught."""
    input:
        [path for model in ASKED for path in JOBS.measures(model)],
    output:
        list(map(LAYOUT.between, BETWEEN)),
    log:
        LAYOUT.log("measure_across"),
    conda:
        "../envs/measures.yaml"
    resources:
        **by_name(JOBS.table_needs),
    params:
        version=VERSIONS["measure"],
        settings=JOBS.compared(),
        edition=lambda wildcards: RESULTS,
    shell:
        'python -m almanac measure across --edition {params.edition} --settings "$ALMANAC_SETTINGS" > {log} 2>&1'
