"""A study: what a configuration file asks for, checked and typed.

The keys, their meaning and their defaults stand in `schemas/config.schema.json`; a file that does not fit it is
refused with the path of the key. What a schema cannot say (keys that belong together) is checked here.
"""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import date
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path

import yaml
from jsonschema import Draft202012Validator

from planner_r1.environments import environment
from planner_r1.errors import InputError
from planner_r1.verl_overlays import FAST, performance_overrides

SCHEMA_FILE = Path(__file__).resolve().parent / "schemas" / "config.schema.json"
SPLITS = ("train", "validation", "test")
OFFICIAL = "official"  # the evaluator's profile of the paper
BASE_REGIME = "base"
DATABASE_FILES = (
    "accommodations/clean_accommodations_2022.csv",
    "restaurants/clean_restaurant_2022.csv",
    "attractions/attractions.csv",
    "flights/clean_Flights_2022.csv",
    "googleDistanceMatrix/distance.csv",
    "background/citySet_with_states.txt",
)
# The files of each out-of-domain suite, in the order of Table 2.
SUITE_FILES = {
    "natural_plan": ("trip_planning.json", "meeting_planning.json", "calendar_scheduling.json"),
    "multi_if": ("multiIF_20241018_english.csv",),
    "tau_bench": (
        *("users.json", "orders.json", "products.json", "policy.md"),
        *("tau_retail_tools.json", "taubench_retail_tasks_test.json"),
    ),
}
SCRIPTED_USER = "scripted"
UNDER = "+"  # between a split and the noise it is evaluated under
# Keys that mean something under one `source` only.
SOURCE_KEYS = {
    "sandbox": {"synthetic": ("world",), "files": ("database", "official")},
    "queries": {"synthetic": ("days", "levels", "sizes", "avoid"), "files": ()},
    **{f"suites.{suite}": {"synthetic": ("size", "seed"), "files": ("folder", "items")} for suite in SUITE_FILES},
}


@dataclass(frozen=True)
class Phase:
    """A stretch of training steps under one weighting of the reward: a stage's name, or five numbers."""

    weights: str | tuple[float, ...]
    steps: int


@dataclass(frozen=True)
class Run:
    """One training run: a model under a regime with a seed."""

    model: str
    regime: str
    seed: int
    phases: tuple[Phase, ...]

    @property
    def name(self) -> str:
        return f"{self.model}/{self.regime}/seed{self.seed}"

    @property
    def steps(self) -> int:
        return sum(phase.steps for phase in self.phases)


@dataclass(frozen=True)
class Probe:
    """A few steps of training a model with a share of the GPUs' memory given to the rollout engine."""

    model: str
    share: float

    @property
    def name(self) -> str:
        return f"{self.model}/share{self.share:g}"


@dataclass(frozen=True)
class Checkpoint:
    """The weights of a run after a step; of the untrained model under regime `base`, seed 0, step 0."""

    model: str
    regime: str
    seed: int
    step: int

    @property
    def name(self) -> str:
        return f"{self.model}/{self.regime}/seed{self.seed}/step{self.step}"


class Study:
    """Typed access to a checked configuration. Build it with `from_config`."""

    def __init__(self, config: dict):
        self.config = config

    @classmethod
    def from_config(cls, config: dict) -> Study:
        """Check a configuration as read from YAML and fill in the defaults; the argument is left as it is.

        Raises:
            InputError: naming the path of the key, such as `training.save_evry: unknown key`; of several that the
                schema refuses all, a line each.
        """
        config = _plain(config)
        if infinite := list(_not_finite(config)):
            raise InputError(_listed([f"{_dotted(path)}: not a finite number ({value})" for path, value in infinite]))
        schema = load_schema()
        errors = sorted(Draft202012Validator(schema).iter_errors(config), key=lambda e: [str(p) for p in e.path])
        if errors:
            raise InputError(_listed(dict.fromkeys(line for error in errors for line in _explain(error))))
        for section, found, key, source in _keys_of_another_source(config):
            raise InputError(f"{section}.{key}: belongs to source '{source}', but source is '{found['source']}'")
        config = _filled(config, schema)
        for _, found, key, _ in list(_keys_of_another_source(config)):
            del found[key]
        study = cls(config)
        study._check()
        return study

    @classmethod
    def load(cls, study: str) -> Study:
        """Read and check a study's file, or its keys written as JSON.

        Raises:
            InputError: there is no such file, it cannot be read, or it is not a study.
        """
        written = study.lstrip().startswith("{")
        where = "the study" if written else study
        try:
            config = yaml.safe_load(study if written else Path(study).read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise InputError(f"{study}: no such file; run this from the root of the repository") from None
        except (OSError, yaml.YAMLError, UnicodeDecodeError) as error:
            raise InputError(f"{where}: not a YAML file ({' '.join(str(error).split())})") from None
        if not isinstance(config, dict):
            raise InputError(f"{where}: expected the keys of a study, found {type(config).__name__}")
        try:
            return cls.from_config(config)
        except InputError as error:
            raise InputError(f"{where}: {error}") from None

    @property
    def name(self) -> str:
        return self.config["study"]

    @property
    def seed(self) -> int:
        return self.config["seed"]

    @property
    def models(self) -> tuple[str, ...]:
        return tuple(self.config["models"])

    @property
    def regimes(self) -> tuple[str, ...]:
        return tuple(self.config["regimes"])

    @property
    def seeds(self) -> tuple[int, ...]:
        return tuple(self.config["seeds"])

    @property
    def splits(self) -> tuple[str, ...]:
        """What checkpoints are evaluated on: splits, and splits under noise as `test+flaky`."""
        noises = self.config["evaluation"]["noise"]
        return (*self.clean_splits, *(f"{split}{UNDER}{noise}" for split in self.clean_splits for noise in noises))

    @property
    def clean_splits(self) -> tuple[str, ...]:
        """Those of `splits` that nothing goes wrong on: what compares with other studies and the paper."""
        return tuple(self.config["evaluation"]["splits"])

    @staticmethod
    def query_split(split: str) -> str:
        """The split whose queries are asked: `test` of `test+flaky`."""
        return split.partition(UNDER)[0]

    def evaluation_noise(self, split: str) -> dict | None:
        """What goes wrong with the tools in an evaluation, as of `test+flaky`; None for nothing."""
        name = split.partition(UNDER)[2]
        return self.config["noise"][name] if name else None

    def noise_name(self, regime: str) -> str | None:
        """The name of the noise that a regime trains under; None for none."""
        return self._regime(regime).get("noise")

    def training_noise(self, regime: str) -> dict | None:
        """What goes wrong with the tools while a regime trains; None for nothing."""
        name = self.noise_name(regime)
        return self.config["noise"][name] if name else None

    def train_queries(self, regime: str) -> int | None:
        """The number of queries a regime trains on; None for the whole split."""
        return self._regime(regime).get("train_queries")

    @property
    def train_subsets(self) -> tuple[int, ...]:
        """The numbers of queries that regimes train on where it is not the whole split, ascending."""
        return tuple(sorted({size for regime in self.regimes if (size := self.train_queries(regime))}))

    def profile(self, regime: str) -> str:
        """The evaluator's profile that pays in a regime."""
        return self._regime(regime).get("profile") or OFFICIAL

    @property
    def world(self) -> dict | None:
        """Fields of a WorldSpec, or None where the sandbox is built from files."""
        return self.config["sandbox"]["world"] if self.config["sandbox"]["source"] == "synthetic" else None

    @property
    def database(self) -> str | None:
        """Folder of the released files, or None where the world is made up."""
        return self.config["sandbox"].get("database") if self.world is None else None

    @property
    def official(self) -> bool:
        """Whether the database claims to be the complete release."""
        return self.world is None and self.config["sandbox"]["official"]

    @property
    def prompt(self) -> str:
        """Path of the system prompt's template."""
        return self.config["prompt"]

    @property
    def environment(self) -> str:
        """Where verl's Python comes from, such as `active` or `venv:.venv-gpu`."""
        return self.config["environment"]

    @property
    def backend(self) -> str:
        return self.config["training"]["backend"]

    @property
    def overrides(self) -> dict:
        """Keys of verl's configuration and their values, for every regime."""
        training = self.config["training"]
        return performance_overrides(training["performance"]) | training["overrides"]

    @property
    def keep_checkpoint(self) -> bool:
        """Whether a run that is whole keeps what it could go on from."""
        return self.config["training"]["keep_checkpoint"]

    @property
    def override_sections(self) -> dict[str, dict]:
        """Every section of the file that holds keys of verl's configuration, by its path."""
        regimes = {f"regimes.{regime}.overrides": self._regime(regime).get("overrides", {}) for regime in self.regimes}
        evaluation = self.config["evaluation"]["overrides"]
        return {
            "training.overrides": self.config["training"]["overrides"],
            **regimes,
            "evaluation.overrides": evaluation,
        }

    def algorithm(self, regime: str) -> str | dict | None:
        """A regime's algorithm: a name, or a mapping with `name` and keys; None for GRPO as in the paper."""
        return None if regime == BASE_REGIME else self._regime(regime).get("algorithm")

    def regime_overrides(self, regime: str) -> dict:
        """The study's keys of verl's configuration with those of a regime over them; `base` has none of its own."""
        own = {} if regime == BASE_REGIME else self._regime(regime).get("overrides", {})
        return self.overrides | own

    def evaluation_overrides(self, regime: str) -> dict:
        """Keys of verl's configuration under which a regime's checkpoints are evaluated."""
        return self.regime_overrides(regime) | self.config["evaluation"]["overrides"]

    @property
    def world_label(self) -> str:
        """The world in a few words, for tables and figures."""
        if self.world is None:
            return "TravelPlanner database"
        return f"synthetic world of {self.world['cities']} cities"

    @property
    def query_spec(self) -> dict | None:
        """Fields of a QuerySpec, or None where the queries are read from files. Trips lie on the world's days; in the
        database's own files queries are drawn in the benchmark's manner."""
        queries = self.config["queries"]
        if queries["source"] == "files":
            return None
        spec = {"days": queries["days"], "levels": queries["levels"]}
        if self.world is None:
            return spec | {"manner": "benchmark"}
        return spec | {key: self.world[key] for key in ("first_day", "n_days")}

    def query_file(self, split: str) -> str | None:
        """The file a split is read from, or None where it is drawn."""
        return self.config["queries"].get(split)

    @property
    def avoided_queries(self) -> tuple[str, ...]:
        """Files whose queries no drawn one may equal."""
        return tuple(self.config["queries"].get("avoid", ()))

    @property
    def all_splits(self) -> tuple[str, ...]:
        """The splits this study has queries for."""
        return tuple(split for split in SPLITS if self.query_spec or self.query_file(split))

    def query_seed(self, split: str) -> int:
        """The seed a split is drawn with, different for each."""
        return len(SPLITS) * self.seed + SPLITS.index(split)

    def drawn_before(self, split: str) -> tuple[str, ...]:
        """The splits that are there before `split` is drawn, whose questions it may not repeat: those read from files,
        and of the others test, then validation, then train."""
        later = SPLITS[SPLITS.index(split) + 1 :]
        return tuple(other for other in SPLITS if other in later or (other != split and self.query_file(other)))

    def query_count(self, split: str) -> int | None:
        """The number of queries to draw for a split, or None where they are read from a file."""
        return None if self.query_file(split) else self.config["queries"]["sizes"][split]

    def warm_start(self, model: str) -> dict | None:
        """Fields of a warm start, or None for a model that is given."""
        return self.config["models"][model].get("warm_start")

    def fine_tune(self, model: str) -> dict | None:
        """How a given model is fine-tuned before training by reward; None where it is taken as it is."""
        return self.config["models"][model].get("fine_tune")

    def fine_tune_settings(self, model: str) -> dict:
        """What makes a fine-tuned model what it is besides its files, as plain values."""
        training = self.config["training"]
        return {
            **self.fine_tune(model),
            "seed": self.seed,
            "save_every": training["save_every"],
            "backend": training["backend"],
            "overrides": self.overrides,
        }

    @property
    def fine_tuned(self) -> tuple[str, ...]:
        """The given models that are fine-tuned first."""
        return tuple(model for model in self.models if self.fine_tune(model) is not None)

    def made_here(self, model: str) -> bool:
        """Whether the weights that training starts from are made in this study."""
        return bool(self.warm_start(model)) or model in self.fine_tuned

    @property
    def held_out(self) -> tuple[str, ...]:
        """The splits that no model may learn from."""
        return tuple(split for split in self.all_splits if split != "train")

    def model_path(self, model: str) -> str | None:
        """Where a given model lies, or None for one that is made here."""
        return self.config["models"][model].get("path")

    def endpoint(self, model: str) -> dict | None:
        """Keys of a model's endpoint, or None for one whose weights are here."""
        return self.config["models"][model].get("endpoint")

    @property
    def trainable(self) -> tuple[str, ...]:
        """The models whose weights are here."""
        return tuple(model for model in self.models if not self.endpoint(model))

    def run(self, model: str, regime: str, seed: int) -> Run:
        """The run of a model under a regime.

        Raises:
            InputError: the study has no such model or regime.
        """
        if model not in self.models or regime not in self.regimes_of(model):
            raise InputError(f"study '{self.name}' has no run '{model}/{regime}'")
        phases = (
            Phase(_weights(p["weights"]), p["steps"] if isinstance(p["steps"], int) else p["steps"][model])
            for p in self._regime(regime)["phases"]
        )
        return Run(model, regime, seed, tuple(phases))

    def regimes_of(self, model: str) -> tuple[str, ...]:
        """The regimes that a model is trained under."""
        return tuple(regime for regime in self.regimes if model in self._models_of(regime))

    def seeds_of(self, regime: str) -> tuple[int, ...]:
        """The training seeds of a regime; of `base` the 0 that stands in the names of its checkpoints."""
        return (0,) if regime == BASE_REGIME else tuple(self._regime(regime).get("seeds", self.seeds))

    def _regime(self, regime: str) -> dict:
        """A regime's keys; a list is short for its phases alone."""
        written = self.config["regimes"][regime]
        return written if isinstance(written, dict) else {"phases": written}

    def _models_of(self, regime: str) -> tuple[str, ...]:
        return tuple(self._regime(regime).get("models", self.trainable))

    @cached_property
    def runs(self) -> tuple[Run, ...]:
        """Every run, by model, regime and seed in the order of the file."""
        return tuple(self.run(m, r, s) for m in self.models for r in self.regimes_of(m) for s in self.seeds_of(r))

    def train_settings(self, model: str, regime: str, seed: int) -> dict:
        """What makes a run what it is beside its files, as plain values: a change of any of them asks for a new run."""
        run = self.run(model, regime, seed)
        training = self.config["training"]
        # Only what is asked for: a run from before there was a key is still the same run.
        asked = {
            "algorithm": self.algorithm(regime),
            "noise": self.training_noise(regime),
            "profile": None if self.profile(regime) == OFFICIAL else self.profile(regime),
        }
        return {
            "phases": [{"weights": _as_list(phase.weights), "steps": phase.steps} for phase in run.phases],
            "seed": seed,
            "save_every": training["save_every"],
            "test_every": training["test_every"],
            "export_steps": self.export_steps(run),
            "backend": training["backend"],
            "overrides": self.regime_overrides(regime),
            **{key: value for key, value in asked.items() if value},
        }

    @cached_property
    def probes(self) -> tuple[Probe, ...]:
        """Every probe of a study of memory; none of another."""
        memory = self.config.get("memory")
        return tuple(Probe(m, share) for m in self.trainable for share in memory["shares"]) if memory else ()

    def probe_settings(self, model: str, share: float) -> dict:
        """What makes a probe what it is, as plain values, like `train_settings`."""
        steps = self.config["memory"]["steps"]
        return {
            "phases": [{"weights": "stage1", "steps": steps}],
            "seed": self.seeds[0],
            "save_every": steps,
            "test_every": steps,
            "backend": self.backend,
            "overrides": self.overrides | {"actor_rollout_ref.rollout.gpu_memory_utilization": share},
        }

    def export_steps(self, run: Run) -> list[int]:
        """The steps of a run whose weights are exported to be evaluated; the last one always is."""
        asked = self.config["evaluation"]["checkpoints"]
        earlier = [] if asked == "final" else [step for step in asked if step < run.steps]
        return sorted({*earlier, run.steps})

    @cached_property
    def checkpoints(self) -> tuple[Checkpoint, ...]:
        """Every checkpoint to evaluate: the base of each model, then those of the runs."""
        base = [Checkpoint(model, BASE_REGIME, 0, 0) for model in self.models]
        trained = [Checkpoint(r.model, r.regime, r.seed, step) for r in self.runs for step in self.export_steps(r)]
        return tuple(base + trained)

    @property
    def suites(self) -> tuple[str, ...]:
        """The out-of-domain suites of this study."""
        asked = self.config.get("suites") or {}
        return tuple(suite for suite in SUITE_FILES if asked.get(suite))

    def suite_folder(self, suite: str) -> str | None:
        """Where a suite's files are, or None where its data are made up."""
        return self.config["suites"][suite].get("folder")

    def absent_suite_files(self) -> list[str]:
        """The files of the suites' given folders that are not there."""
        folders = {suite: self.suite_folder(suite) for suite in self.suites}
        files = [f"{folder}/{name}" for suite, folder in folders.items() if folder for name in SUITE_FILES[suite]]
        return [file for file in files if not Path(file).is_file()]

    def made_up_suite(self, suite: str) -> dict:
        """Size and seed of a suite's made-up data."""
        return {key: self.config["suites"][suite][key] for key in ("size", "seed")}

    def suite_settings(self, model: str) -> dict:
        """What determines the answers of a model's checkpoints, as plain values."""
        asked = self.config["suites"]
        return {
            "repeats": asked["repeats"],
            "seed": asked["seed"],
            "endpoint": self.endpoint(model),
            "extra_body": asked["server"]["extra_body"],
            "suites": {
                suite: {key: asked[suite].get(key) for key in ("items", "decoding", "user")} for suite in self.suites
            },
        }

    @property
    def suite_server(self) -> dict:
        """Keys of the server that a checkpoint's weights are put behind."""
        return self.config["suites"]["server"]

    @cached_property
    def suite_checkpoints(self) -> tuple[Checkpoint, ...]:
        """The checkpoints that the suites are put to."""
        if not self.suites:
            return ()
        asked = self.config["suites"]
        named = asked.get("regimes")
        regimes = {BASE_REGIME, *(self.regimes if named is None else named)}
        last = {(run.model, run.regime): run.steps for run in self.runs}
        return tuple(
            c
            for c in self.checkpoints
            if c.regime in regimes
            and (asked["checkpoints"] == "evaluated" or c.step == last.get((c.model, c.regime), 0))
        )

    def _check(self) -> None:
        """Refuse what the schema lets pass: keys that need one another, steps that no checkpoint has."""
        environment(self.environment)
        if self.config["training"]["performance"] == FAST and self.backend != "gpu":
            raise InputError(
                f"training.performance: {FAST} is for GPUs, and training.backend is {self.backend}; leave it out"
            )
        if self.world is None and not self.database:
            raise InputError("sandbox.database: missing; source 'files' needs the folder with the released files")
        if self.query_spec is None:
            trains = any(self._models_of(regime) for regime in self.regimes)
            for split in (*(("train", "validation") if trains else ()), *self.splits):
                if not self.query_file(self.query_split(split)):
                    raise InputError(f"queries.{split}: missing; source 'files' needs the file of this split")
        elif not any(self.query_spec["levels"].values()):
            raise InputError("queries.levels: all weights are 0; give at least one level a positive weight")
        self._check_days()
        self._check_train_file()
        for model in self.models:
            self._check_model(model)
            self._check_key_variable(f"models.{model}.endpoint", self.endpoint(model) or {})
        for regime in self.regimes:
            self._check_regime(regime)
        for i, name in enumerate(self.config["evaluation"]["noise"]):
            self._check_noise(f"evaluation.noise[{i}]", name)
        if self.config["evaluation"]["noise"] and not self.clean_splits:
            raise InputError("evaluation.noise: nothing is evaluated, evaluation.splits is empty")
        if self.config.get("memory") and self.regimes:
            raise InputError(f"memory: a study of memory has no regimes, but this one has '{self.regimes[0]}'")
        self._check_checkpoints()
        self._check_suites()

    def _check_days(self) -> None:
        """In a made-up world a trip of more than 3 days starts in another state than the one it goes to."""
        if self.world is None or self.query_spec is None or self.world["states"] > 1:
            return
        for i, days in enumerate(self.query_spec["days"]):
            if days > 3:
                raise InputError(
                    f"queries.days[{i}]: trips of {days} days go to another state, but the world has one; give it a "
                    "second (sandbox.world.states)"
                )

    def _check_train_file(self) -> None:
        train = self.query_file("train")
        for split in ("validation", *(split for split in self.clean_splits if split != "train")):
            file = self.query_file(split)
            if train and file and Path(file) == Path(train):
                raise InputError(
                    f"queries.{split}: {file} is queries.train as well; results on queries that were trained on are no "
                    "results"
                )

    def _check_model(self, model: str) -> None:
        kinds = [key for key in ("warm_start", "path", "endpoint") if self.config["models"][model].get(key)]
        if len(kinds) != 1:
            found = " and ".join(map(repr, kinds)) or "none of them"
            raise InputError(f"models.{model}: needs one of 'warm_start', 'path' and 'endpoint', found {found}")
        if self.fine_tune(model) is not None and kinds != ["path"]:
            raise InputError(f"models.{model}.fine_tune: belongs to a model with 'path', but this one has '{kinds[0]}'")
        by_oracle = model in self.fine_tuned and not self.fine_tune(model)["trajectories"]
        if by_oracle and "train" not in self.all_splits:
            raise InputError(
                f"models.{model}.fine_tune: the oracle needs queries to plan; name a file in queries.train, or "
                "recorded episodes in trajectories"
            )

    def _check_noise(self, key: str, name: str | None) -> None:
        if name is not None and name not in self.config["noise"]:
            known = ", ".join(self.config["noise"]) or "none"
            raise InputError(f"{key}: no '{name}' under 'noise' in this study (known: {known})")

    def _check_key_variable(self, key: str, endpoint: dict) -> None:
        """Whoever writes the key itself into a study is told so, without it."""
        variable = endpoint.get("api_key_env")
        if variable and not (variable.isidentifier() and variable.isascii()):
            raise InputError(
                f"{key}.api_key_env: expected the name of an environment variable, such as OPENAI_API_KEY; a key "
                "itself stands in no file"
            )

    def _check_suites(self) -> None:
        asked = self.config.get("suites")
        if not asked:
            return
        if not self.suites:
            raise InputError(f"suites: no suite is named; expected at least one of {', '.join(SUITE_FILES)}")
        for i, regime in enumerate(asked.get("regimes") or ()):
            if regime not in self.regimes:
                raise InputError(f"suites.regimes[{i}]: no regime '{regime}' in this study ({', '.join(self.regimes)})")
        user = (asked.get("tau_bench") or {}).get("user", SCRIPTED_USER)
        if user != SCRIPTED_USER:
            self._check_key_variable("suites.tau_bench.user", user)

    def _check_regime(self, regime: str) -> None:
        key, models = f"regimes.{regime}", self._models_of(regime)
        if not models:
            raise InputError(f"{key}: nothing to train; all models of this study are behind endpoints")
        for i, model in enumerate(models):
            if model not in self.models:
                raise InputError(f"{key}.models[{i}]: no model '{model}' in this study ({', '.join(self.models)})")
            if model not in self.trainable:
                raise InputError(f"{key}.models[{i}]: '{model}' is behind an endpoint and cannot be trained")
        self._check_noise(f"{key}.noise", self._regime(regime).get("noise"))
        asked, drawn = self.train_queries(regime), self.query_count("train")
        if asked and drawn and asked > drawn:
            raise InputError(f"{key}.train_queries: {asked}, but the train split has {drawn} (queries.sizes.train)")
        phases = key if isinstance(self.config["regimes"][regime], list) else f"{key}.phases"
        for i, phase in enumerate(self._regime(regime)["phases"]):
            if not isinstance(phase["weights"], str) and not any(phase["weights"]):
                raise InputError(f"{phases}[{i}].weights: all are 0, so there is nothing to learn; raise one of them")
            self._check_steps(f"{phases}[{i}].steps", phase["steps"], models)

    def _check_steps(self, key: str, steps: int | dict, models: tuple[str, ...]) -> None:
        if isinstance(steps, int):
            return
        if missing := [m for m in models if m not in steps]:
            raise InputError(f"{key}: no entry for model '{missing[0]}'")
        if unknown := [m for m in steps if m not in models]:
            raise InputError(f"{key}.{unknown[0]}: no such model in this regime ({', '.join(models)})")

    def _check_checkpoints(self) -> None:
        asked = self.config["evaluation"]["checkpoints"]
        if asked == "final":
            return
        every = self.config["training"]["save_every"]
        longest = max((run.steps for run in self.runs), default=0)
        for i, step in enumerate(asked):
            if step > longest:
                raise InputError(f"evaluation.checkpoints[{i}]: step {step} lies beyond the longest run ({longest})")
            if step % every and any(step < run.steps for run in self.runs):
                key = f"evaluation.checkpoints[{i}]"
                raise InputError(f"{key}: step {step} is not saved; use multiples of training.save_every ({every})")


def _weights(written: str | list) -> str | tuple[float, ...]:
    return written if isinstance(written, str) else tuple(map(float, written))


def _as_list(weights: str | tuple[float, ...]) -> str | list[float]:
    return weights if isinstance(weights, str) else list(weights)


def load_schema() -> dict:
    """The JSON Schema of a study file, with each reference replaced by what it stands for."""
    schema = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
    return _without_references(schema, schema.pop("$defs"))


def _without_references(node, definitions: dict):
    if isinstance(node, list):
        return [_without_references(v, definitions) for v in node]
    if not isinstance(node, dict):
        return node
    own = {key: _without_references(v, definitions) for key, v in node.items() if key != "$ref"}
    if "$ref" not in node:
        return own
    return _without_references(definitions[node["$ref"].removeprefix("#/$defs/")], definitions) | own


def _plain(value):
    """A copy with plain types: YAML reads an unquoted day as a date, Snakemake hands over ordered dictionaries."""
    if isinstance(value, dict):
        return {str(key): _plain(v) for key, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return value.isoformat() if isinstance(value, date) else value


def _not_finite(value, path: tuple = ()) -> Iterator[tuple[tuple, float]]:
    """Path and value of each float that is not a number: YAML reads `.nan` and `.inf`; no bound refuses the first."""
    if isinstance(value, dict):
        for key, v in value.items():
            yield from _not_finite(v, (*path, key))
    elif isinstance(value, list):
        for i, v in enumerate(value):
            yield from _not_finite(v, (*path, i))
    elif isinstance(value, float) and not math.isfinite(value):
        yield path, value


def _filled(value, schema: dict):
    """A copy of a valid value with the schema's defaults for every key that is absent; a default of null adds none."""
    if isinstance(value, list):
        return [_filled(v, schema.get("items", {})) for v in value]
    if not isinstance(value, dict):
        return value
    properties, others = schema.get("properties", {}), schema.get("additionalProperties") or {}
    filled = {key: _filled(v, properties.get(key, others)) for key, v in value.items()}
    for key, sub in properties.items():
        if key not in filled and sub["default"] is not None:
            filled[key] = _filled(copy.deepcopy(sub["default"]), sub)
    return filled


def _keys_of_another_source(config: dict):
    """Path and content of a section, and a key in it that means nothing under its `source` but under another."""
    for path, by_source in SOURCE_KEYS.items():
        section = config
        for part in path.split("."):
            section = section.get(part) if section else None
        for source, keys in by_source.items():
            if section and source != section["source"]:
                yield from ((path, section, key, source) for key in keys if key in section)


def _listed(faults: Collection[str]) -> str:
    """One fault as it is; several below a line that says how many."""
    return "\n  ".join(faults if len(faults) == 1 else [f"{len(faults)} keys to mend:", *faults])


def _explain(error) -> list[str]:
    """A line for each key of a failed check: its path, what was found, what was expected."""
    if error.validator == "additionalProperties":
        known = list(error.schema.get("properties", {}))
        unknown = [key for key in error.instance if key not in known]
        return [f"{_dotted([*error.absolute_path, key])}: unknown key ({_hint(key, known)})" for key in unknown]
    if error.validator == "required":
        described = {key: error.schema["properties"][key]["description"] for key in error.validator_value}
        missing = [key for key in described if key not in error.instance]
        return [f"{_dotted([*error.absolute_path, key])}: missing ({described[key]})" for key in missing]
    return [_explain_value(error)]


def _hint(key: str, known: list[str]) -> str:
    close = get_close_matches(str(key), known, n=1)
    return f"did you mean '{close[0]}'?" if close else f"known here: {', '.join(known)}"


def _explain_value(error) -> str:
    path = _dotted(error.absolute_path)
    if error.validator == "type":
        kinds = error.validator_value if isinstance(error.validator_value, list) else [error.validator_value]
        return f"{path}: expected {' or '.join(kinds)}, found {error.instance!r}{_mending(error.instance, kinds)}"
    if error.validator == "enum":
        return f"{path}: expected one of {', '.join(map(str, error.validator_value))}, found {error.instance!r}"
    if "propertyNames" in error.absolute_schema_path:
        allowed = "small letters, digits, '.', '_', '-', 64 at most; not 'base'"
        return f"{path}.{error.instance}: not allowed as a name here ({allowed})"
    return f"{path}: {error.message}"


def _mending(found, kinds: list[str]) -> str:
    """How what is often meant is written in YAML: it takes `1e-5` for text."""
    if isinstance(found, str) and {"number", "integer"} & set(kinds):
        try:
            number = yaml.safe_dump(float(found)).split()[0]
            return f" (YAML takes a number without a point or in quotes for text: write {number})"
        except ValueError:
            return ""
    return f" (a list of one is written [{found}])" if isinstance(found, str) and kinds == ["array"] else ""


def _dotted(path) -> str:
    """`regimes.stage1[0].steps` from the parts of a path."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.lstrip(".") or "the file"
