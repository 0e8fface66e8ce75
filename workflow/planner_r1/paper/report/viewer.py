"""Episodes in the page: packed for its script, up to a number of bytes, and the frame that the script fills.

The data are lines of JSON, compressed, in base64: nothing that a model wrote can end the element they stand in. A line
is the words for what went wrong, a text (numbered in their order; most replies of tools come again and again), a query,
or an episode.
"""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import dataclass, field

from planner_r1.evaluator.failures import LABELS
from planner_r1.paper.report.episodes import RULE, Episodes, Place
from planner_r1.paper.report.html import Html, element, join
from planner_r1.queries import Query

DATA_ID = "episode-data"


@dataclass
class Packer:
    """Packs episodes until `room` bytes of base64 are full."""

    room: int
    count: int = 0
    _compress: object = field(default_factory=lambda: zlib.compressobj(9, zlib.DEFLATED, 16 + zlib.MAX_WBITS))
    _data: bytes = b""
    _texts: dict[str, int] = field(default_factory=dict)
    _queries: set = field(default_factory=set)

    def add(self, place: Place, query: Query, shown: dict) -> bool:
        """Add an episode; False, and nothing is added, where it does not fit any more."""
        texts, lines = dict(self._texts), [] if self.count else [{"labels": LABELS}]
        if (key := (place.source.split, query.idx)) not in self._queries:
            lines.append({"query": {"split": key[0], **_query(query)}})
        parts = []
        for role, kind, said in shown["parts"]:
            if said not in texts:
                texts[said] = len(texts)
                lines.append({"text": said})
            parts.append([role, kind, texts[said]])
        source = place.source
        run = {"source": source.name, "split": source.split, "model": source.model, "regime": source.regime}
        names = run | {"seed": source.seed, "step": place.step, "idx": place.idx}
        lines.append({"episode": names | shown | {"parts": parts}})
        # half characters, which a model may write, stay escaped; so does everything but ASCII
        written = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines).encode("ascii")
        trial = self._compress.copy()
        packed = trial.compress(written) + trial.flush(zlib.Z_SYNC_FLUSH)
        if (len(self._data) + len(packed)) * 4 / 3 + 100 > self.room:
            return False
        self._compress, self._texts, self.count = trial, texts, self.count + 1
        self._data += packed
        self._queries.add(key)
        return True

    def packed(self) -> str:
        """All of it, in base64."""
        return base64.b64encode(self._data + self._compress.flush()).decode("ascii")


def _query(query: Query) -> dict:
    record = query.to_json()
    return {
        key: record[key] for key in ("idx", "org", "dest", "days", "date", "query", "level", "people_number", "budget")
    }


def viewer(episodes: Episodes, room: int) -> Html:
    """The viewer with as many episodes as fit into `room` bytes; nothing where there are none."""
    packer = Packer(room)
    for place, query, shown in episodes:
        if not packer.add(place, query, shown):
            break
    if not packer.count:
        return Html()
    left = len(episodes) - packer.count
    told = f" {left} of these {len(episodes)} episodes were left out, to keep this page small." if left else ""
    note = f"{packer.count} episodes. {RULE}{told} All others lie in runs/*/validation.jsonl and in "
    note += "evaluations/*/trajectories.jsonl of the study's results. What models wrote is shown as it stands."
    return join(
        [
            element("p", note, class_="note"),
            _FRAME,
            element("noscript", element("p", "The episodes need JavaScript.")),
            element("script", Html(packer.packed()), type="application/octet-stream", id=DATA_ID),
        ]
    )


def _choice(name: str, label: str, steps: bool) -> str:
    buttons = (
        f'<button type="button" id="{name}-back" aria-label="Previous {label.lower()}">‹</button>'
        f'<button type="button" id="{name}-on" aria-label="Next {label.lower()}">›</button>'
    )
    select = f'<select id="choose-{name}"></select>'
    return (
        f'<div class="choice"><label for="choose-{name}">{label}</label>'
        f'<span class="row">{select}{buttons if steps else ""}</span></div>'
    )


_FRAME = Html(
    '<div id="viewer" hidden><div class="choices">'
    + _choice("source", "Source", False)
    + _choice("run", "Model, regime, seed", True)
    + _choice("step", "Step", True)
    + _choice("query", "Query", True)
    + '</div><p id="viewer-say" role="status"></p><div id="episode"></div></div>'
)
