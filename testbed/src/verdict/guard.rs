//! Guards: did the machine do what was asked? If not, the controller was not measured, and the
//! verdict is inconclusive instead of wrong.

use crate::experiment::file::{Honesty, Mode};
use crate::experiment::plan::{Action, ArmPlan, FaultPlan, Plan};
use crate::watch::series::{CONTROLLER, PerRequest};
use crate::watch::store::{ArmStore, Store};
use serde::Serialize;
use testbed_core::hold::{Hold, PATIENCE};
use testbed_core::load::LoadConfig;
use testbed_core::rng::Streams;
use testbed_core::time::{Nanos, Time};

/// A guard that did not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Breach {
    /// The arm.
    pub arm: String,
    /// What was asked, what came of it, and by how much it is off.
    pub message: String,
}

/// What became of a gradient that was to be held.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Held {
    /// The fault.
    pub fault: String,
    /// The arm.
    pub arm: String,
    /// The gradient asked for.
    pub asked: f64,
    /// The median of the gradients that the law computed meanwhile, but for the first.
    pub median: f64,
    /// The least of them.
    pub min: f64,
    /// The greatest of them.
    pub max: f64,
    /// How many they were.
    pub updates: usize,
    /// 99 % of feeds reached the backend at most this many seconds after their answer; `None` if it is in
    /// this process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feed_lag_p99: Option<f64>,
}

/// What the load generator of an arm did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Generator {
    /// The arm.
    pub arm: String,
    /// Arrivals that were planned, if the load has a plan.
    pub planned: Option<u64>,
    /// Whether it ran downloads.
    #[serde(skip)]
    pub downloads: bool,
    /// Arrivals that were offered, or waits that ended.
    pub offered: u64,
    /// 99 % of arrivals were offered, or limiters woken, at most this many seconds after their plan.
    pub lag_p99: f64,
    /// 99 % of requests were written at most this many seconds after their admission.
    pub send_lag_p99: f64,
    /// Median lateness of the backend's answers, in seconds.
    pub lateness_p50: f64,
    /// 99 % of feeds reached a backend elsewhere at most this many seconds after their answer; `None`
    /// without one, or without a gradient to hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feed_lag_p99: Option<f64>,
}

/// What became of every gradient that was to be held.
pub fn holds(plan: &Plan, store: &Store) -> Vec<Held> {
    let mut holds = Vec::new();
    for fault in &plan.faults {
        let Action::Hold(Hold::Gradient { gradient, .. }) = fault.action else {
            continue;
        };
        for &arm in &fault.arms {
            let mut gradients = gradients(&store.arms[arm], fault);
            gradients.sort_by(f64::total_cmp);
            let (Some(&min), Some(&max)) = (gradients.first(), gradients.last()) else {
                continue;
            };
            let feed_lags = store.arms[arm].distribution(PerRequest::FeedLag, None);
            let feed_lag_p99 = feed_lags.percentile(99.0);
            let (fault, arm) = (fault.name.clone(), plan.arms[arm].name.clone());
            let (updates, median) = (gradients.len(), gradients[gradients.len() / 2]);
            holds.push(Held {
                fault,
                arm,
                asked: gradient,
                median,
                min,
                max,
                updates,
                feed_lag_p99,
            });
        }
    }
    holds
}

/// The gradients of the updates while a hold was on. The first still saw answers from before.
fn gradients(arm: &ArmStore, fault: &FaultPlan) -> Vec<f64> {
    let Some(steps) = arm.steps.get(&format!("{CONTROLLER}gradient")) else {
        return Vec::new();
    };
    let during = |at: &Time| *at > fault.begin && *at <= fault.end;
    let within = steps.points.iter().filter(|(at, _)| during(at)).map(|(_, value)| *value);
    within.skip(1).collect()
}

/// What the load generators did in a live run. Virtual ones are never late.
pub fn generators(plan: &Plan, store: &Store) -> Vec<Generator> {
    if plan.mode == Mode::Virtual {
        return Vec::new();
    }
    let Some(span) = store.span(None) else {
        return Vec::new();
    };
    let generator = |(arm, recorded): (&ArmPlan, &ArmStore)| {
        let percentile = |series, percent| {
            recorded.distribution(series, None).percentile(percent).unwrap_or(0.0)
        };
        Generator {
            arm: arm.name.clone(),
            planned: arm.calls().and_then(|calls| planned(&calls.load, plan.seed, span.end)),
            downloads: arm.downloads().is_some(),
            offered: recorded.distribution(PerRequest::Lag, None).count(),
            lag_p99: percentile(PerRequest::Lag, 99.0),
            send_lag_p99: percentile(PerRequest::SendLag, 99.0),
            lateness_p50: percentile(PerRequest::Lateness, 50.0),
            feed_lag_p99: recorded.distribution(PerRequest::FeedLag, None).percentile(99.0),
        }
    };
    plan.arms.iter().zip(&store.arms).map(generator).collect()
}

/// How many arrivals an open load plans until `end`.
fn planned(load: &LoadConfig, seed: u64, end: Time) -> Option<u64> {
    let LoadConfig::Open(config) = load else {
        return None;
    };
    let (mut pace, mut rng) = (config.build(), Streams::new(seed).stream("arrivals"));
    let mut planned = 0;
    while pace.next(&mut rng) < end {
        planned += 1;
    }
    Some(planned)
}

/// The guards that did not hold.
pub fn breaches(plan: &Plan, holds: &[Held], generators: &[Generator]) -> Vec<Breach> {
    let mut breaches: Vec<_> =
        holds.iter().filter_map(|held| missed(held, &plan.honesty)).collect();
    breaches.extend(unseen(plan, holds));
    for (arm, generator) in plan.arms.iter().zip(generators) {
        let honesty = &plan.honesty;
        let messages = late(generator, honesty).into_iter().chain(slow(arm, generator, honesty));
        breaches.extend(messages.map(|message| Breach { arm: arm.name.clone(), message }));
    }
    breaches
}

/// Gradients that were to be held while their law computed none.
fn unseen(plan: &Plan, holds: &[Held]) -> Vec<Breach> {
    let clamps = plan
        .faults
        .iter()
        .filter(|fault| matches!(fault.action, Action::Hold(Hold::Gradient { .. })));
    let pairs =
        clamps.flat_map(|fault| fault.arms.iter().map(move |arm| (fault, &plan.arms[*arm])));
    let seen = |fault: &FaultPlan, arm: &ArmPlan| {
        holds.iter().any(|held| held.fault == fault.name && held.arm == arm.name)
    };
    pairs
        .filter(|(fault, arm)| !seen(fault, arm))
        .map(|(fault, arm)| Breach {
            arm: arm.name.clone(),
            message: format!(
                "`{}` was to hold a gradient; the law computed fewer than two meanwhile",
                fault.name
            ),
        })
        .collect()
}

fn missed(held: &Held, honesty: &Honesty) -> Option<Breach> {
    let Held { fault, arm, asked, median, min, max, feed_lag_p99, .. } = held;
    let slow = feed_lag_p99.map(seconds).filter(|lag| *lag > PATIENCE);
    let cause = slow.map(|lag| {
        format!("; feeds reached the backend within {lag} at p99, and it waits {PATIENCE} for one")
    });
    let cause = cause.unwrap_or_default();
    let message = format!(
        "`{fault}` was to hold the gradient at {asked}; it was {median:.3} at the median \
         ({min:.3} to {max:.3}){cause}"
    );
    ((median - asked).abs() > honesty.gradient).then(|| Breach { arm: arm.clone(), message })
}

fn slow(arm: &ArmPlan, generator: &Generator, honesty: &Honesty) -> Option<String> {
    let limit = arm.backend.service.median().scaled(0.01).max(honesty.lateness);
    let late = seconds(generator.lateness_p50);
    let message =
        format!("the backend answered {late} late at the median; at most {limit} was allowed");
    (late > limit).then_some(message)
}

fn late(generator: &Generator, honesty: &Honesty) -> Vec<String> {
    let mut messages = Vec::new();
    if let Some(planned) = generator.planned.filter(|planned| *planned > 0) {
        let share = generator.offered as f64 / planned as f64;
        if share < honesty.offered.get() {
            let offered = generator.offered;
            messages.push(format!(
                "the generator offered {offered} of {planned} planned requests ({:.1} %)",
                share * 100.0
            ));
        }
    }
    let lags = [
        (generator.lag_p99, honesty.load_lag, "behind its plan"),
        (generator.send_lag_p99, honesty.send_lag, "behind its admissions when writing"),
    ];
    for (lag, limit, what) in lags {
        if lag > limit.as_secs_f64() {
            messages.push(format!(
                "the generator was {} {what} at the 99th percentile; at most {limit} was \
                 allowed: this machine is too slow for the load",
                seconds(lag)
            ));
        }
    }
    messages
}

fn seconds(seconds: f64) -> Nanos {
    Nanos::from_secs_f64(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(median: f64, feed_lag_p99: Option<f64>) -> Held {
        let (fault, arm) = ("clamp".to_owned(), "a".to_owned());
        Held { fault, arm, asked: 0.7, median, min: 0.6, max: 0.8, updates: 9, feed_lag_p99 }
    }

    #[test]
    fn a_gradient_that_was_missed_is_told_with_feeds_that_were_too_late_for_it() {
        let cause = "; feeds reached the backend within 9ms at p99, and it waits 2ms for one";
        for (median, feed_lag_p99, says) in [
            (0.71, Some(0.009), None),
            (0.75, None, Some("")),
            (0.75, Some(0.001), Some("")),
            (0.75, Some(0.009), Some(cause)),
        ] {
            let said = missed(&held(median, feed_lag_p99), &Honesty::default())
                .map(|breach| breach.message);
            let of_median = "it was 0.750 at the median (0.600 to 0.800)";
            let expected = says.map(|cause| {
                format!("`clamp` was to hold the gradient at 0.7; {of_median}{cause}")
            });
            assert_eq!(said, expected, "{median}, {feed_lag_p99:?}");
        }
    }
}
