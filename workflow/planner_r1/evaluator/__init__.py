"""TravelPlanner's evaluator, written anew: the official rules exactly, and a strict profile with their holes closed.

Where each rule lives: commonsense.py (eight), hard.py (five, and the cost), reading.py (how the texts are read),
profiles.py (the holes), strict.py (the checks that close them; docs/strict.md says what they cover). It imports no
trainer, so that any trainer can use it.
"""

from planner_r1.evaluator.judge import COMMONSENSE, HARD, evaluate
from planner_r1.evaluator.rates import RATES, rates
from planner_r1.evaluator.verdict import Verdict

__all__ = ["COMMONSENSE", "HARD", "RATES", "Verdict", "evaluate", "rates"]
