"""A database of a few rows in the official layout, for tests that spoil one thing in it."""

import csv
from pathlib import Path

FLIGHTS = "flights/clean_Flights_2022.csv"
ACCOMMODATIONS = "accommodations/clean_accommodations_2022.csv"
RESTAURANTS = "restaurants/clean_restaurant_2022.csv"
ATTRACTIONS = "attractions/attractions.csv"
DISTANCES = "googleDistanceMatrix/distance.csv"
CITIES = "background/citySet_with_states.txt"

HEADERS = {
    FLIGHTS: ["", "Flight Number", "Price", "DepTime", "ArrTime", "ActualElapsedTime", "FlightDate", "OriginCityName",
              "DestCityName", "Distance"],
    ACCOMMODATIONS: ["", "NAME", "room type", "price", "minimum nights", "review rate number", "house_rules",
                     "maximum occupancy", "city"],
    RESTAURANTS: ["", "Name", "City", "Cuisines", "Average Cost", "Aggregate Rating"],
    ATTRACTIONS: ["Name", "Latitude", "Longitude", "Address", "Phone", "Website", "City"],
    DISTANCES: ["origin", "destination", "cost", "duration", "distance"],
}  # fmt: skip


def flight(i, number, price, day, origin, destination):
    return [i, number, price, "07:00", "08:13", "1 hours 13 minutes", day, origin, destination, "253.0"]


ROWS = {
    FLIGHTS: [
        flight(0, "F9", 90, "2022-03-02", "Toledo", "Erie"),
        flight(1, "F2", 20, "2022-03-01", "Toledo", "Erie"),
        flight(2, "F1", 10, "2022-03-01", "Erie", "Toledo"),
        flight(3, "F2", 21, "2022-03-01", "Erie", "Toledo"),  # a number may come twice: its first row gives its price
        flight(4, "F0", 5, "2022-03-01", "Toledo", "Erie"),
        flight(5, "", 5, "2022-03-01", "Toledo", "Erie"),
        flight("", "F7", 5, "2022-03-01", "Toledo", "Erie"),
    ],
    ACCOMMODATIONS: [
        [0, "Loft, bright;\nand big", "Private room", "131.0", "1.0", "2.0", "No smoking", 2, "Toledo"],
        [1, "Loft", "Shared room", "50.0", "2.0", "3.0", "No pets", 1, "Toledo"],
        [2, "Without rules", "Shared room", "50.0", "2.0", "3.0", "", 1, "Toledo"],
        [3, "NA", "Shared room", "60.5", "2.0", "3.0", "None", 1, "Erie"],
    ],
    RESTAURANTS: [
        [0, "Café \"Ö\"", "Toledo", "French, Cafe", 30, "4.5"],
        [1, "Burger, Inc", "Erie", "American", 10, "3.0"],
        [2, "Café", "Toledo", "Cafe", 12, "0.0"],
    ],
    ATTRACTIONS: [["Pier", "42.1", "-80.0", "1 Pier Rd, Erie", "Unknown", "Unknown", "Erie"]],
    DISTANCES: [
        ["Toledo", "Erie", "", "3 hours 2 mins", "1,319.9 km"],
        ["Toledo", "Erie", "", "9 hours", "1 km"],
        ["Erie", "Toledo", "", "1 day 2 hours", "319 km"],
        ["Moab", "Erie", "", "", ""],
        ["Moab", "Erie", "", "5 hours", "20 km"],  # the first row of a pair counts, though it says nothing
        ["Moab", "Toledo", "", "20 mins", "19.9 km"],
    ],
}  # fmt: skip

STATES = "Toledo\tOhio\nErie\tPennsylvania\nMoab\tUtah\nDayton\tOhio\n"


def write_database(folder: Path) -> Path:
    for file, rows in ROWS.items():
        path = folder / file
        path.parent.mkdir(parents=True)
        with open(path, "w", encoding="utf-8", newline="") as f:
            csv.writer(f, lineterminator="\n").writerows([HEADERS[file], *rows])
    (folder / CITIES).parent.mkdir()
    (folder / CITIES).write_text(STATES, encoding="utf-8")
    return folder
