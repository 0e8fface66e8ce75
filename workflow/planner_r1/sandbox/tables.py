"""The official files of TravelPlanner's sandbox: where they lie, which columns are facts, how many rows were published.

Source: OSU-NLP-Group/TravelPlanner; the published counts are those of the paper's table of the sandbox, less the
header line.
"""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass
from typing import Literal

CITIES_FILE = "background/citySet_with_states.txt"
PUBLISHED_CITIES = 312
DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")

Kind = Literal["text", "label", "number", "positive", "day"]
"""What a column holds: text, text that repeats much, a finite number, a number above zero, a day (YYYY-MM-DD)."""


@dataclass(frozen=True)
class Table:
    """One official CSV.

    Attributes:
        name: the table's name in the store and in reports.
        file: its path below the database folder.
        columns: the facts, in the order in which a tool shows them, each with its kind.
        key: the columns a look-up goes by; rows are stored sorted by them, in file order within one key.
        name_column: the column in which the evaluator looks for a name, where there is one.
        complete_rows: whether a row with an empty cell, in any column of the file, is dropped.
        published_read, published_kept: row counts of the official file, None where not published.
        tolerance: relative deviation allowed from the published counts.
    """

    name: str
    file: str
    columns: dict[str, Kind]
    key: tuple[str, ...]
    name_column: str | None = None
    complete_rows: bool = True
    published_read: int | None = None
    published_kept: int | None = None
    tolerance: float = 0.0


ACCOMMODATIONS = Table(
    name="accommodations",
    file="accommodations/clean_accommodations_2022.csv",
    columns={
        "NAME": "text",
        "price": "number",
        "room type": "label",
        "house_rules": "label",
        "minimum nights": "number",
        "maximum occupancy": "positive",
        "review rate number": "number",
        "city": "label",
    },
    key=("city",),
    name_column="NAME",
    published_read=5_047,
    published_kept=4_285,
)

RESTAURANTS = Table(
    name="restaurants",
    file="restaurants/clean_restaurant_2022.csv",
    columns={
        "Name": "text",
        "Average Cost": "number",
        "Cuisines": "label",
        "Aggregate Rating": "number",
        "City": "label",
    },
    key=("City",),
    name_column="Name",
    published_read=9_551,
    published_kept=9_551,
)

ATTRACTIONS = Table(
    name="attractions",
    file="attractions/attractions.csv",
    columns={
        "Name": "text",
        "Latitude": "number",
        "Longitude": "number",
        "Address": "text",
        "Phone": "text",
        "Website": "text",
        "City": "label",
    },
    key=("City",),
    name_column="Name",
    published_read=5_302,
    published_kept=5_302,
)

FLIGHTS = Table(
    name="flights",
    file="flights/clean_Flights_2022.csv",
    columns={
        "Flight Number": "text",
        "Price": "number",
        "DepTime": "label",
        "ArrTime": "label",
        "ActualElapsedTime": "label",
        "FlightDate": "day",
        "OriginCityName": "label",
        "DestCityName": "label",
        "Distance": "number",
    },
    key=("OriginCityName", "DestCityName", "FlightDate"),
    # How many rows survive without an empty cell was never published: 1% covers them and catches a cut file.
    published_read=3_827_360,
    published_kept=3_827_360,
    tolerance=0.01,
)

# `cost` is empty in every row of the official file, so rows are not dropped for empty cells; what counts as a valid
# leg is decided when the legs are made (builder.legs_from).
DISTANCES = Table(
    name="distances",
    file="googleDistanceMatrix/distance.csv",
    columns={"origin": "label", "destination": "label", "duration": "text", "distance": "text"},
    key=("origin", "destination"),
    complete_rows=False,
    published_read=17_602,
)

TABLES = (ACCOMMODATIONS, RESTAURANTS, ATTRACTIONS, FLIGHTS, DISTANCES)


def is_day(text: str) -> bool:
    """Whether the text is a real day, written YYYY-MM-DD."""
    if not DAY.fullmatch(text):
        return False
    try:
        datetime.date.fromisoformat(text)
    except ValueError:
        return False
    return True
