# `make demo` and `make test` work on a fresh machine with Python 3.11 or later and pip; both create .venv themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.PHONY: help setup demo test test-promises test-slow lint format bench docs clean
.DEFAULT_GOAL := help

help:  ## show what can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 16

setup: $(INSTALLED)  ## create .venv and install the package with what development needs

$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit("betabo needs Python 3.11 or later, this is " + sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

demo: setup  ## tune a scikit-learn model, stored in SQLite, with a report at the end (out/demo.html)
	$(BIN)/python examples/demo.py

test: lint  ## lint, type-check and test
	$(BIN)/python -m pytest -n 2

# Slow tests that need no package beyond those of development, nor a server or a browser.
PROMISES := tests/studies/test_kills.py tests/studies/test_runner.py tests/cli/test_hostile_studies.py \
	tests/optimizer/test_damaged_searches.py tests/optuna/test_public_suite.py

test-promises: setup  ## the slow tests of what a study promises: killed workers, damaged studies and files
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile -m slow $(PROMISES)

test-slow: setup  ## what takes long: Optuna's tests of samplers, kill tests, PostgreSQL, Ray, Ax, a browser
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[slow]'
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile -m slow

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

format: setup  ## format the code and repair what ruff can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: setup  ## speed and memory of the kernels, time of a step, against peers
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[bench]'
	$(BIN)/python benchmarks/kernel.py
	$(BIN)/python benchmarks/step.py

docs: setup  ## run the tutorials and build the documentation into site/
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	$(BIN)/sphinx-build -q -W --keep-going docs site
	@echo "open site/index.html"

clean:  ## remove what make made
	rm -rf $(VENV) site out build .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
