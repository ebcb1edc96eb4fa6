# make run: the app on a sample city.  make test: the checks and tests for every change.  make docs: the documentation, out/docs/index.html.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PYTEST := $(BIN)/python -m pytest
TESTS :=
TOOLS := .venv-tools
DOCS := .venv-docs
export PIP_DISABLE_PIP_VERSION_CHECK := 1
unexport PYTHONDONTWRITEBYTECODE # with it, each of the many processes that tests start compiles the app's sources anew
UV := .venv-uv/bin/uv
# Only files whose hash the lock names, and only wheels: building from source would fetch build tools that no lock holds.
LOCKED := --quiet --require-hashes --only-binary :all: -r
# $(call install,ENVIRONMENT,LOCK): by uv, in a tenth of pip's time. Where only pip knows where the packages are (a mirror
# in its configuration), pip installs the same ones.
install = $(UV) pip install --python $(1)/bin/python $(LOCKED) $(2) || $(1)/bin/pip install $(LOCKED) $(2)

.PHONY: run test nightly lint lint-js coverage browser docs pictures bench fuzz hooks intermediate lock versions audit dist clean

run: $(VENV)/.installed
	$(BIN)/streamlit run app.py

# Three processes share two cores: threads of one that wait for each other would only keep the others from working.
test: export OPENBLAS_NUM_THREADS := 1
test: export OMP_NUM_THREADS := 1
# What fails beside other tests is tried once more with the machine to itself; what fails again is broken.
test: $(VENV)/.installed-dev browser lint
	$(PYTEST) $(TESTS) || $(PYTEST) $(TESTS) -n 0 --last-failed --last-failed-no-failures none

# Also the tests that take long: faults, attacks and long work, mostly in a browser or with several servers.
nightly: TESTS := -m ""
nightly: test

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --num-workers 2

# The types of the live map's JavaScript. Needs node, which nothing else does: CI runs it, `make test` does not.
lint-js:
	npx --yes --package typescript@5.9.3 tsc --project pages/live_map/jsconfig.json

# Which lines the tests reach: a table here, and line by line in out/coverage/index.html.
coverage: $(VENV)/.installed-dev browser
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -m ""
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage html --quiet
	$(BIN)/coverage report

# Every warning is an error; nothing is fetched. The notebooks are run.
docs: $(DOCS)/.installed
	$(DOCS)/bin/python -m sphinx --fail-on-warning --keep-going --quiet --fresh-env docs out/docs
	$(DOCS)/bin/python -m docs.check_site out/docs

# The tutorial's pictures of the app, taken anew.
pictures: $(VENV)/.installed-dev browser
	$(BIN)/python -m docs.pictures

# ruff and mypy before each commit.
hooks: $(VENV)/.installed-dev
	$(BIN)/pre-commit install

bench: $(VENV)/.installed-dev
	$(BIN)/python -m benchmarks

# Hostile files and hostile numbers, for as long as is wanted: make fuzz SECONDS=3600
SECONDS := 300
fuzz: $(VENV)/.installed-dev
	$(BIN)/python -m tests.residents.fuzz --seconds $(SECONDS)
	$(BIN)/python -m tests.clustering.hostile --count 2000

# What the tests need of the system: a browser, and PostgreSQL (without it the store is tested with SQLite only).
browser: $(VENV)/.installed-dev
	$(BIN)/python -m tests.browser.chromium
	$(BIN)/python -m tests.serving.postgres

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(UV): requirements-uv.txt
	$(PYTHON) -m venv .venv-uv
	.venv-uv/bin/pip install $(LOCKED) requirements-uv.txt
	touch $@

# The solver is compiled ahead, so that nobody waits for it later.
AHEAD := python -m tkm_core.clustering.compiled
COMPILED := $(wildcard tkm_core/clustering/compiled/*.py) tkm_core/streets/compiled.py tkm_core/sites/compiled.py \
	tkm_core/sites/transport.py
$(VENV)/.installed: requirements.txt $(COMPILED) | $(VENV)/bin/python $(UV)
	$(call install,$(VENV),requirements.txt)
	$(BIN)/$(AHEAD)
	touch $@

$(VENV)/.installed-dev: requirements-dev.txt $(COMPILED) | $(VENV)/bin/python $(UV)
	$(call install,$(VENV),requirements-dev.txt)
	$(BIN)/$(AHEAD)
	touch $@ $(VENV)/.installed

$(TOOLS)/.installed: requirements-tools.txt | $(UV)
	$(PYTHON) -m venv $(TOOLS)
	$(call install,$(TOOLS),requirements-tools.txt)
	touch $@

$(DOCS)/.installed: requirements-docs.txt $(COMPILED) | $(UV)
	$(PYTHON) -m venv $(DOCS)
	$(call install,$(DOCS),requirements-docs.txt)
	$(DOCS)/bin/$(AHEAD)
	touch $@

# The compiled loops as numba translates them, shipped with the package; again after a change to their sources or to numba's version.
intermediate: $(VENV)/.installed-dev
	$(BIN)/$(AHEAD) --intermediate

# Versions stay as they are while pyproject.toml allows it. Newer ones: make lock UPGRADE=--upgrade
UPGRADE ?=
COMPILE = $(UV) pip compile --quiet --no-config --universal --python-version 3.11 --only-binary :all: --generate-hashes \
	--custom-compile-command "make lock" $(UPGRADE)
lock: $(UV)
	$(COMPILE) pyproject.toml --extra app --output-file requirements.txt
	$(COMPILE) pyproject.toml --extra app --group dev --constraints requirements.txt --output-file requirements-dev.txt
	$(COMPILE) pyproject.toml --extra app --group dev --group docs --constraints requirements-dev.txt --output-file requirements-docs.txt
	$(COMPILE) --group tools --output-file requirements-tools.txt
	$(COMPILE) --group uv --output-file requirements-uv.txt

# Every test outside the browser with the oldest versions that pyproject.toml allows, or the newest: make versions RESOLUTION=highest
RESOLUTION := lowest-direct
VERSIONS := out/versions/$(RESOLUTION)
versions: $(UV)
	mkdir -p $(VERSIONS)
	$(COMPILE) --upgrade --resolution $(RESOLUTION) pyproject.toml --extra app --group dev --output-file $(VERSIONS)/requirements.txt
	$(PYTHON) -m venv $(VERSIONS)/venv
	$(call install,$(VERSIONS)/venv,$(VERSIONS)/requirements.txt)
	NUMBA_CACHE_DIR=$(CURDIR)/$(VERSIONS)/compiled $(VERSIONS)/venv/bin/python -m pytest --ignore tests/browser \
		--deselect tests/serving/test_requirements.py::test_everything_installed_is_locked_at_that_version

audit: $(TOOLS)/.installed
	for lock in requirements*.txt; do $(TOOLS)/bin/pip-audit --strict --require-hashes --disable-pip -r $$lock || exit 1; done

# sdist, wheel, and the list of what the app is made of (SBOM, CycloneDX).
dist: $(TOOLS)/.installed
	rm -rf dist
	$(TOOLS)/bin/python -m build --no-isolation --outdir dist
	$(TOOLS)/bin/cyclonedx-py requirements requirements.txt --pyproject pyproject.toml --mc-type application --output-reproducible --validate \
		--output-file dist/evenreach.cdx.json

clean:
	rm -rf $(VENV) $(TOOLS) $(DOCS) .venv-uv build dist out .coverage* .pytest_cache .mypy_cache .ruff_cache .hypothesis
