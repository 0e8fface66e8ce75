# What only the internet has, one job a file (config/sources.yaml). A file that is there is a plain input: no rule makes
# it, so that nothing can make Snakemake remove it or fetch it again. A file comes into its place when it is whole; what
# has come of it before lies beside it in *.part, which no rule declares, and a killed or failed job goes on from there.

TAU_BENCH = "data/tau_bench_retail"
TAU_BENCH_TASKS = [
    f"{TAU_BENCH}/taubench_retail_tasks_{split}.json"
    for split in ("test", "dev", "train")
]
TAU_BENCH_TOOLS = f"{TAU_BENCH}/tau_retail_tools.json"
MULTI_IF = "data/multi_if/multiIF_20241018_english.csv"
MADE_OF_DOWNLOADS = {MULTI_IF, *TAU_BENCH_TASKS, TAU_BENCH_TOOLS}


def absent(paths):
    """A wildcard's pattern for the files that are not there."""
    names = [
        re.escape(path.removeprefix("data/"))
        for path in paths
        if not os.path.exists(path)
    ]
    return "|".join(names) or "(?!)"


def study_downloads():
    """The files of the catalogue that the study names."""
    files = (
        [f"{study.database}/{name}" for name in DATABASE_FILES]
        if study.database
        else []
    )
    files += [
        study.query_file(split) for split in study.all_splits if study.query_file(split)
    ]
    files += study.avoided_queries
    files += [file for suite in study.suites for file in suite_files(suite)]
    weights = [study.model_path(model) for model in study.models]
    return [
        *(file for file in files if fetched(file)),
        *(
            file
            for folder in weights
            if folder
            for file in CATALOGUE.wanted_below(folder)
        ),
    ]


rule downloads:
    input:
        study_downloads(),


rule suite_data:
    input:
        CATALOGUE.wanted_below("data/naturalplan"),
        CATALOGUE.wanted_below("data/nltk_data"),
        MULTI_IF,
        [path for path in CATALOGUE.wanted_below(TAU_BENCH) if "/source/" not in path],
        TAU_BENCH_TASKS,
        TAU_BENCH_TOOLS,


rule download:
    output:
        "data/{file}",
    log:
        "<logs>/download/{file}.log",
    wildcard_constraints:
        file=absent(CATALOGUE.files),
    script:
        "../scripts/download.py"


rule unpack:
    input:
        lambda w: str(CATALOGUE.members[f"data/{w.file}"].archive.path),
    output:
        "data/{file}",
    log:
        "<logs>/unpack/{file}.log",
    wildcard_constraints:
        file=absent(CATALOGUE.members),
    script:
        "../scripts/unpack.py"


rule multi_if_english:
    input:
        "data/multi_if/multiIF_20241018.csv",
    output:
        MULTI_IF,
    log:
        "<logs>/multi_if_english.log",
    script:
        "../scripts/multi_if_english.py"


rule tau_bench_tasks:
    input:
        f"{TAU_BENCH}/source/tasks_{{split}}.py",
    output:
        f"{TAU_BENCH}/taubench_retail_tasks_{{split}}.json",
    log:
        "<logs>/tau_bench_tasks/{split}.log",
    wildcard_constraints:
        split="test|dev|train",
    script:
        "../scripts/tau_bench_tasks.py"


rule tau_bench_tools:
    input:
        CATALOGUE.wanted_below(f"{TAU_BENCH}/source/tools"),
    output:
        TAU_BENCH_TOOLS,
    log:
        "<logs>/tau_bench_tools.log",
    script:
        "../scripts/tau_bench_tools.py"


localrules:
    downloads,
    suite_data,
    download,
    unpack,
    multi_if_english,
    tau_bench_tasks,
    tau_bench_tools,
