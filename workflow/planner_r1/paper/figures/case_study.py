"""Case studies: one query, and the plans of several policies side by side, day by day, with what breaks a constraint.

Of every model the untrained and the last checkpoints of the first seed are looked at, on the first evaluated split
whose constraints are known. Queries: those that some pass and some fail, in turns of the easiest level, the next and so
on; of a level the one on which they disagree most, then the one that comes first. Shown are two that fail and two that
pass, of each one untrained and one trained where there are, or fewer where they do not fit a page.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import zip_longest

import matplotlib.pyplot as plt
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

from planner_r1.evaluator.failures import LABELS
from planner_r1.paper.figures import style
from planner_r1.paper.results import Results
from planner_r1.queries import LEVELS, Query, load_queries
from planner_r1.study import BASE_REGIME, Checkpoint, Study

FIELDS = ("case", "split", "idx", "level", "query", "asked", "model", "regime", "seed", "step", "passed", "day", "slot")
FIELDS += ("text", "broken", "note")
SHOWN = 2  # policies that fail, and that pass
# The parts of a day in the order they are shown, with what stands before each.
SLOTS = {
    "city": "",
    "transportation": "",
    "breakfast": "Breakfast: ",
    "attraction": "See: ",
    "lunch": "Lunch: ",
    "dinner": "Dinner: ",
    "accommodation": "Stay: ",
}
MEALS = ("breakfast", "lunch", "dinner")
VIOLATION = "violation"  # in place of a part: a constraint that is broken, beneath the plan
# The parts that a constraint is about. The cost is of the whole plan, a missing cuisine of no meal that is there.
PARTS = {
    "is_reasonable_visiting_city": ("city",),
    "is_valid_restaurants": MEALS,
    "is_valid_attractions": ("attraction",),
    "is_valid_accommodation": ("accommodation",),
    "is_valid_transportation": ("transportation",),
    "is_valid_information_in_current_city": tuple(SLOTS),
    "is_valid_information_in_sandbox": tuple(SLOTS),
    "is_not_absent": tuple(SLOTS),
    "valid_room_rule": ("accommodation",),
    "valid_room_type": ("accommodation",),
    "valid_transportation": ("transportation",),
}
NAMED = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""")  # as reasons quote what a plan says
NOTHING = ("", "-")
MODES = ("taxi", "self-driving", "flight")


# ---- which queries and policies -------------------------------------------------------------------------------------


def rows(study: Study, results: Results, case: int) -> list[dict]:
    """A row a part of a day of each plan that is shown, then a row a constraint it breaks; one row that says why where
    there is no such case."""
    split, verdicts = _verdicts(study, results)
    nothing = dict.fromkeys(FIELDS) | {"case": case, "split": split}
    if split is None:
        return [nothing | {"note": "No plans on queries whose constraints are known"}]
    if not results.queries(split).is_file():
        return [nothing | {"note": f"No case: the queries of the {split} split are missing (data/{split}.jsonl)"}]
    queries = {query.idx: query for query in load_queries(results.queries(split))}
    chosen = choose(verdicts, queries)
    if len(chosen) < case:
        many = f"{len(chosen)} {'query' if len(chosen) == 1 else 'queries'}"
        return [nothing | {"note": f"No case {case}: policies disagree on {many} of the {split} split"}]
    query = queries[chosen[case - 1]]
    head = nothing | {"idx": query.idx, "level": query.level, "query": query.query, "asked": asked(query)}
    told = []
    for checkpoint in shown({c: of[query.idx]["official"]["final_pass"] for c, of in verdicts.items()}):
        verdict = verdicts[checkpoint][query.idx]
        place = {key: getattr(checkpoint, key) for key in ("model", "regime", "seed", "step")}
        told += [head | place | part for part in _episode(results, checkpoint, split, query, verdict)]
    return told


def _verdicts(study: Study, results: Results) -> tuple[str | None, dict[Checkpoint, dict[int, dict]]]:
    """The first split whose constraints are known (none under noise), and each policy's scored plans by query."""
    policies = [c for c in study.checkpoints if _is_last(study, c)]
    for split in study.clean_splits:
        scores = {c: rows for c in policies if (rows := results.scores(c, split))}
        known = {c: {row["idx"]: row for row in rows} for c, rows in scores.items() if "official" in rows[0]}
        if known:
            return split, known
    return None, {}


def _is_last(study: Study, checkpoint: Checkpoint) -> bool:
    if checkpoint.regime == BASE_REGIME:
        return True
    first = study.seeds_of(checkpoint.regime)[0]
    return checkpoint.seed == first and checkpoint.step == study.run(checkpoint.model, checkpoint.regime, first).steps


def choose(verdicts: Mapping[Checkpoint, Mapping[int, dict]], queries: Mapping[int, Query]) -> list[int]:
    """The queries on which the policies disagree, in the order of the cases; see the module."""
    by_level: dict[str, list[tuple[int, int]]] = {}
    for idx, query in queries.items():
        passes = [of[idx]["official"]["final_pass"] for of in verdicts.values() if idx in of]
        if len(passes) == len(verdicts) and (fewer := min(sum(passes), len(passes) - sum(passes))):
            by_level.setdefault(query.level, []).append((-fewer, idx))
    levels = sorted(by_level, key=lambda level: LEVELS.index(level) if level in LEVELS else len(LEVELS))
    turns = zip_longest(*(sorted(by_level[level]) for level in levels))
    return [one[1] for turn in turns for one in turn if one]


def shown(passes: Mapping[Checkpoint, bool]) -> list[Checkpoint]:
    """Two that fail and two that pass, of each one untrained and one trained where there are; in the study's order."""
    kept = set()
    for outcome in (False, True):
        side = [checkpoint for checkpoint, passed in passes.items() if passed is outcome]
        untrained = [c for c in side if c.regime == BASE_REGIME]
        trained = [c for c in side if c.regime != BASE_REGIME]
        kept |= set([*untrained[:1], *trained[:1], *untrained[1:], *trained[1:]][:SHOWN])
    return [checkpoint for checkpoint in passes if checkpoint in kept]


def asked(query: Query) -> str:
    """The constraints of a query, for people."""
    wishes = {name: value for name, value in (query.local_constraint or {}).items() if value}
    told = [f"{name}: {', '.join(value) if isinstance(value, list) else value}" for name, value in wishes.items()]
    people = f"{query.people_number} {'person' if query.people_number == 1 else 'people'}"
    return "; ".join([f"{query.days} days", people, f"budget ${query.budget:,.0f}", *told])


# ---- a plan and what it breaks --------------------------------------------------------------------------------------


def _episode(
    results: Results, checkpoint: Checkpoint, split: str, query: Query, verdict: Mapping
) -> Iterator[dict[str, object]]:
    official = verdict["official"]
    passed = "yes" if official["final_pass"] else "no"
    episode = next(iter(results.trajectories(checkpoint, split, [query.idx]) or ()), None)
    plan = episode and episode["plan"]
    if not plan:
        why = "Its episode is missing."
        if episode is not None:
            why = f"No plan that fits the schema (the episode ended by: {episode['end_reason']})."
        yield {"passed": passed, "slot": VIOLATION, "text": why, "broken": ""}
        return
    faults = [fault for name, reason in official["reasons"].items() for fault in [(name, *places(name, reason))]]
    for number, day in enumerate(plan, start=1):
        for slot in SLOTS:
            texts = _texts(slot, day.get(slot))
            broken = [name for name, days, names, slots in faults if _hit(number, slot, texts, days, names, slots)]
            if texts or broken:
                text = "; ".join(texts) or "nothing"
                yield {"passed": passed, "day": number, "slot": slot, "text": text, "broken": " ".join(broken)}
    for name, reason in official["reasons"].items():
        yield {"passed": passed, "slot": VIOLATION, "text": f"{LABELS[name]}: {reason}", "broken": name}
    if not official["final_pass"] and not official["reasons"]:
        yield {"passed": passed, "slot": VIOLATION, "text": official["reason"], "broken": ""}


def _texts(slot: str, value) -> list[str]:
    """What a part of a day says, as a list of names; nothing for "-"."""
    if slot == "city":
        return [value if isinstance(value, str) else f"{value['from']} → {value['to']}"]
    if slot == "transportation" and isinstance(value, Mapping):
        details = [value.get("flight_number"), value.get("departure_time"), value.get("arrival_time")]
        times = "–".join(part for part in details[1:] if part)
        cost = f"${value['cost']:,}" if isinstance(value.get("cost"), int | float) else ""
        way = f"{value['mode'].capitalize()} {details[0] or ''}".strip()
        return [", ".join(filter(None, (way, times, cost)))]
    values = value if isinstance(value, list) else [value]
    return [text for text in values if text not in (*NOTHING, None)]


def places(name: str, reason: str) -> tuple[set[int], set[str], set[str]]:
    """What a reason of the evaluator points at: numbers of days, names, parts of a day. No numbers or names: any; none
    of either: the plan as a whole."""
    slots, unquoted = set(PARTS.get(name, ())), NAMED.sub("", reason)
    days = {int(number) for number in re.findall(r"\bday (\d+)", unquoted)}
    if re.search(r"\bno such\b|\bway to travel\b", unquoted):
        return days, set(), slots & {"transportation"}
    if "do not go together" in unquoted:
        return days, {mode.capitalize() for mode in re.findall(r"[\w-]+", unquoted) if mode in MODES}, slots
    names = {_name(ast.literal_eval(text)) for text in NAMED.findall(reason)}
    told = set() if names else {slot for slot in slots if re.search(rf"\b{slot}\b", unquoted)}
    return days, names, told or slots


def _name(text: str) -> str:
    """The name of a place without its city, as plans mostly have it."""
    return text.rpartition(", ")[0] or text


def _hit(number: int, slot: str, texts: Sequence[str], days: set[int], names: set[str], slots: set[str]) -> bool:
    if slot not in slots or (days and number not in days) or not (days or names):
        return False
    said = {part for text in texts for part in (text, _name(text), *text.split(" → "), re.split("[, ]", text)[0])}
    return not names or bool(names & said)


# ---- drawing --------------------------------------------------------------------------------------------------------

SIZE = 7  # points of all text
LINE = 1.22 * SIZE / 72  # inches from line to line
GAP, MARGIN = 0.12, 0.05  # inches between columns, and at the edges
HIGHEST = 9.6  # inches of a page
GOOD, BAD, SHADE = "#006B4C", "#A63D00", "#FBE2D5"


@dataclass(frozen=True)
class Line:
    """A line of text in a column."""

    text: str
    bold: bool = False
    colour: str = "black"
    shaded: bool = False


Column = list[list[Line]]  # the blocks of a policy: its name, a block a day, what it breaks
Plans = Mapping[tuple[str, ...], Sequence[Mapping[str, str]]]  # rows by model, regime, seed and step


def draw(rows: Sequence[Mapping[str, str]], study: Study) -> plt.Figure:
    """The plans side by side, as many as fit a page; see the module."""
    head, columns = _page(rows, study)
    heights = _heights(columns)
    height = (len(head) + sum(heights)) * LINE + 2 * MARGIN
    with plt.rc_context(style.SETTINGS):
        figure = plt.figure(figsize=(style.PAGE, height))
        axes = figure.add_axes((0, 0, 1, 1), xlim=(0, style.PAGE), ylim=(height, 0))
        axes.set_axis_off()
        _write(axes, head, MARGIN, MARGIN, style.PAGE - 2 * MARGIN)
        top, width = MARGIN + len(head) * LINE, _width(max(1, len(columns)))
        for i, lines in enumerate(heights):
            axes.axhline(top + 0.4 * LINE, MARGIN / style.PAGE, 1 - MARGIN / style.PAGE, color="0.8", linewidth=0.6)
            for j, column in enumerate(columns):
                _write(axes, column[i], MARGIN + j * (width + GAP), top + LINE, width)
            top += lines * LINE
    return figure


def _page(rows: Sequence[Mapping[str, str]], study: Study) -> tuple[list[Line], list[Column]]:
    """The lines above the plans, and those of each plan: of all, of fewer, of two with their names cut."""
    first, plans = rows[0], _by_policy(rows)
    world = study.world_label[:1].upper() + study.world_label[1:]
    if not plans:
        return [Line(f"Case {first['case']}", bold=True), Line(first["note"]), Line(world, colour="0.3")], []
    widths = [(many, None) for many in range(len(plans), 1, -1)]
    for many, most in [*widths, (2, 1)]:
        kept = _kept(plans, many)
        told = f"{world}. ✗ and shading: what breaks a constraint; of each constraint the first place."
        told += "".join(f" Not shown for want of room: {_named(name)}." for name in plans if name not in kept)
        told += " Long names are cut." * bool(most)
        head, columns = _head(first, told), _columns(kept, most)
        if (len(head) + sum(_heights(columns))) * LINE + 2 * MARGIN <= HIGHEST:
            break
    return head, columns


def _heights(columns: Sequence[Column]) -> list[int]:
    """The lines of each block, with the one that parts it from the block above."""
    return [1 + max(map(len, blocks)) for blocks in zip(*columns, strict=True)]


def _by_policy(rows: Sequence[Mapping[str, str]]) -> Plans:
    plans: dict[tuple[str, ...], list] = {}
    for row in rows:
        if row["model"]:
            plans.setdefault((row["model"], row["regime"], row["seed"], row["step"]), []).append(row)
    return plans


def _kept(plans: Plans, many: int) -> Plans:
    """Of plans that are too many the first that fails, the first that passes, the second that fails."""
    sides = [[name for name, rows in plans.items() if rows[0]["passed"] == passed] for passed in ("no", "yes")]
    order = [name for pair in zip_longest(*sides) for name in pair if name]
    return {name: rows for name, rows in plans.items() if name in order[:many]}


def _width(columns: int) -> float:
    return (style.PAGE - 2 * MARGIN - GAP * (columns - 1)) / columns


def _head(first: Mapping[str, str], told: str) -> list[Line]:
    width = style.PAGE - 2 * MARGIN
    title = f"Case {first['case']}: query {first['idx']} of the {first['split']} split ({first['level']})"
    asked = [line for text in (f"“{first['query']}”", f"Asked: {first['asked']}") for line in _wrapped(text, width)]
    return [Line(title, bold=True), *asked, *_wrapped(told, width, colour="0.3")]


def _columns(plans: Plans, most: int | None) -> list[Column]:
    """The plans' columns; of a part of a day at most so many lines."""
    days = max((int(row["day"]) for rows in plans.values() for row in rows if row["day"]), default=0)
    return [_column(name, rows, days, _width(len(plans)), most) for name, rows in plans.items()]


def _column(
    name: Sequence[str], rows: Sequence[Mapping[str, str]], days: int, width: float, most: int | None
) -> Column:
    passes = rows[0]["passed"] == "yes"
    outcome = Line("✓ passes" if passes else "✗ fails", True, GOOD if passes else BAD)
    model, _, of_model = _named(name).partition(", ")
    blocks = [[*_wrapped(model, width, bold=True), *_wrapped(of_model, width), outcome]]
    for day in range(1, days + 1):
        blocks.append([line for row in rows if row["day"] == str(day) for line in _part(row, width, most)])
    broken = [line for row in rows if row["slot"] == VIOLATION for line in _wrapped(row["text"], width, colour=BAD)]
    return [*blocks, broken or [Line("No constraint is broken.", colour=GOOD)]]


def _part(row: Mapping[str, str], width: float, most: int | None) -> list[Line]:
    day = f"Day {row['day']}: " if row["slot"] == "city" else ""
    broken = bool(row["broken"])
    text = f"{'✗ ' * broken}{day}{SLOTS[row['slot']]}{row['text']}"
    lines = _wrapped(text, width, bold=bool(day), colour=BAD if broken else "black", shaded=broken)
    if most is None or len(lines) <= most:
        return lines
    last = lines[most - 1]
    return [*lines[: most - 1], replace(last, text=f"{last.text.rpartition(' ')[0] or last.text[:-2]}…")]


def _named(name: Sequence[str]) -> str:
    model, regime, seed, step = name
    return f"{model}, untrained" if regime == BASE_REGIME else f"{model}, {regime}, seed {seed}, step {step}"


def _write(axes: plt.Axes, lines: Sequence[Line], left: float, top: float, width: float) -> None:
    """Write lines one below the other."""
    for i, line in enumerate(lines):
        if line.shaded:
            place = (left - 0.03, top + i * LINE)
            axes.add_patch(plt.Rectangle(place, width + 0.06, LINE, color=SHADE, linewidth=0))
        look = {"fontsize": SIZE, "fontweight": "bold" if line.bold else "normal", "color": line.colour}
        axes.text(left, top + (i + 0.5) * LINE, line.text, va="center", parse_math=False, **look)


def _wrapped(text: str, width: float, bold: bool = False, **look) -> list[Line]:
    """The text in lines of at most `width` inches; a word that is longer is cut."""
    lines = [""]
    for word in text.split():
        while word:
            longer = f"{lines[-1]} {word}".strip()
            if _inches(longer, bold) <= width:
                lines[-1], word = longer, ""
            elif lines[-1]:
                lines.append("")
            else:
                fits = next(n for n in range(len(word), 0, -1) if n == 1 or _inches(word[:n], bold) <= width)
                lines[-1], word = word[:fits], word[fits:]
                lines += [""] * bool(word)
    return [Line(line, bold, **look) for line in lines]


@cache
def _inches(text: str, bold: bool) -> float:
    font = FontProperties(family=style.SETTINGS["font.family"], size=SIZE, weight="bold" if bold else "normal")
    return text_to_path.get_text_width_height_descent(text, font, ismath=False)[0] / 72
