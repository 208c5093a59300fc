# Every target does its own set-up and is quick the second time. `make` lists them.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup demo test lint types bench lock clean
MAKEFLAGS += --no-print-directory

BIN := .venv/bin
READY := .venv/.ready
MANIFEST := manifests/quickstart.yaml

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-7s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(READY) ## make .venv, with .venv/bin/scbench in it
	@echo "setup: .venv is up to date"

$(READY): requirements.txt pyproject.toml .ci/setup
	@.ci/setup

# Samples that fail or break are what the demo shows, so 3 (some are broken) is a success, too.
demo: $(READY) ## judge the sample submissions and show a leaderboard
	@if [ -z "$$SCBENCH_NO_DOCKER" ] && .ci/docker-up 2>/dev/null; then \
		image=$$(.ci/test-image) || exit 1; \
		echo "demo: scbench run $(MANIFEST), in $$image"; \
		SCBENCH_IMAGE=$$image $(BIN)/scbench run $(MANIFEST); \
	else \
		echo "no Docker daemon: running on the local sandbox, which does not isolate"; \
		$(BIN)/scbench run --sandbox local $(MANIFEST); \
	fi; \
	code=$$?; [ $$code -eq 0 ] || [ $$code -eq 3 ] || exit $$code

# Arguments for pytest: make test ARGS='-k scheduler -x'
test: $(READY) ## check style and types, then run every test on a real Docker Engine
	@.ci/docker-up
	@.ci/browser-up
	@$(MAKE) lint types
	@mkdir -p build
	@image=$$(.ci/test-image) || exit 1; \
	echo "test: pytest, in $$image"; \
	SCBENCH_IMAGE=$$image SCBENCH_REQUIRE_DOCKER=$${CI:+1} $(BIN)/python -m pytest --junitxml=build/junit.xml --reruns 2 $(ARGS)

lint: $(READY) ## check style with ruff (mend with .venv/bin/ruff check --fix and .venv/bin/ruff format)
	@echo "lint: ruff"
	@$(BIN)/ruff check -q
	@$(BIN)/ruff format -q --check

types: $(READY) ## check types with mypy
	@echo "types: mypy"
	@$(BIN)/mypy

bench: $(READY) ## measure speed against what a user would use instead
	@.ci/docker-up
	@image=$$(.ci/test-image) || exit 1; \
	echo "bench: in $$image"; \
	SCBENCH_IMAGE=$$image $(BIN)/python -m benchmarks.run $(ARGS)

lock: $(READY) ## bring requirements.txt up to date with pyproject.toml
	@echo "lock: uv pip compile"
	@$(BIN)/uv pip compile pyproject.toml --group dev --universal --python-version 3.11 --generate-hashes \
		--no-header --no-annotate --no-emit-index-url --no-emit-find-links -q -o requirements.txt

clean: ## remove .venv, caches and build results
	@echo "clean: .venv, caches, build results (containers and images stay: see scbench clean)"
	@rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis *.egg-info
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
