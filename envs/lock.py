"""Turn pip's report of a resolution into a lock: `python lock.py REPORT.json > LOCK.txt`."""

import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    packages = [item["metadata"] for item in json.load(file)["install"]]
print("# Locked from cpu.in with Python 3.11 on Linux (x86-64); see README.md for how.")
for package in sorted(packages, key=lambda p: p["name"].lower()):
    # the local part of a version (2.13.0+cpu) names a build, which another index may not have
    print(f"{package['name'].lower()}=={package['version'].split('+')[0]}")
