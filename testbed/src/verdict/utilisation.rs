//! What became of utilisations that were to be held by background load.

use super::guard::Breach;
use crate::experiment::plan::{Action, FaultPlan, Plan};
use crate::watch::series::Sampled;
use crate::watch::store::{ArmStore, Interval, Store};
use serde::Serialize;
use testbed_core::hold::Hold;
use testbed_core::time::Nanos;

/// A utilisation that was to be held, and what was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Utilised {
    /// The fault.
    pub fault: String,
    /// The arm.
    pub arm: String,
    /// The utilisation asked for, from 0 to 1.
    pub asked: f64,
    /// The mean over the sampling intervals within the fault; none, if there is no such interval.
    pub mean: Option<f64>,
    /// How far the mean may be off.
    pub tolerance: f64,
}

impl Utilised {
    /// What was measured, in words.
    pub fn text(&self) -> String {
        let percent = |share: f64| format!("{:.1}%", share * 100.0);
        let mean = self.mean.map_or_else(|| "not measured".to_owned(), percent);
        let (asked, tolerance) = (percent(self.asked), percent(self.tolerance));
        format!("utilisation {mean} on average, asked {asked} +- {tolerance}")
    }

    fn is_missed(&self) -> bool {
        self.mean.is_none_or(|mean| (mean - self.asked).abs() > self.tolerance)
    }
}

/// What became of every utilisation that was to be held.
pub fn utilised(plan: &Plan, store: &Store) -> Vec<Utilised> {
    let mut all = Vec::new();
    for fault in &plan.faults {
        let Action::Hold(Hold::Utilisation { share, tolerance }) = fault.action else { continue };
        all.extend(fault.arms.iter().map(|&arm| Utilised {
            fault: fault.name.clone(),
            arm: plan.arms[arm].name.clone(),
            asked: share.get(),
            mean: mean(&store.arms[arm], fault),
            tolerance: tolerance.get(),
        }));
    }
    all
}

/// The mean over time of the intervals that lie within the fault. Each edge of a fault ends one.
fn mean(arm: &ArmStore, fault: &FaultPlan) -> Option<f64> {
    let intervals = &arm.intervals.get(Sampled::Utilisation.info().name)?.items;
    let within = |interval: &&Interval| {
        let since = interval.end.since(fault.begin);
        since > Nanos::ZERO && since >= interval.length && interval.end <= fault.end
    };
    let (sum, length) =
        intervals.iter().filter(within).fold((0.0, 0.0), |(sum, length), interval| {
            let seconds = interval.length.as_secs_f64();
            (sum + interval.mean * seconds, length + seconds)
        });
    (length > 0.0).then_some(sum / length)
}

/// The utilisations that were missed.
pub fn breaches(utilised: &[Utilised]) -> impl Iterator<Item = Breach> {
    utilised.iter().filter(|utilised| utilised.is_missed()).map(|utilised| Breach {
        arm: utilised.arm.clone(),
        message: format!("`{}` missed its {}", utilised.fault, utilised.text()),
    })
}
