# Queries, one file a split, and the same as rows that verl reads.


rule data:
    input:
        expand("<results>/data/{split}.parquet", split=study.all_splits),
        expand("<results>/data/train-{size}.parquet", size=study.train_subsets),


rule queries:
    input:
        unpack(query_sources),
    output:
        "<results>/data/{split}.jsonl",
    log:
        "<logs>/queries/{split}.log",
    params:
        file=lambda w: study.query_file(w.split),
        spec=study.query_spec,
        size=lambda w: study.query_count(w.split),
        seed=lambda w: study.query_seed(w.split),
    script:
        "../scripts/queries.py"


rule parquet:
    input:
        queries="<results>/data/{split}.jsonl",
        template=present(study.prompt),
    output:
        "<results>/data/{split}.parquet",
    log:
        "<logs>/parquet/{split}.log",
    params:
        template=study.prompt,
    script:
        "../scripts/parquet.py"


# The first rows of the train split, so that a smaller set is part of every larger one.
rule train_subset:
    input:
        "<results>/data/train.parquet",
    output:
        "<results>/data/train-{size}.parquet",
    log:
        "<logs>/train_subset/{size}.log",
    wildcard_constraints:
        size=r"\d+",
    script:
        "../scripts/train_subset.py"


localrules:
    data,
