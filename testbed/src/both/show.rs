//! The distance between both runs as text and as Markdown.

use super::{Apart, Distance, PhaseWindow, Quantiles};
use crate::columns::{aligned, markdown as table};
use crate::verdict::grammar::in_unit;
use testbed_core::vitals::Unit;

pub(super) fn text(distance: &Distance) -> String {
    let (distributions, windows) = (distributions(distance), windows(distance));
    let mut out = aligned(&distributions);
    if windows.len() > 1 {
        out = format!("{out}\n{}", aligned(&windows));
    }
    out
}

pub(super) fn markdown(name: &str, verdicts: [(&str, &str); 2], distance: &Distance) -> String {
    let mut out = format!("# {name}, in virtual time and live\n\n");
    out.extend(verdicts.map(|(mode, verdict)| format!("- {mode}: {verdict}\n")));
    out = format!("{out}\n{}", table(&distributions(distance)));
    if distance.windows.is_empty() {
        return out;
    }
    format!("{out}\n{}", table(&windows(distance)))
}

fn words<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(str::to_owned).to_vec()
}

fn distributions(distance: &Distance) -> Vec<Vec<String>> {
    let head = words([
        "arm",
        "series",
        "KS distance",
        "mean shift",
        "values, virtual",
        "live",
        "p50, virtual",
        "live",
        "p99, virtual",
        "live",
    ]);
    let row = |Apart { arm, series, distance, shift, simulated, live }: &Apart| {
        let both = |of: fn(&Quantiles) -> Option<f64>| [of(simulated), of(live)].map(seconds);
        let mut row = vec![arm.clone(), series.clone()];
        row.push(distance.map_or_else(|| "none".to_owned(), |distance| format!("{distance:.3}")));
        row.push(seconds(*shift));
        row.extend([simulated.values, live.values].map(|values| values.to_string()));
        row.extend(both(|side| side.p50).into_iter().chain(both(|side| side.p99)));
        row
    };
    std::iter::once(head).chain(distance.distributions.iter().map(row)).collect()
}

fn windows(distance: &Distance) -> Vec<Vec<String>> {
    let head = words(["arm", "phase", "median window, virtual", "live"]);
    let row = |PhaseWindow { arm, phase, simulated, live }: &PhaseWindow| {
        let shown = |window: Option<f64>| {
            window.map_or_else(|| "none".to_owned(), |window| in_unit(window, Unit::Requests))
        };
        vec![arm.clone(), phase.clone(), shown(*simulated), shown(*live)]
    };
    std::iter::once(head).chain(distance.windows.iter().map(row)).collect()
}

fn seconds(value: Option<f64>) -> String {
    value.map_or_else(|| "none".to_owned(), |value| in_unit(value, Unit::Seconds))
}
