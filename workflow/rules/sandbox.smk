# The travel database, built once and read by every later station.

STORE = "<results>/sandbox/store/store.json"


def present(*files):
    """Files of the user's as inputs, as far as they exist: a study can be planned without them, and what is absent
    is named by the rule that reads it."""
    return [file for file in files if os.path.exists(file)]


def database_files(wildcards):
    if study.world:
        return rules.world.output
    return present(*(f"{study.database}/{name}" for name in DATABASE_FILES))


rule sandbox:
    input:
        STORE,


rule world:
    output:
        expand("<results>/sandbox/world/{name}", name=DATABASE_FILES),
    log:
        "<logs>/world.log",
    params:
        out=f"{RESULTS}/sandbox/world",
        spec=study.world,
    script:
        "../scripts/world.py"


rule build_sandbox:
    input:
        database_files,
    output:
        store=STORE,
        report="<results>/sandbox/report.json",
    log:
        "<logs>/build_sandbox.log",
    benchmark:
        "<benchmarks>/build_sandbox.tsv"
    resources:
        mem_mb=4000,
    params:
        database=study.database or f"{RESULTS}/sandbox/world",
        official=study.official,
    script:
        "../scripts/build_sandbox.py"


localrules:
    sandbox,
