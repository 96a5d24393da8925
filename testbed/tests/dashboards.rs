//! The dashboards and rules against `names.rs`: every expression can be parsed, what it names exists, and every metric
//! is on a panel. That Prometheus answers them is seen by `.ci/dashboards/run`.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use promql_parser::label::{METRIC_NAME, MatchOp};
use promql_parser::parser::{self, AggregateExpr, Expr, LabelModifier, VectorSelector};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use testbed::watch::names::{ALL, Kind, Metric};

/// What Prometheus puts on every series, and what a histogram has beside its own labels.
const OF_THE_SCRAPE: [&str; 2] = ["job", "instance"];
const OF_A_HISTOGRAM: [&str; 3] = ["_bucket", "_sum", "_count"];
/// What others tell of: Prometheus and the process.
const FOREIGN: [&str; 2] = ["scrape_", "process_"];
/// The labels of what a Toxiproxy tells of its proxies, by either of the names that are asked for.
const OF_TOXIPROXY: [&str; 4] = ["direction", "listener", "proxy", "upstream"];
const BYTES_OF_TOXIPROXY: [&str; 2] =
    ["toxiproxy_proxy_received_bytes_total", "toxiproxy_proxy_sent_bytes_total"];
/// What Grafana may fill in where an arm is asked for.
const CHOSEN: [&str; 2] = ["$arm", "$reference"];

type Labels = BTreeSet<String>;

/// An expression with where it stands.
#[derive(Clone, Debug)]
struct Query {
    place: String,
    text: String,
    /// What the legend shows of a series: `{{arm}} window`.
    legend: String,
    on_a_panel: bool,
}

/// A metric as an expression names it.
#[derive(Debug)]
struct Used {
    name: String,
    metric: Option<&'static Metric>,
    matchers: Vec<(String, String, MatchOp)>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("dashboards")
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Every dashboard, by its name.
fn dashboards() -> BTreeMap<String, Value> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder().join("grafana")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        found.insert(name, serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap());
    }
    assert_eq!(found.len(), 6);
    found
}

fn queries() -> Vec<Query> {
    let mut all = Vec::new();
    for (board, dashboard) in dashboards() {
        for mark in dashboard["annotations"]["list"].as_array().unwrap() {
            let place = format!("{board}: annotation {}", text(&mark["name"]));
            let legend = format!("{}{}", text(&mark["titleFormat"]), text(&mark["textFormat"]));
            all.push(Query { place, text: text(&mark["expr"]), legend, on_a_panel: false });
        }
        for panel in dashboard["panels"].as_array().unwrap() {
            for target in panel["targets"].as_array().into_iter().flatten() {
                let place = format!("{board}: {}", text(&panel["title"]));
                let legend = text(&target["legendFormat"]);
                all.push(Query { place, text: text(&target["expr"]), legend, on_a_panel: true });
            }
        }
    }
    all
}

/// Expressions of the rules, and the names that rules record.
fn rules() -> (Vec<Query>, BTreeSet<String>) {
    let file = fs::read_to_string(folder().join("prometheus/rules/windtunnel.yml")).unwrap();
    let file: Value = serde_yaml::from_str(&file).unwrap();
    let (mut queries, mut recorded) = (Vec::new(), BTreeSet::new());
    for group in file["groups"].as_array().unwrap() {
        for rule in group["rules"].as_array().unwrap() {
            let place = format!("rule {}{}", text(&rule["record"]), text(&rule["alert"]));
            let (text_of, legend) = (text(&rule["expr"]), String::new());
            queries.push(Query { place, text: text_of, legend, on_a_panel: false });
            recorded.extend(rule["record"].as_str().map(str::to_owned));
        }
    }
    (queries, recorded)
}

/// The expression of a query. Grafana's variables for spans are filled in; those for arms may stand in a string.
fn parse(query: &Query) -> Result<Expr, String> {
    let text = query.text.replace("$__rate_interval", "800ms");
    parser::parse(&text).map_err(|error| format!("{}: {error} in {text}", query.place))
}

fn parsed() -> Vec<(Query, Expr)> {
    let parsed = |query: Query| parse(&query).map(|expression| (query, expression));
    queries().into_iter().map(|query| parsed(query).unwrap()).collect()
}

/// The metric that a series' name belongs to.
fn metric(name: &str) -> Option<&'static Metric> {
    let histogram = |metric: &Metric| !matches!(metric.kind, Kind::Gauge | Kind::Counter);
    let series = |metric: &&Metric| match name.strip_prefix(metric.name) {
        Some("") => !histogram(metric),
        Some(rest) => histogram(metric) && OF_A_HISTOGRAM.contains(&rest),
        None => false,
    };
    ALL.iter().find(series)
}

fn foreign(name: &str) -> bool {
    name == "up"
        || BYTES_OF_TOXIPROXY.contains(&name)
        || FOREIGN.iter().any(|prefix| name.starts_with(prefix))
}

/// The expressions that an expression is made of.
fn parts(expression: &Expr) -> Vec<&Expr> {
    match expression {
        Expr::Aggregate(made) => made.param.iter().chain([&made.expr]).map(AsRef::as_ref).collect(),
        Expr::Unary(made) => vec![&made.expr],
        Expr::Binary(made) => vec![&made.lhs, &made.rhs],
        Expr::Paren(made) => vec![&made.expr],
        Expr::Subquery(made) => vec![&made.expr],
        Expr::Call(made) => made.args.args.iter().map(AsRef::as_ref).collect(),
        _ => Vec::new(),
    }
}

/// This expression, and all that are in it.
fn within(expression: &Expr) -> Vec<&Expr> {
    let inner = parts(expression).into_iter().flat_map(within);
    [expression].into_iter().chain(inner).collect()
}

fn selector(expression: &Expr) -> Option<&VectorSelector> {
    match expression {
        Expr::VectorSelector(selector) => Some(selector),
        Expr::MatrixSelector(matrix) => Some(&matrix.vs),
        _ => None,
    }
}

fn used(selector: &VectorSelector) -> Used {
    let by_name = selector.matchers.find_matchers(METRIC_NAME).into_iter().next();
    let name = selector.name.clone().or_else(|| by_name.map(|matcher| matcher.value));
    let name = name.expect("every selector names a metric");
    let matcher = |matcher: &promql_parser::label::Matcher| {
        (matcher.name.clone(), matcher.value.clone(), matcher.op.clone())
    };
    let matchers = selector.matchers.matchers.iter().map(matcher).collect();
    Used { metric: metric(&name), name, matchers }
}

fn all_used(expression: &Expr) -> Vec<Used> {
    within(expression).into_iter().filter_map(selector).map(used).collect()
}

/// The labels that the series of a selector have. Of what the process and Prometheus tell only the scrape's are sure.
fn labels_of_series(selector: &VectorSelector) -> Labels {
    let used = used(selector);
    let own = used.metric.map_or(&[][..], |metric| metric.labels);
    let toxiproxy = BYTES_OF_TOXIPROXY.contains(&used.name.as_str());
    let own = if toxiproxy { &OF_TOXIPROXY } else { own };
    let bucket = used.name.ends_with("_bucket").then_some("le");
    own.iter().copied().chain(bucket).chain(OF_THE_SCRAPE).map(str::to_owned).collect()
}

/// The labels that the result of an expression has at most.
fn labels(expression: &Expr) -> Labels {
    if let Some(selector) = selector(expression) {
        return labels_of_series(selector);
    }
    match expression {
        Expr::Aggregate(made) => labels_of_aggregate(made),
        Expr::Binary(made) if !matches!(*made.lhs, Expr::NumberLiteral(_)) => labels(&made.lhs),
        _ => parts(expression).into_iter().flat_map(labels).collect(),
    }
}

fn labels_of_aggregate(made: &AggregateExpr) -> Labels {
    let inner = labels(&made.expr);
    let chooses = ["topk", "bottomk"].contains(&made.op.to_string().as_str());
    match &made.modifier {
        _ if chooses => inner,
        Some(LabelModifier::Include(kept)) => kept.labels.iter().cloned().collect(),
        Some(LabelModifier::Exclude(gone)) => {
            inner.into_iter().filter(|label| !gone.labels.contains(label)).collect()
        }
        None => Labels::new(),
    }
}

/// The labels that a legend shows.
fn shown(legend: &str) -> Vec<&str> {
    let parts = legend.split("{{").skip(1);
    parts.map(|part| part.split_once("}}").expect("what is opened is closed").0).collect()
}

fn assert_none(what: &str, found: &[String]) {
    assert!(found.is_empty(), "{what}:\n{}", found.join("\n"));
}

#[test]
fn every_expression_can_be_parsed() {
    let (rules, _) = rules();
    let all: Vec<_> = queries().into_iter().chain(rules).collect();
    let wrong: Vec<_> = all.iter().filter_map(|query| parse(query).err()).collect();
    assert_none("expressions that are none", &wrong);
    assert!(all.len() > 100, "{}", all.len());
}

#[test]
fn every_metric_that_is_asked_for_exists() {
    let (rules, recorded) = rules();
    let mut unknown = Vec::new();
    for query in queries().into_iter().chain(rules) {
        for used in all_used(&parse(&query).unwrap()) {
            let known = used.metric.is_some() || foreign(&used.name);
            if !known && (query.on_a_panel || !recorded.contains(&used.name)) {
                unknown.push(format!("{}: {}", query.place, used.name));
            }
        }
    }
    assert_none("metrics that nobody tells of", &unknown);
}

#[test]
fn every_metric_is_on_a_panel() {
    let panels = parsed().into_iter().filter(|(query, _)| query.on_a_panel);
    let shown: Vec<_> = panels.flat_map(|(_, expression)| all_used(&expression)).collect();
    let on_a_panel = |metric: &&Metric| shown.iter().any(|used| used.metric == Some(*metric));
    let missing: Vec<_> =
        ALL.iter().filter(|metric| !on_a_panel(metric)).map(|metric| metric.name.into()).collect();
    assert_none("metrics that no panel shows", &missing);
}

#[test]
fn every_arm_can_be_chosen() {
    let mut fixed = Vec::new();
    for (query, expression) in parsed().iter().filter(|(query, _)| query.on_a_panel) {
        for used in all_used(expression) {
            let has_arms = used.metric.is_some_and(|metric| metric.labels.contains(&"arm"));
            let chosen = used.matchers.iter().any(|(label, value, op)| {
                label == "arm" && matches!(op, MatchOp::Re(_)) && CHOSEN.contains(&value.as_str())
            });
            if has_arms != chosen {
                fixed.push(format!("{}: {}", query.place, used.name));
            }
        }
    }
    assert_none("selectors that do not follow the variable of arms", &fixed);
}

#[test]
fn every_label_exists_where_it_is_used() {
    let mut unknown = Vec::new();
    for (query, expression) in parsed() {
        let mut expect = |label: &str, there: &Labels| {
            if !there.contains(label) {
                unknown.push(format!("{}: no {label} in {}", query.place, query.text));
            }
        };
        for part in within(&expression) {
            if let Some(selector) = selector(part) {
                let there = labels_of_series(selector);
                used(selector).matchers.iter().for_each(|(label, ..)| expect(label, &there));
            }
            if let Expr::Aggregate(made) = part {
                let kept = made.modifier.iter().flat_map(|modifier| &modifier.labels().labels);
                let there = labels(&made.expr);
                kept.for_each(|label| expect(label, &there));
            }
        }
        let there = labels(&expression);
        shown(&query.legend).iter().for_each(|label| expect(label, &there));
    }
    assert_none("labels that the series do not have", &unknown);
}

#[test]
fn the_checks_see_what_they_are_to_see() {
    let query = |text: &str| Query {
        place: "here".into(),
        text: text.into(),
        legend: String::new(),
        on_a_panel: true,
    };
    assert!(parse(&query("sum by (arm (up)")).is_err());
    let names = |text: &str| -> Vec<_> {
        let used = all_used(&parse(&query(text)).unwrap());
        used.iter().map(|used| used.metric.map(|metric| metric.name)).collect()
    };
    assert_eq!(
        names("rate(windtunnel_wait_seconds_bucket[$__rate_interval])"),
        [Some("windtunnel_wait_seconds")]
    );
    assert_eq!(names("windtunnel_wait_seconds + windtunnel_regime_sum"), [None, None]);
    assert!(
        foreign("toxiproxy_proxy_sent_bytes_total") && !foreign("toxiproxy_proxy_send_bytes_total")
    );
    let labels =
        |text: &str| -> Vec<_> { labels(&parse(&query(text)).unwrap()).into_iter().collect() };
    assert_eq!(labels("1 / windtunnel_regime"), ["arm", "instance", "job", "regime"]);
    assert_eq!(labels("topk(2, sum by (arm) (windtunnel_regime))"), ["arm"]);
    assert_eq!(labels("sum without (job, arm) (windtunnel_waiting_requests)"), ["instance"]);
    assert!(labels("sum(windtunnel_regime)").is_empty());
    let of_toxiproxy = ["direction", "instance", "job", "listener", "proxy", "upstream"];
    assert_eq!(labels("toxiproxy_proxy_sent_bytes_total"), of_toxiproxy);
    assert_eq!(shown("{{arm}} at {{le}}"), ["arm", "le"]);
}
