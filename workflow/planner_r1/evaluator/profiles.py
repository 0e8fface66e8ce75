"""The two profiles, and the holes of the official rules that the strict one closes.

A profile is the set of holes that are closed: none in `official`, all in `strict`. Policies that are trained on the
official verdict find these holes (official issues 50 and 51), so results are reported under both.
"""

from __future__ import annotations

HOLES = {
    "unknown_mode": "a way to travel that is neither flight, self-driving nor taxi is not checked and costs nothing",
    "stay_day_city": "on a day without travel a meal or a hotel needs only letters of the city's name, not the city",
    "last_attraction": 'an attraction that is not followed by ";" is not checked',
    "name_contained": "a part of a name, even none of it, stands for the first row whose name contains it",
    "extra_days": "days beyond the last one of the query are not looked at",
    "mode_case": 'an unwanted mode is looked for with its capital letter only, so "self-driving" passes',
}

OFFICIAL: frozenset[str] = frozenset()
STRICT: frozenset[str] = frozenset(HOLES)
PROFILES = {"official": OFFICIAL, "strict": STRICT}
