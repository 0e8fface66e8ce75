"""A second evaluator, slow and plain, to hold the first one against.

Written from the written rules of the benchmark alone, over the CSV files as they are read, with a scan of the table for
each look-up and the patterns themselves for each reading. It shares no code with the product, and must never be made
faster by taking some. A value of another type than text is simply used: where Python raises, so does the official code.
"""

import csv
import math
import re
from pathlib import Path

FROM_TO = re.compile(r"from\s+(.+?)\s+to\s+([^,]+)(?=[,\s]|$)")
STATE = re.compile(r"^(.*?)\([^)]*\)")
NAME_CITY = re.compile(r"(.*?),\s*([^,]+)$")
MEALS = ["breakfast", "lunch", "dinner"]
PARTS = ["transportation", "breakfast", "attraction", "lunch", "dinner", "accommodation"]


RAISED = (AttributeError, IndexError, KeyError, TypeError)
NOT_NEEDED = "You don't need to fill in the information for this or later days."


def without_state(city):
    found = STATE.search(city)
    return found.group(1) if found else city


class Tables:
    def __init__(self, database: Path):
        def rows(name):
            with open(database / name, encoding="utf-8", newline="") as f:
                return list(csv.DictReader(f))

        def complete(rows):
            return [row for row in rows if all(cell != "" for cell in row.values())]

        self.restaurants = [(r["City"], r["Name"], r) for r in rows("restaurants/clean_restaurant_2022.csv")]
        self.hotels = [
            (r["city"], r["NAME"], r) for r in complete(rows("accommodations/clean_accommodations_2022.csv"))
        ]
        self.attractions = [(r["City"], r["Name"], r) for r in rows("attractions/attractions.csv")]
        self.flights = complete(rows("flights/clean_Flights_2022.csv"))
        self.distances = rows("googleDistanceMatrix/distance.csv")
        lines = (database / "background/citySet_with_states.txt").read_text(encoding="utf-8").splitlines()
        self.state_of = dict(line.split("\t") for line in lines if line.strip())

    def matching(self, table, value):
        found = NAME_CITY.search(value)
        if found:
            name = found.group(1).strip()
            city = without_state(found.group(2).strip()).strip()
        else:
            name, city = "-", "-"
        return [row for row_city, row_name, row in table if row_city == city and name in row_name]

    def road_cost(self, origin, destination, mode):
        for row in self.distances:
            if row["origin"] == origin and row["destination"] == destination:
                if row["duration"] == "" or row["distance"] == "" or "day" in row["duration"]:
                    return None
                km = float(row["distance"].replace(",", "").replace("km", ""))
                return int(km * 0.05) if mode == "self-driving" else int(km)
        return None


def empty(day, key):
    """Nothing there: no key, a value that is false by itself (null, 0, [], ...), or "-"."""
    return not day.get(key) or day[key] == "-"


def cities_of(day):
    """("travel", [A, B]) or ("stay", [city])."""
    text = day["current_city"]
    if "from" not in text:
        return "stay", [without_state(text)]
    return "travel", [without_state(city) for city in FROM_TO.search(text).groups()]


def reasonable_city(plan, query, tables):
    entries = []
    for number, day in enumerate(plan):
        kind, cities = cities_of(day)
        if number == 0 and kind == "travel" and cities[0] != query.org:
            return False
        entries += cities
    if entries[0] != entries[-1] or len(entries) < 3:
        return False
    last = len(entries) - 1
    for at in range(len(entries)):
        if at > 0 and entries[at] == entries[at - 1]:
            continue  # not the beginning of a run
        length = 1
        while at + length <= last and entries[at + length] == entries[at]:
            length += 1
        if entries[at] in entries[:at] and at != last:
            return False
        if length == 1 and 0 < at < last:
            return False
    for at, city in enumerate(entries):
        if city not in tables.state_of:
            return False
        if query.days > 3 and at not in (0, last) and tables.state_of[city] != query.dest:
            return False
    return True


def no_meal_twice(plan):
    meals = [day[meal] for day in plan for meal in MEALS if not empty(day, meal)]
    return all(meal not in meals[:at] for at, meal in enumerate(meals))


def pieces(day):
    return [] if empty(day, "attraction") else day["attraction"].split(";")[:-1]


def no_attraction_twice(plan):
    seen = set()
    for day in plan:
        for piece in pieces(day):
            if piece in seen:
                return False
            seen.add(piece)
    return True


def accommodation(plan, tables):
    if any("accommodation" not in day for day in plan):
        return False
    at = 0
    while at < len(plan):
        value, nights = plan[at]["accommodation"], 1
        while at + nights < len(plan) and plan[at + nights]["accommodation"] == value:
            nights += 1
        if value not in ("", "-"):
            rows = tables.matching(tables.hotels, value)
            if len(rows) == 1 and nights < float(rows[0]["minimum nights"]):
                return False
        at += nights
    return True


def transportation(plan):
    if empty(plan[0], "transportation"):
        return False
    modes = set()
    for day in plan:
        if not empty(day, "transportation"):
            for mode in ("taxi", "self-driving", "flight"):
                if mode in day["transportation"].lower():
                    modes.add(mode)
                    break
    return not ("self-driving" in modes and "flight" in modes) and not ("taxi" in modes and "self-driving" in modes)


def in_current_city(plan):
    for day in plan:
        kind, cities = cities_of(day)
        if kind == "stay":
            cities = list(cities[0])
        if not empty(day, "transportation") and not all(city in day["transportation"] for city in cities):
            return False
        for meal in MEALS:
            if not empty(day, meal) and not any(city in day[meal] for city in cities):
                return False
        for piece in pieces(day):
            if not any(city in piece for city in cities):
                return False
        if not empty(day, "accommodation") and cities[-1] not in day["accommodation"]:
            return False
    return True


def leg_of(day):
    found = FROM_TO.search(day["transportation"]) or FROM_TO.search(day["current_city"])
    return [without_state(city) for city in found.groups()] if found else None


def number_of(day):
    return day["transportation"].split("Flight Number: ")[1].split(",")[0]


def in_sandbox(plan, tables):
    for day in plan:
        if day["transportation"] and day["transportation"] != "-":
            leg, text = leg_of(day), day["transportation"].lower()
            if "flight number" in text:
                origin, destination = leg  # raises where there is none
                wanted = [number_of(day), origin, destination]
                if not any(
                    [f["Flight Number"], f["OriginCityName"], f["DestCityName"]] == wanted for f in tables.flights
                ):
                    return False
            elif "self-driving" in text or "taxi" in text:
                mode = "self-driving" if "self-driving" in text else "taxi"
                if leg is None or tables.road_cost(*leg, mode) is None:
                    return False
        for meal in MEALS:
            if not empty(day, meal) and not tables.matching(tables.restaurants, day[meal]):
                return False
        if not all(tables.matching(tables.attractions, piece) for piece in pieces(day)):
            return False
        if not empty(day, "accommodation") and not tables.matching(tables.hotels, day["accommodation"]):
            return False
    return True


def not_absent(plan, query):
    if len([day for day in plan if day != {} and day["current_city"] != NOT_NEEDED]) != query.days:
        return False
    kind, cities = cities_of(plan[0])
    if kind == "travel" and cities[0] != query.org:
        return False
    visited = {city for day in plan for city in cities_of(day)[1] if city != query.org}
    if len(visited) != query.visiting_city_number:
        return False
    filled = 0
    for number, day in enumerate(plan, start=1):
        if any(part not in day for part in PARTS):
            return False
        city, nothing = day["current_city"], ["", "-"]  # null and the like are neither of the two
        if ("from " in city or "to " in city) and day["transportation"] in nothing:
            return False
        if "from " not in city and " to " not in city and day["attraction"] in nothing:
            return False
        if "from " not in city and any(day[meal] in nothing for meal in MEALS):
            return False
        if number < query.days and day["accommodation"] in nothing:
            return False
        filled += len([value for value in day.values() if value and value != "-"])
    return filled >= 0.5 * 6 * query.days


def cost_of(plan, query, tables):
    people, cost = query.people_number, 0
    for day in plan:
        if not empty(day, "transportation"):
            text = day["transportation"].lower()
            if "flight number" in text:
                number = number_of(day)
                price = next(float(f["Price"]) for f in tables.flights if f["Flight Number"] == number)
                cost += price * people
            elif "self-driving" in text:
                cost += tables.road_cost(*leg_of(day), "self-driving") * math.ceil(people / 5)
            elif "taxi" in text:
                cost += tables.road_cost(*leg_of(day), "taxi") * math.ceil(people / 4)
        for meal in MEALS:
            if not empty(day, meal):
                cost += float(tables.matching(tables.restaurants, day[meal])[0]["Average Cost"]) * people
        if not empty(day, "accommodation"):
            hotel = tables.matching(tables.hotels, day["accommodation"])[0]
            cost += float(hotel["price"]) * math.ceil(people / float(hotel["maximum occupancy"]))
    return cost


def hard_answers(plan, query, tables):
    hotels = [
        tables.matching(tables.hotels, day["accommodation"])[0] for day in plan if not empty(day, "accommodation")
    ]
    answers = dict.fromkeys(
        ["valid_cuisine", "valid_room_rule", "valid_transportation", "valid_room_type", "valid_cost"]
    )
    wanted = query.local_constraint
    if wanted["cuisine"] is not None:
        served = ""
        for day in plan:
            for meal in MEALS:
                if not empty(day, meal):
                    row = tables.matching(tables.restaurants, day[meal])[0]
                    if row["City"] == query.org:
                        break  # what follows a meal at home on its day does not count
                    served += row["Cuisines"] + "|"
        answers["valid_cuisine"] = all(cuisine in served for cuisine in wanted["cuisine"])
    if wanted["house rule"] is not None:
        answers["valid_room_rule"] = not any("No " + wanted["house rule"] in hotel["house_rules"] for hotel in hotels)
    if wanted["transportation"] is not None:
        word = {"no flight": "Flight", "no self-driving": "Self-driving"}[wanted["transportation"]]
        answers["valid_transportation"] = not any(
            word in day["transportation"] for day in plan if not empty(day, "transportation")
        )
    if wanted["room type"] is not None:
        rooms = [hotel["room type"] for hotel in hotels]
        if wanted["room type"] == "not shared room":
            answers["valid_room_type"] = "Shared room" not in rooms
        else:
            official = {
                "entire room": "Entire home/apt",
                "private room": "Private room",
                "shared room": "Shared room",
            }[wanted["room type"]]
            answers["valid_room_type"] = all(room == official for room in rooms)
    cost = cost_of(plan, query, tables)
    answers["valid_cost"] = cost <= query.budget
    return answers, cost


def reference(plan, query, tables):
    """(delivered, commonsense or None, hard or None, cost or None); commonsense None where the official code raises."""
    if plan is None or plan == []:
        return False, None, None, None
    plan = plan[: query.days]
    try:
        commonsense = {
            "is_reasonable_visiting_city": reasonable_city(plan, query, tables),
            "is_valid_restaurants": no_meal_twice(plan),
            "is_valid_attractions": no_attraction_twice(plan),
            "is_valid_accommodation": accommodation(plan, tables),
            "is_valid_transportation": transportation(plan),
            "is_valid_information_in_current_city": in_current_city(plan),
            "is_valid_information_in_sandbox": in_sandbox(plan, tables),
            "is_not_absent": not_absent(plan, query),
        }
    except RAISED:
        return True, None, None, None
    if not (commonsense["is_valid_information_in_sandbox"] and commonsense["is_not_absent"]):
        return True, commonsense, None, None
    return True, commonsense, *hard_answers(plan, query, tables)
