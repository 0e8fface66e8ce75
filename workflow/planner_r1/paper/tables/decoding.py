"""Decoding settings and limits: those of the runs and suites of this study, beside the paper's.

Ours are what was really used: of training and of TravelPlanner as verl resolved them (MANIFEST.json of the runs, with
the study's `evaluation.overrides`), of the suites as they were sent (asked.json). Models behind an endpoint are asked
as the study's config.yaml says and are not among them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from planner_r1.paper.reference import SOURCE, reference
from planner_r1.paper.render import bar, tex
from planner_r1.paper.results import Results
from planner_r1.study import Study

FIELDS = ("use", "setting", "ours", "paper", "compared", "note")
USES = {
    "training": "Training rollouts",
    "travelplanner": "TravelPlanner, validations and evaluations",
    "natural_plan": "NaturalPlan",
    "multi_if": "Multi-IF",
    "tau_bench": "τ-bench",
}
DECODING = {"do_sample": "Sampled", "temperature": "Temperature", "top_p": "top-p", "top_k": "top-k", "n": "n"}
LIMITS = {
    "response_tokens": "Response, tokens",
    "assistant_turns": "Assistant turns",
    "tool_turns": "Tool turns",
    "tool_calls": "Tool calls",
    "tool_reply": "Tool reply",
}
SAME, DIFFERS = "same", "differs"
# A verl key for each setting, where it is the same for training and evaluation.
ROLLOUT = "actor_rollout_ref.rollout"
LIMIT_KEYS = {
    "response_tokens": "data.max_response_length",
    "assistant_turns": f"{ROLLOUT}.multi_turn.max_assistant_turns",
    "tool_turns": f"{ROLLOUT}.multi_turn.max_user_turns",
    "tool_reply": f"{ROLLOUT}.multi_turn.max_tool_response_length",
}
SENT = {"temperature": "temperature", "top_p": "top_p", "top_k": "top_k", "response_tokens": "max_tokens"}
NOT_RUN = "not run"
NOTES = {
    "tool_reply": "ours counts characters (verl's unit), the paper tokens",
    "tool_calls": "verl has no such limit; one call a turn, so the turns limit them",
    "suite": "a chat API has no such switch: what is sampled at a temperature above 0 counts as sampled",
    "n": "answers to an item: this study's repeats",
}

Settings = Mapping[str, object]


def rows(study: Study, results: Results) -> list[dict]:
    """A row a use and setting of the paper's listing; `ours` is empty where nothing was run.

    Where runs or checkpoints of this study differ, all values stand in `ours`.
    """
    runs = [(run, manifest) for run in study.runs if (manifest := results.manifest(run))]
    asked = [read for checkpoint in study.suite_checkpoints if (read := results.asked(checkpoint))]
    ours = {
        "training": [training(manifest["config"]) for _, manifest in runs],
        "travelplanner": [
            travelplanner(manifest["config"], study.evaluation_overrides(run.regime)) for run, manifest in runs
        ],
    }
    ours |= {suite: [of_suite(read[suite]) for read in asked if suite in read] for suite in USES if suite not in ours}
    return [_row(printed, ours[printed["use"]]) for printed in reference("decoding")]


def training(config: Mapping) -> Settings:
    """The settings of the training rollouts, from a run's resolved configuration of verl."""
    keys = {key: f"{ROLLOUT}.{key}" for key in DECODING} | LIMIT_KEYS
    return {setting: _at(config, key) for setting, key in keys.items()}


def travelplanner(config: Mapping, overrides: Mapping) -> Settings:
    """The settings of validations and evaluations: the run's, or the study's keys for evaluating."""
    keys = {key: f"{ROLLOUT}.val_kwargs.{key}" for key in DECODING} | LIMIT_KEYS
    return {setting: overrides.get(key, _at(config, key)) for setting, key in keys.items()}


def of_suite(asked: Mapping) -> Settings:
    """The settings that a suite's requests were sent with."""
    sent = asked["decoding"]
    settings = {setting: sent.get(key) for setting, key in SENT.items()}
    warm = settings["temperature"] is not None and settings["temperature"] > 0
    return settings | {"do_sample": warm, "n": asked["repeats"]}


def _at(config: Mapping, key: str):
    value = config
    for part in key.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _row(printed: Mapping[str, str], ours: Iterable[Settings]) -> dict:
    use, setting, paper = printed["use"], printed["setting"], printed["value"]
    values = list(dict.fromkeys(text for used in ours if (text := _text(used.get(setting))) != ""))
    row = {"use": use, "setting": setting, "ours": "; ".join(values), "paper": paper, "compared": "", "note": ""}
    if setting == "tool_calls" or (setting == "tool_reply" and values):
        return row | {"note": NOTES[setting]}
    if not values:
        return row | {"note": NOT_RUN}
    row["compared"] = SAME if all(_equal(value, paper) for value in values) else DIFFERS
    of_suite = use not in ("training", "travelplanner")
    if row["compared"] == DIFFERS and of_suite:
        row["note"] = {"do_sample": NOTES["suite"], "n": NOTES["n"]}.get(setting, "")
    return row


def _text(value) -> str:
    """As the paper writes it; nothing for None."""
    return "" if value is None else str(value).lower() if isinstance(value, bool) else f"{value:g}"


def _equal(ours: str, paper: str) -> bool:
    return ours == paper if paper in ("true", "false") else float(ours) == float(paper)


def markdown(rows: Sequence[Mapping[str, str]], title: str) -> str:
    """The table for people, from the rows of the CSV."""
    lines = [f"**{title}**"]
    for heading, settings in (("Decoding", DECODING), ("Limits", LIMITS)):
        lines += ["", bar([heading, *settings.values()]), bar(["---"] + ["---:"] * len(settings))]
        lines += [bar([USES[use], *cells]) for use, cells in _grid(rows, settings, "**{}** (paper {})", "({})")]
    lines += [
        "",
        f"Bold: not as in the paper ({SOURCE}), whose value stands behind it; in brackets alone: the paper's,",
    ]
    lines += ["where this study ran nothing or counts otherwise.", ""]
    lines += [f"- {note}" for note in _notes(rows)]
    return "\n".join(lines) + "\n"


def latex(rows: Sequence[Mapping[str, str]], title: str) -> str:
    """The table for a paper (needs booktabs), from the rows of the CSV."""
    caption = f"Bold: not as in the paper ({SOURCE}), whose value stands behind it; in brackets alone: the paper's."
    lines = [r"\begin{table*}", r"  \centering\small", rf"  \caption{{{_tex(title)}. {caption}}}"]
    for heading, settings in (("Decoding", DECODING), ("Limits", LIMITS)):
        cells = [heading, *settings.values()]
        lines += [rf"  \begin{{tabular}}{{l{'r' * len(settings)}}}", r"    \toprule"]
        lines += [f"    {' & '.join(map(_tex, cells))} \\\\", r"    \midrule"]
        for use, of_use in _grid(rows, settings, r"\textbf{{{}}} (paper {})", "({})"):
            lines.append(f"    {' & '.join([_tex(USES[use]), *of_use])} \\\\")
        lines += [r"    \bottomrule", r"  \end{tabular}", r"  \par\medskip"]
    lines += [rf"  \par\footnotesize {_tex(note)}" for note in _notes(rows)]
    return "\n".join([*lines, r"\end{table*}"]) + "\n"


def _grid(
    rows: Sequence[Mapping[str, str]], settings: Iterable[str], other: str, papers: str
) -> Iterator[tuple[str, list[str]]]:
    """The cells of each use in the order of the settings; the paper lists no turns for the suites."""
    cells = {(row["use"], row["setting"]): _cell(row, other, papers) for row in rows}
    for use in USES:
        yield use, [cells.get((use, setting), "") for setting in settings]


def _cell(row: Mapping[str, str], other: str, papers: str) -> str:
    if not row["compared"]:
        return " ".join(filter(None, (row["ours"], papers.format(row["paper"]))))
    return row["ours"] if row["compared"] == SAME else other.format(row["ours"], row["paper"])


def _notes(rows: Sequence[Mapping[str, str]]) -> list[str]:
    names = DECODING | LIMITS
    ran = {row["use"] for row in rows if row["ours"]}
    idle = [name for use, name in USES.items() if use not in ran]
    notes = [f"{name}: not run in this study" for name in idle]
    said = dict.fromkeys((row["setting"], row["note"]) for row in rows if row["note"] not in ("", NOT_RUN))
    return notes + [f"{names[setting]}: {note}" for setting, note in said]


def _tex(text: str) -> str:
    return tex(text).replace("τ", r"$\tau$")
