# From an edition's folder to one archive that can be cited.
# REQUIRED INPUTS: everything of the edition. OUTPUTS: results/editions/EDITION/EDITION-DIGEST.zip and its name in
# latest.txt: the folder is no output, since Snakemake would empty it of earlier archives, which may have been cited.


rule freeze_edition:
    """Pack the edition as canonical JSON Lines with a manifest, and its digest inside."""
    input:
        edition=LAYOUT.record(),
        page=LAYOUT.page(),
        tables=TABLES,
        shown=[LAYOUT.shown(what) for what in SHOWN],
        facts=sorted(set(map(LAYOUT.facts_record, EDITION.used_datasets()))),
    output:
        LAYOUT.frozen(),
    log:
        LAYOUT.log("freeze_edition"),
    conda:
        "../envs/measures.yaml"
    resources:
        **by_name(JOBS.table_needs),
    params:
        version=VERSIONS["freeze"],
        edition=subpath(input.edition, parent=True),
        archives=subpath(output[0], parent=True),
    shell:
        "python -m almanac freeze --edition {params.edition} --output {params.archives} > {output} 2> {log}"


rule verify:
    """Hold the edition, made again, against the one that is published in resources/editions."""
    input:
        LAYOUT.frozen(),
    log:
        LAYOUT.log("verify"),
    conda:
        "../envs/measures.yaml"
    resources:
        **by_name(JOBS.table_needs),
    shell:
        'python -m almanac verify rebuild "$(head -n 1 {input})" 2>&1 | tee {log}'
