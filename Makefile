# Everything a fresh clone needs: Python >= 3.11 and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export PATH := $(CURDIR)/$(BIN):$(PATH)
# Tests start hundreds of processes, each of which would compile the package anew.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test quick nightly fuzz faults conformance bench bench-c docs docs-tables lint types imports unit filecheck format clean

demo: $(VENV)/core
	$(BIN)/python examples/demo.py
	$(BIN)/python examples/digits/recognize.py

# What a change must pass. The parts run beside each other; the output of pytest is shown as it
# comes, and that of the others where they fail.
CHECKS := unit types filecheck imports lint
test: $(VENV)/all
	@$(BIN)/python tests/run_checks.py $(CHECKS)

# While editing: the core of the language, and some random programs. Less than a minute.
REWRITING := addresses combinators derivation schedules strategy_text traversals
QUICK ?= $(addprefix tests/unit/,dialects dsl nat notation runtime interpreter/test_patterns.py) \
  $(REWRITING:%=tests/unit/rewrite/test_%.py) \
  $(addprefix tests/properties/test_,programs.py round_trips.py compiled_programs.py)
quick: $(VENV)/all
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	RISE_FUZZ=0.003 $(BIN)/pytest -m "not long" $(QUICK)

# All tests, those marked nightly among them, with FUZZ (a tenth) of the random programs of make fuzz
# from a seed that follows from the date; then planted faults, and models of live frameworks, unless
# PARTS= leaves them out.
PARTS ?= then faults then conformance
nightly: FUZZ = 0.1
nightly: SEED := $(shell date -u +%y%j)00000
nightly: $(VENV)/all
	@RISE_NIGHTLY=1 RISE_FUZZ=$(FUZZ) RISE_FUZZ_SEED=$(SEED) $(BIN)/python tests/run_checks.py \
	  $(CHECKS) $(PARTS)

lint: $(VENV)/all
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# Node.js collects garbage less often with a larger young generation: a fifth less time.
types: $(VENV)/all
	NODE_OPTIONS=--max-semi-space-size=128 $(BIN)/pyright

imports: $(VENV)/all
	$(BIN)/lint-imports

unit: $(VENV)/all
	@command -v chromium >/dev/null || command -v google-chrome >/dev/null || test -n "$$RISE_CHROMIUM" || \
	  echo "there is no chromium: the tests of pages in a browser are skipped (apt-get install chromium)"
	$(BIN)/pytest

filecheck: $(VENV)/all
	$(BIN)/lit -v --order=lexical tests/filecheck

# The random programs and broken files of make test, and many more: 50,000 programs through the
# interpreter, numpy and every surface form, 20,000 compiled, 50,000 broken files of each form; what
# ran is counted at the end. FUZZ=0.1 runs a tenth. The first seed follows from the commit. Tests are
# named by their seeds, so that a run that was stopped goes on with SEED=... .
FUZZ ?= 1
SEED ?=
FUZZED ?= tests/properties
fuzz: $(VENV)/all
	RISE_FUZZ=$(FUZZ) RISE_FUZZ_SEED=$(SEED) $(BIN)/pytest -vv $(FUZZED)

# Plants faults in the lowering, one at a time: the tests must find 95 of 100. Their random programs
# are as many as at night, and always the same.
faults: $(VENV)/all
	env -u RISE_FUZZ RISE_NIGHTLY=1 RISE_FUZZ_SEED=0 $(BIN)/python tests/faults/plant.py

# The importers of models with live frameworks, in a virtual environment of their own since these
# are large, JAX's own export harness: how many of its cases pass, by op (OP=gather takes one), and
# ONNX's backend tests of single ops.
CONFORMANCE := build/conformance
OP ?=
conformance: $(CONFORMANCE)/ready
	$(CONFORMANCE)/bin/python tests/conformance/live.py
	$(CONFORMANCE)/bin/python tests/conformance/run.py --op "$(OP)"
	for kind in node simple pytorch-operator pytorch-converted light; do \
	  $(CONFORMANCE)/bin/python tests/conformance/onnx_nodes.py --kind $$kind || exit 1; done

# Every benchmark, or those named: make bench BENCH="overhead threads". A page with charts and figures
# for `rise benchcmp` are in build/bench afterwards.
BENCH ?=
bench: $(VENV)/bench
	$(BIN)/python benchmarks/run.py $(BENCH)

# Thirty kernels in C beside gcc, clang and Polly, where they are installed. KERNEL="gemm lu" takes
# some.
KERNEL ?=
bench-c: $(VENV)/all
	$(BIN)/python benchmarks/c_kernels.py $(KERNEL)

# The site, in build/docs; a warning is an error.
docs: $(VENV)/all
	$(BIN)/sphinx-build -W -q docs build/docs
	@echo "the site is in build/docs/index.html"

# The parts of the documentation that the code writes: pattern tables, and what is shown as printed.
docs-tables: $(VENV)/all
	$(BIN)/python docs/generate.py

format: $(VENV)/all
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/core: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/all: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[all]'
	@touch $@ $(VENV)/core

# Apart from the rest: the rivals are large, and only the benchmarks use them.
$(VENV)/bench: $(VENV)/all
	$(BIN)/python -m pip install --quiet --editable '.[bench]'
	@touch $@

$(CONFORMANCE)/ready: pyproject.toml
	$(PYTHON) -m venv $(CONFORMANCE)
	$(CONFORMANCE)/bin/python -m pip install --quiet --editable '.[conformance]'
	@touch $@

clean:
	rm -rf $(VENV) build .pytest_cache .ruff_cache .hypothesis
