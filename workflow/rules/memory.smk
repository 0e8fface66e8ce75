# The paper's appendix on memory: a few steps of each model at each share of the GPUs' memory. See config/studies/memory.yaml.


rule memory_probe:
    input:
        model="<results>/models/{model}/MANIFEST.json",
        store=STORE,
        train="<results>/data/train.parquet",
        validation="<results>/data/validation.parquet",
        template=present(study.prompt),
        settings=SETTINGS,
        preflight=preflight,
    output:
        "<results>/memory/{model}/share{share}.json",
    log:
        "<logs>/memory_probe/{model}/share{share}.log",
    wildcard_constraints:
        share=r"0\.\d+",
    threads: WHOLE_MACHINE
    resources:
        mem_mb=8000,
    params:
        work=f"{RESULTS}/work/memory/{{model}}/share{{share}}",
        run=lambda w: study.probe_settings(w.model, float(w.share)),
    script:
        "../scripts/memory_probe.py"
