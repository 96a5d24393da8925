"""The dashboards as they are in the repository."""

import json
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "dashboards" / "grafana"


def dashboards():
    """Each with its name, in order."""
    found = sorted(FOLDER.glob("*.json"))
    if not found:
        raise SystemExit(f"no dashboard in {FOLDER}")
    return [(path.stem, json.loads(path.read_text())) for path in found]


def panels(dashboard):
    """All that show something; those of a folded row, too."""
    for panel in dashboard["panels"]:
        if panel["type"] == "row":
            yield from panel.get("panels", [])
        else:
            yield panel


def expressions(dashboard):
    """What Grafana would send to Prometheus, with words for where it stands."""
    for mark in dashboard["annotations"]["list"]:
        yield f"annotation {mark['name']}", mark["expr"]
    for panel in panels(dashboard):
        for target in panel["targets"]:
            yield f"panel {panel['title']} [{target['refId']}]", target["expr"]


def finish(what, faults, looked_at):
    """Says what was found; ends with 1 if that is anything."""
    for fault in faults:
        print(f"FAIL {fault}")
    print(f"{what}: {looked_at}, {len(faults)} faults")
    raise SystemExit(bool(faults))
