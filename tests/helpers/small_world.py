"""A world of five cities, written by hand in the official file format, with the rows that rules stumble over.

State Nord holds Alba, Bria and Cray; Dorn and Porto Sud lie in Sud. Trips of the tests start in Dorn.
"""

import csv
from copy import deepcopy
from pathlib import Path

from planner_r1.queries import Query

CITIES = {"Alba": "Nord", "Bria": "Nord", "Cray": "Nord", "Dorn": "Sud", "Porto Sud": "Sud"}

# city, name, cuisines, cost
RESTAURANTS = [
    ("Alba", "Red Bowl", "Chinese, Indian", 20),
    ("Alba", "Red", "French", 90),  # contained in "Red Bowl", which stands first
    ("Alba", "Old Mill, North Side", "Italian", 30),  # a comma within the name
    ("Alba", "Blue Spoon", "Mexican", 10),
    ("Alba", "Corner Deli ", "American", 15),  # ends in a blank
    ("Alba", "Twin Table", "American", 12),
    ("Bria", "Twin Table", "Indian", 14),
    ("Bria", "Green Fork", "Mediterranean", 25),
    ("Bria", "Bria Grill", "American", 18),
    ("Bria", "Sun Plate", "Chinese", 22),
    ("Bria", "Alba Noodles", "Italian", 13),  # named after another city
    ("Cray", "Cray Oven", "Italian", 16),
    ("Cray", "Silver Dish", "French", 28),
    ("Cray", "Copper Pan", "Mexican", 11),
    ("Dorn", "Home Kitchen", "Indian", 9),
]
# city, name, room type, price, minimum nights, house rules, maximum occupancy
ACCOMMODATIONS = [
    ("Alba", "Wide Loft", "Entire home/apt", 100.0, 2.0, "No smoking", 2),
    ("Alba", "Plain Room", "Private room", 40.0, 1.0, "No pets & No parties", 1),
    ("Alba", "Common Den", "Shared room", 15.0, 1.0, "No visitors", 4),
    ("Alba", "Hill House\nGarden Side", "Entire home/apt", 80.0, 1.0, "No children under 10", 3),
    ("Alba", "Two Keys", "Private room", 45.0, 4.0, "No pets", 2),
    ("Alba", "Two Keys", "Entire home/apt", 95.0, 6.0, "No pets", 4),  # another one of the same name
    ("Bria", "Long Stay", "Entire home/apt", 60.0, 5.0, "No smoking", 2),
    ("Bria", "Bria Inn", "Private room", 55.0, 1.0, "No smoking", 2),
    ("Dorn", "Alba House", "Private room", 35.0, 1.0, "No visitors", 2),  # named after another city
    ("Cray", "Cray Inn", "Private room", 50.0, 1.0, "No parties", 2),
]
ATTRACTIONS = [
    *[("Alba", name) for name in ("Alba Tower", "City Park", "Sea Museum", "Old Gate, East Wing", "Twin Hall")],
    ("Alba", "Glass House, Alba"),  # its city is part of its name
    *[("Bria", name) for name in ("Bria Castle", "Lake Walk", "Twin Hall", "Clock House")],
    *[("Cray", name) for name in ("Cray Cave", "Rose Garden", "Wind Mill")],
]
# number, origin, destination, date, price, departure, arrival
FLIGHTS = [
    ("F1", "Dorn", "Alba", "2022-03-01", 120, "08:00", "10:00"),
    ("F1", "Alba", "Cray", "2022-03-02", 300, "08:00", "09:00"),  # the number's second row: never its price
    ("F2", "Alba", "Dorn", "2022-03-03", 130, "18:00", "20:00"),
    ("F6", "Alba", "Dorn", "2022-03-03", 125, "00:20", "12:10"),
    ("F3", "Dorn", "Bria", "2022-03-01", 110, "07:00", "09:30"),
    ("F4", "Bria", "Dorn", "2022-03-05", 115, "19:00", "21:30"),
    ("F5", "Cray", "Dorn", "2022-03-05", 140, "17:00", "19:00"),
]
# origin, destination, duration, distance
DISTANCES = [
    ("Dorn", "Alba", "5 hours 2 mins", "420 km"),
    ("Dorn", "Alba", "9 hours", "900 km"),  # a second row of the pair: never read
    ("Alba", "Dorn", "5 hours 1 min", "418 km"),
    ("Alba", "Bria", "1 hour 10 mins", "98.6 km"),
    ("Bria", "Alba", "1 hour 10 mins", "98.6 km"),
    ("Alba", "Cray", "2 hours", "150 km"),
    ("Cray", "Alba", "2 hours", "151 km"),
    ("Bria", "Cray", "1 hour 30 mins", "120 km"),
    ("Cray", "Bria", "1 hour 31 mins", "121 km"),
    ("Dorn", "Bria", "6 hours", "1,020 km"),
    ("Bria", "Dorn", "6 hours", "1,019 km"),
    ("Cray", "Dorn", "1 day 2 hours", "2,400 km"),  # a day and more: no valid information
    ("Dorn", "Cray", "", ""),
]


def write_small_world(folder: Path) -> Path:
    """Write the official files below `folder` and return it."""
    _write(
        folder / "restaurants/clean_restaurant_2022.csv",
        ["", "Name", "City", "Cuisines", "Average Cost", "Aggregate Rating"],
        [(i, name, city, cuisines, cost, 4.0) for i, (city, name, cuisines, cost) in enumerate(RESTAURANTS)],
    )
    _write(
        folder / "accommodations/clean_accommodations_2022.csv",
        ",NAME,room type,price,minimum nights,review rate number,house_rules,maximum occupancy,city".split(","),
        [
            (i, name, room, price, nights, 3.0, rules, people, city)
            for i, (city, name, room, price, nights, rules, people) in enumerate(ACCOMMODATIONS)
        ],
    )
    _write(
        folder / "attractions/attractions.csv",
        ["Name", "Latitude", "Longitude", "Address", "Phone", "Website", "City"],
        [(name, 1.5, -2.5, "1 Main Street", "555", "example.org", city) for city, name in ATTRACTIONS],
    )
    _write(
        folder / "flights/clean_Flights_2022.csv",
        (
            ",Flight Number,Price,DepTime,ArrTime,ActualElapsedTime,FlightDate,OriginCityName,DestCityName,Distance"
        ).split(","),
        [
            (i, number, price, dep, arr, "2 hours 0 minutes", date, origin, destination, 250.0)
            for i, (number, origin, destination, date, price, dep, arr) in enumerate(FLIGHTS)
        ],
    )
    _write(
        folder / "googleDistanceMatrix/distance.csv",
        ["origin", "destination", "cost", "duration", "distance"],
        [(origin, destination, "", duration, distance) for origin, destination, duration, distance in DISTANCES],
    )
    cities = folder / "background/citySet_with_states.txt"
    cities.parent.mkdir(parents=True)
    cities.write_text("".join(f"{city}\t{state}\n" for city, state in CITIES.items()), encoding="utf-8")
    return folder


def _write(path: Path, header: list[str], rows: list[tuple]) -> None:
    path.parent.mkdir(parents=True)
    with open(path, "w", encoding="utf-8", newline="") as f:
        csv.writer(f).writerows([header, *rows])


def query(days: int = 3, **changes) -> Query:
    """A request from Dorn: three days in Alba, or more in Bria and Cray of the state Nord."""
    values = {
        "idx": 1,
        "org": "Dorn",
        "dest": "Alba" if days == 3 else "Nord",
        "days": days,
        "date": tuple(f"2022-03-{day:02}" for day in range(1, days + 1)),
        "query": "A trip, please.",
        "level": "easy",
        "visiting_city_number": 1 if days == 3 else 2,
        "people_number": 2,
        "budget": 2000.0,
        "local_constraint": dict.fromkeys(("house rule", "cuisine", "room type", "transportation")),
    }
    constraints = {key.replace("_", " "): changes.pop(key) for key in list(changes) if key not in values}
    values["local_constraint"].update(constraints)
    return Query(**{**values, **changes})


_THREE_DAYS = [
    {
        "days": 1,
        "current_city": "from Dorn to Alba",
        "transportation": "Flight Number: F1, from Dorn to Alba, Departure Time: 08:00, Arrival Time: 10:00",
        "breakfast": "-",
        "attraction": "City Park, Alba;",
        "lunch": "Red Bowl, Alba",
        "dinner": "Old Mill, North Side, Alba",
        "accommodation": "Wide Loft, Alba",
    },
    {
        "days": 2,
        "current_city": "Alba",
        "transportation": "-",
        "breakfast": "Blue Spoon, Alba",
        "attraction": "Alba Tower, Alba;Old Gate, East Wing, Alba;",
        "lunch": "Twin Table, Alba",
        "dinner": "Corner Deli, Alba",
        "accommodation": "Wide Loft, Alba",
    },
    {
        "days": 3,
        "current_city": "from Alba to Dorn",
        "transportation": "Flight Number: F2, from Alba to Dorn, Departure Time: 18:00, Arrival Time: 20:00",
        "breakfast": "-",
        "attraction": "-",
        "lunch": "-",
        "dinner": "Home Kitchen, Dorn",
        "accommodation": "-",
    },
]
THREE_DAYS_COST = 2 * (120 + 130) + 2 * (20 + 30 + 10 + 12 + 15 + 9) + 2 * 100


_FIVE_DAYS = [
    {
        "days": 1,
        "current_city": "from Dorn to Bria",
        "transportation": "Flight Number: F3, from Dorn to Bria, Departure Time: 07:00, Arrival Time: 09:30",
        "breakfast": "-",
        "attraction": "Bria Castle, Bria;",
        "lunch": "-",
        "dinner": "Green Fork, Bria",
        "accommodation": "Bria Inn, Bria",
    },
    {
        "days": 2,
        "current_city": "Bria",
        "transportation": "-",
        "breakfast": "Bria Grill, Bria",
        "attraction": "Lake Walk, Bria;",
        "lunch": "Sun Plate, Bria",
        "dinner": "Twin Table, Bria",
        "accommodation": "Bria Inn, Bria",
    },
    {
        "days": 3,
        "current_city": "from Bria to Cray",
        "transportation": "Taxi, from Bria to Cray, duration: 1 hour 30 mins, distance: 120 km, cost: 120",
        "breakfast": "-",
        "attraction": "Cray Cave, Cray;",
        "lunch": "-",
        "dinner": "-",
        "accommodation": "Cray Inn, Cray",
    },
    {
        "days": 4,
        "current_city": "Cray",
        "transportation": "-",
        "breakfast": "Silver Dish, Cray",
        "attraction": "Rose Garden, Cray;Wind Mill, Cray;",
        "lunch": "Cray Oven, Cray",
        "dinner": "Copper Pan, Cray",
        "accommodation": "Cray Inn, Cray",
    },
    {
        "days": 5,
        "current_city": "from Cray to Dorn",
        "transportation": "Flight Number: F5, from Cray to Dorn, Departure Time: 17:00, Arrival Time: 19:00",
        "breakfast": "-",
        "attraction": "-",
        "lunch": "-",
        "dinner": "Home Kitchen, Dorn",
        "accommodation": "-",
    },
]
FIVE_DAYS_COST = 2 * (110 + 140) + 120 + 2 * (25 + 18 + 22 + 14 + 28 + 16 + 11 + 9) + 2 * 55 + 2 * 50


def three_days() -> list[dict]:
    """A plan for `query()` that passes under both profiles; a new copy each time."""
    return deepcopy(_THREE_DAYS)


def five_days() -> list[dict]:
    """A plan for `query(5)` that passes under both profiles; a new copy each time."""
    return deepcopy(_FIVE_DAYS)


# The plan of `three_days` as the agent writes it.
AGENT_PLAN = [
    {
        "days": 1,
        "city": {"from": "Dorn", "to": "Alba"},
        "transportation": {
            "mode": "flight",
            "from": "Dorn",
            "to": "Alba",
            "duration": "2 hours 0 minutes",
            "distance": "250.0",
            "cost": 240,
            "flight_number": "F1",
            "departure_time": "08:00",
            "arrival_time": "10:00",
        },
        "attraction": ["City Park"],
        "accommodation": "Wide Loft",
        "breakfast": "-",
        "lunch": "Red Bowl",
        "dinner": "Old Mill, North Side",
    },
    {
        "days": 2,
        "city": "Alba",
        "transportation": "-",
        "attraction": ["Alba Tower", "Old Gate, East Wing"],
        "accommodation": "Wide Loft",
        "breakfast": "Blue Spoon",
        "lunch": "Twin Table",
        "dinner": "Corner Deli",
    },
    {
        "days": 3,
        "city": {"from": "Alba", "to": "Dorn"},
        "transportation": {
            "mode": "flight",
            "from": "Alba",
            "to": "Dorn",
            "duration": "2 hours 0 minutes",
            "distance": "250.0",
            "cost": 260,
            "flight_number": "F2",
            "departure_time": "18:00",
            "arrival_time": "20:00",
        },
        "attraction": "-",
        "accommodation": "-",
        "breakfast": "-",
        "lunch": "-",
        "dinner": "Home Kitchen",
    },
]
