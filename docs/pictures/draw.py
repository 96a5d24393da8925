#!/usr/bin/env python3
"""Draws one series of a run, all arms in one picture, as SVG. Python's standard library only.

    python3 docs/pictures/draw.py runs/<run> controller.window -o window.svg

A series holds its value until the next one, so lines are steps. Phases are bands. Arms drawn
first are drawn wider: where two arms have the same value, both can be seen.
"""

import argparse
import csv
import json
import math
from html import escape
from pathlib import Path

WIDTH, HEIGHT = 860, 400
LEFT, RIGHT, TOP, BOTTOM = 62, 18, 80, 48
# Okabe and Ito's colours: distinct for most colour-blind eyes too.
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a6d00", "#56b4e9"]
BANDS = ["#ffffff", "#e6ebf2"]
INK, FAINT, PAPER = "#222222", "#cfd4da", "#ffffff"
FONT = 'font-family="sans-serif"'


def read_series(run, name, wanted):
    """The points of a series as {arm: [(seconds, value)]}, arms in the order of the file."""
    arms = {}
    with open(run / "series.csv", newline="") as rows:
        for row in csv.DictReader(rows):
            if row["series"] == name and (not wanted or row["arm"] in wanted):
                points = arms.setdefault(row["arm"], [])
                points.append((int(row["t_ns"]) / 1e9, float(row["value"])))
    if not arms:
        raise SystemExit(f"{run}: no series {name} of such arms; see `windtunnel list series`")
    return arms


def read_phases(run):
    """The phases as [(name, begin, end)] in seconds, and the end of the run."""
    with open(run / "events.jsonl") as lines:
        events = [json.loads(line) for line in lines]
    end = events[-1]["t_ns"] / 1e9
    begins = [(e["phase"], e["t_ns"] / 1e9) for e in events if e["event"] == "phase"]
    ends = [begin for _, begin in begins[1:]] + [end]
    return [(name, begin, until) for (name, begin), until in zip(begins, ends)], end


def round_step(span, at_most):
    """The least of 1, 2 and 5 times a power of ten that divides `span` into few enough parts."""
    power = 10 ** math.floor(math.log10(span / at_most))
    return next(power * m for m in (1, 2, 5, 10) if span / (power * m) <= at_most)


class Axis:
    """Places values between two edges of the picture, evenly or by their logarithm."""

    def __init__(self, low, high, from_px, to_px, log=False):
        self.low, self.high, self.from_px, self.to_px = low, high, from_px, to_px
        self.log = log

    def place(self, value):
        value = min(max(value, self.low), self.high)
        scale = math.log2 if self.log else float
        share = (scale(value) - scale(self.low)) / (scale(self.high) - scale(self.low))
        return self.from_px + share * (self.to_px - self.from_px)

    def ticks(self, at_most):
        if self.log:
            powers = range(math.ceil(math.log2(self.low)), math.floor(math.log2(self.high)) + 1)
            return [2.0**power for power in powers]
        step = round_step(self.high - self.low, at_most)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [index * step for index in range(first, last + 1)]


def axes(options, arms, end):
    until = min(options.until or end, end)
    seen = [v for points in arms.values() for t, v in points if options.begin <= t <= until]
    x = Axis(options.begin, until, LEFT, WIDTH - RIGHT)
    # A little room, so that a line at either end does not lie on the frame.
    high = options.max if options.max is not None else max(seen) * (1.2 if options.log else 1.08)
    low = options.min if options.min is not None else (min(seen) / 1.2 if options.log else 0.0)
    return x, Axis(low, high, HEIGHT - BOTTOM, TOP, options.log)


def text(x, y, content, anchor="middle", size=12, colour=INK, more=""):
    content = escape(content)
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" '
        f'fill="{colour}" {FONT}{more}>{content}</text>'
    )


def line(x1, y1, x2, y2, colour=FAINT, width=1.0):
    ends = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {ends} stroke="{colour}" stroke-width="{width}"/>'


def bands(phases, x):
    """Phases as shaded bands, their names above where there is room."""
    for index, (name, begin, end) in enumerate(phases):
        left, right = x.place(begin), x.place(end)
        if right <= left:
            continue
        size = f'width="{right - left:.1f}" height="{HEIGHT - TOP - BOTTOM}"'
        yield f'<rect x="{left:.1f}" y="{TOP}" {size} fill="{BANDS[index % 2]}"/>'
        row = TOP - 7 if right - left > 7 * len(name) else TOP - 20
        yield line(left, row - 9 if row < TOP - 7 else TOP - 4, left, TOP, INK)
        yield text(left + 4, row, name, "start", 11)


def grid(x, y, label):
    for value in y.ticks(8):
        at = y.place(value)
        yield line(LEFT, at, WIDTH - RIGHT, at)
        yield text(LEFT - 8, at + 4, f"{value:g}", "end")
    for value in x.ticks(12):
        at = x.place(value)
        yield line(at, HEIGHT - BOTTOM, at, HEIGHT - BOTTOM + 5, INK)
        yield text(at, HEIGHT - BOTTOM + 19, f"{value:g}")
    yield line(LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT, HEIGHT - BOTTOM, INK)
    yield line(LEFT, TOP, LEFT, HEIGHT - BOTTOM, INK)
    yield text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, "time, s")
    middle = (TOP + HEIGHT - BOTTOM) / 2
    yield text(16, middle, label, more=f' transform="rotate(-90 16 {middle:.1f})"')


def steps(points, x, y):
    """A path that goes on to the right at each value and then up or down to the next."""
    before = [(x.low, value) for at, value in points if at <= x.low][-1:]
    within = [(at, value) for at, value in points if x.low < at <= x.high]
    path, height = "", None
    for at, value in before + within:
        right, new_height = f"{x.place(at):.1f}", f"{y.place(value):.1f}"
        if not path:
            path = f"M{right} {new_height}"
        elif new_height != height:
            path += f"H{right}V{new_height}"
        height = new_height
    return f"{path}H{x.place(x.high):.1f}"


def lines(arms, x, y):
    for index, (arm, points) in enumerate(arms.items()):
        colour, width = COLOURS[index % len(COLOURS)], 2 + 1.5 * (len(arms) - 1 - index)
        style = f'fill="none" stroke="{colour}" stroke-width="{width:.1f}"'
        yield f'<path d="{steps(points, x, y)}" {style} stroke-linejoin="round"/>'


def legend(arms):
    at = LEFT
    for index, arm in enumerate(arms):
        yield line(at, 38, at + 22, 38, COLOURS[index % len(COLOURS)], 4)
        yield text(at + 28, 42, arm, "start")
        at += 52 + 7 * len(arm)


def picture(options, arms, phases, end):
    x, y = axes(options, arms, end)
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">'
    yield f"<title>{escape(options.title)}</title>"
    yield f'<rect width="{WIDTH}" height="{HEIGHT}" fill="{PAPER}"/>'
    yield text(LEFT, 20, options.title, "start", 14, more=' font-weight="bold"')
    yield from bands(phases, x)
    yield from grid(x, y, options.label or options.series)
    yield from lines(arms, x, y)
    yield from legend(arms)
    yield "</svg>"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path, help="a run directory")
    parser.add_argument("series", help="such as controller.window")
    parser.add_argument("-o", "--out", type=Path, required=True, help="the SVG file to write")
    parser.add_argument("--title", default="", help="one line above the picture")
    parser.add_argument("--label", help="what the y axis shows, with its unit")
    parser.add_argument("--arms", nargs="+", help="these arms only")
    parser.add_argument("--begin", type=float, default=0.0, help="seconds at the left edge")
    parser.add_argument("--until", type=float, help="seconds at the right edge")
    parser.add_argument("--min", type=float, help="the y axis begins here")
    parser.add_argument("--max", type=float, help="the y axis ends here; more is cut off")
    parser.add_argument("--log", action="store_true", help="y by powers of two")
    options = parser.parse_args()
    arms = read_series(options.run, options.series, options.arms)
    phases, end = read_phases(options.run)
    options.out.write_text("\n".join(picture(options, arms, phases, end)) + "\n")


if __name__ == "__main__":
    main()
