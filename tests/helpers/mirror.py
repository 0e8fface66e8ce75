"""A mirror of `data/` made of the real rows at hand, and a catalogue that pins its files.

The rows are those of the benchmark, their files are not: the flights are a subset, the queries come without plans and
reference information. So the hashes of config/sources.yaml refuse them, and a test pins these instead.
"""

import csv
import hashlib
import json
import zipfile
from pathlib import Path

import yaml

from planner_r1.study import DATABASE_FILES

ARCHIVE = "travelplanner/sandbox_database.zip"
QUERIES = "travelplanner/queries"


def write_mirror(shared_data: Path, folder: Path) -> None:
    """TravelPlanner's archive and queries, NaturalPlan and Multi-IF, by the names that they have below `data/`."""
    (folder / QUERIES).mkdir(parents=True)
    with zipfile.ZipFile(folder / ARCHIVE, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in DATABASE_FILES:
            archive.write(shared_data / "travelplanner" / "database" / name, f"database/{name}")
    for split in ("train", "validation"):
        lines = (shared_data / QUERIES / f"{split}.jsonl").read_text(encoding="utf-8").splitlines()
        rows = [json.loads(line) for line in lines]
        with open(folder / QUERIES / f"{split}.csv", "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]), extrasaction="ignore")
            writer.writeheader()
            writer.writerows(rows)
    (folder / "naturalplan").symlink_to(shared_data / "naturalplan")
    (folder / "multi_if").mkdir()
    english = shared_data / "multi_if" / "multiIF_20241018_english.csv"
    (folder / "multi_if" / "multiIF_20241018.csv").symlink_to(english)


def pin(catalogue: Path, mirror: Path) -> None:
    """Write the sizes and hashes of the mirror's files of TravelPlanner over those of a catalogue; take others out."""
    sources = yaml.safe_load(catalogue.read_text(encoding="utf-8"))
    for name in ("travelplanner_database", "travelplanner_queries"):
        folder = mirror / sources[name]["folder"]
        sources[name]["files"] = [file for file in sources[name]["files"] if (folder / file["name"]).is_file()]
        for file in sources[name]["files"]:
            path = folder / file["name"]
            content = path.read_bytes()
            file |= {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
            for member in file.get("members", ()):
                with zipfile.ZipFile(path) as archive:
                    member["bytes"] = archive.getinfo(member["name"]).file_size
    catalogue.write_text(yaml.safe_dump(sources), encoding="utf-8")
