//! A run directory as a page. Nothing of a file is believed but its form: what does not fit is counted
//! and left out, so that a run that was killed, or one of another version, has a report too.

use super::regimes::change;
use super::thin::Thin;
use super::waits::{self, Waits};
use super::{Curve, POINTS_MAX, Page, Span, panels};
use crate::run_dir::{NoRun, lines, whole};
use crate::watch::admission::{self, ADMISSION};
use crate::watch::serve::ServeError;
use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Spans of one kind that are shown; an experiment has far fewer.
const SPANS_MAX: usize = 1000;

/// Why there is no report.
#[derive(Debug, Error)]
pub enum ReportError {
    /// There is no such run.
    #[error(transparent)]
    NoRun(#[from] NoRun),
    /// A file of the run is not what a run writes.
    #[error("{path}: {why}; the file was changed or cut off, run the experiment again", path = .path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A file of the run cannot be read on.
    #[error("cannot read {path}: {source}", path = .path.display())]
    Unread {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// The page cannot be served.
    #[error(transparent)]
    Unserved(#[from] ServeError),
    /// The report cannot be written.
    #[error("cannot write {path}: {source}", path = .path.display())]
    Unwritten {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
}

/// What a report needs of `resolved.yaml`.
#[derive(Deserialize)]
struct Resolved {
    #[serde(default)]
    about: String,
    arms: IndexMap<String, serde_yaml::Value>,
}

/// A line of `events.jsonl`, as far as it is shown.
#[derive(Deserialize)]
struct Noted {
    t_ns: u64,
    event: String,
    #[serde(default)]
    phase: String,
    #[serde(default)]
    fault: String,
    #[serde(default)]
    on: bool,
    #[serde(default)]
    arm: String,
    #[serde(default)]
    regime: String,
}

/// Reads the run directory at `path`.
pub(super) fn page(path: &Path) -> Result<Page, ReportError> {
    let mut page = head(path)?;
    page.verdict = verdict(path);
    page.left_out += spans(path, &mut page)?;
    page.left_out += curves(path, &mut page)?;
    page.left_out += of_waits(path, &mut page)?;
    page.left_out += of_admission(path, &mut page)?;
    close(&mut page);
    page.over = true;
    Ok(page)
}

/// What is known before the first request.
pub(super) fn head(path: &Path) -> Result<Page, ReportError> {
    let unusable = |name: &str, why: String| ReportError::Unusable { path: path.join(name), why };
    let manifest = serde_json::from_str(&whole(path, "manifest.json")?)
        .map_err(|error| unusable("manifest.json", error.to_string()))?;
    let resolved = whole(path, "resolved.yaml")?;
    let Resolved { about, arms } = serde_yaml::from_str(&resolved)
        .map_err(|error| unusable("resolved.yaml", error.to_string()))?;
    let arms = arms.into_keys().collect();
    let (panels, points_max) = (panels(), POINTS_MAX);
    Ok(Page { manifest, about, resolved, arms, panels, points_max, ..Page::default() })
}

/// A run that was killed has none.
fn verdict(path: &Path) -> Value {
    let text = whole(path, "verdict.json").unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

fn each(
    path: &Path,
    name: &str,
    mut line: impl FnMut(&str) -> Option<()>,
) -> Result<u64, ReportError> {
    let path = path.join(name);
    let unread = |source| ReportError::Unread { path: path.clone(), source };
    lines(&path, unread, |text| Ok(line(text).is_some()))
}

fn spans(path: &Path, page: &mut Page) -> Result<u64, ReportError> {
    each(path, "events.jsonl", |line| {
        let noted: Noted = serde_json::from_str(line).ok()?;
        let t = seconds(noted.t_ns);
        page.end_s = page.end_s.max(t);
        match &*noted.event {
            "phase" => enter(&mut page.phases, &noted.phase, t),
            "fault" => switch(&mut page.faults, &noted.fault, noted.on, t),
            "regime" if page.arms.contains(&noted.arm) => {
                change(&mut page.regimes, &noted.arm, &noted.regime, t);
            }
            _ => {}
        }
        Some(())
    })
}

/// A phase begins, and the one before it ends.
pub(super) fn enter(phases: &mut Vec<Span>, name: &str, t: f64) {
    if let Some(last) = phases.last_mut() {
        last.to_s = Some(t);
    }
    begin(phases, name, t);
}

/// A fault is switched.
pub(super) fn switch(faults: &mut Vec<Span>, name: &str, on: bool, t: f64) {
    let open = faults.iter_mut().rev().find(|span| span.name == name && span.to_s.is_none());
    match (open, on) {
        (None, true) => begin(faults, name, t),
        (Some(span), false) => span.to_s = Some(t),
        _ => {}
    }
}

fn begin(spans: &mut Vec<Span>, name: &str, from_s: f64) {
    if spans.len() < SPANS_MAX {
        spans.push(Span { name: name.to_owned(), from_s, to_s: None });
    }
}

/// What goes on at the end has ended there.
fn close(page: &mut Page) {
    let end = page.end_s;
    for span in page.phases.iter_mut().chain(&mut page.faults) {
        span.to_s = span.to_s.or(Some(end));
    }
    page.regimes.iter_mut().for_each(|span| span.to_s = span.to_s.or(Some(end)));
}

fn curves(path: &Path, page: &mut Page) -> Result<u64, ReportError> {
    let mut thin: BTreeMap<(usize, usize), Thin> = BTreeMap::new();
    let (mut end_s, arms) = (page.end_s, &page.arms);
    let left_out = each(path, "series.csv", |line| {
        let (t, arm, series, value) = match row(line) {
            None if line == "t_ns,arm,series,value" => return Some(()),
            row => row?,
        };
        end_s = end_s.max(t);
        let arm = arms.iter().position(|known| known == arm)?;
        if let Some(panel) = page.panels.iter().position(|panel| panel.series == series) {
            thin.entry((panel, arm)).or_default().push(t, value);
        }
        Some(())
    })?;
    let curve = |(&(panel, arm), thin): (&(usize, usize), &Thin)| {
        Curve::of(page.panels[panel].series, &page.arms[arm], thin)
    };
    (page.series, page.end_s) = (thin.iter().map(curve).collect(), end_s);
    Ok(left_out)
}

/// A row of `series.csv`.
fn row(line: &str) -> Option<(f64, &str, &str, f64)> {
    let mut fields = line.split(',');
    let t = seconds(fields.next()?.parse().ok()?);
    Some((t, fields.next()?, fields.next()?, fields.next()?.parse().ok()?))
}

fn of_waits(path: &Path, page: &mut Page) -> Result<u64, ReportError> {
    let mut waits = Waits::new(&page.arms, page.end_s);
    let left_out = each(path, "waits.csv", |line| match line {
        waits::HEADER => Some(()),
        line => waits.add(line),
    })?;
    page.waits = waits.finish();
    Ok(left_out)
}

/// A run that was killed has none.
fn of_admission(path: &Path, page: &mut Page) -> Result<u64, ReportError> {
    if !path.join(ADMISSION).exists() {
        return Ok(0);
    }
    let Page { arms, admission_waits, .. } = page;
    each(path, ADMISSION, |line| match line {
        admission::HEADER => Some(()),
        line => {
            let [arm, share, wait_s] = line.split(',').collect::<Vec<_>>()[..] else { return None };
            let point = (share.parse().ok()?, wait_s.parse().ok()?);
            let arm = arms.iter().find(|known| *known == arm)?;
            let shares: &mut admission::Shares = admission_waits.entry(arm.clone()).or_default();
            (shares.len() < POINTS_MAX).then(|| shares.push(point))
        }
    })
}

pub(super) fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}
