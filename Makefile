# Two commands matter to a newcomer: `make run` and `make test`. Both set up what they need, once.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# Worker processes of the tests. Many tests wait for a server or a process, so three keep two cores busy.
WORKERS ?= 3
# Tests outside tests/peers that need programs which `make test` may lack: tmux, a Matrix homeserver.
WITH_PROGRAMS := tests/terminal/test_tour.py tests/terminal/test_chat_in_a_terminal.py tests/gateway/test_matrix.py
# Tests start hundreds of Python processes; without stored bytecode each of them compiles the whole package again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help run test peers test-peers screens lint format bench bench-quality docs clean

help:  ## show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 24

run: $(VENV)/.run  ## install Plimsoll and show a guided tour of one compaction, without a key
	@$(BIN)/plimsoll tour

# A safety net for real servers, terminals and killed processes: what fails is tried once more, and the end of the
# output names it. A test that is named there is a defect. Tests in one xdist_group share a server, so one worker runs
# them; without reordering they run where they are collected, when the embedded model has been downloaded. -rs names
# every test that was skipped, and why.
test: $(VENV)/.dev lint  ## lint, types and the whole test suite, without real clients
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup --no-loadscope-reorder --reruns 1 -rRs

peers: $(VENV)/.dev  ## install the real clients of tests/peers/peers.toml into .local/peers
	$(BIN)/python tests/peers/install.py

test-peers: $(VENV)/.dev $(VENV)/.docs  ## run real clients, terminals and the site's search; first install the clients with make peers
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup tests/peers $(WITH_PROGRAMS)

# The tests that compare a picture with its screen fail until the picture is written, so their result is not asked for.
screens: $(VENV)/.dev  ## keep every screen of the chat and the commands in .local/screens, and record the pictures of the docs
	-$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup $(wildcard tests/peers/test_*_screens.py)
	$(BIN)/python site/record.py

lint: $(VENV)/.dev  ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.dev  ## put the code into its standard form
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.dev  ## measure speed, memory and counting against limits and a peer
	$(BIN)/python bench/run.py

bench-quality: $(VENV)/.dev  ## measure what compactions keep, against peers, on recorded conversations
	$(BIN)/python tests/peers/install.py --for bench/quality
	-$(BIN)/python bench/quality/run.py
	$(BIN)/python bench/quality/page.py

docs: $(VENV)/.docs  ## write the generated parts of docs/ anew and build the site into build/site
	$(BIN)/python site/configuration.py > docs/configuration.md
	$(BIN)/python site/translation.py > docs/translation.md
	$(BIN)/python bench/walkthroughs.py
	$(BIN)/python bench/gallery.py
	$(BIN)/python site/pictures.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "The site is in build/site. To read it: $(BIN)/python -m http.server -d build/site"

clean:  ## remove the virtual environment and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist

# Debian ships python3 without ensurepip unless python3-venv is installed; the system's pip can fill a bare
# environment just as well, so nothing but python3, pip and make is needed.
$(BIN)/pip:
	$(PYTHON) -m venv $(VENV) >/dev/null 2>&1 \
	  || { rm -rf $(VENV) && $(PYTHON) -m venv --without-pip $(VENV) \
	       && $(PYTHON) -m pip --python $(BIN)/python install --quiet pip; }

$(VENV)/.run: pyproject.toml | $(BIN)/pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[gateway,local]'
	@touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@ $(VENV)/.run

$(VENV)/.docs: pyproject.toml | $(BIN)/pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	@touch $@
