"""The tables, one module each: `FIELDS` of the CSV, `rows` that computes it, `markdown` and `latex` that render it."""
