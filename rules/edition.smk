# From an edition's folder to one archive that can be cited.
# REQUIRED INPUTS: everything of the edition. OUTPUTS: results/editions/EDITION.zip.


rule freeze_edition:
    """Pack the edition as canonical JSON Lines with a manifest, and its digest inside."""
    input:
        edition=f"{RESULTS}/edition.json",
        page=f"{RESULTS}/report.html",
        tables=TABLES,
    output:
        f"results/editions/{EDITION.edition}.zip",
    log:
        f"{RESULTS}/logs/freeze_edition.log",
    conda:
        "../envs/measures.yaml"
    resources:
        mem_mb=table_needs("mem_mb"),
        runtime=table_needs("runtime"),
    params:
        version=VERSIONS["freeze"],
        edition=subpath(input.edition, parent=True),
    shell:
        "python -m almanac freeze --edition {params.edition} --output {output} 2> {log}"
