"""Made-up names in real plans, against the official verdicts and against a look-up of its own in the CSV files."""

import csv
import re
from collections import Counter, defaultdict

import pytest
from test_official_verdicts import queries, rows  # noqa: F401  (a fixture)

from planner_r1.evaluator import evaluate
from planner_r1.evaluator.failures import FAILURES, NO_PLAN, UNREADABLE, failures, hallucinations

FILES = {
    "restaurants": ("restaurants/clean_restaurant_2022.csv", "Name", "City"),
    "accommodations": ("accommodations/clean_accommodations_2022.csv", "NAME", "city"),
    "attractions": ("attractions/attractions.csv", "Name", "City"),
}
KEYS = {
    "restaurants": ("breakfast", "lunch", "dinner"),
    "accommodations": ("accommodation",),
    "attractions": ("attraction",),
}


@pytest.fixture(scope="module")
def names(shared_data):
    """Names by table and city, as the official code reads them: hotels with an empty cell are dropped."""
    found = {table: defaultdict(list) for table in FILES}
    for table, (file, name, city) in FILES.items():
        with open(shared_data / "travelplanner" / "database" / file, encoding="utf-8", newline="") as f:
            for row in csv.DictReader(f):
                if table != "accommodations" or all(value != "" for value in row.values()):
                    found[table][row[city]].append(row[name])
    return found


def made_up(plan, days, names) -> set[str]:
    """The tables of which a readable plan names something that they lack."""
    found = set()
    for day in plan[:days]:
        for table, keys in KEYS.items():
            for key in keys:
                text = day.get(key, "-")
                values = text.split(";")[:-1] if table == "attractions" else [text]
                for value in values:
                    if re.match(r"\s*-?\s*(,|$)", value):
                        continue  # no name
                    match = re.match(r"(?P<name>.*),\s*(?P<city>[^,]+)$", value.rpartition("\n")[2])
                    name, city = match.group("name", "city") if match else ("-", "-")
                    if not any(name.strip() in known for known in names[table][city.partition("(")[0].strip()]):
                        found.add(table)
    return found


def test_made_up_names_of_real_plans(shared_data, queries, real_store, names):  # noqa: F811
    seen = Counter()
    for place, split, row in rows(shared_data):
        plan, query, official = row["plan"], queries[split][row["idx"] - 1], row["official"]
        kinds = failures(plan, evaluate(plan, query, real_store), query, real_store)
        assert kinds == sorted(kinds, key=FAILURES.index), place
        if "error" in official:
            assert UNREADABLE in kinds, place
            continue
        if not official["delivered"]:
            assert kinds == [NO_PLAN], place
            continue
        found = hallucinations(plan, query, real_store)
        assert found - {"city"} == made_up(plan, query.days, names), place
        # the official check fails where one is found; a plan that passes it has none
        if found - {"city"}:
            assert official["commonsense"]["is_valid_information_in_sandbox"] is False, place
        if official["commonsense"]["is_valid_information_in_sandbox"]:
            assert found <= {"city"}, place
        if "city" in found:
            assert official["commonsense"]["is_reasonable_visiting_city"] is False, place
        failed = {
            name for part in ("commonsense", "hard") for name, ok in (official[part] or {}).items() if ok is False
        }
        assert failed == {kind for kind in kinds if not kind.startswith("hallucinated_")}, place
        seen.update(found)
    assert min(seen[table] for table in (*FILES, "city")) > 0  # each kind was there to be found
