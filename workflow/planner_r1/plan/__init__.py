"""The plan that the agent writes: its schema, how it is read from the answer, and its official form."""

from planner_r1.plan.answer import ParsedAnswer, parse_answer
from planner_r1.plan.lenient import read_leniently
from planner_r1.plan.official import to_official
from planner_r1.plan.schema import PLAN_SCHEMA

__all__ = ["PLAN_SCHEMA", "ParsedAnswer", "parse_answer", "read_leniently", "to_official"]
