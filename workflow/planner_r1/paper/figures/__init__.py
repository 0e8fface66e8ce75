"""The figures, one module each: `FIELDS` of the CSV, `rows` that computes it, `draw` that draws it and nothing else."""
