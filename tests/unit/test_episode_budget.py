"""The paper's limits of an episode hold real replies and real trips: characters and tokens of a reply, tokens and turns
of an episode. Of the flights only a part of the table is at hand, chosen by route and day and whole for each."""

import random

import pytest

from planner_r1.agent.oracle import first_listed, plan_for
from planner_r1.agent.trajectories import demonstration
from planner_r1.queries import load_queries
from planner_r1.sandbox.tools import Toolbox
from planner_r1.training.config import compose_config

LONGEST_REPLY_TOKENS = 8192  # the paper's max_tool_response_length, which its text counts in tokens
TURN_TOKENS = 16  # what Qwen3's chat template adds to a message, at most


@pytest.fixture(scope="module")
def limits():
    return compose_config("gpu", {}, {})


def test_no_reply_of_the_real_tables_is_cut(real_store, shared_data, qwen, limits):
    toolbox = Toolbox(real_store)
    replies = [
        toolbox.call_text(f"search_{table}", {"city": city})
        for table in ("accommodations", "restaurants", "attractions")
        for city in real_store.places
    ]
    replies += [toolbox.call_text("get_cities", {"state": state}) for state in real_store.states]
    for origin, destination, date in flown(shared_data):
        ends = {"origin": origin, "destination": destination, "date": date}
        replies.append(toolbox.call_text("search_flights", ends))
    assert max(map(len, replies)) <= limits.actor_rollout_ref.rollout.multi_turn.max_tool_response_length
    by_length = sorted(replies, key=len)[-200:]
    assert max(len(qwen.encode(reply)) for reply in by_length) <= LONGEST_REPLY_TOKENS


def flown(shared_data) -> set[tuple[str, str, str]]:
    """Routes and days with flights."""
    import pandas as pd

    table = pd.read_csv(shared_data / "travelplanner" / "database" / "flights" / "clean_Flights_2022.csv")
    return set(table[["OriginCityName", "DestCityName", "FlightDate"]].itertuples(index=False, name=None))


def test_every_real_trip_fits_into_an_episode(real_store, shared_data, qwen, limits):
    folder = shared_data / "travelplanner" / "queries"
    turns = limits.actor_rollout_ref.rollout.multi_turn.max_assistant_turns
    for query in load_queries(folder / "train.jsonl") + load_queries(folder / "validation.jsonl"):
        trip = plan_for(query, real_store) or first_listed(query, real_store)
        messages = demonstration(query, trip, real_store, random.Random(0), slip_rate=0)
        assert sum(m["role"] == "assistant" for m in messages) <= turns
        tokens = sum(len(qwen.encode(m["content"])) + TURN_TOKENS for m in messages)
        assert tokens <= limits.data.max_response_length, query.idx
