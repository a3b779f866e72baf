# One command per verb, the same by hand and in CI. `make help` lists them.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules
# Where it is set no process finds what another one has compiled, and each takes twice as long to start.
unexport PYTHONDONTWRITEBYTECODE

PY := .venv/bin/python
STAMP := .venv/.synced
PYTEST := $(PY) -m pytest
# The wheel's Node sits in .venv/bin, and only when the machine has none that fits.
NPM := PATH="$$([ -e .venv/bin/node ] && echo '$(CURDIR)/.venv/bin:')$$PATH" npm --prefix ui --no-audit --no-fund --no-update-notifier

# Layers of tests, the quick and pure ones first; a layer takes part as soon as its folder exists.
PURE := $(wildcard tests/unit tests/conformance tests/typing tests/simulation)
REAL := $(wildcard tests/integration tests/compat)
WHOLE := $(wildcard tests/acceptance)

.PHONY: help
help: ## list the commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 20

# --- set-up -----------------------------------------------------------------------------------------------------------

.PHONY: setup
setup: $(STAMP) ## make .venv from the hashed requirements

$(STAMP): pyproject.toml scripts/setup.sh $(wildcard requirements/*.txt)
	@scripts/setup.sh
	@touch $@

.PHONY: lock
lock: $(STAMP) ## regenerate requirements/*.txt (LOCK="--upgrade" takes newer versions)
	@scripts/lock.sh $(LOCK)

# --- what people run --------------------------------------------------------------------------------------------------

.PHONY: demo
demo: $(STAMP) ui ## a month of real flights through the deployed path (ONCE=1 ends after it; FLIGHTS_DATA=DIR)
	@exec $(PY) examples/flights/demo.py

UI_SOURCES := $(shell find ui -type d \( -name node_modules -o -path ui/partita \) -prune -o -type f -print 2>/dev/null)
UI_BUILT := ui/partita/ui/static/index.html

.PHONY: ui
ui: $(UI_BUILT) ## build the web application into the package

ui/node_modules/.installed: ui/package.json ui/package-lock.json ui/.npmrc | $(STAMP)
	@$(NPM) ci
	@touch $@

$(UI_BUILT): ui/node_modules/.installed $(UI_SOURCES)
	@$(NPM) run build
	@touch $@

# --- checks -----------------------------------------------------------------------------------------------------------

.PHONY: lint lint-python lint-ui proto-check
lint: lint-python proto-check docs lint-ui ## style, types, floors, generated code, documents
lint-python: $(STAMP)
	$(PY) -m ruff check
	$(PY) -m ruff format --check
	$(PY) -m mypy
	.venv/bin/lint-imports --no-logo
proto-check: $(STAMP)
	scripts/proto.sh --check
lint-ui: ui/node_modules/.installed
	$(NPM) run lint

.PHONY: docs
docs: $(STAMP) ## check the documents: links, anchors, commands, Python snippets
	$(PY) scripts/check_docs.py
	$(PY) scripts/draw_docs.py --check

.PHONY: test
test: $(STAMP) ui ## all tests but the long proofs, quick ones first
	$(PYTEST) -q -n 2 --dist loadgroup $(PURE)
	$(if $(REAL),$(PYTEST) -q -n 2 $(REAL))
	$(if $(WHOLE),$(PYTEST) -q -n 2 --dist loadfile $(WHOLE))
	$(NPM) run test --if-present

.PHONY: conformance
conformance: $(STAMP) ## the conformance cases, per file (PARTITA_CASES=DIR: others of the same form)
	@$(PY) -m tests.conformance

.PHONY: simulate mutants
simulate: $(STAMP) ## stories of the control plane on virtual time (SEEDS=n; SEED=n tells one again, traced; THEME=name)
	@SEEDS="$(SEEDS)" SEED="$(SEED)" THEME="$(THEME)" $(PY) -m tests.simulation
mutants: $(STAMP) ## break production code in named ways: mutant, seed that caught it, law
	@$(PY) -m tests.simulation.mutants

.PHONY: chaos
chaos: $(STAMP) ui ## faults on real processes, with their long forms: kills, standstills, outages, full disks, two versions
	$(PYTEST) -q -n 2 --dist loadfile -m "not prove" $(wildcard tests/acceptance/test_kill.py tests/acceptance/test_faults_*.py)

# What the benches share is no bench.
BENCHES = $(filter-out bench/harness.py bench/bulk.py bench/intake_events.py,$(sort $(wildcard bench/*.py)))

.PHONY: bench
bench: $(STAMP) ui ## every bench in its quick form; all run, and it fails when one of them broke
	@broken=; for bench in $(BENCHES); do $(PY) "$$bench" --quick || broken="$$broken $$bench"; done; \
	if [ -n "$$broken" ]; then echo "broken:$$broken"; exit 1; fi

.PHONY: prove
prove: $(STAMP) ui ## the long proofs: the year, kill tests at scale, benches in full
	$(PYTEST) -m prove --timeout=3600 tests
	@for bench in $(BENCHES); do $(PY) "$$bench" || exit 1; done

# --- generators -------------------------------------------------------------------------------------------------------

.PHONY: fmt
fmt: $(STAMP) ## format the code and apply the safe fixes
	$(PY) -m ruff check --fix
	$(PY) -m ruff format

.PHONY: proto
proto: $(STAMP) ## generate the Python code of the wire contract
	scripts/proto.sh
