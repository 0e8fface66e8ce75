"""One module a figure."""
