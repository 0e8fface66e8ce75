"""Study files: defaults, typed access, and refusals that name the key."""

import copy
from dataclasses import fields
from datetime import date
from pathlib import Path

import pytest
import yaml

from helpers.messages import names, refused
from planner_r1.agent.query_generator import QuerySpec
from planner_r1.errors import InputError
from planner_r1.sandbox.synthetic import WorldSpec
from planner_r1.study import DATABASE_FILES, Checkpoint, Phase, Study, load_schema

CONFIG = Path(__file__).resolve().parents[2] / "config"
MINIMAL = {
    "study": "mini",
    "sandbox": {"source": "synthetic"},
    "queries": {"source": "synthetic"},
    "models": {"a": {"warm_start": {"layers": 3}}, "b": {"path": "weights/b"}},
    "regimes": {
        "stage1": [{"weights": "stage1", "steps": 40}],
        "curriculum": [{"weights": "stage1", "steps": {"a": 10, "b": 5}}, {"weights": "stage3", "steps": 20}],
    },
    "seeds": [0, 3],
}
FILES = {
    "sandbox": {"source": "files", "database": "db"},
    "queries": {"source": "files", "train": "v.jsonl", "validation": "t.jsonl"},
    "evaluation": {"splits": ["validation"]},
}


def changed(**sections) -> dict:
    return copy.deepcopy(MINIMAL) | sections


@pytest.mark.parametrize("name", ["quick", "smoke", "laptop", "paper", "real_rows"])
def test_shipped_studies_are_valid_and_named_as_their_files(name):
    study = Study.from_config(yaml.safe_load((CONFIG / f"{name}.yaml").read_text()))
    assert study.name == name
    assert (CONFIG.parent / study.prompt).is_file()
    if study.world:
        WorldSpec(**study.world).check()
        QuerySpec(**study.query_spec)


@pytest.mark.parametrize("name", ["quick", "smoke", "laptop", "paper", "real_rows"])
def test_verl_takes_the_overrides_of_shipped_studies(name):
    from planner_r1.training.config import check_study, compose_config

    study = Study.from_config(yaml.safe_load((CONFIG / f"{name}.yaml").read_text()))
    check_study(study)
    composed = compose_config(study.backend, study.overrides, {})
    assert composed.trainer.device == {"cpu": "cpu", "gpu": "cuda"}[study.backend]


def test_defaults_are_filled_and_the_argument_is_left_alone():
    config = copy.deepcopy(MINIMAL)
    study = Study.from_config(config)
    assert config == MINIMAL
    assert study.world["cities"] == 3
    assert study.query_count("validation") == 64
    assert study.warm_start("a")["layers"] == 3 and study.warm_start("a")["hidden_size"] == 128
    assert study.warm_start("b") is None and study.model_path("b") == "weights/b"
    assert Study.from_config(study.config).config == study.config
    assert set(study.config) == {k for k, sub in load_schema()["properties"].items() if sub["default"] is not None}


def test_runs_phases_and_checkpoints():
    study = Study.from_config(changed(evaluation={"checkpoints": [20]}))
    names = [run.name for run in study.runs]
    assert names[:3] == ["a/stage1/seed0", "a/stage1/seed3", "a/curriculum/seed0"]
    assert len(names) == 8
    assert study.run("a", "curriculum", 0).phases == (Phase("stage1", 10), Phase("stage3", 20))
    assert study.run("b", "curriculum", 0).steps == 25
    assert study.export_steps(study.run("a", "stage1", 0)) == [20, 40]
    assert Checkpoint("a", "base", 0, 0) in study.checkpoints
    assert len(study.checkpoints) == 2 + 2 * len(study.runs)
    with pytest.raises(InputError, match="a/stage9"):
        study.run("a", "stage9", 0)


def test_a_regime_says_which_models_seeds_and_overrides_it_has():
    phases = [{"weights": "stage1", "steps": {"b": 40}}]
    long_form = {"phases": phases, "models": ["b"], "seeds": [7], "overrides": {"data.train_batch_size": 2}}
    regimes = MINIMAL["regimes"] | {"only": long_form}
    study = Study.from_config(
        changed(
            regimes=regimes,
            training={"overrides": {"data.train_batch_size": 4, "trainer.nnodes": 2}},
            evaluation={"overrides": {"trainer.nnodes": 1}},
        )
    )
    assert [run.name for run in study.runs if run.regime == "only"] == ["b/only/seed7"]
    assert study.regimes_of("a") == ("stage1", "curriculum")
    assert study.run("b", "only", 7).phases == (Phase("stage1", 40),)
    assert study.train_settings("b", "only", 7)["overrides"] == {"data.train_batch_size": 2, "trainer.nnodes": 2}
    assert study.train_settings("b", "stage1", 0)["overrides"] == {"data.train_batch_size": 4, "trainer.nnodes": 2}
    assert study.evaluation_overrides("only") == {"data.train_batch_size": 2, "trainer.nnodes": 1}
    assert study.evaluation_overrides("base") == {"data.train_batch_size": 4, "trainer.nnodes": 1}
    assert study.seeds_of("base") == (0,) and study.seeds_of("stage1") == (0, 3)
    with pytest.raises(InputError, match="a/only"):
        study.run("a", "only", 7)


def test_an_object_of_phases_alone_is_the_list():
    written = {name: {"phases": phases} for name, phases in MINIMAL["regimes"].items()}
    assert Study.from_config(changed(regimes=written)).runs == Study.from_config(changed()).runs


def test_a_study_of_memory_probes_each_model_at_each_share():
    study = Study.from_config(changed(regimes={}, memory={"shares": [0.6, 0.85]}, seeds=[3]))
    assert [probe.name for probe in study.probes] == ["a/share0.6", "a/share0.85", "b/share0.6", "b/share0.85"]
    settings = study.probe_settings("a", 0.85)
    assert settings["overrides"] == {"actor_rollout_ref.rollout.gpu_memory_utilization": 0.85}
    assert settings["phases"] == [{"weights": "stage1", "steps": 3}] and settings["seed"] == 3
    assert Study.from_config(changed()).probes == ()


def test_a_study_may_evaluate_untrained_models_only():
    study = Study.from_config(changed(regimes={}))
    assert study.runs == () and [c.name for c in study.checkpoints] == ["a/base/seed0/step0", "b/base/seed0/step0"]


def test_splits_are_drawn_with_seeds_of_their_own_and_know_what_to_avoid():
    study = Study.from_config(changed(seed=5))
    splits = ("train", "validation", "test")
    other = Study.from_config(changed(seed=6))
    assert len({s.query_seed(split) for s in (study, other) for split in splits}) == 6
    assert study.drawn_before("train") == ("validation", "test")
    assert study.drawn_before("test") == ()


def test_trips_lie_on_the_days_of_the_world():
    world = {"first_day": date(2022, 5, 1), "n_days": 9}  # YAML reads an unquoted day as a date
    study = Study.from_config(changed(sandbox={"source": "synthetic", "world": world}))
    assert study.query_spec["first_day"] == "2022-05-01" and study.query_spec["n_days"] == 9


def test_a_study_of_files():
    study = Study.from_config(changed(**FILES))
    assert study.database == "db" and study.world is None and not study.official
    assert study.query_file("train") == "v.jsonl" and study.query_count("train") is None
    assert study.all_splits == ("train", "validation")


@pytest.mark.parametrize(
    ("sections", "key", "word"),
    [
        ({"sead": 1}, "sead", "'seed'"),
        ({"training": {"saveevery": 1}}, "training.saveevery", "'save_every'"),
        ({"evaluation": {"zzz": 1}}, "evaluation.zzz", "splits, noise, checkpoints, overrides"),
        ({"seeds": ["0"]}, "seeds[0]", "'0'"),
        ({"seeds": []}, "seeds", "[]"),
        ({"sandbox": {"source": "web"}}, "sandbox.source", "'web'"),
        ({"sandbox": {"source": "files"}}, "sandbox.database", "missing"),
        ({"sandbox": {"source": "synthetic", "database": "d"}}, "sandbox.database", "'files'"),
        ({"queries": {"source": "files", "train": "t"}}, "queries.validation", "missing"),
        ({"queries": {"source": "synthetic", "levels": {"easy": 0, "medium": 0, "hard": 0}}}, "queries.levels", "0"),
        ({"models": {}}, "models", "{}"),
        ({"models": {"a": {"path": "p", "warm_start": {}}}}, "models.a", "'warm_start'"),
        ({"models": {"a": {"path": None}}}, "models.a", "none"),
        ({"models": {"Big One": {"path": "p"}}}, "models.Big One", "name"),
        ({"regimes": {"base": [{"weights": "stage1", "steps": 1}]}}, "regimes.base", "name"),
        ({"regimes": {"s": [{"weights": "stage9", "steps": 1}]}}, "regimes.s[0].weights", "stage1"),
        ({"regimes": {"s": [{"weights": [0, 0, 0, 0, 0], "steps": 1}]}}, "regimes.s[0].weights", "0"),
        ({"regimes": {"s": [{"weights": [1, 1, 1, 1], "steps": 1}]}}, "regimes.s[0].weights", "[1, 1, 1, 1]"),
        ({"regimes": {"s": [{"weights": [1, 1, 1, 1, -1], "steps": 1}]}}, "regimes.s[0].weights[4]", "-1"),
        (
            {"regimes": {"s": {"phases": [{"weights": "stage1", "steps": 1}], "profile": "strikt"}}},
            *("regimes.s.profile", "'strikt'"),
        ),
        ({"regimes": {"s": [{"steps": 1}]}}, "regimes.s[0].weights", "missing"),
        ({"regimes": {"s": [{"weights": "stage1", "steps": 0}]}}, "regimes.s[0].steps", "0"),
        ({"regimes": {"s": [{"weights": "stage1", "steps": {"a": 1}}]}}, "regimes.s[0].steps", "'b'"),
        (
            {"regimes": {"s": [{"weights": "stage1", "steps": {"a": 1, "b": 1, "c": 1}}]}},
            "regimes.s[0].steps.c",
            "model",
        ),
        ({"regimes": {"s": {"models": ["a"]}}}, "regimes.s.phases", "missing"),
        ({"regimes": {"s": {"phases": [{"weights": "stage1", "steps": 1}], "seed": 1}}}, "regimes.s.seed", "'seeds'"),
        ({"regimes": {"s": "stage1"}}, "regimes.s", "'stage1'"),
        ({"noise": {"flaky": {"failures": "2e-2"}}}, "noise.flaky.failures", "0.02"),
        ({"queries": {"source": "synthetic", "avoid": "a.csv"}}, "queries.avoid", "[a.csv]"),
        (
            {"regimes": {"s": {"phases": [{"weights": "stage1", "steps": {"a": 1}}]}}},
            "regimes.s.phases[0].steps",
            "'b'",
        ),
        (
            {"regimes": {"s": {"phases": [{"weights": "stage1", "steps": 1}], "models": ["a", "c"]}}},
            *("regimes.s.models[1]", "'c'"),
        ),
        (
            {"regimes": {"s": {"phases": [{"weights": "stage1", "steps": {"a": 1, "b": 1}}], "models": ["a"]}}},
            *("regimes.s.phases[0].steps.b", "regime"),
        ),
        ({"memory": {}}, "memory", "'stage1'"),
        ({"memory": {"shares": [1.0]}, "regimes": {}}, "memory.shares[0]", "1.0"),
        ({"evaluation": {"checkpoints": [400]}}, "evaluation.checkpoints[0]", "beyond"),
        ({"evaluation": {"checkpoints": [25]}}, "evaluation.checkpoints[0]", "saved"),
        ({"evaluation": {"checkpoints": "all"}}, "evaluation.checkpoints", "'all'"),
    ],
)
def test_refusals_name_the_key_in_one_line(sections, key, word):
    with refused(key, word):
        Study.from_config(changed(**sections))


PHASE = {"weights": "stage1", "steps": 1}
NAN, INFINITY = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("sections", "key", "word"),
    [
        ({"noise": {"flaky": {"failures": NAN}}}, "noise.flaky.failures", "finite"),
        ({"noise": {"flaky": {"latency": INFINITY}}}, "noise.flaky.latency", "finite"),
        ({"noise": {"flaky": {"latency": 3601}}}, "noise.flaky.latency", "3600"),
        ({"regimes": {"s": [{"weights": [1, 1, NAN, 1, 1], "steps": 1}]}}, "regimes.s[0].weights[2]", "finite"),
        ({"queries": {"source": "synthetic", "levels": {"easy": INFINITY}}}, "queries.levels.easy", "finite"),
        ({"models": {"a": {"warm_start": {"learning_rate": NAN}}}}, "models.a.warm_start.learning_rate", "finite"),
        (
            {"regimes": {"s": {"phases": [PHASE], "algorithm": {"name": "planpo", "reward": NAN}}}},
            *("regimes.s.algorithm.reward", "finite"),
        ),
        ({"training": {"overrides": {"a.betas": [0.9, -INFINITY]}}}, "training.overrides.a.betas[1]", "finite"),
    ],
)
def test_numbers_are_finite_wherever_they_stand(sections, key, word):
    with refused(key, word):
        Study.from_config(changed(**sections))


def test_names_are_of_64_characters_at_most():
    assert Study.from_config(changed(noise={"n" * 64: {}})).config["noise"]
    with refused(f"noise.{'n' * 65}", 64):
        Study.from_config(changed(noise={"n" * 65: {}}))


def test_noise_needs_something_that_is_evaluated():
    noise = {"noise": {"flaky": {"failures": 0.1}}}  # a name that nothing uses is fine
    Study.from_config(changed(**noise, evaluation={"splits": []}))
    with refused("evaluation.noise", "evaluation.splits"):
        Study.from_config(changed(**noise, evaluation={"splits": [], "noise": ["flaky"]}))


@pytest.mark.parametrize("source", ["files", "synthetic"])
def test_what_is_trained_on_is_no_other_split(source):
    def study(evaluated, **files):
        queries = {"source": source} | files
        return Study.from_config(changed(queries=queries, evaluation={"splits": evaluated}))

    with refused("queries.validation", "./t.csv", "queries.train"):
        study([], train="t.csv", validation="./t.csv")
    with refused("queries.test", "t.csv", "queries.train"):
        study(["test"], train="t.csv", validation="v.csv", test="t.csv")
    study(["train", "validation", "test"], train="t.csv", validation="v.csv", test="v.csv")


def test_long_trips_need_a_second_state():
    def study(days, **world):
        queries = {"source": "synthetic", "days": days}
        return Study.from_config(changed(queries=queries, sandbox={"source": "synthetic", "world": world}))

    with refused("queries.days[1]", "7 days", "sandbox.world.states"):
        study([3, 7])
    study([3, 7], states=2)
    Study.from_config(changed(**DRAWN_IN_FILES | {"queries": {"source": "synthetic", "days": [5]}}))


def test_all_keys_that_the_schema_refuses_are_named_by_path():
    config = changed(training={"save_evry": 1, "back": "cpu"}, regimes={"s": [{"steps": 0}], "t": [{}]})
    del config["queries"]
    with pytest.raises(InputError) as raised:
        Study.from_config(config)
    first, *lines = str(raised.value).split("\n  ")
    names(first, 7)
    assert [line.partition(":")[0] for line in lines] == [
        "queries",
        "regimes.s[0].weights",
        "regimes.s[0].steps",
        "regimes.t[0].weights",
        "regimes.t[0].steps",
        "training.save_evry",
        "training.back",
    ]


def test_a_missing_section_is_named():
    config = changed()
    del config["regimes"]
    with refused("regimes", "missing"):
        Study.from_config(config)


def test_the_library_does_not_need_snakemake():
    source = Path(Study.__init__.__code__.co_filename).read_text()
    assert "import snakemake" not in source and "from snakemake" not in source


# ---- the schema and what it stands for -------------------------------------------------------------------------


def objects(schema, path="study"):
    yield path, schema
    for key, sub in schema.get("properties", {}).items():
        yield from objects(sub, f"{path}.{key}")
    for word in ("items", "additionalProperties"):
        if isinstance(schema.get(word), dict):
            yield from objects(schema[word], f"{path}.{word}")


def test_every_key_has_a_description_and_a_default_and_no_object_takes_unknown_keys():
    for path, schema in objects(load_schema()):
        for key, sub in schema.get("properties", {}).items():
            assert sub.get("description") and "default" in sub, f"{path}.{key}"
        kinds = schema.get("type", ())
        if kinds == "object" or "object" in kinds:
            assert "additionalProperties" in schema and schema["additionalProperties"] is not True, path


def test_keys_of_the_schema_are_those_of_the_library():
    from planner_r1.reward import STAGES
    from planner_r1.training.warm_start import WarmStartSpec
    from planner_r1.verl_overlays import BACKENDS

    schema = load_schema()["properties"]

    def defaults(section):
        return {key: sub["default"] for key, sub in section["properties"].items()}

    def of(spec):
        return {f.name: f.default for f in fields(spec)}

    assert defaults(schema["sandbox"]["properties"]["world"]) == of(WorldSpec)
    warm_start = of(WarmStartSpec)
    del warm_start["seed"]  # the study's own
    assert defaults(schema["models"]["additionalProperties"]["properties"]["warm_start"]) == warm_start
    regime = schema["regimes"]["additionalProperties"]
    assert regime["items"] == regime["properties"]["phases"]["items"]
    phase = regime["items"]["properties"]
    assert phase["weights"]["then"]["enum"] == list(STAGES)
    assert tuple(schema["training"]["properties"]["backend"]["enum"]) == BACKENDS


def test_the_files_of_a_database_are_those_the_builder_reads(tmp_path):
    from planner_r1.sandbox.tables import CITIES_FILE, TABLES

    assert set(DATABASE_FILES) == {CITIES_FILE, *(table.file for table in TABLES)}


DRAWN_IN_FILES = {"sandbox": {"source": "files", "database": "db"}, "queries": {"source": "synthetic"}}


def test_queries_of_a_real_database_are_drawn_in_the_benchmarks_manner():
    assert Study.from_config(changed(**DRAWN_IN_FILES)).query_spec["manner"] == "benchmark"
    assert "manner" not in Study.from_config(changed()).query_spec


def test_a_split_of_a_file_is_avoided_by_every_drawn_one():
    queries = {"source": "synthetic", "train": "t.jsonl", "avoid": ["v.jsonl"]}
    study = Study.from_config(changed(**DRAWN_IN_FILES | {"queries": queries}))
    assert study.drawn_before("validation") == ("train", "test") and study.drawn_before("test") == ("train",)
    assert study.query_file("train") == "t.jsonl" and study.query_count("train") is None
    assert study.query_count("validation") == 64 and study.avoided_queries == ("v.jsonl",)


def test_regimes_may_train_on_a_part_of_the_train_split():
    phases = [{"weights": "stage1", "steps": 3}]
    parts = {"few": {"phases": phases, "train_queries": 8}, "most": {"phases": phases, "train_queries": 100}}
    study = Study.from_config(changed(regimes=parts | {"all": phases}))
    assert study.train_subsets == (8, 100) and study.train_queries("all") is None
    # which rows they are is told by the file that the run reads
    assert study.train_settings("a", "few", 0) == study.train_settings("a", "all", 0)
    too_many = {"most": {"phases": phases, "train_queries": 9999}}
    with refused("regimes.most.train_queries", 9999, 2000):
        Study.from_config(changed(regimes=too_many))
