"""Tables as files: numbers as CSV, and the pieces that Markdown and LaTeX are made of."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

FIGURES, RAISED = "-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"


def write_rows(rows: Iterable[Mapping], fields: Sequence[str], path: str | Path) -> None:
    """Write the numbers; an empty cell is a number that is not there."""
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fields, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def read_csv(path: str | Path) -> list[dict[str, str]]:
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def bar(cells: Iterable[str]) -> str:
    """A line of a Markdown table."""
    return f"| {' | '.join(cells)} |"


def tex(text: str) -> str:
    """Text for LaTeX."""
    for special in "%_&#$":
        text = text.replace(special, f"\\{special}")
    text = re.sub(f"[{RAISED}]+", lambda found: f"$^{{{found[0].translate(str.maketrans(RAISED, FIGURES))}}}$", text)
    return text.replace("×", r"$\times$")


def tex_table(
    caption: str, alignment: str, headings: Sequence[str], rows: Iterable[Sequence[str]], notes: Iterable[str] = ()
) -> list[str]:
    """The lines of a table as wide as a page (needs booktabs and graphicx), of texts for LaTeX, with notes below it."""
    return [
        r"\begin{table*}",
        r"  \centering\small",
        rf"  \caption{{{caption}}}",
        r"  \resizebox{\textwidth}{!}{%",
        rf"  \begin{{tabular}}{{{alignment}}}",
        r"    \toprule",
        f"    {' & '.join(headings)} \\\\",
        r"    \midrule",
        *(f"    {' & '.join(row)} \\\\" for row in rows),
        r"    \bottomrule",
        r"  \end{tabular}}",
        *(rf"  \par\footnotesize {note}" for note in notes),
        r"\end{table*}",
    ]


def rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def powers_of_ten(value: float, digits: int = 1) -> str:
    """`2.1×10²⁰`, for numbers that only their magnitude makes readable; `10²⁰` for a round one without digits."""
    mantissa, exponent = f"{value:.{digits}e}".split("e")
    raised = str(int(exponent)).translate(str.maketrans(FIGURES, RAISED))
    return f"{'' if mantissa == '1' else f'{mantissa}×'}10{raised}"


def number(row: Mapping[str, str], key: str, plus_minus: str, missing: str, digits: int = 1, sign: str = "") -> str:
    """`12.3 ± 0.4`, without what is not there; with a sign `+` a change is `+12.3 ± 0.4`."""
    if row[key] == "":
        return missing
    mean = f"{float(row[key]):{sign}.{digits}f}"
    return mean if row[f"{key}_ci"] == "" else f"{mean} {plus_minus} {float(row[f'{key}_ci']):.{digits}f}"
