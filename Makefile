# make demo: from nothing to results/demo/report.html.   make test: everything that is checked.
# CONFIG=FILE chooses another edition; ARGS="…" goes to Snakemake, e.g. ARGS="--config facts=my_facts".
PYTHON ?= python3
CONFIG ?= config/config.yaml
ARGS ?=
BIN := .venv/bin
SNAKEMAKE = PATH="$(CURDIR)/$(BIN):$$PATH" PYTHONPATH=workflow $(BIN)/python -m almanac.locked snakemake --cores all --rerun-incomplete --quiet rules

.PHONY: demo validate edition test lint clean help

help:
	@sed -n '1,2p' Makefile

demo: .venv/installed
	@$(SNAKEMAKE) --configfile $(CONFIG) $(ARGS)

validate: .venv/installed
	@$(SNAKEMAKE) --configfile config/validation.yaml $(ARGS) -- validation
	@PYTHONPATH=workflow $(BIN)/python -m almanac measure validation --edition results/validation --strict

edition: .venv/installed
	@$(SNAKEMAKE) --configfile $(CONFIG) $(ARGS) -- edition

test: .venv/installed lint
	$(BIN)/python -m pytest -n auto

lint: .venv/installed
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/snakefmt --check Snakefile workflow/Snakefile rules
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/snakemake --lint
	$(BIN)/python envs/pins.py check
	PYTHONPATH=workflow $(BIN)/python -m almanac.schema --check

.venv/installed: envs/lock.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Almanac needs Python 3.11 or newer; set PYTHON=")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r envs/lock.txt
	@touch $@

clean:
	rm -rf .venv .snakemake results
