"""verl on GPUs: `VERL_USE_EXTERNAL_MODULES=planner_r1.training.gpu` has verl import this module in each of its
processes, before any other module of verl has taken a copy of what is replaced here."""

from planner_r1.training.process_group import wait_for_slow_ranks

wait_for_slow_ranks()
