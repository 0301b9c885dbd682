# `make help` lists the targets.
.DEFAULT_GOAL := help
NODE_BIN := node_modules/.bin

.PHONY: help install build build-info lint fix clean

help: ## Show this list
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

node_modules/.package-lock.json: package.json package-lock.json
	npm ci --no-progress
	@touch $@

install: node_modules/.package-lock.json

build: install ## Check the types of the pure modules, compile everything to dist/, and bundle the programs
	@node node_modules/ts7/bin/tsc -p tsconfig.pure.json
	@node node_modules/ts7/bin/tsc -p tsconfig.json
	@node remove-stale.js
	@$(MAKE) --no-print-directory build-info
	@node bundle.js

# The build information of /version. The date is that of the commit, so that builds are reproducible.
# Without a checkout both are unknown.
build-info:
	@mkdir -p dist/src && rm -f dist/src/build-info.json
	@if [ -e .git ] && commit=$$(git rev-parse --verify HEAD 2>/dev/null) && \
	  date=$$(TZ=UTC git show -s --format=%cd --date=format-local:%Y-%m-%dT%H:%M:%SZ HEAD 2>/dev/null); then \
	  printf '{"gitCommit":"%s","buildDate":"%s"}\n' "$$commit" "$$date" >dist/src/build-info.json; fi

lint: install ## Check style and formatting
	@$(NODE_BIN)/prettier --check --log-level warn base raft src tools bench fixtures test docs cluster-config/*.md *.md '!docs/specification.md' bundle.js record-compiled.js record-compiled-hook.js remove-stale.js & formatted=$$!; \
	  $(NODE_BIN)/eslint base raft src tools bench fixtures test; checked=$$?; \
	  wait $$formatted && exit $$checked

fix: install ## Format, and fix what can be fixed automatically
	@$(NODE_BIN)/eslint --fix base raft src tools bench fixtures test
	@$(NODE_BIN)/prettier --write --log-level warn base raft src tools bench fixtures test docs cluster-config/*.md *.md '!docs/specification.md' bundle.js record-compiled.js record-compiled-hook.js remove-stale.js

ORCHCTL = node dist/bundle/src/cli/main.js

.PHONY: up down status test test-fast test-long sim bench spec-coverage source-counts scenario mutants docs

up: build ## Start a real local cluster [NODES=3] [DOMAIN=orch.io|k8s.io] [PORT=6443 of the first member; peer ports are 1000 higher]
	@$(ORCHCTL) cluster up $(if $(NODES),--nodes $(NODES)) $(if $(DOMAIN),--domain $(DOMAIN)) $(if $(PORT),--client-port $(PORT))

down: ## Stop the local cluster
	@if [ -f dist/bundle/src/cli/main.js ]; then $(ORCHCTL) cluster down; fi

status: build ## Show role, leader and readiness of each member
	@$(ORCHCTL) cluster status

test: build ## Install dependencies and run all tests except the long ones [SUITES="unit e2e"]
	@node dist/test/run.js $(SUITES)

test-fast: build ## Run the source checks and the quick unit tests, in under a minute
	@node dist/test/run.js --fast

test-long: build ## Run the tests that take an hour
	@node dist/test/run.js --long

sim: build ## Simulate a seed [SEED=1 TRACE=1 SHRINK=1], a part of it [ACTIONS=0,3 QUIET=loss FAULTS_MS=4000], or many [SEEDS=1..100 JOBS=2]; CONTROLLERS=1: the controllers
	@node dist/test/simulation/$(if $(CONTROLLERS),controllers/)run.js $(if $(SEEDS),--seeds $(SEEDS),--seed $(or $(SEED),1)) $(if $(JOBS),--jobs $(JOBS)) \
	  $(if $(TRACE),--trace) $(if $(SHRINK),--shrink) $(if $(ACTIONS),--actions $(ACTIONS)) $(if $(QUIET),--quiet $(QUIET)) \
	  $(if $(FAULTS_MS),--faults-ms $(FAULTS_MS))

spec-coverage: build ## List the statements of docs/specification.md with and without a test
	@node dist/test/tidy/spec-coverage.js

source-counts: build ## Count what makes the sources hard to read [OLD=checkout to compare with]
	@node dist/test/tidy/source-counts.js $(if $(OLD),$(OLD) .)

docs: build ## Write the references under docs/reference from the declarations
	@node dist/test/tidy/write-references.js

scenario: build ## Check the transcripts of the core; UPDATE=1 rewrites them
	@UPDATE=$(UPDATE) node dist/test/run.js scenario

mutants: build ## Run deliberate bugs against the tests [ONLY=a,b] [SIM=1] [MATRIX=1] [UPDATE=1], or random ones [RANDOM=SEED COUNT=20]
	@node dist/test/mutants/run.js $(if $(filter command line,$(origin RANDOM)),--random $(RANDOM)) $(if $(COUNT),--count $(COUNT)) $(if $(ONLY),--only $(ONLY)) $(if $(SIM),--sim) $(if $(MATRIX),--matrix) $(if $(UPDATE),--update)

bench: build ## Measure a cluster of its own; results in .build/bench [ONLY=get,list QUICK=1 SECONDS=5 ROUNDS=3 ARGS="--clients 1,64"]
	@node dist/bundle/bench/run.js $(if $(ONLY),--only $(ONLY)) $(if $(QUICK),--quick) $(if $(SECONDS),--seconds $(SECONDS)) \
	  $(if $(ROUNDS),--rounds $(ROUNDS)) $(ARGS)

clean: down ## Stop the cluster and remove it, and everything that was built
	rm -rf .cluster dist
