"""Pieces of HTML. Text becomes markup here and nowhere else, so that what models wrote is shown and never run."""

from __future__ import annotations

import base64
import re
import struct
from collections.abc import Collection, Iterable, Sequence
from html import escape
from pathlib import Path

import mistune

LEAST_ZOOM = 0.75
WIDE = 9  # columns from which a table is set smaller, so that it fits a screen
SHORT = 24  # characters of a cell that stay on one line
LONG_WORD = re.compile(r"\b(Common)(sense)\b")  # of a heading: a soft hyphen lets it break
# The spaces at which a number such as `🟩 1.2 ± 0.3 (p 0.01 → 0.02) ▲` must not break.
WITHIN_NUMBER = re.compile("(?<=[🟩🟥]) | (?=[±▲▼])|(?<=[±p]) (?=[0-9])")


class Html(str):
    """Markup, as a notebook shows it. What is added to it and is not markup is escaped."""

    def __add__(self, other: object) -> Html:
        return Html(str.__add__(self, text(other)))

    def _repr_html_(self) -> str:
        return str(self)


def text(value: object) -> Html:
    """A value as text; nothing for one that is not there. White space around markup's own signs stays."""
    return value if isinstance(value, Html) else Html("" if value is None else escape(str(value)))


def element(tag: str, *content: object, **attributes: str) -> Html:
    """An element; `class_` stands for `class`, and text within it is escaped."""
    own = "".join(f' {name.rstrip("_")}="{escape(value)}"' for name, value in attributes.items())
    return Html(f"<{tag}{own}>{''.join(map(text, content))}</{tag}>")


def section(anchor: str, title: str, *content: object) -> Html:
    """A section of the page; nothing where it has no content."""
    whole = join(content)
    return element("section", element("h2", title), whole, id=anchor) if whole else Html()


def join(parts: Iterable[object]) -> Html:
    return Html("".join(map(text, parts)))


def fold(title: str, *content: object) -> Html:
    """Content behind a line that opens it."""
    return element("details", element("summary", title), *content)


def table(headings: Sequence[str], rows: Iterable[Sequence[object]], numbers: Collection[int] = ()) -> Html:
    """A table in a box that scrolls; `numbers` are the columns of numbers, counted from 0."""

    def line(tag: str, cells: Sequence[object]) -> Html:
        return element("tr", *(Html(_cell(tag, text(cell), i in numbers)) for i, cell in enumerate(cells)))

    body = [line("td", row) for row in rows]
    content = element("thead", line("th", headings)) + element("tbody", *body)
    return _table_box(content, len(headings)) if body else Html()


def _table_box(content: Html, columns: int) -> Html:
    own = {"class_": "wide"} if columns >= WIDE else {}
    return _box(element("table", content, **own), "Table")


def _cell(tag: str, content: str, is_number: bool) -> str:
    kinds = ["number"] * is_number + ["short"] * (tag == "td" and len(content) <= SHORT)
    own = f' class="{" ".join(kinds)}"' if kinds else ""
    content = LONG_WORD.sub("\\1\xad\\2", content) if tag == "th" else content
    content = WITHIN_NUMBER.sub("\xa0", content) if is_number else content
    return f"<{tag}{own}>{content}</{tag}>"


def facts(pairs: Iterable[tuple[str, object]]) -> Html:
    """Names and what they are."""
    return element(
        "dl", *(element("dt", name) + element("dd", value) for name, value in pairs if value not in (None, ""))
    )


def code(content: str) -> Html:
    return element("pre", element("code", content), tabindex="0")


def picture(path: Path, alternative: str) -> Html:
    """A PNG inside the page, at half its pixels: figures are drawn for print, and so their type is as large as the
    page's. A wide one scrolls where there is no room, before its type becomes too small to read."""
    data = path.read_bytes()
    width, height = (side // 2 for side in struct.unpack(">II", data[16:24]))
    encoded = base64.b64encode(data).decode("ascii")
    drawn = Html(
        f'<img src="data:image/png;base64,{encoded}" alt="{escape(alternative)}" width="{width}" height="{height}"'
        f' style="min-width: {width * LEAST_ZOOM:.0f}px">'
    )
    return _box(drawn, "Figure")


class _Renderer(mistune.HTMLRenderer):
    """Headings below the page's own; tables in a box that scrolls, the paper's rows marked."""

    def heading(self, text: str, level: int, **attributes) -> str:
        return super().heading(text, min(level + 1, 6), **attributes)

    def image(self, text: str, url: str, title: str | None = None) -> str:
        return text  # nothing is loaded

    def link(self, text: str, url: str, title: str | None = None) -> str:
        return super().link(text, url, title) if url.startswith(("https://", "#")) else text


def _table(renderer, text: str) -> str:
    return _table_box(Html(f"\n{text}"), text.count("<th>") + text.count("<th "))


def _table_row(renderer, text: str) -> str:
    own = ' class="paper"' if re.match(r"<td[^>]*>(<\w+>)?paper", text) else ""
    return f"<tr{own}>{text}</tr>\n"


def _table_cell(renderer, text: str, align: str | None = None, head: bool = False) -> str:
    return _cell("th" if head else "td", text, align == "right")


def _marked(markdown: mistune.Markdown) -> None:
    for name, rule in (("table", _table), ("table_row", _table_row), ("table_cell", _table_cell)):
        markdown.renderer.register(name, rule)


_MARKDOWN = mistune.create_markdown(renderer=_Renderer(escape=True), plugins=["table", "strikethrough", _marked])


def markdown(source: str) -> Html:
    """Markdown as HTML, without its title (a first line that is a heading or all bold); HTML in it is text."""
    lines = source.strip().split("\n")
    if lines and (lines[0].startswith("# ") or (lines[0].startswith("**") and lines[0].endswith("**"))):
        lines = lines[1:]
    return Html(_MARKDOWN("\n".join(lines)))


def _box(content: Html, name: str) -> Html:
    """A box that scrolls, also by the keyboard."""
    return element("div", content, class_="scroll", tabindex="0", role="region", **{"aria-label": name})
