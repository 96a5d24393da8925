"""Whether the dashboards are of the shape that Grafana reads: python3 .ci/dashboards/schema.py

Needs jsonschema. schemas/README.md says where the schemas are from. They know the parts of Grafana itself, and not what
its Prometheus plugin and its scenes add, so that much is taken out first; nothing else is forgiven.
"""

import copy
import json
import sys

sys.dont_write_bytecode = True
import jsonschema  # noqa: E402
from files import ROOT, dashboards, finish  # noqa: E402

FOLDER = ROOT / ".ci" / "dashboards" / "schemas"
# Of the Prometheus plugin: its AnnotationQueryEditor writes these.
ANNOTATION = ("expr", "useValueForTime", "step", "titleFormat", "textFormat", "tagKeys")
# The query as the variable's editor shows it: in every exported dashboard, in no type.
VARIABLE = ("definition",)
# Types of panels that are called otherwise in the package.
CALLED = {"state-timeline": "statetimeline"}


def schemas():
    made = {}
    for path in FOLDER.glob("*.json"):
        schema = json.loads(path.read_text())
        kind = jsonschema.validators.validator_for(schema)
        kind.check_schema(schema)
        made[path.stem] = kind(schema)
    return made


def without(parts, names):
    return [{key: value for key, value in part.items() if key not in names} for part in parts]


def parts(dashboard):
    """What is checked by itself: the schema's name, where it is, and what is there."""
    top = copy.deepcopy(dashboard)
    top["annotations"]["list"] = without(top["annotations"]["list"], ANNOTATION)
    top["templating"]["list"] = without(top["templating"]["list"], VARIABLE)
    yield "Dashboard", "top", top | {"panels": []}
    for panel in dashboard["panels"]:
        title = panel["title"]
        if panel["type"] == "row":
            yield "RowPanel", title, panel
            continue
        kind = CALLED.get(panel["type"], panel["type"])
        yield "Panel", title, panel
        yield f"{kind}.options", f"{title}.options", panel["options"]
        yield f"{kind}.fieldConfig", f"{title}.custom", panel["fieldConfig"]["defaults"]["custom"]


def deepest(error):
    """The error within an alternative that says most: the others fail for being of another kind."""
    while error.context:
        error = max(error.context, key=lambda inner: len(inner.absolute_path))
    return error


def main():
    known, found, count = schemas(), [], 0
    for name, dashboard in dashboards():
        for schema, where, part in parts(dashboard):
            count += 1
            if schema not in known:
                found.append(f"{name}: {where}: no schema {schema}")
                continue
            for error in map(deepest, known[schema].iter_errors(part)):
                path = "/".join(map(str, error.absolute_path))
                found.append(f"{name}: {where}/{path}: {error.message[:200]}")
    finish("schema", found, f"{count} parts against {len(known)} schemas")


if __name__ == "__main__":
    main()
