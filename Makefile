# The development loop; `make` alone lists the targets. Needs make and Python 3.11 or newer.
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.DEFAULT_GOAL := help
.PHONY: help setup demo test check fix service golden bench clean

help:
	@echo 'make demo     set up, then run the demonstration'
	@echo 'make check    format, lint, types, layers and all fast tests (under a minute)'
	@echo 'make test     check, then the tests that start real programs'
	@echo 'make fix      format, and mend what the linter can'
	@echo 'make service  only the tests that start real programs'
	@echo 'make golden   freeze new golden files (add only)'
	@echo 'make bench    measure, side by side with peers'
	@echo 'make setup    only the virtual environment in $(VENV)'
	@echo 'make clean    remove the environment and the caches; runs stay'

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	@PYTHON='$(PYTHON)' sh .ci/make-venv $(VENV)
	@echo 'installing into $(VENV) ...'
	@$(PIP) install -e '.[gym,postgres,clock,test,bench]' -c constraints.txt
	@touch $@

demo: setup
	@$(BIN)/cleandesk demo
	@echo
	@echo 'to have cleandesk on the PATH: export PATH="$$PWD/$(BIN):$$PATH"'

check: setup
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -m 'not service' -n 2 -q

service: setup
	$(BIN)/python -m pytest -m service -q

test:
	@$(MAKE) --no-print-directory check
	@$(MAKE) --no-print-directory service

fix: setup
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

golden: setup
	@$(BIN)/python tests/golden/freeze.py

bench: setup
	@$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
