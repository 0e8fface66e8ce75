"""Multi-IF, the English part: each turn adds an instruction, and a reply must follow all of those so far.

He et al. 2024, facebookresearch/Multi-IF. `judge` gives the authors' strict and loose verdict on each instruction,
`accuracies` their rates.
"""
