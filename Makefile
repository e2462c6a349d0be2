# The front door. `make book` and `make test` do all the set-up that they need.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

PYTHON ?= python3
UV_VERSION := $(shell cat requirements/uv.txt)
# A uv that is already there serves as well; ours is only brought where there is none.
UV := $(or $(shell command -v uv),$(CURDIR)/.venv-uv/bin/uv)
export UV

BOOK := .venv-book/bin
DEV := .venv-dev/bin
COURSEWORK := .venv-coursework/bin/python -m coursework

# What the chapters claim of the cost model, of overlap and of memory, and has to hold in nine of ten runs.
LESSON := $(addprefix --require ,backend_bound_fit tiny_fit overlap_pays memory_linear) \
  $(addprefix --value ,backend_bound_error tiny_error memory_bound_error gain one_memory four_memory \
  sixteen_memory unbounded_memory peak_memory)

# How often a run that other work on the machine disturbed is made again.
RETRIES ?= 2
# The machine that `make carry` packs for.
CARRY_PYTHON ?= 3.12
CARRY_PLATFORM ?= x86_64-manylinux_2_28

.PHONY: help book environments test accept lint bench serve pdf linkcheck solutions coursework grade-demo notebooks lab site publish-notebooks run-notebooks record carry propose run-name pins debian-packages clean distclean

help: ## Say what there is to make
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 20

ifneq ($(filter-out 0 no false,$(SOLUTIONS)),)
book: solutions
else
book: environments ## Run every cell that needs it and build the site into _build/html (SOLUTIONS=1: the instructor's edition)
	$(if $(filter-out 0 no false,$(REQUIRE_RECORDED)),POLYBOOK_REQUIRE_RECORDED=1) $(BOOK)/jupyter-book build . $(if $(filter-out 0 no false,$(STRICT)),-W --keep-going)
endif

environments: .venv-book/.ready ## Make the book's environment and one a framework
	@$(BOOK)/python -m polybook env
	@# Where Python may not write bytecode, every build would compile the project's own modules anew.
	@$(BOOK)/python -m compileall -q src

test: environments debian-packages .venv-dev/.ready .venv-lab/.ready ## Prove behaviour: linters and every test (what CI runs)
	@$(MAKE) --no-print-directory lint
ifdef TESTS
	$(DEV)/python -m pytest $(TESTS)
else
	@# One more at a time than two cores compute, for tests wait for kernels and browsers; then, by themselves, those that take times.
	$(DEV)/python -m pytest -n 3 --dist loadfile -m "not alone"
	$(DEV)/python -m pytest -m alone
endif

lint: .venv-dev/.ready ## Check style, types and spelling, and that no measurement was typed into prose
	$(DEV)/ruff check .
	$(DEV)/ruff format --check .
	$(DEV)/mypy
	$(DEV)/codespell
	$(DEV)/python -m polybook prose
	$(DEV)/python -m polybook prose $(wildcard solutions/*.md exercises/*.md exercises/*/*.md)

accept: environments .venv-dev/.ready ## Measure what we claim and print it as a table (long; nothing else should run)
	$(DEV)/python benchmarks/bare.py
	.venv-pytorch/bin/python benchmarks/benchmark_cost.py --check
	.venv-pytorch/bin/python benchmarks/missing_waits.py --runs 50
	.venv-mxnet/bin/python benchmarks/missing_waits.py --runs 50
	.venv-pytorch/bin/python benchmarks/waits_cost.py --check
	.venv-mxnet/bin/python benchmarks/waits_cost.py --check
	$(DEV)/python benchmarks/claims.py chapters/cost-model chapters/overlap-and-memory $(LESSON)
	$(DEV)/python benchmarks/build.py --check
	$(DEV)/python benchmarks/notebooks.py
	$(DEV)/python benchmarks/notebooks.py --assigned
	$(DEV)/python benchmarks/grading.py --check
	$(DEV)/python benchmarks/measuring.py --check
	@$(MAKE) --no-print-directory grade-demo
	@$(MAKE) --no-print-directory book
	$(DEV)/python benchmarks/lighthouse.py --check
	$(DEV)/python benchmarks/serving.py --check
	$(DEV)/python benchmarks/accessible.py

bench: accept

solutions: environments .venv-coursework/.ready ## Build the site with all solutions in it, into _build/solutions/_build/html
	@mkdir -p _build
	@$(COURSEWORK) solutions --out solutions/exercises
	@{ cat _toc.yml; printf '  - caption: Solutions\n    chapters:\n      - glob: solutions/*\n      - glob: solutions/exercises/*\n'; } > _build/toc-with-solutions.yml
	$(BOOK)/jupyter-book build . --toc _build/toc-with-solutions.yml --path-output _build/solutions $(if $(filter-out 0 no false,$(STRICT)),-W --keep-going)

coursework: environments .venv-coursework/.ready ## Make what assigning and grading needs; then: .venv-coursework/bin/python -m coursework
	@$(COURSEWORK) doctor

grade-demo: coursework ## Grade a class of thirty that hands in everything that can go wrong, three times
	.venv-coursework/bin/python benchmarks/grade_demo.py

notebooks: environments ## Write the notebooks alone, into _build/notebooks (OUTPUTS=1 keeps their outputs)
	$(if $(filter-out 0 no false,$(OUTPUTS)),POLYBOOK_OUTPUTS=1) $(BOOK)/jupyter-book build . --builder custom --custom-builder notebooks

lab: environments .venv-lab/.ready ## Open a page as a notebook in JupyterLab: FRAMEWORK=pytorch PAGE=chapters/waiting
	@$(BOOK)/python -m polybook lab $(if $(FRAMEWORK),--framework $(FRAMEWORK)) $(PAGE)

serve: environments ## Show the book in a browser while you write: build on each save, reload, tell errors (PORT=8000)
	@$(BOOK)/python -m polybook serve $(if $(PORT),--port $(PORT))

pdf: book .venv-dev/.ready ## Print the book, one PDF a framework, into _build/pdf (FRAMEWORK=pytorch: only that); wants Chromium
	@$(DEV)/python -m polybook pdf $(if $(FRAMEWORK),--framework $(FRAMEWORK))

linkcheck: book ## Check every link inside of the site, its notebooks and archives (EXTERNAL=1: those that leave it, too)
	@$(BOOK)/python -m polybook links
ifneq ($(filter-out 0 no false,$(EXTERNAL)),)
	$(BOOK)/jupyter-book build . --builder linkcheck
endif

offline: book ## Pack the site into one zip that works without a server or a network, into _build/asynchronous-computation.zip
	$(BOOK)/python -m polybook.offline _build/html _build/asynchronous-computation.zip

site: ## Build the site that is published: no warnings, and no GPU page without a fresh recorded run
	@$(MAKE) --no-print-directory book STRICT=1 REQUIRE_RECORDED=1

publish-notebooks: ## Put the notebooks of the built site on the branch that Colab and the like open them from
	@.ci/publish-notebooks

# Where they are and in what image to run them may come from a workflow: make never expands either.
run-notebooks: ## Run the notebooks in $IN as readers do: in a fresh environment of $PYTHON, or in containers of $IMAGE
	@PYTHON="$(PYTHON)" .ci/run-notebooks "$${IN:-_build/notebooks}"

record: run-name environments ## Run the pages that need a GPU, on a machine that has one, into runs/$RUN
	$(BOOK)/python -m polybook run --record "runs/$$RUN" $(if $(FRAMEWORK),--framework $(FRAMEWORK)) --retries $(RETRIES) --needing gpu $(PAGES)

carry: environments $(UV) ## Pack what a machine with a PyTorch of its own needs to record runs, into _build/carry.tar.gz
	rm -rf _build/carry _build/carry.tar.gz
	mkdir -p _build/carry/src
	$(BOOK)/python -m polybook plan --framework pytorch $(PAGES) > _build/carry/plan.json
	cp -r src/asynclab src/polybook _build/carry/src
	find _build/carry/src -name __pycache__ -prune -exec rm -r {} +
	$(UV) pip install --quiet --target _build/carry/packages --python-version $(CARRY_PYTHON) \
	  --python-platform $(CARRY_PLATFORM) --only-binary :all: --no-deps -r requirements/recorder.txt
	tar -C _build -czf _build/carry.tar.gz carry
	@echo "There: tar xzf carry.tar.gz && cd carry && PYTHONPATH=src python -m polybook run --plan plan.json --packages packages --record runs/$(or $(RUN),gpu)"
	@echo "Back here: the folder runs/$(or $(RUN),gpu). Say which Python is there with CARRY_PYTHON=$(CARRY_PYTHON)."

propose: run-name ## Offer what was recorded under runs/ as a pull request
	@.ci/propose-runs "$$RUN"

# The name comes from a form in a workflow too: make never expands it, and it is checked before anything costs time.
run-name:
	@[[ "$${RUN:-}" =~ ^[a-z0-9]([-._]?[a-z0-9])*$$ ]] || { \
	  echo "RUN must name the folder below runs/ to record into, of lower-case letters, digits and single - . _ between them. Try: RUN=gpu" >&2; exit 2; }

pins: $(UV) ## Write the exact pins anew from the .in files
	@for name in book $(filter-out book dev,$(basename $(notdir $(wildcard requirements/*.in)))) dev; do \
	  overrides=requirements/$$name.overrides; \
	  $(UV) pip compile --quiet --python-version 3.11 --no-emit-index-url \
	    $$([ -f $$overrides ] && echo --override $$overrides) \
	    requirements/$$name.in -o requirements/$$name.txt; \
	done
	@# What a notebook's first cell makes MXNet's environment from, where the notebook's own Python is too new.
	@grep -v '^ *#' requirements/mxnet.txt > src/asynclab/mxnet-pins.txt

debian-packages:
	@PACKAGES="$$(grep -v '^#' debian-packages.txt)" tests/debian-packages.sh

clean: ## Remove the built site; runs are kept
	rm -rf _build

distclean: clean ## Remove everything that was made, stored runs and environments as well
	rm -rf .polybook .venv-*

$(CURDIR)/.venv-uv/bin/uv:
	@$(PYTHON) -m venv .venv-uv || { echo "uv is missing, and $(PYTHON) cannot make an environment to put it in. Install uv, or Debian's python3-venv." >&2; rm -rf .venv-uv; exit 1; }
	.venv-uv/bin/pip install --quiet --disable-pip-version-check $(UV_VERSION)

.venv-book/.ready: requirements/book.txt pyproject.toml | $(UV)
.venv-dev/.ready: requirements/dev.txt pyproject.toml | $(UV)
.venv-lab/.ready: requirements/lab.txt pyproject.toml | $(UV)
.venv-coursework/.ready: requirements/coursework.txt pyproject.toml | $(UV)
.venv-book/.ready .venv-dev/.ready .venv-lab/.ready .venv-coursework/.ready: .venv-%/.ready:
	@rm -f $@
	@[ -x .venv-$*/bin/python ] || $(UV) venv --quiet --clear --python 3.11 .venv-$*
	$(UV) pip sync --quiet --compile-bytecode --python .venv-$*/bin/python requirements/$*.txt
	$(UV) pip install --quiet --python .venv-$*/bin/python --no-deps --editable .
	@touch $@
