"""What Grafana's classic dashboard JSON looks like, so that boards.py can say only what differs.

Everything here is a plain function from a few words to a dictionary. Defaults that Grafana has anyway are
written only where its schema requires them.
"""

SOURCE = {"type": "prometheus", "uid": "${datasource}"}
COLUMNS = 24
LEGEND = {"calcs": [], "displayMode": "list", "placement": "bottom", "showLegend": True}
TOOLTIP = {"mode": "multi", "sort": "desc"}
REGIMES = {
    "healthy": "green",
    "saturated": "blue",
    "oscillation": "purple",
    "stall": "red",
    "starvation": "orange",
    "collapse": "dark-red",
}


def target(expr, legend="{{arm}}", exemplar=False, instant=False, heat=False):
    """One query. `exemplar` marks traces, `heat` is for buckets."""
    made = {
        "datasource": SOURCE,
        "editorMode": "code",
        "expr": expr,
        "legendFormat": "{{le}}" if heat else legend,
        "instant": instant,
        "range": not instant,
    }
    if exemplar:
        made["exemplar"] = True
    if heat or instant:
        made["format"] = "heatmap" if heat else "time_series"
    return made


def _panel(kind, title, description, unit, targets, options, custom=None, width=12, height=8, overrides=(), **rest):
    defaults = {"unit": unit, "color": {"mode": "palette-classic"}, "custom": custom or {}}
    defaults.update(rest.pop("defaults", {}))
    lettered = [{"refId": chr(ord("A") + index)} | made for index, made in enumerate(targets)]
    return {
        "type": kind,
        "title": title,
        "description": description,
        "datasource": SOURCE,
        "targets": lettered,
        "fieldConfig": {"defaults": defaults, "overrides": list(overrides)},
        "options": options,
        "gridPos": {"w": width, "h": height},
        **rest,
    }


def lines(title, description, unit, *targets, steps=False, logarithmic=False, **rest):
    """Values over time. `steps` is for what holds until it changes."""
    custom = {
        "drawStyle": "line",
        "fillOpacity": 0,
        "lineInterpolation": "stepAfter" if steps else "linear",
        "lineWidth": 1,
        "showPoints": "never",
        # What is absent is not there: a line across a gap would be made up.
        "spanNulls": False,
    }
    if logarithmic:
        custom["scaleDistribution"] = {"type": "log", "log": 2}
    options = {"legend": LEGEND, "tooltip": TOOLTIP}
    return _panel("timeseries", title, description, unit, targets, options, custom, **rest)


def number(title, description, unit, *targets, names=False, **rest):
    """The latest value of each series, large. With `names`, what its legend says instead."""
    options = {
        "colorMode": "none" if names else "value",
        "graphMode": "none" if names else "area",
        "justifyMode": "auto",
        "orientation": "auto",
        "percentChangeColorMode": "standard",
        "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
        "showPercentChange": False,
        "textMode": "name" if names else "value_and_name",
        "wideLayout": True,
    }
    rest = {"width": 6, "height": 5} | rest
    return _panel("stat", title, description, unit, targets, options, **rest)


def bars(title, description, unit, *targets, **rest):
    """The latest value of each series, as bars against each other."""
    options = {
        "displayMode": "basic",
        "legend": LEGEND | {"showLegend": False},
        "maxVizHeight": 300,
        "minVizHeight": 10,
        "minVizWidth": 0,
        "namePlacement": "auto",
        "orientation": "horizontal",
        "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
        "showUnfilled": True,
        "sizing": "auto",
        "valueMode": "color",
    }
    return _panel("bargauge", title, description, unit, targets, options, **rest)


def heat(title, description, unit, expr, **rest):
    """How values are spread over buckets, one picture for each arm."""
    options = {
        "calculate": False,
        "cellGap": 0,
        "color": {
            "mode": "scheme", "scheme": "Oranges", "scale": "exponential",
            "exponent": 0.5, "fill": "dark-orange", "reverse": False, "steps": 64,
        },
        "exemplars": {"color": "rgba(255,0,255,0.7)"},
        "filterValues": {"le": 1e-9},
        "legend": {"show": False},
        "rowsFrame": {"layout": "auto"},
        "showValue": "never",
        "tooltip": {"mode": "single", "showColorScale": False, "yHistogram": True},
        "yAxis": {"axisPlacement": "left", "unit": unit},
    }
    rest = {"width": 24, "repeat": "arm", "repeatDirection": "h", "maxPerRow": 4} | rest
    return _panel("heatmap", title, description, unit, [target(expr, heat=True)], options, **rest)


def timeline(title, description, *targets, colours=None, **rest):
    """Bands while a series is there. `colours` gives those whose name ends in a word a colour."""
    custom = {"fillOpacity": 80, "lineWidth": 0}
    options = {
        "alignValue": "center",
        "legend": LEGEND | {"showLegend": False},
        "mergeValues": True,
        "rowHeight": 0.85,
        "showValue": "never",
        "tooltip": {"mode": "single", "sort": "none"},
    }
    overrides = [
        {
            "matcher": {"id": "byRegexp", "options": f"/{word}$/"},
            "properties": [{"id": "color", "value": {"mode": "fixed", "fixedColor": colour}}],
        }
        for word, colour in (colours or {}).items()
    ]
    return _panel("state-timeline", title, description, "none", targets, options, custom, overrides=overrides, **rest)


def row(title):
    """A heading over the panels that follow."""
    return {"type": "row", "title": title, "collapsed": False, "panels": [], "gridPos": {"w": COLUMNS, "h": 1}}


def _laid_out(panels):
    """Ids and places, as one reads: from left to right, then below."""
    left = top = height = 0
    for number_, panel in enumerate(panels, 1):
        place = panel["gridPos"]
        if left + place["w"] > COLUMNS:
            left, top, height = 0, top + height, 0
        panel["id"] = number_
        panel["gridPos"] = {"h": place["h"], "w": place["w"], "x": left, "y": top}
        left, height = left + place["w"], max(height, place["h"])
    return panels


def choice(name, label, description, query, several):
    """A variable with the values of a label."""
    made = {
        "name": name,
        "label": label,
        "description": description,
        "type": "query",
        "datasource": SOURCE,
        "definition": query,
        "query": {"query": query, "refId": name},
        # On every change of the time range: arms come with each run.
        "refresh": 2,
        "sort": 1,
        "multi": several,
        "includeAll": several,
        "current": {"text": "All", "value": "$__all"} if several else {"text": "", "value": ""},
        "options": [],
    }
    return made | {"allValue": ".+"} if several else made


def _datasource():
    return {
        "name": "datasource",
        "label": "Data source",
        "type": "datasource",
        "query": "prometheus",
        "current": {"text": "Prometheus", "value": "prometheus"},
        "refresh": 1,
        "multi": False,
        "includeAll": False,
        "options": [],
    }


def _marks():
    """Phases and faults on every graph."""
    common = {"datasource": SOURCE, "enable": True, "hide": False}
    phases = {
        "name": "Phases",
        "iconColor": "blue",
        # Grafana takes a value as a timestamp in milliseconds.
        "expr": "windtunnel_phase_start_timestamp_seconds * 1000",
        "useValueForTime": True,
        "step": "1s",
        "titleFormat": "{{phase}}",
        "textFormat": "phase begins",
        "tagKeys": "phase",
    }
    faults = {
        "name": "Faults",
        "iconColor": "red",
        # Points that are no further apart than the step become one region.
        "expr": "windtunnel_fault_active == 1",
        "useValueForTime": False,
        "step": "1s",
        "titleFormat": "{{fault}}",
        "textFormat": "fault is on",
        "tagKeys": "fault",
    }
    return {"list": [common | phases, common | faults]}


def board(name, title, description, *panels, variables=()):
    """A whole dashboard; its uid is `windtunnel-` and the name of its file."""
    link = {
        "type": "dashboards", "title": "Windtunnel", "tags": ["windtunnel"], "asDropdown": False,
        "includeVars": True, "keepTime": True, "targetBlank": False, "icon": "dashboard", "tooltip": "", "url": "",
    }
    return {
        "uid": f"windtunnel-{name}",
        "title": f"Windtunnel / {title}",
        "description": description,
        "tags": ["windtunnel"],
        "schemaVersion": 41,
        "editable": False,
        # 1: the cross hair is on all panels at once.
        "graphTooltip": 1,
        "refresh": "1s",
        "time": {"from": "now-5m", "to": "now"},
        "timepicker": {"refresh_intervals": ["1s", "5s", "30s", "1m"]},
        "timezone": "browser",
        "links": [link],
        "annotations": _marks(),
        "templating": {"list": [_datasource(), *variables]},
        "panels": _laid_out(list(panels)),
    }
