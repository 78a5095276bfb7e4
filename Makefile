# Everything runs in .venv, which holds what the program needs and grows by what tests and docs need, when they are asked for.
# Spark, readers of other sources and Jupyter have environments of their own. All come from hash-pinned lock files.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: help demo test coverage test-all fuzz faults lint types docs installed spark sources notebook setup mutants lock clean

help:
	@echo "make demo      install what gedp needs, run the whole chain on a synthetic state, check the paper's numbers"
	@echo "make test      add what the tests need, run the tests (six minutes on two cores)"
	@echo "make coverage  the same, and how much of each room they run; fails where the promise rests on less than 95%"
	@echo "make test-all  the tests with the long statistical runs"
	@echo "make fuzz      3,000 odd inputs (SEED=1 CASES=3000), 1,000 coupled worlds, the property tests with new examples, three times"
	@echo "make faults    every write, sync and rename fails in turn (needs strace; about an hour)"
	@echo "make mutants   small changes to the code, one at a time: do the tests notice? (ROOMS=noise SAMPLE=40 SECONDS=20)"
	@echo "make lint      ruff: rules and formatting"
	@echo "make types     mypy, strict"
	@echo "make docs      build the docs site in site/, offline, and check its links"
	@echo "make installed build a wheel and try it in an empty environment, with pandas and with polars"
	@echo "make spark     the tests with Spark, in an environment of their own (450 MB; needs Java 17)"
	@echo "make sources   the tests with every reader and PostgreSQL, in an environment of their own (needs PostgreSQL)"
	@echo "make notebook  the notebook in examples/, run by Jupyter in an environment of its own (100 MB)"
	@echo "make setup     install what tests, docs and checks need, and run nothing"
	@echo "make lock      resolve the lock files anew (needs uv)"
	@echo "make clean     remove the environment and what the tools left behind"

setup: .venv/.test .venv/.docs

# --no-deps: a lock file names everything, and pip would otherwise ask which version of an extra is the newest.
# --no-compile: Python compiles a module when it is first imported, and keeps the result if the next line lets it.
INSTALL := bin/python -m pip install --quiet --no-deps --no-compile
unexport PYTHONDONTWRITEBYTECODE

define NEW_ENVIRONMENT
@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
  { echo "gedp needs Python 3.11 or newer; name one with: make PYTHON=python3.12 ..."; exit 2; }
$(PYTHON) -m venv --clear $(@D)
$(@D)/$(INSTALL) --require-hashes -r $<
$(@D)/$(INSTALL) --no-build-isolation -e . -e lab
@touch $@
endef

.venv/.run: requirements-run.lock pyproject.toml lab/pyproject.toml
	$(NEW_ENVIRONMENT)

.venv/.%: requirements-%.lock .venv/.run
	$(@D)/$(INSTALL) --require-hashes -r $<
	@touch $@

.venv-%/.ready: requirements-%.lock pyproject.toml lab/pyproject.toml
	$(NEW_ENVIRONMENT)

.NOTPARALLEL:   # two installations into one environment would get in each other's way

spark: TESTED := tests/spark tests/confidential/test_session.py
sources: TESTED := -n 2 tests/sources
spark sources: %: .venv-%/.ready
	.venv-$@/bin/python -m pytest -q $(TESTED) --cov --cov-report=
	.venv-$@/bin/coverage json -q
	.venv-$@/bin/python -m tests.house.covered coverage.json $@

notebook: .venv-notebook/.ready
	.venv-notebook/bin/python -m pytest -q tests/notebook

demo: .venv/.run
	$(BIN)/gedp demo --out demo
	$(BIN)/gedp reproduce intervals
	$(BIN)/gedp reproduce semantics
	$(BIN)/gedp reproduce frameworks --html demo/frameworks.html
	@echo "Open demo/out/report.html, demo/policy.html and demo/frameworks.html in a browser."
	@echo "Make tables of your own on a page: $(BIN)/gedp desk demo/out --open"

test: .venv/.test
	$(BIN)/python -m pytest -n 2 -m "not slow" $(MEASURED)

PROMISE := accounting confidential ledger noise

coverage:
	$(MAKE) test MEASURED="--cov --cov-report="
	$(BIN)/coverage json -q
	$(BIN)/python -m tests.house.covered coverage.json $(PROMISE)

test-all: .venv/.test
	$(BIN)/python -m pytest -n 2

SEED ?= 1
CASES ?= 3000

fuzz: .venv/.test
	$(BIN)/python -m tests.fuzz --seed $(SEED) --cases $(CASES)
	$(BIN)/python -m tests.attacks.coupling --from $(SEED)000 --worlds 1000
	for pass in 1 2 3; do $(BIN)/python -m pytest -q -n 2 -m hypothesis --hypothesis-profile=many || exit 1; done

faults: .venv/.test
	$(BIN)/python -m tests.faults

# What changes the code lies beside the environment, not in it: nothing else needs it.
mutants: export PYTHONPATH := $(CURDIR)/build/mutants/tool:$(PYTHONPATH)
mutants: build/mutants/tool/.ready
	$(BIN)/python -m pytest -q -p no:cacheprovider tools/mutants
	nice $(BIN)/python -m tools.mutants $(if $(ROOMS),--rooms $(ROOMS)) --sample $(or $(SAMPLE),40) --seconds $(or $(SECONDS),20) --seed $(SEED)

build/mutants/tool/.ready: requirements-mutants.lock | .venv/.test
	rm -rf $(@D)
	$(BIN)/python -m pip install --quiet --no-deps --require-hashes --target $(@D) -r $<
	@touch $@

lint: .venv/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/.test .venv/.docs
	$(BIN)/mypy

docs: .venv/.docs
	$(BIN)/python -m tools.site

installed: .venv/.test
	$(BIN)/python -m tools.installed

# Each has what installing a checkout needs. The versions are those of the first one, where it has the package.
COMPILE := uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes --no-header --extra checkout
AS_TESTED := --constraint requirements-test.lock

lock:
	$(COMPILE) --extra desk --extra suppression --extra synth --extra sdmx --extra test --extra dev -o requirements-test.lock
	$(COMPILE) --extra desk $(AS_TESTED) -o requirements-run.lock
	$(COMPILE) --extra desk --extra docs $(AS_TESTED) -o requirements-docs.lock
	$(COMPILE) --extra test --extra spark $(AS_TESTED) -o requirements-spark.lock
	$(COMPILE) --extra test --extra dev --extra sources $(AS_TESTED) -o requirements-sources.lock
	$(COMPILE) --extra test --extra notebook $(AS_TESTED) -o requirements-notebook.lock
	uv pip compile tools/mutants/requirements.txt --no-deps --universal --python-version 3.11 --generate-hashes --no-header -o requirements-mutants.lock

clean:
	rm -rf .venv .venv-spark .venv-sources .venv-notebook build demo site .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage coverage.json
