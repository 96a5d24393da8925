//! `windtunnel list`: what there is, straight from the registries.

use crate::cli::Listed;
use crate::verdict::oracle;
use crate::watch::{names, series};
use faults::ToxicKind;
use std::fmt::Write as _;
use testbed_core::control::ControllerConfig;
use testbed_core::limit::LimiterConfig;
use testbed_core::load::pace::PaceConfig;

/// One list, or all of them under headings.
pub fn text(what: Option<Listed>) -> String {
    let all = [
        ("controllers", Listed::Controllers),
        ("limiters", Listed::Limiters),
        ("arrivals", Listed::Arrivals),
        ("toxics", Listed::Toxics),
        ("series", Listed::Series),
        ("metrics", Listed::Metrics),
    ];
    match what {
        Some(what) => table(&rows(what)),
        None => all
            .map(|(heading, what)| format!("{heading}\n{}", indented(&table(&rows(what)))))
            .join("\n"),
    }
}

fn rows(what: Listed) -> Vec<[String; 3]> {
    let row = |name: &str, unit: &str, about: &str| [name.into(), unit.into(), about.into()];
    match what {
        Listed::Controllers => {
            ControllerConfig::all().iter().map(|law| row(law.name(), "", law.about())).collect()
        }
        Listed::Limiters => {
            LimiterConfig::LIST.iter().map(|(name, about)| row(name, "", about)).collect()
        }
        Listed::Arrivals => {
            PaceConfig::LIST.iter().map(|(name, about)| row(name, "", about)).collect()
        }
        Listed::Toxics => {
            ToxicKind::all().iter().map(|kind| row(kind.name(), "", kind.about())).collect()
        }
        Listed::Series => series_rows(),
        Listed::Metrics => names::ALL
            .iter()
            .map(|metric| row(metric.name, metric.kind.name(), metric.help))
            .collect(),
    }
}

fn series_rows() -> Vec<[String; 3]> {
    let common = series::common().into_iter();
    let common = common.map(|info| [info.name.into(), info.unit.name().into(), info.about.into()]);
    let vitals = ControllerConfig::all().into_iter().flat_map(|law| {
        law.vitals().into_iter().map(move |vital| {
            let name = format!("{}{}", series::CONTROLLER, vital.name);
            [name, vital.unit.name().into(), format!("{}: {}", law.name(), vital.about)]
        })
    });
    let oracle = oracle::SERIES.into_iter();
    let oracle = oracle.map(|(name, unit, about)| [name.into(), unit.name().into(), about.into()]);
    common.chain(oracle).chain(vitals).collect()
}

fn table(rows: &[[String; 3]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let (names, units) = (width(0), width(1));
    let gap = if units > 0 { "  " } else { "" };
    rows.iter().fold(String::new(), |mut out, [name, unit, about]| {
        let _ = writeln!(out, "{name:names$}  {unit:units$}{gap}{about}");
        out
    })
}

fn indented(text: &str) -> String {
    text.lines().fold(String::new(), |out, line| out + "  " + line + "\n")
}
