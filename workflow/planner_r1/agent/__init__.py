"""The agent's side of an episode: its prompt, its chat format, and an oracle that knows how to plan."""
