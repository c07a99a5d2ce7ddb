# Everything runs in the virtual environment .venv, built here from pyproject.toml.
# Written for GNU make 3.81 and later, so that it also works with the make of macOS.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PY := $(BIN)/python

# The oldest Python and the oldest packages that pyproject.toml allows, all of them at once.
# `make test-lowest TESTS=tests/cli` runs a part, `TESTS='-m slow'` the slow tests. Old packages
# beside newer ones warn of each other's ways, so that such warnings are no errors here.
LOWEST := .venv-lowest
# Other libraries, in an environment of their own.
CLIENTS := .venv-clients
PYTHON_LOWEST ?= python3.11
TESTS ?=

# Two test processes. Override with `make test WORKERS=8` on a larger machine.
WORKERS ?= 2

# Tests on real data read this folder; without it they are skipped and say so.
# STRETCHY_DATA was its name until version 0.1.
SKSTRETCH_DATA ?= $(STRETCHY_DATA)
ifeq ($(strip $(SKSTRETCH_DATA)),)
ifneq ($(wildcard ../shared/data/.),)
SKSTRETCH_DATA := $(CURDIR)/../shared/data
endif
endif
ifneq ($(strip $(SKSTRETCH_DATA)),)
export SKSTRETCH_DATA
endif

.DEFAULT_GOAL := help
.PHONY: honest recipes help demo tour reproduce test test-slow test-lowest test-clients test-wheel line-coverage sbom check format bench arena rules scaling coverage trust calibration accuracy house docs docs-serve picture wheel clean release-check
.PHONY: texts calls survival counts classes penalty exact approximation compression sparse-truth few performance candidates
.DELETE_ON_ERROR:

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/.demo ## generated spectra, from a CSV to predictions with intervals and a report
	@mkdir -p out/demo
	$(BIN)/skstretch datasets spectra -o out/demo/spectra.csv
	$(BIN)/skstretch fit out/demo/spectra.csv --target target --intervals \
	  -o out/demo/spectra.stretchy
	$(BIN)/skstretch predict out/demo/spectra.stretchy out/demo/spectra.csv --interval 0.9 \
	  -o out/demo/predictions.csv
	$(BIN)/skstretch report out/demo/spectra.stretchy --data out/demo/spectra.csv \
	  -o out/demo/report.html
	@echo "The report is out/demo/report.html; open it in a browser."

tour: $(VENV)/.dev ## the same in Python, and Table 1 of the paper (examples/demo.py)
	$(PY) examples/demo.py

# Quick by default, into out/quick; `make reproduce REPRODUCE=` is the full run (hours), into
# out/reproduction; `REPRODUCE=fig2` is one piece.
REPRODUCE ?= --quick
reproduce: $(VENV)/.reproduction ## the paper's tables, figures and claims
	$(PY) -m reproduction $(REPRODUCE)

# The processes already fill the cores. If each also started one BLAS or OpenMP thread per core,
# they would fight over them (several times slower), so every process gets a single thread.
TESTING := test line-coverage test-slow test-lowest test-clients
$(TESTING): export OPENBLAS_NUM_THREADS := 1
$(TESTING): export MKL_NUM_THREADS := 1
$(TESTING): export OMP_NUM_THREADS := 1
$(TESTING): export VECLIB_MAXIMUM_THREADS := 1
$(TESTING): export MPLBACKEND := Agg

test: $(VENV)/.dev ## run the tests and the examples in the docstrings
	$(PY) -m pytest -n $(WORKERS)

line-coverage: $(VENV)/.dev ## count the lines that the tests run, write the share into README.md
	$(PY) -m pytest -n $(WORKERS) -q --cov=skstretch --cov-report=term:skip-covered $(TESTS)
	$(PY) -m tools.line_coverage

test-slow: $(VENV)/.dev $(VENV)/.docs ## run only the tests marked slow
	$(PY) -m pytest -n $(WORKERS) -m slow $(TESTS)

test-lowest: $(LOWEST)/.floors ## run the tests with the oldest packages that pyproject.toml allows
	$(LOWEST)/bin/python -m pytest -n $(WORKERS) -W default::DeprecationWarning $(TESTS)

test-clients: $(CLIENTS)/.created ## run the tests beside aeon, sktime, chemotools, MAPIE, scikit-survival and others
	SKSTRETCH_CLIENTS=1 $(CLIENTS)/bin/python -m pytest -s tests/clients
	@$(CLIENTS)/bin/python -m pip list --format=freeze | grep -iE \
	  '^(scikit-learn|numpy|pandas|polars|pyarrow|aeon|sktime|chemotools|mapie|shap|mlflow|optuna|skops|tslearn|scikit-survival|lifelines)'

check: $(VENV)/.dev ## lint, format, types, docstrings, the import rule and the budget of the house
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	$(PY) tools/docstrings.py
	$(PY) -m pytest -q tests/test_architecture.py
	$(PY) tools/house.py --check

format: $(VENV)/.dev ## apply ruff's fixes and format
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

bench: $(VENV)/.reproduction ## measure speed and memory
	$(PY) -m benchmarks.bench

arena: $(VENV)/.reproduction ## compare with other methods on real data
	$(PY) -m benchmarks.arena --write docs/arena.md

rules: $(VENV)/.dev ## study which rule and grid should be the default, write docs/rules.md
	$(PY) -m benchmarks.rules

scaling: $(VENV)/.dev ## measure Dask on two workers, rewrite the figures of docs/scaling.md
	$(PY) -m benchmarks.dask

calibration: $(VENV)/.dev ## are probabilities as sure as they are right? write docs/calibration.md
	$(PY) -m benchmarks.calibration

coverage: $(VENV)/.dev ## measure how often intervals cover, write docs/coverage.md
	$(PY) -m benchmarks.coverage

trust: $(VENV)/.dev ## measure novelty, adaptive intervals, stability, errors of effects and warnings, write docs/trust.md
	$(PY) -m benchmarks.trust

calls: $(VENV)/.dev ## what the calls of a fitted search take beside its fit
	$(PY) -m benchmarks.calls

survival: $(CLIENTS)/.created ## survival beside Coxnet, ridge Cox and a forest, a table of docs/guide/survival.md
	$(CLIENTS)/bin/python -m benchmarks.survival

counts: $(CLIENTS)/.created ## counts beside glum and scikit-learn, a table of docs/guide/counts.md
	$(CLIENTS)/bin/python -m benchmarks.counts

classes: $(VENV)/.dev ## classes by squared error and by log loss, a table of docs/guide/logodds.md
	$(PY) -m benchmarks.classes

exact: approximation compression sparse-truth ## measure the exact minimiser, rewrite the tables of docs/exact.md

approximation: $(VENV)/.dev ## approximate beside exact leave one out, a table of docs/exact.md
	$(PY) -m benchmarks.approximation

recipes: $(VENV)/.dev ## recipes for spectra chosen by the search, beside PLS (docs/guide/preprocessing.md)
	$(PY) -m benchmarks.recipes

texts: $(VENV)/.dev ## classifiers of words beside a support vector machine, a table of docs/guide/which.md
	$(PY) -m benchmarks.text

honest: $(VENV)/.dev ## plain and nested scores on noise, and the cost of the default search (docs/mixing.md)
	$(PY) -m benchmarks.honest

compression: $(VENV)/.dev ## how few features carry the effect, a table and a figure of docs/exact.md
	$(PY) -m benchmarks.compression

sparse-truth: $(VENV)/.dev ## risk where few or many features are true, a table of docs/exact.md
	$(PY) -m benchmarks.sparse_truth

few: $(VENV)/.dev ## models of 5, 10 and 20 features of real data beside the lasso, a table of docs/guide/few.md
	$(PY) -m benchmarks.few

penalty: $(VENV)/.dev ## how strong an automatic penalty should be, a table of docs/guide/letters.md
	$(PY) -m benchmarks.penalty

performance: $(VENV)/.dev ## how time grows with samples, features and grids (docs/performance.md)
	$(PY) -m benchmarks.performance

candidates: $(VENV)/.dev ## what the candidates of closed forms cost in a search (docs/performance.md)
	$(PY) -m benchmarks.candidates

accuracy: $(VENV)/.dev ## measure correct digits, write docs/accuracy.md
	$(PY) -m benchmarks.accuracy

house: $(VENV)/.dev ## count the package against its budget, rewrite tables and drawings of CONTRIBUTING.md
	$(PY) tools/house.py --write

# The site: pages, reference and gallery; every example of the gallery is run. pip needs the network
# for the first time, the build itself never does. Warnings are errors.
SITE := build/site
docs: $(VENV)/.docs ## build the documentation into build/site, and run the gallery
	$(PY) -m sphinx -W --keep-going -q -b html -d build/doctrees docs $(SITE)
	$(PY) tools/gallery.py
	@echo "The site is $(SITE)/index.html; open it in a browser, or call make docs-serve."

docs-serve: docs ## build the documentation and show it at http://localhost:8000
	$(PY) -m http.server --directory $(SITE) --bind 127.0.0.1 8000

picture: $(VENV)/.dev ## draw the picture of the front page, docs/images/overview.png
	$(PY) tools/picture.py

wheel: $(VENV)/.created ## build the wheel and the source archive into dist/
	$(PY) -m pip install --quiet 'build>=1.2'
	$(PY) -m build --outdir dist .

test-wheel: $(VENV)/.created ## build both archives twice, look into them, try them in fresh environments
	$(PY) -m pip install --quiet 'build>=1.2'
	$(PY) tools/archives.py

# The tool and what it looks at have fresh environments of their own.
sbom: $(VENV)/.created ## list what an installation brings (CycloneDX), into dist/sbom.cdx.json
	$(PY) tools/sbom.py

# RELEASE=--release is what the workflow of a tag asks: nothing may be left to do.
RELEASE ?=
release-check: $(VENV)/.created ## whether a release could be made: versions, changelog, archives, conda recipe, bill of materials
	$(PY) -m pip install --quiet --group release
	$(PY) -m tools.release $(RELEASE)

clean: ## remove the environment, caches and builds (out/ is kept: its results can cost hours)
	rm -rf $(VENV) $(LOWEST) $(CLIENTS) build dist docs/gallery docs/api/generated .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests reproduction benchmarks examples -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

# Five stamps, each more than the one before: the bare environment, what the demo needs, the tools
# for daily work, what the reproduction needs; and beside the last what the site needs.
# `--clear` lets an interrupted build start over; `pip install --group` needs pip 25.1.
$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "skstretch needs Python 3.11 or later, but '$(PYTHON)' is missing or older." >&2; \
	  echo "Name another interpreter, for example: make $(MAKECMDGOALS) PYTHON=python3.12" >&2; \
	  exit 1; }
	$(PYTHON) -m venv --clear $(VENV)
	$(PY) -m pip install --quiet --upgrade 'pip>=25.1'
	@touch $@

$(VENV)/.demo: pyproject.toml | $(VENV)/.created
	$(PY) -m pip install --quiet --editable '.[cli,report]'
	@touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/.created
	$(PY) -m pip install --quiet --editable '.[plot,cli,report]' --group test --group check
	@touch $@ $(VENV)/.demo

$(VENV)/.reproduction: pyproject.toml | $(VENV)/.dev
	$(PY) -m pip install --quiet --group reproduction
	@touch $@

$(VENV)/.docs: pyproject.toml | $(VENV)/.created
	$(PY) -m pip install --quiet --editable '.[docs,plot,cli,report,dask,onnx,frames]'
	@touch $@

$(CLIENTS)/.created: pyproject.toml
	$(PYTHON) -m venv --clear $(CLIENTS)
	$(CLIENTS)/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(CLIENTS)/bin/python -m pip install --quiet --editable '.[plot,onnx]' --group clients
	@touch $@

$(LOWEST)/.floors: pyproject.toml tools/floors.py
	$(PYTHON_LOWEST) -m venv --clear $(LOWEST)
	$(LOWEST)/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(LOWEST)/bin/python tools/floors.py > $(LOWEST)/floors.txt
	$(LOWEST)/bin/python -m pip install --quiet --constraint $(LOWEST)/floors.txt \
	  --editable '.[plot,report,dask,cli,data,onnx]' --group test
	@touch $@
