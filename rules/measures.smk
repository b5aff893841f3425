# From responses to numbers.
# REQUIRED INPUTS: requests/…, responses/…, exposures of planted models. OUTPUTS: outcomes/, measures/.


# Measuring is given the whole configuration and does not depend on it: what it depends on is in `params`. The record of
# the edition cannot be an input: where it is made anew, Snakemake does not look at the params of a job that has it as an
# input, `ancient` or not. So it stands in the environment (common.smk).
# One process a model; what depends on nothing that has changed stays.
for MODEL in ASKED:

    rule:
        """Judge one model's answers to all suites, and compute its numbers."""
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
    """Put the models side by side, and hold what the methods recover against what planted models were taught."""
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
