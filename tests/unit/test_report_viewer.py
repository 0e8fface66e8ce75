"""Episodes packed for the page, and markup made of what models wrote."""

import base64
import gzip
import json
import random
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from helpers.small_world import query
from planner_r1.paper.report.episodes import Place, Source
from planner_r1.paper.report.html import Html, element, markdown, table
from planner_r1.paper.report.viewer import Packer, viewer

HOSTILE = (
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    "\"quotes\" and 'quotes' & ampersands; &lt;b&gt;",
    "line\u2028separator\u2029and\x00control\x1b[31m",
    "half \ud800 of a character",
    "turned \u202eround\u202c, \u200fmarked",
    "*no* _markdown_ `of` [mine](javascript:alert(1)) | pipe",
)


def place(idx: int = 1, step: int = 0) -> Place:
    return Place(Source("evaluation on the test split", "test", Path("x"), "tiny", "stage1", 0, False), step, idx, 0)


def shown(*texts: str) -> dict:
    return {"parts": [["assistant", "text", text] for text in texts], "plan": None, "fault": texts[0], "reward": 1.0}


def unpacked(packed: str) -> list[dict]:
    return [json.loads(line) for line in gzip.decompress(base64.b64decode(packed)).decode("ascii").splitlines()]


def test_what_was_packed_comes_out_again():
    packer = Packer(10**6)
    for number, text in enumerate(HOSTILE):
        assert packer.add(place(step=number), query(), shown(text, "again and again"))
    lines = unpacked(packer.packed())
    texts = [line["text"] for line in lines if "text" in line]
    episodes = [line["episode"] for line in lines if "episode" in line]
    assert len(texts) == len(HOSTILE) + 1  # what comes again is there once
    assert [texts[e["parts"][0][2]] for e in episodes] == list(HOSTILE)
    assert [texts[e["parts"][1][2]] for e in episodes] == ["again and again"] * len(HOSTILE)
    assert [e["fault"] for e in episodes] == list(HOSTILE)
    assert [line["query"]["idx"] for line in lines if "query" in line] == [1]


def test_no_more_bytes_than_there_is_room_for():
    rng = random.Random(0)
    texts = ["".join(rng.choice("abcdefgh ") for _ in range(5000)) for _ in range(40)]
    packer, room = Packer(20_000), 20_000
    fitted = [packer.add(place(step=i), query(), shown(text)) for i, text in enumerate(texts)]
    packed = packer.packed()
    assert packer.count == sum(fitted) < 40
    assert room / 2 < len(packed) <= room
    assert len([line for line in unpacked(packed) if "episode" in line]) == packer.count


class _Episodes(list):
    def __iter__(self):
        return iter([(place(step=i), query(), shown(text)) for i, text in enumerate(list.__iter__(self))])


def test_the_page_says_what_was_left_out():
    rng = random.Random(1)
    texts = _Episodes("".join(rng.choice("abcdefgh ") for _ in range(5000)) for _ in range(10))
    told = re.search(r"(\d+) episodes\. .*? (\d+) of these 10 episodes were left out", viewer(texts, 12_000))
    assert int(told[1]) + int(told[2]) == 10
    assert "left out" not in viewer(texts, 10**6)
    assert viewer(_Episodes(), 10**6) == "" == viewer(texts, 100)


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_that_models_wrote_becomes_markup_in_the_data(text):
    page = viewer(_Episodes([text]), 10**6)
    assert "alert" not in page
    (data,) = re.findall(r'<script type="application/octet-stream" id="episode-data">(.*?)</script>', page)
    assert re.fullmatch(r"[A-Za-z0-9+/=]+", data)


class _Tags(HTMLParser):
    def __init__(self, source: str):
        super().__init__()
        self.found, self.text = [], ""
        self.feed(source)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data


@pytest.mark.parametrize("text", HOSTILE[:-1])
def test_text_is_escaped_wherever_it_enters(text):
    made = [element("p", text, title=text), table(["a", text], [[text, text]]), Html("<p>") + text]
    tags = {tag for piece in made for tag, _ in _Tags(piece).found}
    assert tags == {"p", "div", "table", "thead", "tbody", "tr", "th", "td"}
    assert _Tags(made[0]).text == text
    assert _Tags(made[0]).found[0][1]["title"] == text


@pytest.mark.parametrize("text", HOSTILE)
def test_html_in_markdown_is_text(text):
    made = markdown(f"**Title**\n\n| a | b |\n|---|---:|\n| {text.replace('|', '')} | 1 |\n\n{text}\n")
    allowed = {"div", "table", "thead", "tbody", "tr", "th", "td", "p", "em", "code"}
    assert {tag for tag, _ in _Tags(made).found} <= allowed
    assert "javascript" not in " ".join(str(attributes) for _, attributes in _Tags(made).found)


def test_tables_of_markdown():
    made = markdown("**Title**\n\n| Source | n |\n|---|---:|\n| this study | 1 |\n| paper | 2 |\n\n- a note\n")
    assert "Title" not in made
    tags = _Tags(made).found
    assert ("tr", {"class": "paper"}) in tags and ("td", {"class": "number short"}) in tags
    assert ("div", {"class": "scroll", "tabindex": "0", "role": "region", "aria-label": "Table"}) in tags


def test_nothing_is_loaded_for_markdown():
    made = markdown("![tracker](https://example.org/x.png) [here](https://example.org)")
    assert [tag for tag, _ in _Tags(made).found] == ["p", "a"]
