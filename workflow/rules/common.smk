# Paths that several stations share, and which files a rule reads where that depends on the study.

try:
    CATALOGUE = load_catalogue()
except InputError as error:
    sys.exit(str(error))

STORE = "<results>/sandbox/store/store.json"
# In the order in which they are laid over verl's defaults.
SETTINGS = list(
    dict.fromkeys(
        f"config/verl/{name}.yaml"
        for regime in ("base", *study.regimes)
        for name in overlay_names(study.backend, study.regime_overrides(regime))
    )
)
SCORES = expand("<results>/{file}", file=files_of(study, "rates"))


def present(*files):
    """Files as inputs, as far as they exist or a download brings them: a study can be planned without its user's own
    files, and what is absent is named by the rule that reads it. What a download brings is pinned by its hash: its age
    says nothing, and one that was lost and fetched again makes nobody train again."""
    return [
        ancient(file) if fetched(file) else file
        for file in files
        if os.path.exists(file) or fetched(file)
    ]


def fetched(file):
    """Whether a file is downloaded, or made of what is."""
    return CATALOGUE.holds(file) or file in MADE_OF_DOWNLOADS


def one_of(names):
    """A wildcard's pattern that matches these names and nothing else, also where there are none."""
    return "|".join(map(re.escape, names)) or "(?!)"


def library(*modules):
    """Modules, by name or pattern, as inputs of a cheap rule, so that an edit reruns it. Training does not take them:
    it would start anew with every edit; its manifest says which commit it ran with."""
    return sorted(
        str(path)
        for module in modules
        for path in Path("workflow/planner_r1").glob(module)
    )


def database_files(wildcards):
    if study.world:
        return rules.world.output
    return present(*(f"{study.database}/{name}" for name in DATABASE_FILES))


def avoided_files():
    """The files whose questions no drawn query may ask. Unlike the user's other files these are looked at while the
    study is planned: one that is not there would silently avoid nothing.
    """
    for i, file in enumerate(study.avoided_queries):
        if os.path.exists(file) or not fetched(file):
            try:
                load_queries(file)
            except InputError as error:
                sys.exit(f"queries.avoid[{i}]: {error}")
    return present(*study.avoided_queries)


def query_sources(wildcards):
    """The split's file; or the store it is drawn from, and the splits and files whose questions may not come again."""
    file = study.query_file(wildcards.split)
    if file or study.query_spec is None:
        return {"file": present(file or "")}
    before = study.drawn_before(wildcards.split)
    return {
        "store": STORE,
        "avoid": [f"<results>/data/{split}.jsonl" for split in before],
        "files": avoided_files(),
    }


def train_rows(wildcards):
    """The rows a regime trains on: the whole split, or its first ones."""
    size = study.train_queries(wildcards.regime)
    first = f"-{size}" if size else ""
    return f"<results>/data/train{first}.parquet"


def base_model_sources(wildcards):
    if study.warm_start(wildcards.model):
        return {
            "store": STORE,
            "queries": "<results>/data/train.jsonl",
            "template": present(study.prompt),
        }
    return {"weights": given_weights(wildcards.model)}


def given_weights(model):
    folder = study.model_path(model)
    return present(*(CATALOGUE.wanted_below(folder) or [f"{folder}/config.json"]))


def fine_tune_sources(wildcards):
    """The weights, and what is learnt from: recorded episodes, or the queries that the oracle plans."""
    weights = given_weights(wildcards.model)
    if files := study.fine_tune(wildcards.model)["trajectories"]:
        return {"weights": weights, "trajectories": present(*files)}
    return {"weights": weights, "queries": "<results>/data/train.jsonl"}


def preflight(wildcards):
    """What has to pass before a model's first job on GPUs; a study on processors starts at once."""
    return "<results>/preflight/{model}.txt" if study.backend == "gpu" else []


def suite_folder(suite):
    return study.suite_folder(suite) or f"{RESULTS}/ood/data/{suite}"


def suite_files(suite):
    """The files of an out-of-domain suite: made up, given, or made of what is downloaded."""
    files = [f"{suite_folder(suite)}/{name}" for name in SUITE_FILES[suite]]
    return present(*files) if study.suite_folder(suite) else files


def checkpoint_manifest(wildcards):
    if wildcards.regime == "base":
        return "<results>/models/{model}/MANIFEST.json"
    return "<results>/runs/{model}/{regime}/seed{seed}/MANIFEST.json"
