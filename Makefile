# make run: the app on a sample city.  make test: every check and test.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: run test lint browser bench fuzz clean

run: $(VENV)/.installed
	$(BIN)/streamlit run app.py

test: $(VENV)/.installed-dev browser lint
	$(BIN)/python -m pytest

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.installed-dev
	$(BIN)/python -m benchmarks

# Hostile files and hostile numbers, for as long as is wanted: make fuzz SECONDS=3600
SECONDS := 300
fuzz: $(VENV)/.installed-dev
	$(BIN)/python -m tests.residents.fuzz --seconds $(SECONDS)
	$(BIN)/python -m tests.core.hostile --count 2000

browser: $(VENV)/.installed-dev
	$(BIN)/python -m tests.browser.chromium

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

# The solver's kernels are compiled ahead, so that nobody waits for it later, and all of them anew when one changes: what
# was compiled before holds the others as they were then.
COMPILED := $(addprefix tkm_core/,kernels.py tilted_mean.py explore.py coarse.py)
$(VENV)/.installed: requirements.txt $(COMPILED) | $(VENV)/bin/python
	$(BIN)/pip install --quiet -r requirements.txt
	rm -f tkm_core/__pycache__/*.nb[ic]
	$(BIN)/python -m tkm_core.kernels
	touch $@

$(VENV)/.installed-dev: requirements-dev.txt requirements.txt $(COMPILED) | $(VENV)/bin/python
	$(BIN)/pip install --quiet -r requirements-dev.txt
	rm -f tkm_core/__pycache__/*.nb[ic]
	$(BIN)/python -m tkm_core.kernels
	touch $@ $(VENV)/.installed

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
