# From numbers to pages.
# REQUIRED INPUTS: every table of the edition. OUTPUTS: tables/, figures/, report.html.


rule report_edition:
    """Draw the tables, the figures and the one page that opens from disk."""
    input:
        edition=LAYOUT.record(),
        tables=TABLES,
    output:
        LAYOUT.page(),
        directory(LAYOUT.shown("tables")),
        directory(LAYOUT.shown("figures")),
    log:
        LAYOUT.log("report_edition"),
    conda:
        "../envs/report.yaml"
    resources:
        mem_mb=table_needs("mem_mb"),
        runtime=table_needs("runtime"),
    params:
        version=VERSIONS["report"],
        edition=subpath(input.edition, parent=True),
    shell:
        "python -m almanac report page --edition {params.edition} 2> {log}"
