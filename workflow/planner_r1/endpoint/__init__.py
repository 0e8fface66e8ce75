"""Models behind an OpenAI-compatible endpoint: a client, a log of what it costs, and evaluation by the agent loop.

`client` and `ledger` know nothing of travel planning: any suite that talks to an endpoint uses them.
"""
