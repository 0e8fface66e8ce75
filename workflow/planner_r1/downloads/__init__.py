"""What only the internet has: benchmark data and model weights, fetched by `config/sources.yaml` into `data/`.

sources.py   the catalogue: what there is, where it comes from, where it goes, how it is known to be right
obtain.py    one file of the catalogue: mirror or origin, room on the disk, hash, what to do where it fails
fetch.py     one file from one place: resumed, retried, moved into its place when it is whole
unpack.py    one member of an archive
record.py    the hashes that first downloads recorded
tau_bench.py, multi_if.py   official files in the layout that the suites read
"""
