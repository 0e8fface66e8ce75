# make demo   install, then run the quick study end to end (about 15 minutes on 2 cores)
# make smoke  the same stations with a handful of training steps (about 4 minutes)
# make test   install, then run the tests that everybody runs (about 10 minutes); test-slow and test-long run the others

PYTHON ?= python3.11
VENV   := .venv
BIN    := $(VENV)/bin
CORES  ?= 2
# make install INSTALLER=pip   without uv: slower
INSTALLER ?= uv
PLANS  ?= 1000000
FOR    ?= 3600
PYTEST   := $(BIN)/python -m pytest
TOGETHER := $(PYTEST) --numprocesses $(CORES) --dist loadfile

.PHONY: install demo smoke test test-slow test-long test-recovery test-plans test-holes mutants lint

install: $(VENV)/installed

$(VENV)/installed: envs/cpu.txt envs/cpu-cuda.txt pyproject.toml
	$(PYTHON) -c 'import sys; assert (3, 11) <= sys.version_info < (3, 13), "Python 3.11 or 3.12 needed: make PYTHON=..."'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python envs/install.py $(INSTALLER)
	touch $@

demo: install
	$(BIN)/snakemake --cores $(CORES) all
	@cat results/quick/summary.md

smoke: install
	$(BIN)/snakemake --cores $(CORES) all --configfile config/smoke.yaml
	@cat results/smoke/summary.md

# A pyramid: `test` is for everybody, `test-slow` is what CI runs beside it, `test-long` is for a release or for whoever
# changes what it looks at. Those that train want the machine to themselves; all others run side by side.
test: install
	OMP_NUM_THREADS=1 $(TOGETHER) -m "not slow and not long" tests/unit tests/parity tests/dag tests/e2e/test_report_browser.py
	$(PYTEST) -m "not slow" tests/e2e/test_verl_run.py

test-slow: install
	OMP_NUM_THREADS=1 $(TOGETHER) -m slow tests/unit tests/parity tests/dag tests/e2e/test_dvc_run.py
	$(PYTEST) -m slow tests/e2e tests/slurm --ignore tests/e2e/test_dvc_run.py

test-long: test-recovery test-plans test-holes

test-recovery: install
	$(PYTEST) -m long tests/slurm

test-plans: install
	cd tests && PYTHONPATH=. ../$(BIN)/python -m long.random_plans --plans $(PLANS) --processes $(CORES)

test-holes: install
	cd tests && PYTHONPATH=. ../$(BIN)/python -m long.search_holes --seconds $(FOR) --workers $(CORES)

# Another hour: which planted faults do the fast tests let through?
mutants: install
	$(BIN)/python -m pip install --quiet --no-deps --upgrade --target build/mutmut --requirement envs/mutants.txt
	$(BIN)/python tests/long/mutants.py

lint: install
	$(BIN)/ruff check workflow tests benchmarks slurm envs
	$(BIN)/ruff format --check workflow tests benchmarks slurm envs
	$(BIN)/snakefmt --check Snakefile workflow/rules
