"""`python -m planner_r1`: the command `planner-r1`, where only Python is at hand."""

from planner_r1.cli import main

main()
