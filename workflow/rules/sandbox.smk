# The travel database, built once and read by every later station.


rule sandbox:
    input:
        STORE,


rule world:
    output:
        expand("<results>/sandbox/world/{name}", name=DATABASE_FILES),
    log:
        "<logs>/world.log",
    params:
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
