# One command per verb, the same by hand and in CI. `make help` lists them.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules

PY := .venv/bin/python
STAMP := .venv/.synced

.PHONY: help
help: ## list the commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 20

.PHONY: setup
setup: $(STAMP) ## make .venv from the hashed requirements

$(STAMP): pyproject.toml scripts/setup.sh $(wildcard requirements/*.txt)
	@scripts/setup.sh
	@touch $@
