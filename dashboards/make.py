#!/usr/bin/env python3
"""Writes dashboards/grafana/*.json from boards.py.

    python3 dashboards/make.py            writes them
    python3 dashboards/make.py --check    says which differ from what would be written, and fails
"""

import json
import pathlib
import sys

sys.dont_write_bytecode = True  # none beside the sources
import boards  # noqa: E402

FOLDER = pathlib.Path(__file__).resolve().parent / "grafana"


def main():
    wanted = {f"{name}.json": json.dumps(board, indent=2) + "\n" for name, board in boards.ALL.items()}
    found = {path.name: path.read_text() for path in FOLDER.glob("*.json")}
    if sys.argv[1:] == ["--check"]:
        drifted = sorted(name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name))
        for name in drifted:
            print(f"{name} is not what dashboards/make.py writes", file=sys.stderr)
        sys.exit(bool(drifted))
    FOLDER.mkdir(exist_ok=True)
    for name, text in wanted.items():
        (FOLDER / name).write_text(text)


if __name__ == "__main__":
    main()
