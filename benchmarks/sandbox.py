"""Measure the sandbox at the size of the official database, beside a plain pandas scan of the same rows.

    python benchmarks/sandbox.py [number of flights, default 3800000]

A made-up flight table is laid beside the real small tables (those of a made-up world where the real ones are absent),
built into a store, and searched. Prints each figure with its bar. Needs about 4 GB of memory and 2 GB of disk.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from planner_r1.sandbox.builder import build
from planner_r1.sandbox.store import Store
from planner_r1.sandbox.tables import FLIGHTS
from planner_r1.sandbox.tools import Toolbox

DATABASE = Path(__file__).resolve().parents[2] / "shared/data/travelplanner/database"
ROUTES, DAYS = 5_600, 210  # about as many as the official table has
SEARCHES, SCANS, LOOKUPS, WORKERS = 10_000, 30, 5_000, 8


def main(flights: int) -> None:
    rng = np.random.default_rng(0)
    print(
        f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores: figures are worth little on a busy machine"
    )
    with tempfile.TemporaryDirectory() as folder:
        source, out = Path(folder) / "database", Path(folder) / "store"
        lay_out_small_tables(source)
        write_flights(source / FLIGHTS.file, flights, rng)
        started = time.perf_counter()
        print(build(source, out), "\n")
        bar("build", time.perf_counter() - started, 60, "s")

        store = Store.open(out)
        frame = read_with_pandas(source / FLIGHTS.file)
        queries = draw_queries(frame, SEARCHES, rng)
        measure_searches(store, queries, frame)
        del frame
        measure_lookups(store, queries)
        measure_workers(out, queries)


def bar(what: str, found: float, wanted: float, unit: str, at_least: bool = False) -> None:
    good = found >= wanted if at_least else found <= wanted
    words = "at least" if at_least else "at most"
    print(f"{what:58}{found:>11.3f} {unit:5} {words} {wanted:g} {unit:5} {'ok' if good else 'MISSED'}", flush=True)


def lay_out_small_tables(source: Path) -> None:
    """The real small tables, or those of a made-up world; the flights are written after."""
    if DATABASE.is_dir():
        print(f"small tables: {DATABASE}")
        shutil.copytree(DATABASE, source, copy_function=shutil.copyfile)
        for path in [source, *source.rglob("*")]:  # the originals may be read-only
            path.chmod(0o755 if path.is_dir() else 0o644)
    else:
        from planner_r1.sandbox.synthetic import WorldSpec, write_world

        print("small tables: a made-up world")
        write_world(
            WorldSpec(cities=280, states=40, restaurants=30, accommodations=14, attractions=17, flights=0), source
        )


def write_flights(path: Path, n: int, rng: np.random.Generator) -> None:
    """A flight table in the official format: busy and quiet routes, days in order, numbers in no order."""
    import pyarrow as pa
    import pyarrow.csv

    cities = np.array(
        [
            line.split("\t")[0]
            for line in (path.parents[1] / "background/citySet_with_states.txt")
            .read_text(encoding="utf-8")
            .splitlines()
        ]
    )
    pairs = rng.permutation(len(cities) * (len(cities) - 1))[:ROUTES]
    popularity = 1 / np.sqrt(np.arange(1, len(pairs) + 1))
    route = rng.choice(len(pairs), n, p=popularity / popularity.sum())
    origin, other = np.divmod(pairs[route], len(cities) - 1)
    destination = other + (other >= origin)  # a pair never joins a city with itself
    days = np.datetime_as_string(np.datetime64("2022-01-01") + np.arange(DAYS))
    clock = np.array([f"{minute // 60:02}:{minute % 60:02}" for minute in range(24 * 60)])
    minutes = 40 + rng.permutation(320)[route % 320]
    departure = rng.integers(0, 24 * 60, n)
    elapsed = np.array([f"{m // 60} hours {m % 60} minutes" for m in range(400)])

    def labels(values: np.ndarray, codes: np.ndarray) -> pa.DictionaryArray:
        return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), pa.array(values.tolist())).cast(
            "string"
        )

    numbers = pa.array(3_500_000 + rng.permutation(n)).cast("string")
    table = pa.table(
        {
            "": np.arange(n),
            "Flight Number": pa.compute.binary_join_element_wise("F", numbers, ""),
            "Price": rng.integers(30, 1200, n),
            "DepTime": labels(clock, departure),
            "ArrTime": labels(clock, (departure + minutes) % (24 * 60)),
            "ActualElapsedTime": labels(elapsed, minutes),
            "FlightDate": labels(days, np.sort(rng.integers(0, DAYS, n))),
            "OriginCityName": labels(cities, origin),
            "DestCityName": labels(cities, destination),
            "Distance": (minutes * 7.0).round(),
        }
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    pa.csv.write_csv(table, path, pa.csv.WriteOptions(quoting_style="needed"))


def read_with_pandas(csv: Path):
    """The flights as a data frame, the way the official tools hold them."""
    import pandas as pd

    return pd.read_csv(csv).dropna()[list(FLIGHTS.columns)]


def draw_queries(frame, n: int, rng: np.random.Generator) -> list[dict]:
    """Flight searches that find something, busy routes as often as they have flights."""
    keys = frame[list(FLIGHTS.key)].iloc[rng.integers(0, len(frame), n)]
    return [dict(zip(("origin", "destination", "date"), key, strict=True)) for key in keys.itertuples(index=False)]


def milliseconds(calls, clock=time.perf_counter) -> list[float]:
    times = []
    for call in calls:
        started = clock()
        call()
        times.append(1e3 * (clock() - started))
    return times


def measure_searches(store: Store, queries: list[dict], frame) -> None:
    toolbox = Toolbox(store)
    half = len(queries) // 2
    searches = [lambda q=q: toolbox.call_text("search_flights", q) for q in queries]
    times = milliseconds(searches[:half])
    # On a busy machine the slowest percent is the scheduler's: the processor's own time tells it apart.
    processor = milliseconds(searches[half:], time.thread_time)
    rows = statistics.mean(len(store.flights(**q)) for q in queries)
    median = statistics.median(times)
    print(f"{len(queries):,} flight searches, {rows:.1f} flights each on average")
    bar("flight search with its JSON, median", median, 0.2, "ms")
    bar("flight search with its JSON, 99th percentile", float(np.percentile(times, 99)), 2, "ms")
    print(f"the same in processor time: {float(np.percentile(processor, 99)):.3f} ms")

    def scan(origin: str, destination: str, date: str):
        hits = frame[frame["OriginCityName"] == origin]
        hits = hits[hits["DestCityName"] == destination]
        return hits[hits["FlightDate"] == date]

    def scan_masks(origin: str, destination: str, date: str):
        return frame[
            (frame["OriginCityName"] == origin) & (frame["DestCityName"] == destination) & (frame["FlightDate"] == date)
        ]

    for q in queries[:SCANS]:
        assert json.loads(toolbox.call_text("search_flights", q))["results"] == scan(**q).to_dict("records")
    for name, way in (("one mask after another", scan), ("three masks", scan_masks)):
        scans = statistics.median(milliseconds(lambda q=q, way=way: way(**q) for q in queries[:SCANS]))
        print(f"pandas scan of the same {len(frame):,} rows, {name}: {scans:.1f} ms")
        bar(f"search against the scan with {name}", scans / median, 500, "times", at_least=True)


def measure_lookups(store: Store, queries: list[dict]) -> None:
    """The look-ups of the evaluator, in microseconds; no bar of their own."""
    flights = [store.flights(**q)[0] for q in queries[:LOOKUPS]]
    cities = [city for city in store.cities if store.restaurants(city)]
    rows = [store.restaurants(cities[i % len(cities)])[-1] for i in range(LOOKUPS)]
    legs = [(q["origin"], q["destination"]) for q in queries[:LOOKUPS]]
    lookups = {
        "find (a restaurant by name)": (lambda r=r: store.find("restaurants", r["Name"], r["City"]) for r in rows),
        "flight_exists": (
            lambda f=f: store.flight_exists(f["Flight Number"], f["OriginCityName"], f["DestCityName"]) for f in flights
        ),
        "flight_price": (lambda f=f: store.flight_price(f["Flight Number"]) for f in flights),
        "leg": (lambda leg=leg: store.leg(*leg) for leg in legs),
    }
    for name, calls in lookups.items():
        print(f"{name:58}{1e3 * statistics.median(milliseconds(calls)):>11.1f} microseconds, median")


def measure_workers(out: Path, queries: list[dict]) -> None:
    """Memory of processes that each opened the store and searched; pages they share are counted once (PSS)."""
    context = multiprocessing.get_context("spawn")
    alone, alone_opened = resident(context, out, queries, 1)
    together, opened = resident(context, out, queries, WORKERS)
    bar("opening the store in a fresh process", alone_opened[0], 0.2, "s")
    print(f"opening it in {WORKERS} fresh processes at once: up to {max(opened):.3f} s")
    print(f"memory: one worker {alone:.0f} MB, {WORKERS} workers {together:.0f} MB")
    bar(f"{WORKERS} workers above one", together - alone, 600, "MB")


def resident(context, out: Path, queries: list[dict], n: int) -> tuple[float, list[float]]:
    """Megabytes of n workers together, and the seconds each took to open the store."""
    ends, processes = [], []
    for i in range(n):
        here, there = context.Pipe()
        process = context.Process(target=work, args=(out, queries[i::n], there))
        process.start()
        ends.append(here)
        processes.append(process)
    opened = [end.recv() for end in ends]
    megabytes = sum(pss(process.pid) for process in processes) / 1e6
    for end, process in zip(ends, processes, strict=True):
        end.send("done")
        process.join()
    return megabytes, opened


def work(out: Path, queries: list[dict], end) -> None:
    started = time.perf_counter()
    store = Store.open(out)
    opened = time.perf_counter() - started
    toolbox = Toolbox(store)
    for query in queries:
        toolbox.call_text("search_flights", query)
        store.flight_price(store.flights(**query)[0]["Flight Number"])
    for city in store.cities:
        for tool in ("search_restaurants", "search_accommodations", "search_attractions"):
            toolbox.call_text(tool, {"city": city})
    end.send(opened)
    end.recv()


def pss(pid: int) -> int:
    """Bytes of a process, each shared page divided by the number of processes that share it."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return 1024 * int(line.split()[1])
    raise RuntimeError("this system does not say how much memory a process has")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3_800_000)
