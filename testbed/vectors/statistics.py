#!/usr/bin/env python3
"""Writes statistics.json: what NumPy and SciPy make of some samples.

    python3 -m venv v && v/bin/pip install scipy && v/bin/python testbed/vectors/statistics.py > testbed/vectors/statistics.json

Each row has a sample (whole numbers: nanoseconds, or bytes), its percentiles as the least value that so many percent do
not exceed (`method="inverted_cdf"`, Hyndman and Fan's first), Jain's index, and the interval that holds the mean with 95 %
confidence by Student's t.
"""

import json
import sys

import numpy
import scipy.stats

PERCENTS = [1, 25, 50, 90, 99, 99.9]


def row(sample):
    values = sample.astype(float)
    interval = scipy.stats.t.interval(0.95, len(values) - 1, loc=values.mean(), scale=scipy.stats.sem(values))
    return {
        "sample": [int(value) for value in sample],
        "percentiles": {str(p): int(numpy.percentile(sample, p, method="inverted_cdf")) for p in PERCENTS},
        "jain": float(values.sum() ** 2 / (len(values) * (values**2).sum())),
        "mean": float(values.mean()),
        "low": float(interval[0]),
        "high": float(interval[1]),
    }


def main():
    chance = numpy.random.default_rng(7)
    samples = [chance.lognormal(17, 1, size).round().astype(numpy.int64) for size in (2, 3, 5, 10, 31, 300)]
    samples.append(chance.exponential(4e6, 100).round().astype(numpy.int64) + 1)
    samples.append(numpy.array([16384] * 7 + [1], numpy.int64))
    json.dump([row(sample) for sample in samples], sys.stdout, indent=0)
    print()


if __name__ == "__main__":
    main()
