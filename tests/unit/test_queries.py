"""Reading queries: the layouts they come in, and what is said of a wrong one."""

import json

import pytest

from helpers.messages import refused
from planner_r1.errors import InputError
from planner_r1.queries import Query, load_queries, save_queries

ROW = {
    "org": "A",
    "dest": "B",
    "days": 3,
    "date": "['2022-03-16', '2022-03-17', '2022-03-18']",
    "query": "Go",
    "level": "easy",
    "visiting_city_number": 1,
    "people_number": 1,
    "budget": 900,
    "local_constraint": "{'house rule': None, 'cuisine': ['French'], 'room type': None, 'transportation': None}",
}


def write(path, rows):
    path.write_text("\n".join(json.dumps(r) for r in rows), encoding="utf-8")
    return path


def test_literals_of_the_hub_are_read(tmp_path):
    (query,) = load_queries(write(tmp_path / "q.jsonl", [ROW]))
    assert query.date == ("2022-03-16", "2022-03-17", "2022-03-18")
    assert query.constraint("cuisine") == ["French"] and query.constraint("room type") is None
    assert not query.hidden


def test_what_is_saved_is_read_back(tmp_path):
    queries = load_queries(write(tmp_path / "q.jsonl", [ROW, {**ROW, "dest": "C"}]))
    save_queries(tmp_path / "again.jsonl", queries)
    assert load_queries(tmp_path / "again.jsonl") == queries
    assert [Query.from_json(json.loads(json.dumps(q.to_json()))) for q in queries] == queries


def test_a_byte_order_mark_is_no_fault(tmp_path):
    path = write(tmp_path / "q.jsonl", [ROW])
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert len(load_queries(path)) == 1


def test_the_csv_layout_and_a_hidden_test_split(tmp_path):
    text = "org,dest,days,date,query,level,reference_information\nA,B,3,\"['d1', 'd2', 'd3']\",Go,easy,\"x, y\"\n"
    (tmp_path / "test.csv").write_text(text, encoding="utf-8")
    (query,) = load_queries(tmp_path / "test.csv")
    assert query.hidden and query.budget is None and query.date == ("d1", "d2", "d3")


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"org": None}, "'org'"),
        ({"days": 4}, "3, 5 or 7"),
        ({"days": 5}, "3 days"),
        ({"budget": "much"}, "'budget'"),
        ({"date": "__import__('os').getcwd()"}, "'date'"),
        ({"local_constraint": "{'pool': True}"}, "'pool'"),
        ({"local_constraint": "[" * 5000}, "'local_constraint'"),
    ],
)
def test_a_wrong_row_is_named(tmp_path, change, word):
    path = write(tmp_path / "q.jsonl", [ROW, {**ROW, **change}])
    with refused(path, "query 2", word):
        load_queries(path)


def test_a_wrong_file_is_named(tmp_path):
    with refused("none.jsonl", "no"):
        load_queries(tmp_path / "none.jsonl")
    (tmp_path / "bad.jsonl").write_text('{"org": ', encoding="utf-8")
    with refused("bad.jsonl", "line 1"):
        load_queries(tmp_path / "bad.jsonl")
    (tmp_path / "latin.jsonl").write_bytes(json.dumps(ROW).replace("Go", "Grüße").encode("latin-1"))
    with pytest.raises(InputError, match=r"latin\.jsonl"):
        load_queries(tmp_path / "latin.jsonl")
    (tmp_path / "empty.jsonl").write_text("", encoding="utf-8")
    with pytest.raises(InputError, match="no query"):
        load_queries(tmp_path / "empty.jsonl")


def test_the_real_splits_are_read(shared_data):
    folder = shared_data / "travelplanner/queries"
    train, validation = load_queries(folder / "train.jsonl"), load_queries(folder / "validation.jsonl")
    assert (len(train), len(validation)) == (45, 180)
    assert all(q.level in ("easy", "medium", "hard") and q.budget for q in train + validation)
