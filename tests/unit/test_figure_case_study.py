"""Case studies: which queries and plans are shown, what is marked in them, and that a page holds them."""

import json
import random
from copy import deepcopy

import matplotlib.pyplot as plt
import pytest

from helpers.made_up_study import CONFIG
from helpers.messages import any_names, names
from helpers.small_world import AGENT_PLAN
from helpers.small_world import query as small_query
from planner_r1.evaluator import COMMONSENSE, HARD, evaluate
from planner_r1.evaluator.failures import LABELS
from planner_r1.paper.artefacts import artefact
from planner_r1.paper.figures import case_study, style
from planner_r1.paper.figures.case_study import HIGHEST, VIOLATION, choose, places, shown
from planner_r1.paper.render import read_csv, write_rows
from planner_r1.paper.results import Results, evaluation_folder
from planner_r1.plan import to_official
from planner_r1.queries import Query, save_queries
from planner_r1.study import BASE_REGIME, Checkpoint, Study

ONE = CONFIG | {"models": {"tiny": {"warm_start": {}}}}
BASE, DENSE, SPARSE = (
    Checkpoint("tiny", BASE_REGIME, 0, 0),
    Checkpoint("tiny", "stage1", 0, 40),
    Checkpoint("tiny", "stage3", 0, 40),
)


def query(idx, level="easy", days=3, **wishes) -> Query:
    dates = tuple(f"2022-03-{10 + day}" for day in range(days))
    constraint = {"house rule": None, "cuisine": None, "room type": None, "transportation": None} | wishes
    return Query(idx, "Thornmere", "Pinevale", days, dates, f"Plan {idx}, please.", level, 1, 2, 1700.0, constraint)


def plan(days=3, long=False):
    """A plan in the agent's own form; with long names like some of the real database's."""
    more = " near everything that one may ever want to see, with a view and a very long name" if long else ""
    told = []
    for day in range(1, days + 1):
        ends = {1: ("Thornmere", "Pinevale"), days: ("Pinevale", "Thornmere")}.get(day)
        way = ends and {"mode": "flight", "from": ends[0], "to": ends[1], "flight_number": "F5980", "cost": 155}
        told.append(
            {
                "days": day,
                "city": {"from": ends[0], "to": ends[1]} if ends else "Pinevale",
                "transportation": way or "-",
                **{"breakfast": f"Inn {day}a{more}", "lunch": f"Inn {day}b{more}", "dinner": f"Inn {day}c{more}"},
                "attraction": [f"Park {day}{more}", f"Zoo {day}{more}"],
                "accommodation": "-" if day == days else f"Rapid Lodge{more}",
            }
        )
    return told


def scored(idx, passed, **reasons) -> dict:
    first = next(iter(reasons.values()), "no plan")
    verdict = {"final_pass": passed, "reasons": reasons, "reason": None if passed else first}
    return {"idx": idx, "official": verdict, "strict": verdict}


@pytest.fixture
def write(tmp_path):
    """Writes queries, and for each policy its scored plans: (row of scores.jsonl, the agent's plan or None)."""

    def write_it(queries, by_policy, split="test"):
        (tmp_path / "data").mkdir(exist_ok=True)
        save_queries(tmp_path / "data" / f"{split}.jsonl", queries)
        for checkpoint, episodes in by_policy.items():
            folder = tmp_path / evaluation_folder(checkpoint, split)
            folder.mkdir(parents=True, exist_ok=True)
            place = {"model": checkpoint.model, "regime": checkpoint.regime}
            scores = "".join(json.dumps(score) + "\n" for score, _ in episodes)
            lines = [place | {"idx": s["idx"], "plan": given, "end_reason": "answer"} for s, given in episodes]
            (folder / "scores.jsonl").write_text(scores, encoding="utf-8")
            (folder / "trajectories.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
        return tmp_path

    return write_it


def rows_of(folder, case=1, config=ONE):
    study, figure = Study.from_config(config), artefact(f"case_study{case}")
    return case_study.rows(study, Results(study, folder, figure.reads), case)


def drawn(folder, case=1, config=ONE):
    write_rows(rows_of(folder, case, config), case_study.FIELDS, folder / "case.csv")
    return case_study.draw(read_csv(folder / "case.csv"), Study.from_config(config))


def texts(figure) -> list[str]:
    return [text.get_text() for text in figure.axes[0].texts]


# ---- which ---------------------------------------------------------------------------------------------------------


def test_queries_of_each_level_in_turns_those_first_that_divide_most():
    four = [Checkpoint("tiny", f"r{i}", 0, 1) for i in range(4)]
    passes = {1: 0b0001, 2: 0b0011, 3: 0b1111, 4: 0b0111, 5: 0b0101, 6: 0b0001, 7: 0b0000, 8: 0b1001}
    levels = {1: "easy", 2: "easy", 3: "easy", 4: "medium", 5: "hard", 6: "hard", 7: "medium", 8: "easy"}
    queries = {idx: query(idx, levels[idx]) for idx in passes}
    verdicts = {c: {idx: scored(idx, bool(passes[idx] >> i & 1)) for idx in passes} for i, c in enumerate(four)}
    assert choose(verdicts, queries) == [2, 4, 5, 8, 6, 1]  # 3 all pass, 7 none does
    assert choose({}, queries) == []


def test_two_that_fail_and_two_that_pass_trained_and_untrained():
    base = [Checkpoint(m, BASE_REGIME, 0, 0) for m in "ab"]
    trained = [Checkpoint(m, f"stage{i}", 0, 9) for m in "ab" for i in (1, 2)]
    all_of = [*base, *trained]
    assert shown(dict.fromkeys(base, False) | dict.fromkeys(trained, True)) == [*base, *trained[:2]]
    mixed = {c: c in (trained[0], trained[2], trained[3]) for c in all_of}
    assert shown(mixed) == [base[0], trained[0], trained[1], trained[2]]
    assert shown({base[0]: True, trained[0]: False}) == [base[0], trained[0]]


def test_of_a_hidden_split_nothing_is_shown_and_of_too_few_it_is_said(write):
    hidden = [({"idx": 1, "delivered": True}, plan())]
    folder = write([query(1)], {BASE: hidden, DENSE: hidden})
    names(rows_of(folder)[0]["note"], "No", "constraints")
    known = {BASE: [(scored(1, False), plan())], DENSE: [(scored(1, True), plan())]}
    folder = write([query(1)], known)
    note = rows_of(folder, case=2)[0]["note"]
    names(note, "No case 2", "1 query", "test")
    assert note in texts(drawn(folder, case=2))


def test_absent_queries_are_said(write):
    folder = write([query(1)], {BASE: [(scored(1, False), plan())], DENSE: [(scored(1, True), plan())]})
    (folder / "data/test.jsonl").unlink()
    any_names(texts(drawn(folder)), "No case", "data/test.jsonl")


# ---- what is marked ------------------------------------------------------------------------------------------------


def marked(rows, constraint) -> set:
    return {(row["day"], row["slot"]) for row in rows if row["slot"] != VIOLATION and constraint in row["broken"]}


LEGS, STAYS = {(1, "transportation"), (3, "transportation")}, {(1, "accommodation"), (2, "accommodation")}
SANDBOX, CURRENT_CITY = "is_valid_information_in_sandbox", "is_valid_information_in_current_city"
REASONS = [
    ("valid_room_type", "'Rapid Lodge, Pinevale' is a Shared room", STAYS),
    ("valid_transportation", "day 1 uses flight", {(1, "transportation")}),
    ("is_valid_restaurants", "'Inn 2b, Pinevale' comes twice", {(2, "lunch")}),
    ("is_valid_attractions", "'Zoo 3, Pinevale' comes twice", {(3, "attraction")}),
    (SANDBOX, "day 2: 'Park 2, Pinevale' is not among the attractions", {(2, "attraction")}),
    (SANDBOX, "day 3: no such flight: 'Flight Number: F5980, from'", {(3, "transportation")}),
    (CURRENT_CITY, "day 1: 'Rapid Lodge, X' is not in the city where the day ends", {(1, "accommodation")}),
    (CURRENT_CITY, "day 1: the transportation does not name the day's cities", {(1, "transportation")}),
    ("is_not_absent", "day 3: accommodation is not filled in", {(3, "accommodation")}),
    ("is_reasonable_visiting_city", "the trip only passes through 'Pinevale'", {(day, "city") for day in (1, 2, 3)}),
    ("is_valid_transportation", "flight and self-driving do not go together", LEGS),
    ("valid_cost", "the plan costs 2,980 dollars, the budget is 1,700", set()),
    ("valid_cuisine", "no meal with Indian food", set()),
    ("is_not_absent", "the plan has 2 days, the query 3", set()),
]


@pytest.mark.parametrize(("constraint", "reason", "expected"), REASONS)
def test_the_part_that_a_reason_points_at_is_marked(constraint, reason, expected, write):
    failing = scored(1, False, **{constraint: reason})
    folder = write([query(1)], {BASE: [(failing, plan())], DENSE: [(scored(1, True), plan())]})
    rows = rows_of(folder)
    own = [row for row in rows if row["regime"] == BASE_REGIME]
    assert marked(own, constraint) == expected
    assert [row["text"] for row in own if row["slot"] == VIOLATION] == [f"{LABELS[constraint]}: {reason}"]
    assert not any(row["broken"] for row in rows if row["regime"] == "stage1")
    shades = [patch for patch in drawn(folder).axes[0].patches if patch.get_facecolor()[:3] != (1, 1, 1)]
    assert len(shades) == len(expected)


def test_names_with_quotes_and_commas_are_found():
    days, names, slots = places("valid_room_rule", """"Jo's Place, Sea View, Pinevale" says: No pets""")
    assert (days, names, slots) == (set(), {"Jo's Place, Sea View"}, {"accommodation"})


def test_every_constraint_of_the_evaluator_is_known():
    assert set(LABELS) >= {*COMMONSENSE, *HARD}
    whole_plan = {"valid_cost", "valid_cuisine"}
    assert {*COMMONSENSE, *HARD} - whole_plan == set(case_study.PARTS)


FAKE = {"mode": "flight", "from": "Dorn", "to": "Alba", "flight_number": "F77", "duration": "-", "distance": "-"}
BROKEN = [
    (2, "lunch", "Nowhere Bar", {}, SANDBOX, {(2, "lunch")}),
    (2, "dinner", "Blue Spoon", {}, "is_valid_restaurants", {(2, "breakfast"), (2, "dinner")}),
    (1, "transportation", FAKE | {"cost": 1}, {}, SANDBOX, {(1, "transportation")}),
    (2, "attraction", "-", {}, "is_not_absent", {(2, "attraction")}),
    (2, "breakfast", "Blue Spoon", {"house_rule": "smoking"}, "valid_room_rule", STAYS),
    (2, "breakfast", "Blue Spoon", {"room_type": "shared room"}, "valid_room_type", STAYS),
    (2, "breakfast", "Blue Spoon", {"transportation": "no flight"}, "valid_transportation", {(1, "transportation")}),
    (2, "breakfast", "Blue Spoon", {"budget": 10.0}, "valid_cost", set()),
]


@pytest.mark.parametrize(("day", "slot", "value", "wishes", "constraint", "expected"), BROKEN)
def test_what_the_evaluator_finds_is_marked(day, slot, value, wishes, constraint, expected, small_store, write):
    broken, question = deepcopy(AGENT_PLAN), small_query(**wishes)
    broken[day - 1][slot] = value
    verdict = evaluate(to_official(broken, small_store), question, small_store).to_json()
    score = {"idx": 1, "official": verdict, "strict": verdict}
    folder = write([question], {BASE: [(score, broken)], DENSE: [(scored(1, True), AGENT_PLAN)]})
    own = [row for row in rows_of(folder) if row["regime"] == BASE_REGIME]
    assert constraint in verdict["reasons"]
    assert {row["broken"] for row in own if row["slot"] == VIOLATION} == set(verdict["reasons"])
    assert marked(own, constraint) == expected


# ---- how it looks --------------------------------------------------------------------------------------------------


def test_the_page_names_policies_outcomes_and_constraints(write):
    failing = scored(1, False, valid_transportation="day 1 uses flight")
    wish = query(1, "hard", transportation="no flight", cuisine=["Indian", "Thai"])
    by_policy = {BASE: (failing, plan()), SPARSE: (scored(1, True), plan()), DENSE: (scored(1, False), None)}
    folder = write([wish], {policy: [episode] for policy, episode in by_policy.items()})
    said = texts(drawn(folder))
    any_names(said, "Case 1", "query 1", "test", "hard")
    assert "“Plan 1, please.”" in said
    any_names(said, "3 days", "2 people", "$1,700", "cuisine: Indian, Thai", "transportation: no flight")
    assert said.count("✗ fails") == 2 and said.count("✓ passes") == 1
    assert "✗ Flight F5980, $155" in said and "Flight F5980, $155" in said
    assert f"{LABELS['valid_transportation']}: day 1 uses flight" in said
    any_names(said, "No constraint")
    any_names(said, "No plan", "schema")


@pytest.mark.parametrize(("days", "long"), [(3, False), (7, False), (7, True)])
def test_it_fits_a_page_and_its_columns_do_not_touch(days, long, write):
    models = {name: {"warm_start": {}} for name in ("one", "two", "three")}
    config = CONFIG | {"models": models}
    study = Study.from_config(config)
    reasons = {name: f"'Rapid Lodge, Pinevale' does not do ({name})" for name in COMMONSENSE}
    draw = random.Random(0)
    policies = [c for c in study.checkpoints if c.seed == 0]
    passing = {c: draw.random() < 0.5 for c in policies}
    by_policy = {c: [(scored(1, p, **({} if p else reasons)), plan(days, long))] for c, p in passing.items()}
    figure = drawn(write([query(1, days=days)], by_policy), config=config)
    width, height = figure.get_size_inches()
    assert width == style.PAGE and height <= HIGHEST
    boxes = [text.get_window_extent() for text in figure.axes[0].texts if text.get_text()]
    edge = figure.bbox
    assert all(box.x0 >= edge.x0 and box.x1 <= edge.x1 + 1 and box.y0 >= 0 and box.y1 <= edge.y1 for box in boxes)
    for i, box in enumerate(boxes):
        of_line = [other for other in boxes[:i] if abs(box.y0 + box.y1 - other.y0 - other.y1) < 4]
        assert not any(box.x0 < other.x1 + 2 and other.x0 < box.x1 + 2 for other in of_line)
    assert all(text.get_fontsize() >= 7 for text in figure.axes[0].texts)
    said = " ".join(texts(figure))
    assert "Not shown" in said or days == 3
    assert ("Long names" in said) == long
    assert "passes" in said and "fails" in said
    plt.close(figure)


def test_only_the_lines_of_the_query_are_parsed(write):
    folder = write(
        [query(1), query(2)],
        {c: [(scored(1, False), plan()), (scored(2, c is DENSE), plan())] for c in (BASE, DENSE)},
    )
    path = folder / evaluation_folder(BASE, "test") / "trajectories.jsonl"
    first, second = path.read_text(encoding="utf-8").splitlines()
    path.write_text(first[: len(first) // 2] + "\n" + second + "\n", encoding="utf-8")  # no JSON any more
    assert {row["idx"] for row in rows_of(folder)} == {2}
