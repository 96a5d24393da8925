"""Style of the dashboards: python3 .ci/dashboards/lint.py

These are the rules of Grafana's dashboard-linter (which needs modules under the AGPL, so it is not run) with these
changes. A run is not told apart by job and instance but by arm, so its rules template-job and template-instance are
template-arm here, and target-job and target-instance are in testbed/tests/dashboards.rs, which knows the labels of each
metric. target-promql is there, too. The two rules about Loki do not apply. What is below them is our own.
"""

import re
import sys

sys.dont_write_bytecode = True
from files import dashboards, expressions, finish, panels  # noqa: E402

UNITS = {"none", "short", "percentunit", "s", "bytes", "Bps", "ops", "reqps", "dateTimeAsIso"}
# Panels that show a counter as it is. A run counts from 0, so a total is what the run has done; it is no less exact
# after a restart, which begins a run of its own. A server counts from its start, and so does a Toxiproxy.
TOTALS = {
    "Fairness",
    "Mean wait of the twenty worst",
    "Tokens unaccounted for",
    "Downloads done",
    "Permits lost",
    "Bytes lost to aborts",
    "Switches",
    "Bytes through Toxiproxy",
    "Runs of the server",
    "Requests done",
    "Bytes granted",
    "Books of requests",
    "Abandoned and rejected",
}
COUNTER = re.compile(r"(\w+\()?\s*\b(\w+_total)\b(\{[^}]*\})?(\[[^\]]*\])?")
LABEL_VALUES = re.compile(r"label_values\(\w+(\{.*\})?, \w+\)")


def variables(dashboard):
    return {variable["name"]: variable for variable in dashboard["templating"]["list"]}


def template_datasource(dashboard):
    source = variables(dashboard).get("datasource", {})
    if (source.get("type"), source.get("query")) != ("datasource", "prometheus"):
        yield "no variable `datasource` for a Prometheus"
    elif source["current"]["value"] != "prometheus":
        yield "the data source is not the provisioned one"


def template_arm(dashboard):
    arm = variables(dashboard).get("arm", {})
    if not (arm.get("multi") and arm.get("includeAll") and arm.get("allValue") == ".+"):
        yield "no variable `arm` of which several or all can be chosen"


def queries(dashboard):
    return [variable for variable in dashboard["templating"]["list"] if variable["type"] == "query"]


def template_label_promql(dashboard):
    for variable in queries(dashboard):
        if not LABEL_VALUES.fullmatch(variable["query"]["query"]):
            yield f"variable {variable['name']} is no label_values(metric, label)"
        if variable["definition"] != variable["query"]["query"]:
            yield f"variable {variable['name']} is shown as another query than it is"


def template_on_time_change_reload(dashboard):
    for variable in queries(dashboard):
        if variable["refresh"] != 2:
            yield f"variable {variable['name']} does not follow the time range"


def panel_datasource(dashboard):
    for panel in panels(dashboard):
        for part in (panel, *panel["targets"]):
            if part.get("datasource") != {"type": "prometheus", "uid": "${datasource}"}:
                yield f"{panel['title']}: not from ${{datasource}}"
    for mark in dashboard["annotations"]["list"]:
        if mark["datasource"]["uid"] != "${datasource}":
            yield f"annotation {mark['name']}: not from ${{datasource}}"


def panel_title_description(dashboard):
    for panel in panels(dashboard):
        words = panel.get("description", "")
        missing = [word for word in ("High", "Low", "Knob") if word not in words]
        if not panel.get("title") or missing:
            yield f"{panel.get('title')}: the description lacks {', '.join(missing)}"


def panel_units(dashboard):
    for panel in panels(dashboard):
        if panel["fieldConfig"]["defaults"].get("unit") not in UNITS:
            yield f"{panel['title']}: no unit that is known here"


def panel_no_targets(dashboard):
    for panel in panels(dashboard):
        if not panel.get("targets") or any(not target.get("expr") for target in panel["targets"]):
            yield f"{panel['title']}: asks for nothing"


def target_rate_interval(dashboard):
    for where, expression in expressions(dashboard):
        for span in re.findall(r"\[([^\]]*)\]", expression):
            if span != "$__rate_interval":
                yield f"{where}: a range of {span}"


def target_counter_agg(dashboard):
    for panel in panels(dashboard):
        for target in panel["targets"]:
            for function, counter, _, _ in COUNTER.findall(target["expr"]):
                if function not in ("rate(", "irate(", "increase(") and panel["title"] not in TOTALS:
                    yield f"{panel['title']}: {counter} without a rate"


def uneditable_dashboard(dashboard):
    if dashboard["editable"] is not False:
        yield "it can be edited where it is not kept"


def exemplars_of_quantiles(dashboard):
    # The lag of the runtime belongs to no request, so it has no traces.
    for panel in panels(dashboard):
        for target in panel["targets"]:
            traced = "histogram_quantile" in target["expr"] and "runtime_lag" not in target["expr"]
            if panel["type"] == "timeseries" and traced and "/ scalar" not in target["expr"] and not target.get("exemplar"):
                yield f"{panel['title']}: a quantile without exemplars"


def shared_cross_hair(dashboard):
    if dashboard["graphTooltip"] != 1:
        yield "the cross hair is not shared"


def marks(dashboard):
    if {mark["name"] for mark in dashboard["annotations"]["list"]} != {"Phases", "Faults"}:
        yield "phases and faults are not marked"


def places(dashboard):
    """No panel on another, each with an id of its own."""
    taken = {}
    for panel in dashboard["panels"]:
        place = panel["gridPos"]
        for x in range(place["x"], place["x"] + place["w"]):
            for y in range(place["y"], place["y"] + place["h"]):
                if x >= 24 or (x, y) in taken:
                    yield f"{panel['title']} is on {taken.get((x, y), 'the edge')}"
                    return
                taken[x, y] = panel["title"]
    ids = [panel["id"] for panel in dashboard["panels"]]
    if len(set(ids)) < len(ids):
        yield "an id is there twice"


RULES = [
    template_datasource, template_arm, template_label_promql, template_on_time_change_reload, panel_datasource,
    panel_title_description, panel_units, panel_no_targets, target_rate_interval, target_counter_agg,
    uneditable_dashboard, exemplars_of_quantiles, shared_cross_hair, marks, places,
]


def main():
    found, uids = [], set()
    for name, dashboard in dashboards():
        found += [f"{name}: {rule.__name__}: {fault}" for rule in RULES for fault in rule(dashboard)]
        uids.add(dashboard["uid"])
        if dashboard["uid"] != f"windtunnel-{name}":
            found.append(f"{name}: its uid is {dashboard['uid']}")
    shown = sum(len(list(panels(dashboard))) for _, dashboard in dashboards())
    finish("lint", found, f"{len(RULES)} rules, {len(uids)} dashboards, {shown} panels")


if __name__ == "__main__":
    main()
