"""The two profiles, and the holes of the official rules that the strict one closes.

A profile is the set of holes that are closed: none in `official`, all in `strict`. Policies that are trained on the
official verdict find these holes (official issues 50 and 51), so results are reported under both.
"""

from __future__ import annotations

HOLES = {
    "flight_date": "a flight of any other day will do, and its price is that of the number's first row on any route",
    "flight_times": "the times that are stated for a flight are not looked at",
    "not_home": "a plan that does not start with a day of travel may start and end in any city",
    "wrong_destination": "a trip of three days may go to any city",
    "teleport": "a day may start in another city than the one in which the day before ended",
    "other_leg": "a leg need only name the day's cities: it may go elsewhere, or on a day in one city",
    "second_leg": "of several legs in one text only the first is looked at",
    "two_modes": "of several ways to travel in one text one counts for clashes and another for the price",
    "city_in_name": "a city counts as a place's city where its name is only a part of the place's or another city's",
    "beside_city": "what stands behind a city, as another state or a second city, is not looked at",
    "other_spelling": "a restaurant or an attraction may come twice where it is written otherwise",
    "shared_name": "the minimum nights are not looked at where several hotels of the city share the name",
    "empty_value": "null, 0, white space and the like pass for a value that must be filled in",
    "needed_by_words": 'what a day needs goes by words such as "from ": one that reads "from\\tA" needs no leg',
    "day_number": "the number that a day gives itself is not looked at",
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
