"""Replies of endpoints, kept on the disk so that none is asked for twice.

A reply is found again by what was asked and how: a conversation that was interrupted is played again from its start,
and only what was never answered goes to the service. Another prompt or temperature is another question, and takes
nothing away from what was paid for.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from planner_r1.endpoint.client import Client, Filtered, PromptTooLong, Rejected, Reply, sound
from planner_r1.endpoint.ledger import Usage
from planner_r1.files import add_line, open_lines, read_lines

REJECTIONS: dict[str, type[Rejected]] = {kind.__name__: kind for kind in (PromptTooLong, Filtered)}


class Journal:
    """A file of replies that several runs of a program add to; each is on the disk before it is used."""

    def __init__(self, path: Path):
        self._file = open_lines(path)
        self._known = {line["asked"]: line for line in read_lines(path)}

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_) -> None:
        self._file.close()

    async def chat(
        self,
        client: Client,
        messages: Sequence[Mapping[str, Any]],
        *,
        origin: str,
        label: Mapping[str, Any],
        tools: Sequence[Mapping[str, Any]] | None = None,
        seed: int | None = None,
    ) -> Reply:
        """As Client.chat, or the reply that came of the same question before.

        Args:
            origin: says which weights answer, where the model's name does not.
            label: tells apart questions in the same words, such as two repeats.

        Raises:
            InputError, Fault: as the client; both are asked again the next time.
            PromptTooLong, Filtered: as the client, or as it did before.
        """
        question = [origin, client.endpoint.question(), messages, tools, seed, label]
        asked = hashlib.sha256(json.dumps(question, sort_keys=True).encode()).hexdigest()
        if asked not in self._known:
            line = {"asked": asked, "label": label}
            try:
                line |= {"reply": asdict(await client.chat(messages, tools=tools, seed=seed, label=label))}
            except Rejected as rejection:
                line |= {"rejection": type(rejection).__name__, "reason": str(rejection)}
            line = sound(line)  # as it will be read again
            add_line(self._file, line)
            self._known[asked] = line
        return _recalled(self._known[asked])


def _recalled(line: Mapping[str, Any]) -> Reply:
    if "rejection" in line:
        raise REJECTIONS[line["rejection"]](line["reason"])
    reply = line["reply"]
    return Reply(**{**reply, "tool_calls": tuple(reply["tool_calls"]), "usage": Usage(**reply["usage"])})
