"""PlanPO's advantages, written from its equations one number at a time: slow, and nothing shared with the library."""

import math

EPSILON = 1e-6


def turn_spans(mask):
    """The turns of an episode: (first, one past the last) of each run of ones."""
    spans, start = [], None
    for place, bit in enumerate([*mask, 0]):
        if bit and start is None:
            start = place
        elif not bit and start is not None:
            spans.append((start, place))
            start = None
    return spans


def standardised(value, pool, by_std):
    if len(pool) < 2:
        return 0.0
    mean = sum(pool) / len(pool)
    if not by_std:
        return value - mean
    return (value - mean) / (math.sqrt(sum((v - mean) ** 2 for v in pool) / (len(pool) - 1)) + EPSILON)


def planpo(success, masks, queries, progress, *, reward=10.0, first=0.1, last=0.05, pool="index", by_std=True):
    """Advantages as lists, one a row; a row without a one is padding."""
    spans = [turn_spans(mask) for mask in masks]
    alpha = first * (1 - progress) + last * progress
    result = []
    for row, mask in enumerate(masks):
        out = [0.0] * len(mask)
        siblings = [i for i, q in enumerate(queries) if q == queries[row] and spans[i]]
        for index, (begin, end) in enumerate(spans[row]):
            earned = [reward * bool(success[i]) / len(spans[i]) for i in siblings]
            a_e = standardised(reward * bool(success[row]) / len(spans[row]), earned, by_std)
            turns = [
                reward * bool(success[i]) / (e - b)
                for i in siblings
                for number, (b, e) in enumerate(spans[i])
                if pool == "all" or number == index
            ]
            a_s = standardised(reward * bool(success[row]) / (end - begin), turns, by_std)
            for place in range(begin, end):
                out[place] = a_e + alpha * a_s
        result.append(out)
    return result
