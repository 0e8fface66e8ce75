"""Before anything runs on GPUs: whether it can. One small function a check, all of them run, all faults told at once.

checks.py        what is checked, in order
result.py        what a check says
data.py          the files of the study, and their hashes
model.py         weights, architecture, tokenizer
installed.py     versions where verl runs, against envs/pins.yaml
cluster.py       partitions, GPUs, memory and time limits of a SLURM profile (profile.py)
disk.py          room for checkpoints and exports
endpoints.py     models behind endpoints, and their keys

A check is a function that takes the `Subject` and yields results; a new one is added to `CHECKS`.
"""
