"""Asks Prometheus for what Grafana would ask for."""

import copy
import json
import math
import re
import urllib.error
import urllib.parse
import urllib.request

from files import dashboards, expressions, panels

# Of the shipped configuration, and of Grafana's data source.
SCRAPE = 0.2
# Grafana asks for about as many points as a panel is wide.
POINTS = 1000
# A flat line of these would be no picture of a run. Ratios to an arm itself are left out: those are to be flat.
MOVING = ("controller_window_requests", "controller_gradient_ratio", "wait_seconds")


class Prometheus:
    """One server, and the span of time that is looked at."""

    def __init__(self, base, start):
        self.base, self.start = base, start
        self.ends(start)

    def ends(self, end):
        """The span that is looked at ends here."""
        self.end = end
        self.step = max((end - self.start) / POINTS, SCRAPE)

    def _ask(self, path, arguments):
        url = f"{self.base}/api/v1/{path}?{urllib.parse.urlencode(arguments)}"
        try:
            with urllib.request.urlopen(url, timeout=30) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            # It says what it did not like.
            raise ValueError(json.load(error)["error"]) from None

    def _span(self):
        return {"start": self.start, "end": self.end}

    def values(self, expression):
        """The values of each series."""
        data = self._ask("query_range", {"query": expression, "step": self.step, **self._span()})
        return [[float(value) for _, value in series["values"]] for series in data["result"]]

    def exemplars(self, expression):
        """The ids of the traces that stand for some of its values."""
        found = self._ask("query_exemplars", {"query": expression, **self._span()})
        return [exemplar["labels"]["trace_id"] for series in found for exemplar in series["exemplars"]]

    def label_values(self, metric, label):
        return self._ask(f"label/{label}/values", {"match[]": metric, **self._span()})

    def now(self, expression):
        """The values at this moment."""
        return [float(series["value"][1]) for series in self._ask("query", {"query": expression})["result"]]

    def rules(self):
        return [rule for group in self._ask("rules", {})["groups"] for rule in group["rules"]]

    def spans(self):
        """Grafana's own variables, by its rule for $__rate_interval."""
        rate_ms = round(1000 * max(self.step + SCRAPE, 4 * SCRAPE))
        return {
            "__rate_interval": f"{rate_ms}ms",
            "__interval": f"{round(1000 * self.step)}ms",
            "__range": f"{math.ceil(self.end - self.start)}s",
        }


class Counts:
    """How much was looked at, for people."""

    def __init__(self):
        self.boards = self.panels = self.variables = self.expressions = self.series = self.points = self.exemplars = 0

    def __str__(self):
        return (
            f"{self.boards} dashboards, {self.panels} panels, {self.variables} variables, {self.expressions} expressions, "
            f"{self.series} series, {self.points} finite points, {self.exemplars} exemplars"
        )


def substituted(expression, values):
    """The expression with Grafana's variables filled in."""
    return re.sub(r"\$\{?(\w+)\}?", lambda found: values.get(found[1], found[0]), expression)


def choices(prometheus, dashboard, faults, where):
    """The ways to choose the variables, in groups: an expression must be good in each group, for one way of it at least.
    A group is a way to choose several values, and its ways are the single values of the other variables."""
    groups = [[prometheus.spans()]]
    for variable in dashboard["templating"]["list"]:
        if variable["type"] != "query":
            continue
        name, query = variable["name"], variable["query"]["query"]
        metric, label = re.fullmatch(r"label_values\((.+), (\w+)\)", query).groups()
        found = prometheus.label_values(metric, label)
        if not found:
            faults.append(f"{where}: variable {name} has no value")
        if variable["multi"]:
            # What Grafana makes of all, and of every one chosen.
            values = (variable["allValue"], "(" + "|".join(map(re.escape, found)).replace("\\", "\\\\") + ")")
            groups = [[way | {name: value} for way in ways] for ways in groups for value in values]
        else:
            groups = [[way | {name: value} for way in ways for value in found] for ways in groups]
    return groups


def judged(prometheus, asked, moves, counts):
    """What is wrong with what Prometheus answers; nothing if it is good."""
    if "$" in asked:
        return f"a variable that is not known: {asked}"
    try:
        series = prometheus.values(asked)
    except ValueError as error:
        return str(error)
    finite = [value for values in series for value in values if math.isfinite(value)]
    if not finite:
        return "nothing finite" if series else "no series"
    if moves and len(set(finite)) == 1:
        return f"it never moves from {finite[0]}"
    counts.series += len(series)
    counts.points += len(finite)
    return None


def fault_of(prometheus, expression, groups, counts):
    """What is wrong with an expression in the worst group."""
    moves = any(name in expression for name in MOVING) and "/ scalar" not in expression
    for ways in groups:
        faults = [judged(prometheus, substituted(expression, way), moves, counts) for way in distinct(expression, ways)]
        if all(faults):
            return faults[0] if faults else "there is nothing to choose"
    return None


def distinct(expression, ways):
    """The ways that make a difference to the expression."""
    return list({substituted(expression, way): way for way in ways}.values())


def check(prometheus, name, dashboard, counts):
    """What is wrong with a dashboard."""
    faults = []
    groups = choices(prometheus, dashboard, faults, name)
    counts.boards += 1
    counts.panels += len(list(panels(dashboard)))
    counts.variables += len(dashboard["templating"]["list"])
    for where, expression in expressions(dashboard):
        counts.expressions += 1
        fault = fault_of(prometheus, expression, groups, counts)
        if fault:
            faults.append(f"{name}: {where}: {fault}")
    for panel in panels(dashboard):
        for target in panel["targets"]:
            if target.get("exemplar"):
                counts.exemplars += len(prometheus.exemplars(substituted(target["expr"], groups[0][0])))
    return faults


def check_all(prometheus):
    """What is wrong with all of them, and how much there was."""
    counts, faults = Counts(), []
    for name, dashboard in dashboards():
        faults += check(prometheus, name, dashboard, counts)
    return faults, counts


def check_rules(prometheus):
    """What is wrong with the shipped rules: each must have been evaluated without an error, and recorded something."""
    faults = []
    rules = prometheus.rules()
    if not rules:
        faults.append("rules: none are loaded")
    for rule in rules:
        recorded = rule["type"] != "recording" or judged(prometheus, rule["name"], False, Counts()) is None
        if rule["health"] != "ok" or not recorded:
            faults.append(f"rule {rule['name']}: {rule['health']} {rule.get('lastError', 'recorded nothing finite')}")
    return faults


def check_traces(prometheus, sink):
    """What is wrong with exemplars and traces: each histogram that has any must lead to a trace that was exported."""
    faults = []
    for histogram in ("windtunnel_wait_seconds_bucket", "windtunnel_rtt_seconds_bucket"):
        found = prometheus.exemplars(histogram)
        lost = {trace for trace in found if not sink.has(trace)}
        if not found:
            faults.append(f"traces: {histogram} has no exemplar")
        if lost:
            faults.append(f"traces: {len(lost)} exemplars of {histogram} lead to no trace, such as {min(lost)}")
    exported = prometheus.values('windtunnel_spans_total{result="exported"}')
    if not any(value > 0 for values in exported for value in values):
        faults.append("traces: no span was exported")
    if sink.has("00" * 15 + "01"):
        faults.append("traces: the sink has what nobody sent")
    return faults


def notices_mistakes(prometheus):
    """A check that finds nothing is worth as much as what it would have found: of a dashboard with a mistyped metric, one
    with a label that is never so and one with broken PromQL, each must be noticed."""
    name, dashboard = dashboards()[0]
    missed = []
    for mistake in ("windtunnel_contoller_window_requests", 'windtunnel_regime{arm="nobody"}', "sum by (arm (up)"):
        changed = copy.deepcopy(dashboard)
        next(panels(changed))["targets"][0]["expr"] = mistake
        if len(check(prometheus, name, changed, Counts())) != 1:
            missed.append(f"the check does not notice {mistake}")
    return missed
