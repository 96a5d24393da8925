#!/usr/bin/env python3
"""Draws what a run recorded, as SVG. Python's standard library only.

    python3 docs/pictures/draw.py runs/<run> controller.window -o window.svg
    python3 docs/pictures/draw.py runs/<run> granted -o granted.svg --arms late fifo-late-1ms
    python3 docs/pictures/draw.py runs/<run> waits -o waits.svg

A series is drawn with all arms in one picture. It holds its value until the next one, so lines are
steps. Phases are bands. Arms drawn first are drawn wider: where two arms have the same value, both
can be seen.

`granted` and `waits` come from waits.csv, which has every ask with `record: { waits: all }`.
`granted` has a panel for each arm, and in it a line for each waiter: the bytes granted so far.
`waits` has a line for each arm: the share of waits that were longer. Like the series limiter.wait
it counts those that were given up or cut off for as long as they lasted.
"""

import argparse
import csv
import json
import math
from collections import Counter
from html import escape
from pathlib import Path

WIDTH, HEIGHT = 860, 400
LEFT, RIGHT, TOP, BOTTOM = 62, 18, 80, 48
# Okabe and Ito's colours: distinct for most colour-blind eyes too.
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a6d00", "#56b4e9"]
BANDS = ["#ffffff", "#e6ebf2"]
INK, FAINT, PAPER = "#222222", "#cfd4da", "#ffffff"
FONT = 'font-family="sans-serif"'
# Between two panels, in pixels.
GAP = 22
# Lines of waiters go through so many points at most.
POINTS = 40


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


def read_waits(run, wanted):
    """The rows of waits.csv as {arm: [(asked, waited, bytes granted, waiter)]}, in seconds."""
    arms = {arm: [] for arm in wanted or []}
    with open(run / "waits.csv", newline="") as rows:
        for row in csv.DictReader(rows):
            if not wanted or row["arm"] in wanted:
                granted = int(row["cost"]) if row["outcome"] == "granted" else 0
                asked, waited = int(row["t_ns"]) / 1e9, int(row["wait_ns"]) / 1e9
                arms.setdefault(row["arm"], []).append((asked, waited, granted, row["waiter"]))
    missing = [arm for arm, waits in arms.items() if not waits]
    if missing or not arms:
        raise SystemExit(f"{run}: no waits of {', '.join(missing) or 'any arm'} in waits.csv")
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
    """Places values between two edges of the picture, evenly or, with a base, by logarithm."""

    def __init__(self, low, high, from_px, to_px, base=None):
        self.low, self.high, self.from_px, self.to_px = low, high, from_px, to_px
        self.base = base

    def scale(self, value):
        return math.log(value, self.base) if self.base else value

    def place(self, value):
        value = min(max(value, self.low), self.high)
        low, high = self.scale(self.low), self.scale(self.high)
        share = (self.scale(value) - low) / (high - low)
        return self.from_px + share * (self.to_px - self.from_px)

    def ticks(self, at_most):
        if self.base:
            low, high = self.scale(self.low) - 1e-9, self.scale(self.high) + 1e-9
            powers = [self.base**p for p in range(math.floor(low), math.floor(high) + 1)]
            parts = (1, 2, 5) if self.base == 10 and 3 * len(powers) <= at_most else (1,)
            ticks = [float(power * part) for power in powers for part in parts]
            return [tick for tick in ticks if low <= self.scale(tick) <= high]
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
    return x, Axis(low, high, HEIGHT - BOTTOM, TOP, 2 if options.log else None)


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


def in_words(share):
    """1e-05 as `1 in 100,000`."""
    return "all" if share == 1 else f"1 in {1 / share:,.0f}"


def in_numbers(value):
    return f"{value:g}"


def grid(x, y, at_most=12, beside=in_numbers):
    """Lines between the edges of both axes, and the numbers below and, unless None, beside them."""
    bottom = y.from_px
    for value in y.ticks(8):
        at = y.place(value)
        yield line(x.from_px, at, x.to_px, at)
        if beside:
            yield text(x.from_px - 8, at + 4, beside(value), "end")
    for value in x.ticks(at_most):
        at = x.place(value)
        yield line(at, bottom, at, bottom + 5, INK)
        yield text(at, bottom + 19, in_numbers(value))
    yield line(x.from_px, bottom, x.to_px, bottom, INK)
    yield line(x.from_px, y.to_px, x.from_px, bottom, INK)


def names_of_axes(label, along):
    yield text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, along)
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


def lines(arms, x, y, path=steps):
    for index, (arm, points) in enumerate(arms.items()):
        colour, width = COLOURS[index % len(COLOURS)], 2 + 1.5 * (len(arms) - 1 - index)
        style = f'fill="none" stroke="{colour}" stroke-width="{width:.1f}"'
        yield f'<path d="{path(points, x, y)}" {style} stroke-linejoin="round"/>'


def legend(arms):
    at = LEFT
    for index, arm in enumerate(arms):
        yield line(at, 38, at + 22, 38, COLOURS[index % len(COLOURS)], 4)
        yield text(at + 28, 42, arm, "start")
        at += 52 + 7 * len(arm)


def frame(title, content):
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">'
    yield f"<title>{escape(title)}</title>"
    yield f'<rect width="{WIDTH}" height="{HEIGHT}" fill="{PAPER}"/>'
    yield text(LEFT, 20, title, "start", 14, more=' font-weight="bold"')
    yield from content
    yield "</svg>"


def series_picture(options):
    arms = read_series(options.run, options.what, options.arms)
    phases, end = read_phases(options.run)
    x, y = axes(options, arms, end)
    yield from bands(phases, x)
    yield from grid(x, y)
    yield from names_of_axes(options.label or options.what, "time, s")
    yield from lines(arms, x, y)
    yield from legend(arms)


def granted_picture(options):
    arms = read_waits(options.run, options.arms)
    until = options.until or read_phases(options.run)[1]
    arms = {arm: granted_so_far(waits, options.begin, until) for arm, waits in arms.items()}
    most = max(sums[-1] for waiters in arms.values() for sums in waiters.values())
    y = Axis(0.0, options.max or 1.08 * most or 1.0, HEIGHT - BOTTOM, TOP)
    wide = (WIDTH - LEFT - RIGHT - GAP * (len(arms) - 1)) / len(arms)
    for index, (arm, waiters) in enumerate(arms.items()):
        left = LEFT + index * (wide + GAP)
        x = Axis(options.begin, until, left, left + wide)
        yield from grid(x, y, 5, None if index else in_numbers)
        yield from panel(arm, waiters, x, y)
    yield from names_of_axes(options.label or "granted so far, MiB", "time, s")


def granted_so_far(waits, begin, until):
    """{waiter: MiB granted by each of POINTS instants}, evenly spaced."""
    step = (until - begin) / POINTS
    waiters = {waiter: [0.0] * (POINTS + 1) for _, _, _, waiter in waits}
    for asked, waited, granted, waiter in waits:
        index = max(0, math.ceil((asked + waited - begin) / step))
        if index <= POINTS:
            waiters[waiter][index] += granted / 2**20
    for sums in waiters.values():
        for index in range(POINTS):
            sums[index + 1] += sums[index]
    return waiters


def panel(arm, waiters, x, y):
    """An arm's waiters; those that got nothing are drawn over the others."""
    nothing = [waiter for waiter, sums in waiters.items() if sums[-1] == 0]
    yield text(x.from_px, TOP - 22, arm, "start", more=' font-weight="bold"')
    got_nothing = f"{len(nothing)} of {len(waiters)} waiters got nothing"
    what = got_nothing if nothing else f"all {len(waiters)} waiters got something"
    yield text(x.from_px, TOP - 7, what, "start", 11, COLOURS[1] if nothing else INK)
    for waiter, sums in waiters.items():
        if waiter not in nothing:
            style = f'fill="none" stroke="{COLOURS[0]}" stroke-width="1" stroke-opacity="0.55"'
            yield f'<path d="{polyline(sums, x, y)}" {style}/>'
    if nothing:
        yield line(x.from_px, y.from_px - 1.5, x.to_px, y.from_px - 1.5, COLOURS[1], 3)
        who = nothing[0] if len(nothing) == 1 else f"{len(nothing)} waiters"
        yield text(x.to_px - 4, y.from_px - 8, f"{who}: 0 bytes", "end", 11, COLOURS[1])


def polyline(sums, x, y):
    """A path through evenly spaced points, written as differences to be short."""
    step = (x.high - x.low) / POINTS
    places = [(round(x.place(x.low + i * step)), round(y.place(v))) for i, v in enumerate(sums)]
    path = f"M{places[0][0]} {places[0][1]}l"
    pairs = zip(places, places[1:])
    return path + " ".join(f"{right - left} {low - high}" for (left, high), (right, low) in pairs)


def waits_picture(options):
    arms = read_waits(options.run, options.arms)
    lengths = {arm: Counter(waited for _, waited, _, _ in waits) for arm, waits in arms.items()}
    longest = options.until or 1.08 * max(max(counts) for counts in lengths.values())
    shortest = min(min(filter(None, counts), default=longest / 10) for counts in lengths.values())
    begin = options.begin or (shortest if options.log_x else 0.0)
    x = Axis(begin, longest, LEFT + 54, WIDTH - RIGHT, 10 if options.log_x else None)
    # Half of one wait, so that the longest of all can be seen to be one.
    rarest = options.min or 0.5 / max(counts.total() for counts in lengths.values())
    y = Axis(rarest, options.max or 1.0, HEIGHT - BOTTOM, TOP - 16, 10)
    yield from grid(x, y, 12, in_words)
    yield from names_of_axes(options.label or "share of waits that are longer", "wait, s")
    yield from lines({arm: longer(counts, x) for arm, counts in lengths.items()}, x, y, stairs)
    if options.geometric:
        yield from geometric(*options.geometric, x, y)
    yield from legend([f"{arm}, up to {max(counts):.3g} s" for arm, counts in lengths.items()])


def longer(counts, x):
    """Points (wait, share of waits that are longer), one a pixel at most."""
    left, total, points = counts.total(), counts.total(), {}
    for length in sorted(counts):
        left -= counts[length]
        points[round(x.place(length))] = (length, left / total)
    return list(points.values())


def stairs(points, x, y):
    """A path along the top that goes down at each point, and ends with the last."""
    places = [(x.place(at), y.place(share)) for at, share in points]
    down = "".join(f"H{right:.1f}V{height:.1f}" for right, height in places)
    return f"M{x.from_px:.1f} {y.to_px:.1f}{down}"


def geometric(waiters, step, x, y):
    """A dashed line: who has one chance in `waiters` with each grant, `step` seconds apart."""
    end = min(x.high, step * math.log(y.low) / math.log(1 - 1 / waiters))
    points = [x.low + (end - x.low) * index / 100 for index in range(101)]
    shares = [(1 - 1 / waiters) ** (at / step) for at in points]
    places = [f"{x.place(at):.1f} {y.place(share):.1f}" for at, share in zip(points, shares)]
    path = "L".join(places if x.base else [places[0], places[-1]])
    style = f'fill="none" stroke="{INK}" stroke-width="1.5" stroke-dasharray="5 4"'
    yield f'<path d="M{path}" {style}/>'
    law = f"dashed: (1 - 1/{waiters:g}) ^ (grants to others)"
    yield text(WIDTH - RIGHT - 8, TOP + 6, law, "end")


PICTURES = {"granted": granted_picture, "waits": waits_picture}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path, help="a run directory")
    parser.add_argument("what", help="a series, such as controller.window; or granted, or waits")
    parser.add_argument("-o", "--out", type=Path, required=True, help="the SVG file to write")
    parser.add_argument("--title", default="", help="one line above the picture")
    parser.add_argument("--label", help="what the y axis shows, with its unit")
    parser.add_argument("--arms", nargs="+", help="these arms only")
    parser.add_argument("--begin", type=float, default=0.0, help="seconds at the left edge")
    parser.add_argument("--until", type=float, help="seconds at the right edge")
    parser.add_argument("--min", type=float, help="the y axis begins here")
    parser.add_argument("--max", type=float, help="the y axis ends here; more is cut off")
    parser.add_argument("--log", action="store_true", help="y by powers of two")
    parser.add_argument("--log-x", action="store_true", help="waits: x by powers of ten")
    parser.add_argument("--geometric", nargs=2, type=float, metavar=("WAITERS", "SECONDS"),
                        help="waits: add the law of a fair draw at each grant, SECONDS apart")
    options = parser.parse_args()
    content = PICTURES.get(options.what, series_picture)(options)
    options.out.write_text("\n".join(frame(options.title, content)) + "\n")


if __name__ == "__main__":
    main()
