# From numbers to pages.
# REQUIRED INPUTS: every table of the edition. OUTPUTS: tables/, figures/, report.html; print/ where it is asked for.


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


rule print_figures:
    """Draw the page's figures as PNG and PDF; a target of its own, which no page waits for."""
    input:
        edition=LAYOUT.record(),
        tables=TABLES,
    output:
        directory(LAYOUT.shown("print")),
    log:
        LAYOUT.log("print_figures"),
    conda:
        "../envs/report.yaml"
    resources:
        mem_mb=table_needs("mem_mb"),
        runtime=table_needs("runtime"),
    params:
        version=VERSIONS["report"],
        edition=subpath(input.edition, parent=True),
    shell:
        "python -m almanac report print --edition {params.edition} > {log} 2>&1"
