"""Scored validations written by hand, for the tests of what is made of failures and tool calls."""

from pathlib import Path

from planner_r1.files import write_lines
from planner_r1.paper.render import read_csv, write_rows
from planner_r1.paper.results import Results, validations_file
from planner_r1.study import Run, Study

READS = ("validations",)


def episode(step=0, idx=1, *, failures=(), tools=(), end_reason="answer", passed=False, turns=None, tokens=0) -> dict:
    """A row as score_validations writes it.

    tools: names, one a turn, with "!" behind the name where the reply was an error; or whole [turn, name, error]
    """
    calls = [
        [turn, call.rstrip("!"), call.endswith("!")] if isinstance(call, str) else call
        for turn, call in enumerate(tools, start=1)
    ]
    row = {"step": step, "idx": idx, "end_reason": end_reason, "turns": turns or len(tools) + 1}
    row |= {"tokens": {"prompt": 5, "response": 2 * tokens, "generated": tokens}}
    return row | {"failures": list(failures), "passed": passed, "tools": calls}


def write(folder: Path, run: Run, episodes: list[dict]) -> None:
    path = folder / validations_file(run)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_lines(path, episodes)


def rows_of(module, study: Study, folder: Path, **options) -> list[dict[str, str]]:
    """The rows of an artefact's CSV, as `draw` gets them."""
    path = folder / "rows.csv"
    write_rows(module.rows(study, Results(study, folder, READS), **options), module.FIELDS, path)
    return read_csv(path)


def texts(figure) -> str:
    """All that is written on a figure, a piece a line."""
    figure.canvas.draw()
    return "\n".join(text.get_text() for text in figure.findobj(match=lambda a: hasattr(a, "get_text")))
