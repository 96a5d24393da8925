#!/usr/bin/env python3
"""Writes distances.json: how far two samples are apart, as SciPy has it.

    python3 -m venv v && v/bin/pip install scipy && v/bin/python testbed/vectors/distances.py > testbed/vectors/distances.json

Each row has two samples of whole numbers (`one`, `other`), some with values that occur more than once, the Kolmogorov-Smirnov
`distance`, and the `shift`, which is the Wasserstein distance.
"""

import json
import sys

import numpy
import scipy.stats


def row(one, other):
    one, other = ([int(value) for value in sample] for sample in (one, other))
    return {
        "one": one,
        "other": other,
        "distance": float(scipy.stats.ks_2samp(one, other).statistic),
        "shift": float(scipy.stats.wasserstein_distance(one, other)),
    }


def main():
    chance = numpy.random.default_rng(7)
    lognormal = lambda size, scale: chance.lognormal(17, 1, size).round() * scale
    few = lambda size: chance.integers(0, 6, size)
    rows = [
        row([1, 2, 3], [1, 2, 3]),
        row([1, 2, 3], [4, 5]),
        row([0, 0, 0, 1], [0, 1, 1]),
        row([5], [5, 6]),
        row(few(40), few(25)),
        row(few(7), few(300)),
        row(lognormal(100, 1), lognormal(80, 1.2)),
        row(lognormal(33, 1), lognormal(200, 2)),
        row(chance.exponential(4e6, 150).round(), chance.normal(4e6, 1e6, 90).round().clip(0)),
    ]
    json.dump(rows, sys.stdout, indent=0)
    print()


if __name__ == "__main__":
    main()
