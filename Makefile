# The one front door. `make help` lists what can be typed.
.DEFAULT_GOAL := help
NODE_BIN := node_modules/.bin

.PHONY: help install build lint fix clean

help: ## Show this list
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

node_modules/.package-lock.json: package.json package-lock.json
	npm ci --no-progress
	@touch $@

install: node_modules/.package-lock.json

build: install ## Compile everything to dist/
	@node node_modules/ts7/bin/tsc -p tsconfig.json

lint: install ## Types of the pure rooms, style and formatting
	@node node_modules/ts7/bin/tsc -p tsconfig.pure.json
	@$(NODE_BIN)/eslint raft src test bench
	@$(NODE_BIN)/prettier --check --log-level warn raft src test bench

fix: install ## Format and repair what can be repaired by machine
	@$(NODE_BIN)/eslint --fix raft src test bench
	@$(NODE_BIN)/prettier --write --log-level warn raft src test bench
