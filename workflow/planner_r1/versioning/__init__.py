"""A study under DVC: its stages, the record of a run, and what a pull leaves to do."""
