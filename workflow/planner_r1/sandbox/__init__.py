"""The travel world an agent acts in: a read-only store, its builder, and the seven tools over it."""
