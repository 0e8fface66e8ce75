"""The tables and figures of the paper, from a study's own numbers, beside the paper's."""
