# Everything a newcomer or CI types. Needs git, make and Python 3.11 or newer (PYTHON=python3.12 picks another).
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
.DEFAULT_GOAL := help
# The tests start hundreds of processes, which would each compile the package's Python again.
export PYTHONDONTWRITEBYTECODE :=
# The workers of pytest share the processors: threads of BLAS would wait for each other, busily.
test test-uncompiled coverage test-lowest: export OPENBLAS_NUM_THREADS := 1
.PHONY: help demo site test test-thorough test-uncompiled types spelling test-lowest coverage lint bench campaign format clean

help:
	@echo "make demo    learn from real data with the real command line (half a minute the first time)"
	@echo "make test    lint and run the tests: every loop compiled once, the rest with the compiler off"
	@echo "make test-thorough   every combination, more random examples, clusters, stores, browsers"
	@echo "make bench   time linsep beside its peers (BENCH='dense csr' picks rows)"
	@echo "make campaign   kills, interrupts, full disks, damaged files, an hour (PARTS='kills=100 csv=1000 --seed 7' picks)"
	@echo "make site    build the documentation as a web site in site/"
	@echo "make lint    ruff, mypy and spelling"
	@echo "make coverage   branch coverage of src by the tests, compiled and not, file by file"
	@echo "make test-lowest   the tests with the oldest supported releases of every dependency"

# uv does in ten seconds what takes pip a minute. It does not read the settings of pip: where those
# name an index, or uv fails, pip installs.
TOOLS := [test,lint]
define install
	{ ! $(RUN) -m pip config list | grep -q '[.]index-url=' && \
		$(RUN) -m pip install --quiet --no-compile uv && \
		$(VENV)/bin/uv pip install --quiet --python $(RUN) --editable '.$(1)'; } || \
		$(RUN) -m pip install --quiet --no-compile --editable '.$(1)'
	@touch $@
endef

# What users get; and on top what tests, benchmarks and the site need.
$(VENV)/base: pyproject.toml
	@echo "installing linsep into $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@$(call install)

$(VENV)/installed: $(VENV)/base
	@$(call install,$(TOOLS))

$(VENV)/bench: $(VENV)/installed
	@$(call install,[bench])

$(VENV)/site: $(VENV)/installed
	@$(call install,[site])

demo: $(VENV)/base
	@PATH="$(CURDIR)/$(VENV)/bin:$$PATH" sh docs/demo.sh

# Types are checked on one processor while the others run the tests without the compiler.
test: $(VENV)/installed
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || \
		echo "no Chromium: tests in a browser are skipped (apt-get install chromium brings it)"
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	@$(MAKE) --no-print-directory --jobs 2 types spelling test-uncompiled
	$(RUN) -m pytest -n auto --dist loadfile --no-loadscope-reorder

# The pages are those that the tests run. A warning, such as a broken link, is an error.
site: $(VENV)/site
	$(VENV)/bin/sphinx-build --quiet --fail-on-warning --keep-going --jobs auto docs site

test-thorough: $(VENV)/site
	LINSEP_THOROUGH=1 $(MAKE) test

test-uncompiled: $(VENV)/installed
	NUMBA_DISABLE_JIT=1 $(RUN) -m pytest -n auto -p no:cacheprovider

types: $(VENV)/installed
	$(VENV)/bin/mypy

# Both runs, which cover each other's loops; below Python 3.14 counting branches doubles their time.
coverage: $(VENV)/installed
	$(RUN) -m pytest -n auto --dist loadfile --no-loadscope-reorder --cov --cov-report=
	NUMBA_DISABLE_JIT=1 $(RUN) -m pytest -n auto -p no:cacheprovider \
		--cov --cov-append --cov-report=
	$(RUN) -m coverage report

test-lowest:
	$(PYTHON) -m venv $(VENV)-lowest
	$(VENV)-lowest/bin/python -m pip install --quiet --constraint tests/lowest.txt --editable '.[test]'
	NUMBA_DISABLE_JIT=1 $(VENV)-lowest/bin/python -m pytest -n auto -p no:cacheprovider
	$(VENV)-lowest/bin/python -m pytest -n auto --dist loadfile

lint: types spelling
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .

spelling: $(VENV)/installed
	$(VENV)/bin/codespell *.md .github benchmarks campaign docs packages src tests

format: $(VENV)/installed
	$(VENV)/bin/ruff format .
	$(VENV)/bin/ruff check --fix .

bench: $(VENV)/bench
	$(RUN) -m benchmarks $(BENCH)

campaign: $(VENV)/installed
	$(RUN) -m campaign $(PARTS)

clean:
	rm -rf $(VENV) .coverage demo site docs/reference/generated .pytest_cache .hypothesis .mypy_cache .ruff_cache
