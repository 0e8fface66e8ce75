"""Planner-R1, reproduced: a TravelPlanner environment, verl plug-ins and the statistics of the paper."""

__version__ = "0.1.0"
