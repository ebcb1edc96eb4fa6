# make run: the app on a sample city.  make test: every check and test.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
TOOLS := .venv-tools
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Only files whose hash the lock names, and only wheels: building from source would fetch build tools that no lock holds.
INSTALL := pip install --quiet --require-hashes --only-binary :all: -r

.PHONY: run test lint browser bench fuzz lock audit dist clean

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
	$(BIN)/python -m tests.clustering.hostile --count 2000

browser: $(VENV)/.installed-dev
	$(BIN)/python -m tests.browser.chromium

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

# The solver's kernels are compiled ahead, so that nobody waits for it later, and all of them anew when one changes: what
# was compiled before holds the others as they were then.
COMPILED := $(wildcard tkm_core/clustering/compiled/*.py) tkm_core/clustering/stand_ins.py
$(VENV)/.installed: requirements.txt $(COMPILED) | $(VENV)/bin/python
	$(BIN)/$(INSTALL) requirements.txt
	find tkm_core -name '*.nb[ic]' -delete
	$(BIN)/python -m tkm_core.clustering.compiled
	touch $@

$(VENV)/.installed-dev: requirements-dev.txt $(COMPILED) | $(VENV)/bin/python
	$(BIN)/$(INSTALL) requirements-dev.txt
	find tkm_core -name '*.nb[ic]' -delete
	$(BIN)/python -m tkm_core.clustering.compiled
	touch $@ $(VENV)/.installed

$(TOOLS)/.installed: requirements-tools.txt
	$(PYTHON) -m venv $(TOOLS)
	$(TOOLS)/bin/$(INSTALL) requirements-tools.txt
	touch $@

# Versions stay as they are while pyproject.toml allows it. Newer ones: make lock UPGRADE=--upgrade
UPGRADE ?=
COMPILE = $(TOOLS)/bin/uv pip compile --quiet --no-config --universal --python-version 3.11 --only-binary :all: --generate-hashes \
	--custom-compile-command "make lock" $(UPGRADE)
lock: $(TOOLS)/.installed
	$(COMPILE) pyproject.toml --extra app --output-file requirements.txt
	$(COMPILE) pyproject.toml --extra app --group dev --constraints requirements.txt --output-file requirements-dev.txt
	$(COMPILE) --group tools --output-file requirements-tools.txt

audit: $(TOOLS)/.installed
	for lock in requirements*.txt; do $(TOOLS)/bin/pip-audit --strict --require-hashes --disable-pip -r $$lock || exit 1; done

# sdist, wheel, and the list of what the app is made of (SBOM, CycloneDX).
dist: $(TOOLS)/.installed
	rm -rf dist
	$(TOOLS)/bin/python -m build --no-isolation --outdir dist
	$(TOOLS)/bin/cyclonedx-py requirements requirements.txt --pyproject pyproject.toml --mc-type application --output-reproducible --validate \
		--output-file dist/evenreach.cdx.json

clean:
	rm -rf $(VENV) $(TOOLS) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
