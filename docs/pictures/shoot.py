#!/usr/bin/env python3
"""Takes a picture of a run's report, with Chromium and Python's websockets.

    python3 docs/pictures/shoot.py runs/<run>/report.html -o report.png --from "Over time" --height 900
"""

import argparse
import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / ".ci" / "page"))
from browser import Browser

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("report", type=pathlib.Path)
parser.add_argument("-o", "--out", type=pathlib.Path, required=True)
parser.add_argument("--from", dest="heading", help="the heading to begin with; default: the top")
parser.add_argument("--width", type=int, default=1060)
parser.add_argument("--height", type=int, default=1000)
parser.add_argument("--sweep", action="store_true", help="it is the report of a sweep, which has no charts to wait for")
args = parser.parse_args()

with Browser(shutil.which("chromium") or "google-chrome") as browser:
    page = browser.open(args.report.resolve().as_uri(), args.width, 900, empty=args.sweep)
    place = f"[...document.querySelectorAll('h2')].find((h) => h.textContent === '{args.heading}').offsetTop - 8"
    page.picture(args.out, page.value(place) if args.heading else 0, args.height)
