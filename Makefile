# Each target sets up its requirements: a virtual environment from the lock files, and for tests Debian's documentation
# packages and a client-rendered site, kept in .cache. A target passes ARGS on to the program that it runs.

PYTHON ?= $(shell for python in python3 python3.11 python3.12 python3.13; do \
	$$python -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)
PIP := -m pip --quiet --disable-pip-version-check install
INSTALL := requirements/install.py
# What the commands and the web app use; data frames are for programs, and would double the download of `make go`.
APP_EXTRAS := opensearch parquet pictures postgres web
COMPILE = .venv/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
	--no-emit-index-url $(ARGS)

# The code for the browser needs Node 20.19, 22.12 or newer to build. A machine without gets Node from PyPI, into .venv.
NODE := $(shell node -p 'const [major, minor] = process.versions.node.split(".").map(Number); \
	major > 22 || (major === 22 && minor >= 12) || (major === 20 && minor >= 19) ? "here" : ""' 2>/dev/null)
BUILT := src/gossamer/web/static/dist/.vite/manifest.json
MODULES := frontend/node_modules/.ready
NODE_READY := $(if $(NODE),,.venv/.ready-node)
NPM := $(if $(NODE),npm,PATH="$(CURDIR)/.venv/node/bin:$$PATH" npm)
NO_FRONTEND := The explorer and the live charts do not build here; everything else works. `make frontend` tries again.

# The compiled kernels of native/ need Rust to build; without them Python does their work. Targets that measure install the
# profile `release`, which compiles slowly; others install `quick` if nothing is installed or a file of native/ changed.
RUST := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' native/Cargo.toml)
CARGO := $(shell version=$$(cargo --version 2>/dev/null | cut -d ' ' -f 2); \
	test -n "$$version" && printf '%s\n' '$(RUST)' "$$version" | sort -V -C && echo here)
PROFILE := $(if $(filter native bench profile soak,$(MAKECMDGOALS)),release,quick)
CRATE := $(shell find native -name target -prune -o -type f -print)
KERNELS = $(if $(CARGO),.venv/.native-$(PROFILE))
MATURIN = .venv/bin/maturin build --quiet --locked --manifest-path native/Cargo.toml --interpreter .venv/bin/python
INSTALL_RUST := Install Rust $(RUST) or newer (https://rustup.rs) and a C compiler, then run `make native`
NOT_BUILT := The compiled kernels do not build here; Python does their work. `make native` tries again.
# Their own directory, because maturin sets other options and would build everything again.
CRATE_CHECKS := --locked --profile quick --target-dir target/check
# The test program of the crate links Python's library, which some systems keep in a package of its own.
FIND_LIBRARY := import os.path, sysconfig; folder, name = sysconfig.get_config_vars("LIBDIR", "LDLIBRARY"); \
	print(folder if os.path.exists(os.path.join(folder, name)) else "")
IF_CARGO = $(if $(CARGO),$(1))

.PHONY: help go native frontend wheel test test-crate test-fast test-full test-packages check format bench profile soak fuzz lock clean
.DEFAULT_GOAL := help

help: ## Show this list.
	@sed -n 's/^\([a-z-]*\):.*## /\1	/p' $(MAKEFILE_LIST) | expand -t 16

go: .venv/.ready ## Crawl and serve URL=…; without it, a demo web on this machine.
	@test -n '$(CARGO)' || test -e .venv/.native-quick || echo '$(INSTALL_RUST): compiled code crawls and searches faster.' >&2
	@$(MAKE) --no-print-directory $(BUILT) || echo '$(NO_FRONTEND)' >&2
	@.venv/bin/gossamer go $(if $(URL),'$(URL)') $(ARGS)

native: .venv/.ready $(KERNELS) ## Build and install the compiled kernels (needs Rust).
	@test -n '$(CARGO)' || { echo '$(INSTALL_RUST).' >&2; exit 2; }

frontend: $(BUILT) ## Build the link-graph explorer and the live charts.

wheel: .venv/.ready frontend ## Build the packages into dist/: Gossamer with the explorer and the live charts, and the kernels.
	.venv/bin/hatchling build
	$(call IF_CARGO,$(MATURIN) --release --out dist)
	@test -n '$(CARGO)' || echo '$(INSTALL_RUST): dist/ has no compiled kernels.' >&2

# Some machines forbid Python to write compiled modules. Collecting the tests then takes twice as long, in every process.
KEEP_BYTECODE := PYTHONDONTWRITEBYTECODE=

# Tests run in five processes, also on two cores, because many of them wait for servers and clocks. The tests of a file
# share its fixtures, so they stay in one process. Slow files come first (tests/conftest.py). Meanwhile a background job
# downloads OpenSearch.
test: .venv/.ready-dev $(KERNELS) test-packages $(BUILT) ## Run the tests except the long ones, some 13 minutes on two cores.
	@.venv/bin/python tests/opensearch/jars.py &
	$(call IF_CARGO,$(MAKE) --no-print-directory test-crate)
	cd frontend && $(NPM) run --silent test
	$(KEEP_BYTECODE) .venv/bin/pytest -m 'not full' -n 5 --dist loadfile --no-loadscope-reorder $(ARGS)

test-crate: .venv/.ready-dev
	@folder=$$(.venv/bin/python -c '$(FIND_LIBRARY)') && if test -n "$$folder"; then cd native && \
		LD_LIBRARY_PATH="$$folder" PYO3_PYTHON=$(CURDIR)/.venv/bin/python cargo test --quiet $(CRATE_CHECKS); \
	else echo 'The tests of native/ were left out: they need the library of Python (Debian: libpython3-dev).' >&2; fi

test-fast: .venv/.ready-dev ## Run the tests that need no server and no browser, up to 90 seconds on two cores.
	$(KEEP_BYTECODE) .venv/bin/pytest -m 'fast and not full' -n 2 --dist worksteal $(addprefix tests/,unit contract corpus) $(ARGS)

test-full: test ## Run the tests, then the long ones: many kills, big webs, rare errors.
	$(KEEP_BYTECODE) .venv/bin/pytest -m full $(ARGS)

test-packages: .venv/.ready-dev $(NODE_READY)
	@.venv/bin/python tests/webs/debian.py
	@$(if $(NODE),,PATH="$(CURDIR)/.venv/node/bin:$$PATH") PYTHONPATH=tests .venv/bin/python -m webs.museum

check: .venv/.ready-dev $(MODULES) ## Lint; check format, types, names, duplicates and imports between packages.
	.venv/bin/ruff check
	.venv/bin/ruff format --check
	.venv/bin/mypy
	.venv/bin/lint-imports
	.venv/bin/python checks/names.py
	.venv/bin/python checks/module_list.py
	.venv/bin/python checks/duplicates.py
	.venv/bin/python requirements/licences.py --check
	.venv/bin/python requirements/audit.py
	$(call IF_CARGO,cd native && cargo fmt --check)
	$(call IF_CARGO,cd native && PYO3_PYTHON=$(CURDIR)/.venv/bin/python cargo clippy --quiet $(CRATE_CHECKS) --all-targets -- -D warnings)
	cd frontend && $(NPM) run --silent check

format: .venv/.ready-dev $(MODULES) ## Format the code and apply the fixes of the linter.
	.venv/bin/ruff format
	.venv/bin/ruff check --fix
	$(call IF_CARGO,cd native && cargo fmt)
	cd frontend && $(NPM) run --silent format

bench: .venv/.ready-dev $(KERNELS) .venv-bench/.ready test-packages ## Measure beside other tools in ten minutes; ARGS=--full measures everything.
	@.venv/bin/python -m compileall -q src  # as in an installation; else every start compiles changed modules
	.venv/bin/python bench/run.py $(ARGS)

profile: .venv/.ready-dev $(KERNELS) test-packages ## Show the processor time of a page by stage; ARGS=--check compares it with the budget.
	.venv/bin/python bench/stages.py $(ARGS)

soak: .venv/.ready-dev $(KERNELS) test-packages ## Crawl, revisit, search and rank at once for MINUTES=60; report memory, handles, latencies.
	.venv/bin/python bench/soak.py $(if $(MINUTES),--minutes $(MINUTES)) $(ARGS)

fuzz: .venv/.ready-fuzz ## Fuzz the parsers for MINUTES=10; inputs that fail are kept in .cache/fuzz.
	@mkdir -p .cache/fuzz
	cd .cache/fuzz && ../../.venv/bin/python ../../tests/fuzz/parse.py corpus -dict=../../tests/fuzz/web.dict \
		-max_total_time=$$((60 * $(or $(MINUTES),10))) -max_len=20000 -timeout=20 -rss_limit_mb=3000 $(ARGS)

lock: .venv/.ready-dev ## Write the lock files from pyproject.toml; ARGS=--upgrade takes newer versions.
	.venv/bin/python $(INSTALL) requirements/lock.lock
	$(COMPILE) --all-extras --group build --group dev pyproject.toml -o requirements/dev.lock
	$(COMPILE) $(addprefix --extra=,$(APP_EXTRAS)) -c requirements/dev.lock pyproject.toml -o requirements/run.lock
	$(COMPILE) -c requirements/dev.lock --group pyproject.toml:build -o requirements/build.lock
	$(COMPILE) --group pyproject.toml:bench -o requirements/bench.lock
	$(COMPILE) --group pyproject.toml:fuzz -o requirements/fuzz.lock
	$(COMPILE) --group pyproject.toml:node -o requirements/node.lock
	$(call IF_CARGO,cd native && cargo update $(if $(findstring --upgrade,$(ARGS)),,--workspace))
	.venv/bin/python requirements/licences.py

clean: ## Remove everything that the targets made, except webs.
	rm -rf .venv .venv-bench .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist \
		frontend/node_modules src/gossamer/web/static/dist native/target src/gossamer/index/__pycache__

.venv/bin/python:
	@test -n '$(PYTHON)' || { echo 'Install Python 3.11 or newer with venv and pip.' >&2; exit 2; }
	@echo 'Setting up .venv ...' >&2
	@$(PYTHON) -m venv .venv

.venv/.ready-build: requirements/build.lock | .venv/bin/python
	@.venv/bin/python $(INSTALL) $<
	@touch $@

# cargo compiles while pip installs. A failed build stops nobody: Python does the work of the kernels.
.venv/.ready: pyproject.toml requirements/run.lock $(call IF_CARGO,$(CRATE)) .venv/.ready-build
	@$(call IF_CARGO,{ $(MAKE) --no-print-directory PROFILE=$(PROFILE) $(KERNELS) || echo '$(NOT_BUILT)' >&2; } &) \
		$(MAKE) --no-print-directory .venv/.installed; installed=$$?; wait; exit $$installed
	@touch $@

.venv/.installed: pyproject.toml requirements/run.lock .venv/.ready-build
	@.venv/bin/python $(INSTALL) requirements/run.lock
	@.venv/bin/python $(PIP) --no-deps --no-build-isolation --editable .
	@.venv/bin/python -m compileall -q src  # as pip does; without write access Python would compile at every start
	@.venv/bin/python -P -m gossamer.index.language_model  # so that crawls need not unpack it
	@touch $@

# The package is installed by path: nobody owns the name gossamer-native at the package registries.
.venv/.native-%: $(CRATE) .venv/.ready-build
	@echo 'Building the compiled kernels ...' >&2
	@rm -rf .venv/wheels .venv/.native-*
	@$(MATURIN) --profile $* --out .venv/wheels >.venv/native.log 2>&1 || { cat .venv/native.log >&2; exit 1; }
	@.venv/bin/python $(PIP) --no-index --no-deps --force-reinstall .venv/wheels/*.whl
	@touch .venv/.native-quick $@

.venv/.ready-dev: .venv/.installed requirements/dev.lock | .venv/.ready
	@.venv/bin/python $(INSTALL) requirements/dev.lock
	@touch $@

.venv/.ready-fuzz: .venv/.ready-dev requirements/fuzz.lock
	@.venv/bin/python $(INSTALL) requirements/fuzz.lock
	@touch $@

.venv/.ready-node: requirements/node.lock | .venv/bin/python
	@echo 'Installing Node from PyPI, because this machine has no Node 20.19, 22.12 or newer ...' >&2
	@.venv/bin/python $(INSTALL) $<
	@.venv/bin/python requirements/node.py .venv/node/bin
	@touch $@

# Not `npm ci`: it refuses a lock file without the binaries of other systems, and not every registry has them.
$(MODULES): frontend/package.json frontend/package-lock.json frontend/.npmrc | $(NODE_READY)
	@echo 'Setting up frontend/node_modules ...' >&2
	@cd frontend && $(NPM) install --no-save --silent
	@touch $@

$(BUILT): $(MODULES) frontend/vite.config.ts frontend/widget.config.ts src/gossamer/web/static/combobox.js \
		$(shell find frontend/src -type f 2>/dev/null)
	@cd frontend && $(NPM) run --silent build
	@touch $@

.venv-bench/.ready: requirements/bench.lock
	@echo 'Setting up .venv-bench ...' >&2
	@$(PYTHON) -m venv .venv-bench
	@.venv-bench/bin/python $(INSTALL) requirements/bench.lock
	@touch $@
