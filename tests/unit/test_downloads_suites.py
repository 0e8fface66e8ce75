"""The suites' official files in the layout that readers expect, against the real data where it is there."""

import csv
import json

import pytest

from helpers.messages import refused
from planner_r1.downloads.multi_if import keep_language
from planner_r1.downloads.tau_bench import FIELDS, read_tasks, read_tool
from planner_r1.errors import InputError

TASKS = """
from tau_bench.types import Task, Action

TASKS_DEV = [
    Task(
        annotator="0",
        user_id="mia_garcia_4516",
        instruction="You are Mia."
        " You don't say much.",
        actions=[
            Action(name="get_order_details", kwargs={"order_id": "#W5490111"}),
            Action(name="think", kwargs={}),
        ],
        outputs=["12"],
    ),
    Task(annotator="1", user_id="x", instruction="", actions=[], outputs=[]),
]
"""
TOOL = """
class Think(Tool):
    @staticmethod
    def invoke(data, thought):
        raise SystemExit("nothing of this file is run")

    @staticmethod
    def get_info():
        return {"type": "function", "function": {"name": "think", "parameters": {"required": ["thought"]}}}
"""


def written(tmp_path, text):
    path = tmp_path / "file.py"
    path.write_text(text, encoding="utf-8")
    return path


def test_tasks_are_read_without_running_them(tmp_path):
    first, second = read_tasks(written(tmp_path, TASKS + "raise SystemExit\n"))
    assert first == {
        "annotator": "0",
        "user_id": "mia_garcia_4516",
        "instruction": "You are Mia. You don't say much.",
        "actions": [
            {"name": "get_order_details", "kwargs": {"order_id": "#W5490111"}},
            {"name": "think", "kwargs": {}},
        ],
        "outputs": ["12"],
    }
    assert second["actions"] == [] and tuple(second) == FIELDS


def test_a_tool_is_read_without_running_it(tmp_path):
    assert read_tool(written(tmp_path, TOOL))["function"]["name"] == "think"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("TASKS = [", ["Python"]),
        ("TASKS = []", ["list", 0]),
        ("TASKS = [Task(annotator='0')]", ["line 1", "user_id"]),
        ("\nTASKS = [Task(annotator=open('x').read())]", ["line 2", "literal"]),
        ("TASKS = [Task(annotator=f'{x}')]", ["line 1", "literal"]),
    ],
)
def test_other_files_are_refused(tmp_path, text, named):
    path = written(tmp_path, text)
    with refused(path, *named):
        read_tasks(path)


def test_a_tool_without_a_schema_is_refused(tmp_path):
    with pytest.raises(InputError, match="no method get_info"):
        read_tool(written(tmp_path, "class Think: pass"))


def as_source(task):
    actions = ", ".join(f"Action(name={a['name']!r}, kwargs={a['kwargs']!r})" for a in task["actions"])
    plain = ", ".join(f"{name}={task[name]!r}" for name in FIELDS if name != "actions")
    return f"Task({plain}, actions=[{actions}])"


@pytest.mark.parametrize("split", ["test", "dev", "train"])
def test_real_tasks_survive_the_way_through_python(shared_data, tmp_path, split):
    file = shared_data / "tau_bench_retail" / f"taubench_retail_tasks_{split}.json"
    tasks = json.loads(file.read_text(encoding="utf-8"))
    text = f"TASKS = [{', '.join(map(as_source, tasks))}]"
    assert read_tasks(written(tmp_path, text)) == tasks


def test_one_language_is_kept_as_it_is(shared_data, tmp_path):
    english = shared_data / "multi_if" / "multiIF_20241018_english.csv"
    with open(english, encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    french = [[*row[:-1], "French"] for row in rows[:50]]
    assert header[-1] == "language"
    mixed = tmp_path / "all.csv"
    with open(mixed, "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *french, *rows[:400], *french, *rows[400:]])
    assert keep_language(mixed, "English", tmp_path / "english.csv") == 909
    assert (tmp_path / "english.csv").read_bytes() == english.read_bytes()


def test_a_csv_of_something_else_is_refused(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("key,language\n1,French\n")
    with refused(file, "row", "English"):
        keep_language(file, "English", tmp_path / "b.csv")
    file.write_text("key\n1\n")
    with refused(file, "column", "'language'"):
        keep_language(file, "English", tmp_path / "b.csv")
