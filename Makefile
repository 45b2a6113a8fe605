# The targets set up what they need: a virtual environment from the lock files, and for tests Debian's documentation
# packages, unpacked under .cache when the system does not have them. ARGS are handed on to the program that is run.

PYTHON ?= $(shell for python in python3 python3.11 python3.12 python3.13; do \
	$$python -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)
PIP := -m pip --quiet --disable-pip-version-check install
LOCKED := $(PIP) --require-hashes
COMPILE = .venv/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
	--no-emit-index-url $(ARGS)

# The link-graph explorer and the live charts are built where there is Node, 20.19 or newer; all else works without.
NODE := $(shell node -p 'const [major, minor] = process.versions.node.split(".").map(Number); \
	major > 22 || (major === 22 && minor >= 12) || (major === 20 && minor >= 19) ? "here" : ""' 2>/dev/null)
BUILT := src/gossamer/web/static/dist/.vite/manifest.json
MODULES := frontend/node_modules/.ready
IF_NODE = $(if $(NODE),$(1))

.PHONY: help go frontend wheel test test-full test-packages check format bench profile soak fuzz lock clean
.DEFAULT_GOAL := help

help: ## Show this list.
	@sed -n 's/^\([a-z-]*\):.*## /\1	/p' $(MAKEFILE_LIST) | expand -t 16

go: .venv/.ready $(call IF_NODE,$(BUILT)) ## Crawl URL=… (without one: a demo web on this machine).
	@.venv/bin/gossamer go $(if $(URL),'$(URL)') $(ARGS)

frontend: ## Build the link-graph explorer and the live charts (with Node).
	@test -n '$(NODE)' || { echo 'Node 20.19 or newer is needed to build the explorer and the live charts.' >&2; exit 2; }
	@$(MAKE) --no-print-directory $(BUILT)

wheel: .venv/.ready frontend ## Build the package into dist/, with the explorer and the live charts in it.
	.venv/bin/hatchling build

# Tests that measure have the machine for themselves; the others share its cores, one more than there are, for many wait
# for servers and clocks. OpenSearch comes over the network meanwhile.
ALONE := $(addprefix tests/flow/test_,bounded.py fleet.py)

test: .venv/.ready-dev test-packages $(call IF_NODE,$(BUILT)) ## Run the tests, in 15 minutes on two cores.
	@.venv/bin/python tests/opensearch/jars.py &
	$(call IF_NODE,cd frontend && npm run --silent test)
	.venv/bin/pytest -m 'not full' -n 3 --dist loadfile $(addprefix --ignore ,$(ALONE)) $(ARGS)
	.venv/bin/pytest -m 'not full' $(ALONE) $(ARGS)

test-full: test ## Run the tests, then the long ones: many kills, big webs, rare faults.
	.venv/bin/pytest -m full $(ARGS)

test-packages: .venv/.ready-dev
	@.venv/bin/python tests/webs/debian.py

check: .venv/.ready-dev $(call IF_NODE,$(MODULES)) ## Lint; check format, types and the imports between rooms.
	.venv/bin/ruff check
	.venv/bin/ruff format --check
	.venv/bin/mypy
	.venv/bin/lint-imports
	.venv/bin/python checks/names.py
	.venv/bin/python requirements/licences.py --check
	.venv/bin/python requirements/audit.py
	$(call IF_NODE,cd frontend && npm run --silent check)

format: .venv/.ready-dev $(call IF_NODE,$(MODULES)) ## Format the code and mend what the linter can mend.
	.venv/bin/ruff format
	.venv/bin/ruff check --fix
	$(call IF_NODE,cd frontend && npm run --silent format)

bench: .venv/.ready-dev .venv-bench/.ready test-packages ## Measure beside the others, in ten minutes (ARGS=--full: all of it).
	@.venv/bin/python -m compileall -q src  # as installed; a change since would be compiled at every start
	.venv/bin/python bench/run.py $(ARGS)

profile: .venv/.ready-dev test-packages ## Show where a page's processor time goes; ARGS=--check holds it against its budget.
	.venv/bin/python bench/stages.py $(ARGS)

soak: .venv/.ready-dev test-packages ## Crawl, revisit, search and rank together for MINUTES=60; memory, handles, latencies.
	.venv/bin/python bench/soak.py $(if $(MINUTES),--minutes $(MINUTES)) $(ARGS)

fuzz: .venv/.ready-fuzz ## Fuzz what reads hostile bytes for MINUTES=10; a fault leaves its input in .cache/fuzz.
	@mkdir -p .cache/fuzz
	cd .cache/fuzz && ../../.venv/bin/python ../../tests/fuzz/parse.py corpus -dict=../../tests/fuzz/web.dict \
		-max_total_time=$$((60 * $(or $(MINUTES),10))) -max_len=20000 -timeout=20 -rss_limit_mb=3000 $(ARGS)

lock: .venv/.ready-dev ## Write the lock files anew from pyproject.toml (ARGS=--upgrade for newer versions).
	.venv/bin/python $(LOCKED) -r requirements/lock.lock
	$(COMPILE) --all-extras --group build --group dev pyproject.toml -o requirements/dev.lock
	$(COMPILE) --all-extras -c requirements/dev.lock pyproject.toml -o requirements/run.lock
	$(COMPILE) -c requirements/dev.lock --group pyproject.toml:build -o requirements/build.lock
	$(COMPILE) --group pyproject.toml:bench -o requirements/bench.lock
	$(COMPILE) --group pyproject.toml:fuzz -o requirements/fuzz.lock
	.venv/bin/python requirements/licences.py

clean: ## Remove what the targets made; webs stay.
	rm -rf .venv .venv-bench .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist \
		frontend/node_modules src/gossamer/web/static/dist

.venv/bin/python:
	@test -n '$(PYTHON)' || { echo 'Python 3.11 or newer with venv and pip is needed.' >&2; exit 2; }
	@echo 'Setting up .venv ...' >&2
	@$(PYTHON) -m venv .venv

.venv/.ready: pyproject.toml requirements/build.lock requirements/run.lock | .venv/bin/python
	@.venv/bin/python $(LOCKED) -r requirements/build.lock -r requirements/run.lock
	@.venv/bin/python $(PIP) --no-deps --no-build-isolation --editable .
	@.venv/bin/python -m compileall -q src  # as pip does with packages; where Python may not write, every start compiles
	@touch $@

.venv/.ready-dev: .venv/.ready requirements/dev.lock
	@.venv/bin/python $(LOCKED) -r requirements/dev.lock
	@touch $@

.venv/.ready-fuzz: .venv/.ready-dev requirements/fuzz.lock
	@.venv/bin/python $(LOCKED) -r requirements/fuzz.lock
	@touch $@

# Not `npm ci`: it refuses a lock without the binaries of other systems, which not every registry has.
$(MODULES): frontend/package.json frontend/package-lock.json frontend/.npmrc
	@echo 'Setting up frontend/node_modules ...' >&2
	@cd frontend && npm install --no-save --silent
	@touch $@

$(BUILT): $(MODULES) frontend/vite.config.ts src/gossamer/web/static/combobox.js \
		$(shell find frontend/src -type f 2>/dev/null)
	@cd frontend && npm run --silent build -- --logLevel warn
	@touch $@

.venv-bench/.ready: requirements/bench.lock
	@echo 'Setting up .venv-bench ...' >&2
	@$(PYTHON) -m venv .venv-bench
	@.venv-bench/bin/python $(LOCKED) -r requirements/bench.lock
	@touch $@
