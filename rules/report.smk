# From measures to pages.
# REQUIRED INPUTS: every table of the edition. OUTPUTS: tables/, figures/, report.html with items/ (its items, if they
# are too many for one file); print/ only on request.
# `snakemake --report` shows the first three, with the captions of workflow/report/.


rule report_edition:
    """Draw the tables, the figures and the page, which opens from disk."""
    input:
        edition=LAYOUT.record(),
        tables=TABLES,
    output:
        report(
            LAYOUT.page(),
            caption="../workflow/report/page.rst",
            category="Page",
            labels={"edition": EDITION.edition},
        ),
        report(
            directory(LAYOUT.shown("tables")),
            patterns=["{name}.csv"],
            caption="../workflow/report/table.rst",
            category="Tables",
            subcategory=of_chapter,
            labels={"table": "{name}"},
        ),
        report(
            directory(LAYOUT.shown("figures")),
            patterns=["{name}.svg"],
            caption="../workflow/report/figure.rst",
            category="Figures",
            subcategory=of_chapter,
            labels={"figure": "{name}"},
        ),
        directory(LAYOUT.shown("items")),
    log:
        LAYOUT.log("report_edition"),
    conda:
        "../envs/report.yaml"
    resources:
        **by_name(JOBS.table_needs),
    params:
        what="page",
        version=VERSIONS["report"],
        edition=subpath(input.edition, parent=True),
    shell:
        "python -m almanac report {params.what} --edition {params.edition} > {log} 2>&1"


use rule report_edition as print_figures with:
    """Draw the page's figures as PNG and PDF: a separate target."""
    output:
        directory(LAYOUT.shown("print")),
    log:
        LAYOUT.log("print_figures"),
    params:
        what="print",
