PYTHON ?= python3
BIN := .venv/bin
KILLS ?= 20
SEED ?= 1
SECTIONS ?=
NEEDS := kafka or spark or postgresql or process or slow
LATER := long or thorough or campaign
CHOSEN := ($(NEEDS)) and not ($(LATER))
PYTEST = $(BIN)/python -m pytest --hypothesis-profile=$(EXAMPLES)
EXAMPLES := quick
PACKAGES := verdict schemas commands aggregates projections compose docs examples benchmarks

.DEFAULT_GOAL := help
.PHONY: help setup demo lint check rules test test-all long thorough real bench chaos format \
  schemas reference proofs docs wheel lock

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## Check Python and Java, fill .venv from the lock, fetch the jars
	@command -v $(PYTHON) >/dev/null || { \
	  echo "verdict: there is no $(PYTHON) on PATH; Python 3.11 to 3.14 is needed" >&2; \
	  echo "  Debian, Ubuntu: apt-get install python3 python3-venv" >&2; \
	  echo "  macOS:          brew install python@3.13" >&2; \
	  exit 6; }
	@$(PYTHON) bootstrap.py

demo: setup ## Run the whole path on throw-away data and tell its story
	@$(BIN)/verdict demo

check: setup ## Lint, and run the tests that need nothing but Python
	@$(MAKE) --no-print-directory -j2 EXAMPLES=$(EXAMPLES) lint rules

# nothing is shared between them, so they run on all cores
rules:
	$(PYTEST) -q -n auto -m "not ($(NEEDS) or $(LATER))"

test: check ## Check, then test on a real broker, a real Spark and both databases
	@$(MAKE) --no-print-directory EXAMPLES=$(EXAMPLES) real

test-all: test long ## Test, then what takes minutes each: whatever every change is held to

long: setup
	@$(MAKE) --no-print-directory EXAMPLES=$(EXAMPLES) CHOSEN="long and not (thorough or campaign)" real

thorough: EXAMPLES := thorough
thorough: test-all ## Test all with more examples, and more of each kind
	@$(MAKE) --no-print-directory EXAMPLES=thorough CHOSEN="thorough and not campaign" real

# a lane for each core, with a Kafka, a Spark and a PostgreSQL of its own; it takes whole files
real:
	$(PYTEST) -q -n auto --dist loadfile --no-loadscope-reorder -m "$(CHOSEN)"

bench: setup ## Measure this machine; give it nothing else to do (SECTIONS)
	$(BIN)/python -m benchmarks $(SECTIONS)

chaos: setup ## Run the long recovery tests, then KILLS kills and faults (SEED)
	$(BIN)/python -m pytest -m campaign
	$(BIN)/python -m tests.e2e.chaos --kills $(KILLS) --seed $(SEED)

lint: setup ## Check format, style, types and spelling
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy bootstrap.py $(PACKAGES) tests
	$(BIN)/codespell
	VALIDATE_PYPROJECT_NO_NETWORK=1 $(BIN)/validate-pyproject pyproject.toml

format: setup ## Format the code and mend what ruff can mend
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

schemas: setup ## Write the Avro files again from the Python types
	$(BIN)/python -m verdict.wire.schemas.write
	$(BIN)/verdict schemas write

reference: setup ## Write docs/reference/ and what the notebook shows again
	$(BIN)/python -m docs.generate
	$(BIN)/python -m docs.notebook

proofs: setup ## Print which tests prove which promise of GUARANTEES.md
	@$(BIN)/python -m docs.proofs

docs: setup ## Build the pages as a site in .site/, offline, links checked
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "open .site/index.html; to search, serve it: python -m http.server -d .site"

# in a copy, which is left in build/ as what the wheel runs: a benchmark is run there
wheel: setup ## Build a wheel into dist/, with what every command passes through compiled
	@rm -rf build dist && mkdir -p build && cp -r setup.py pyproject.toml README.md LICENSE $(PACKAGES) tests build
	@cd build && MYPYC=1 ../$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir ../dist .
	@cd build && ../$(BIN)/python -m zipfile --extract ../dist/*.whl . && ls ../dist

lock: ## Resolve the Python packages (needs uv)
	uv pip compile --quiet --universal --upgrade --generate-hashes --no-emit-index-url \
	  --python-version 3.11 --extra dev --extra otel --extra page --extra postgres --extra s3 \
	  --extra service \
	  --custom-compile-command "make lock" --output-file requirements.lock pyproject.toml
