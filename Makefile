# make demo   install, then run the quick study end to end (about 15 minutes on 2 cores)
# make smoke  the same stations with a handful of training steps (about 4 minutes)
# make engine the real engine, sglang, without a GPU: its tests are skipped without it
# make test   install, then run the tests that everybody runs (10 to 12 minutes); test-slow and test-long run the others

PYTHON ?= python3.11
VENV   := .venv
BIN    := $(VENV)/bin
CORES  ?= 2
# make install INSTALLER=pip   without uv: slower
INSTALLER ?= uv
PLANS  ?= 1000000
FOR    ?= 3600
PARTS  ?=
PYTEST := $(BIN)/python -m pytest
# Side by side, one more than there are cores, as many tests wait for processes that they start; the longest files come
# first, so that none is left over at the end.
SIDE_BY_SIDE := OMP_NUM_THREADS=1 $(PYTEST) --numprocesses $(shell echo $$(($(CORES) + 1))) --dist loadfile \
    --no-loadscope-reorder --durations 15 --durations-min 10
LONGEST_FIRST := tests/slurm tests/e2e/test_dvc_run.py tests/e2e/test_verl_run.py tests/e2e tests/dag tests/unit tests/parity

.PHONY: install engine demo smoke test test-slow test-long test-recovery test-plans test-holes mutants lint

install: $(VENV)/installed

$(VENV)/installed: envs/cpu.txt envs/cpu-cuda.txt pyproject.toml
	$(PYTHON) -c 'import sys; assert (3, 11) <= sys.version_info < (3, 13), "Python 3.11 or 3.12 needed: make PYTHON=..."'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python envs/install.py $(INSTALLER)
	touch $@

# sglang, the engine of the GPU runs, for a machine without a GPU: docs/engine.md
engine: .venv-engine/installed

.venv-engine/installed: $(VENV)/installed envs/engine.txt envs/install_engine.py
	$(BIN)/python envs/install_engine.py
	touch $@

demo: install
	$(BIN)/snakemake --cores $(CORES) all
	@cat results/quick/summary.md

smoke: install
	$(BIN)/snakemake --cores $(CORES) all --configfile config/smoke.yaml
	@cat results/smoke/summary.md

# A pyramid: `test` is for everybody, `test-slow` is what CI runs beside it, `test-long` is for a release or for whoever
# changes what it looks at.
test: install
	$(SIDE_BY_SIDE) -m "not slow and not long and not gpu" $(LONGEST_FIRST)

test-slow: install
	$(SIDE_BY_SIDE) -m "slow and not gpu" $(LONGEST_FIRST)

test-long: test-recovery test-plans test-holes

test-recovery: install
	$(PYTEST) -m long tests/slurm

test-plans: install
	cd tests && PYTHONPATH=. ../$(BIN)/python -m long.random_plans --plans $(PLANS) --processes $(CORES)

test-holes: install
	cd tests && PYTHONPATH=. ../$(BIN)/python -m long.search_holes --seconds $(FOR) --workers $(CORES)

# Which planted faults do the fast tests let through? An hour for all; make mutants PARTS="hard strict" for some.
mutants: install
	$(BIN)/python -m pip install --quiet --no-deps --upgrade --target build/mutmut --requirement envs/mutants.txt
	$(BIN)/python tests/long/mutants.py $(PARTS)

lint: install
	$(BIN)/ruff check workflow tests benchmarks slurm envs
	$(BIN)/ruff format --check workflow tests benchmarks slurm envs
	$(BIN)/snakefmt --check Snakefile workflow/rules
