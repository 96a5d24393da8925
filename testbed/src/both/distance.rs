//! How far a virtual and a live run are apart, by what they recorded.

use super::BothError;
use crate::counts::{self, Counts};
use crate::headline::{Number, WINDOW_MEDIAN};
use crate::run_dir::{open, whole};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// How far two runs are apart.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Distance {
    /// Waits and latencies, arm by arm.
    pub distributions: Vec<Apart>,
    /// The windows of arms with a controller, phase by phase.
    pub windows: Vec<PhaseWindow>,
}

/// A distribution in both runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Apart {
    /// The arm.
    pub arm: String,
    /// The series.
    pub series: String,
    /// The Kolmogorov-Smirnov distance, 0 to 1; none if one run has no values.
    pub distance: Option<f64>,
    /// The Wasserstein distance in seconds: by how much values would have to be moved on the mean; none if one run has
    /// no values.
    pub shift: Option<f64>,
    /// What it was in virtual time.
    #[serde(rename = "virtual")]
    pub simulated: Quantiles,
    /// What it was live.
    pub live: Quantiles,
}

/// A distribution in one run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Quantiles {
    /// How many values there are.
    pub values: u64,
    /// The median in seconds; none without values.
    pub p50: Option<f64>,
    /// What 99 % of the values do not exceed, in seconds; none without values.
    pub p99: Option<f64>,
}

/// The median of a window over a phase, in requests; none where there was no window.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PhaseWindow {
    /// The arm.
    pub arm: String,
    /// The phase.
    #[serde(rename = "in")]
    pub phase: String,
    /// In virtual time.
    #[serde(rename = "virtual")]
    pub simulated: Option<f64>,
    /// Live.
    pub live: Option<f64>,
}

impl Distance {
    /// Between two runs, by what they left in their directories.
    ///
    /// # Errors
    /// If one did not leave what every judged run leaves.
    pub fn between(simulated: &Path, live: &Path) -> Result<Self, BothError> {
        Ok(Self {
            distributions: apart(&distributions(simulated)?, &distributions(live)?),
            windows: windows(&numbers(simulated)?, &numbers(live)?),
        })
    }
}

type Distributions = BTreeMap<(String, String), Counts>;

fn distributions(run: &Path) -> Result<Distributions, BothError> {
    const NAME: &str = "distributions.csv";
    counts::read(open(run, NAME)?)
        .map_err(|error| BothError::Unusable { path: run.join(NAME), why: error.to_string() })
}

fn numbers(run: &Path) -> Result<Vec<Number>, BothError> {
    const NAME: &str = "numbers.json";
    serde_json::from_str(&whole(run, NAME)?)
        .map_err(|error| BothError::Unusable { path: run.join(NAME), why: error.to_string() })
}

/// Every distribution that one of them has.
fn apart(simulated: &Distributions, live: &Distributions) -> Vec<Apart> {
    let mut keys: Vec<_> = simulated.keys().chain(live.keys()).collect();
    keys.sort();
    keys.dedup();
    let none = Counts::default();
    let of = |key: &(String, String)| {
        let [simulated, live] = [simulated, live].map(|all| all.get(key).unwrap_or(&none));
        Apart {
            arm: key.0.clone(),
            series: key.1.clone(),
            distance: simulated.distance(live),
            shift: simulated.shift(live).map(|ns| ns / 1e9),
            simulated: Quantiles::of(simulated),
            live: Quantiles::of(live),
        }
    };
    keys.into_iter().map(of).collect()
}

impl Quantiles {
    fn of(counts: &Counts) -> Self {
        let seconds = |percent| counts.percentile(percent).map(|ns| ns as f64 / 1e9);
        Self { values: counts.len(), p50: seconds(50.0), p99: seconds(99.0) }
    }
}

fn windows(simulated: &[Number], live: &[Number]) -> Vec<PhaseWindow> {
    let of = |number: &Number| {
        let phase = number.phase.clone().filter(|_| number.name == WINDOW_MEDIAN)?;
        let same = |other: &&Number| {
            (&other.arm, &other.phase, &other.name) == (&number.arm, &number.phase, &number.name)
        };
        let live = live.iter().find(same).and_then(|other| other.value);
        Some(PhaseWindow { arm: number.arm.clone(), phase, simulated: number.value, live })
    };
    simulated.iter().filter_map(of).collect()
}
