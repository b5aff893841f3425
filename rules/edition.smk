# From an edition's folder to one archive to cite.
# REQUIRED INPUTS: all files of the edition. OUTPUTS: results/editions/EDITION/EDITION-DIGEST.zip, and its name in
# latest.txt. The folder is no output, since Snakemake would remove earlier archives from it, which may have been cited.


rule freeze_edition:
    """Pack the edition as canonical JSON Lines, with a manifest that has its digest."""
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
    """Compare a rebuilt edition with the published one in resources/editions."""
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
