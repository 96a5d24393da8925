//! A run as a page: the report of a run that is over, and the same charts while it goes. What a page
//! shows is data, `Page`; `testbed/web` draws it.

mod document;
mod past;
mod read;
mod regimes;
mod serve;
mod stage;
mod thin;
mod waits;

pub(crate) use document::sweep_report;
pub(crate) use past::Past;
pub use read::ReportError;
pub use serve::serve_report;
pub use stage::Stage;
pub(crate) use stage::routes;

use crate::verdict::standing::Standing;
use crate::watch::series::{Counted, PerRequest, Sampled, WINDOW};
use indexmap::IndexMap;
use regimes::RegimeSpan;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use thin::{POINTS_MAX, Thin};
use waits::ArmWaits;

/// The file that a report is.
pub const REPORT: &str = "report.html";

/// Everything that a page shows of a run.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Page {
    /// What is known of how the run was made: the manifest.
    manifest: Value,
    /// The question, in the words of the experiment.
    about: String,
    /// The experiment with its defaults, as text.
    resolved: String,
    /// The arms in the order of the file.
    arms: Vec<String>,
    phases: Vec<Span>,
    faults: Vec<Span>,
    regimes: Vec<RegimeSpan>,
    panels: Vec<Panel>,
    series: Vec<Curve>,
    waits: Vec<ArmWaits>,
    /// Of each arm with a controller, how long requests waited for admission: pairs of a share of them, 0 to 1, and the
    /// seconds that they did not exceed.
    admission_waits: IndexMap<String, Vec<(f64, f64)>>,
    /// How expectations stand while a run goes, by their places in the file, arm by arm.
    standing: BTreeMap<usize, Standing>,
    /// What `verdict.json` holds; null while a run goes, and of a run that was killed.
    verdict: Value,
    /// How far the run came, in seconds.
    end_s: f64,
    /// Messages of the run that this is made of; later ones come as events.
    told: u64,
    /// Whether nothing more will come.
    over: bool,
    /// Whether the server that shows it outlives the run.
    lasting: bool,
    /// Points that a curve has at most.
    points_max: usize,
    /// Lines of the run's files that could not be read.
    left_out: u64,
}

/// A named stretch of the run, in seconds of run time.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Span {
    name: String,
    from_s: f64,
    /// None while it goes on.
    to_s: Option<f64>,
}

/// A chart: one series of all arms.
#[derive(Clone, Copy, Debug, Serialize)]
struct Panel {
    title: &'static str,
    series: &'static str,
    unit: &'static str,
    about: &'static str,
    /// Whether a value holds until the next.
    steps: bool,
}

/// One series of one arm.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Curve {
    series: String,
    arm: String,
    /// Instants in seconds, in order.
    t: Vec<f64>,
    /// The values at these instants, in base units.
    v: Vec<f64>,
}

impl Curve {
    fn of(series: &str, arm: &str, thin: &Thin) -> Self {
        let (t, v) = thin.points().unzip();
        Self { series: series.to_owned(), arm: arm.to_owned(), t, v }
    }
}

/// The charts of a page, in the order in which they are read.
fn panels() -> Vec<Panel> {
    let sampled = |title, series: Sampled| {
        let info = series.info();
        Panel { title, series: info.name, unit: info.unit.name(), about: info.about, steps: false }
    };
    let latency = PerRequest::Latency.info();
    let granted = Counted::Granted.info();
    vec![
        law("Window", WINDOW, "requests", "the law's own value, at each update"),
        law("Gradient", GRADIENT, "ratio", "baseline over observed RTT, as the law has it"),
        sampled("In flight", Sampled::InFlight),
        sampled("Waiting for admission", Sampled::Waiting),
        sampled("Goodput", Sampled::Goodput),
        Panel {
            title: "Latency, mean",
            series: latency.name,
            unit: latency.unit.name(),
            about: latency.about,
            steps: false,
        },
        law("Waiting for tokens", WAITING, "requests", "asks that wait for the limiter"),
        sampled("Oldest wait", Sampled::OldestAge),
        law("Granted", granted.name, granted.unit.name(), granted.about),
        sampled("Throughput", Sampled::Throughput),
    ]
}

/// The gradient of a law that has one.
const GRADIENT: &str = "controller.gradient";
/// Asks that wait for a limiter.
const WAITING: &str = "limiter.waiting";

const fn law(
    title: &'static str,
    series: &'static str,
    unit: &'static str,
    about: &'static str,
) -> Panel {
    Panel { title, series, unit, about, steps: true }
}

/// Reads a run directory and writes its report into it; the report's path. Of a run that was killed,
/// it shows what is there.
///
/// # Errors
/// When there is no run, or its files cannot be read, or the report cannot be written.
pub fn write_report(run_dir: &Path) -> Result<PathBuf, ReportError> {
    let html = document::report(&read::page(run_dir)?);
    let path = run_dir.join(REPORT);
    fs::write(&path, html)
        .map_err(|source| ReportError::Unwritten { path: path.clone(), source })?;
    Ok(path)
}
