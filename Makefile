# make demo   install, then run the quick study end to end (about 15 minutes on 2 cores)
# make smoke  the same stations with a handful of training steps (about 4 minutes)
# make test   install, then run all tests, the slow ones too

PYTHON ?= python3.11
VENV   := .venv
BIN    := $(VENV)/bin
CORES  ?= 2
# make install INSTALLER=pip   without uv: slower
INSTALLER ?= uv

.PHONY: install demo smoke test lint

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

# Those that train, and a SLURM of virtual nodes, want the machine to themselves; all others are run side by side.
test: install
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses $(CORES) --dist loadfile tests/unit tests/parity tests/dag
	$(BIN)/python -m pytest tests/e2e tests/slurm

lint: install
	$(BIN)/ruff check workflow tests benchmarks slurm
	$(BIN)/ruff format --check workflow tests benchmarks slurm
	$(BIN)/snakefmt --check Snakefile workflow/rules
