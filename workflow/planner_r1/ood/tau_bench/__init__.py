"""tau-bench's retail domain, offline: the shop, its tools, and the reward of an episode.

Everything here equals the benchmark's own code (sierra-research/tau-bench, `tau_bench/envs`, commit 59a200c6) in what
an agent sees and how it is scored, oddities included. No model and no network: who plays the agent and the user, and
how they are asked, is decided elsewhere.
"""
