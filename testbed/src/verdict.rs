//! Verdicts: what an experiment expected, held against what was recorded.

pub mod evaluate;
pub mod grammar;
pub mod guard;
pub mod utilisation;

use crate::experiment::plan::{Expectation, Plan, Work};
use crate::watch::series;
use crate::watch::store::Store;
use evaluate::{Observed, evaluate};
use grammar::{Bound, Comparison, Measure, Sentence, in_unit};
use guard::{Breach, Generator, Held};
use serde::Serialize;
use testbed_core::vitals::Unit;
use utilisation::Utilised;

/// Stands in place of a number, since JSON has none for it.
const INFINITE: &str = "infinite (in an exact FIFO queue it is 0s)";

/// How a run, or one expectation, came out. Later ones are worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// What was expected came true.
    Pass,
    /// The run cannot answer: too little was recorded, or the machine did not do what was asked.
    Inconclusive,
    /// What was expected did not come true.
    Fail,
}

impl Class {
    /// The class in one word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Inconclusive => "inconclusive",
            Self::Fail => "fail",
        }
    }
}

/// One expectation of one arm, judged.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judged {
    /// The expectation's name.
    pub id: String,
    /// The arm.
    pub arm: String,
    /// The phase, if it speaks of one.
    #[serde(rename = "in", skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// What was measured, as the sentence has it.
    pub measure: String,
    /// How it came out.
    pub verdict: Class,
    /// The value, in base units; none if there is no number.
    pub observed: Option<f64>,
    /// What there is instead of a number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remark: Option<String>,
    /// What it was held against, in base units.
    pub limit: String,
    /// What was observed and what was expected, as people read it.
    #[serde(skip)]
    pub text: String,
}

/// The outcome of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// The worst class of all; a failure counts only if the machine did what was asked.
    pub class: Class,
    /// Every expectation, in the order of the file.
    pub expectations: Vec<Judged>,
    /// What was breached that the answer depends on.
    pub breaches: Vec<Breach>,
    /// What gradients were held.
    pub holds: Vec<Held>,
    /// What utilisations were held.
    pub utilised: Vec<Utilised>,
    /// What the load generator did (live).
    pub generators: Vec<Generator>,
}

/// Judges a complete run.
pub fn judge(plan: &Plan, store: &Store) -> Verdict {
    let judged = |expectation| judge_arms(plan, store, expectation);
    let expectations: Vec<_> = plan.expect.iter().flat_map(judged).collect();
    let holds = guard::holds(plan, store);
    let generators = guard::generators(plan, store);
    let utilised = utilisation::utilised(plan, store);
    let mut breaches = guard::breaches(plan, &holds, &generators);
    breaches.extend(utilisation::breaches(&utilised));
    let worst = expectations.iter().map(|judged| judged.verdict).max().unwrap_or(Class::Pass);
    let class = if breaches.is_empty() { worst } else { Class::Inconclusive };
    Verdict { class, expectations, breaches, holds, utilised, generators }
}

fn judge_arms(plan: &Plan, store: &Store, expectation: &Expectation) -> Vec<Judged> {
    let judged = |&arm: &usize| judge_arm(plan, store, expectation, arm);
    expectation.arms.iter().map(judged).collect()
}

fn judge_arm(plan: &Plan, store: &Store, expectation: &Expectation, arm: usize) -> Judged {
    let Sentence { measure, bound } = &expectation.sentence;
    let unit = unit(measure, &plan.arms[arm].work);
    let observed = evaluate(store, arm, expectation.phase, measure);
    let (value, remark) = match observed {
        Observed::Value(value) => (Some(value), None),
        Observed::NotWithin(seconds) => (None, Some(format!("not within {seconds}s"))),
        Observed::Infinite => (None, Some(INFINITE.to_owned())),
        Observed::Nothing => (None, Some(format!("nothing was recorded for {measure}"))),
    };
    let seen = value.map(|value| in_unit(value, unit)).or_else(|| remark.clone());
    Judged {
        id: expectation.id.clone(),
        arm: plan.arms[arm].name.clone(),
        phase: expectation.phase.map(|phase| plan.phases[phase].name.clone()),
        measure: measure.to_string(),
        verdict: class(observed, bound),
        observed: value,
        limit: bound.to_string(),
        text: format!("{}, expected {}", seen.unwrap_or_default(), bound.in_unit(unit)),
        remark,
    }
}

fn unit(measure: &Measure, work: &Work) -> Unit {
    match measure {
        Measure::TimeTo { .. } => Unit::Seconds,
        Measure::Aggregate { series, .. } => {
            series::find(series, work).map_or(Unit::Count, |(unit, _)| unit)
        }
        Measure::OverFifo(_) | Measure::Jain => Unit::Ratio,
        Measure::ZeroProgress { .. } => Unit::Count,
    }
}

fn class(observed: Observed, bound: &Bound) -> Class {
    let holds = match observed {
        Observed::Nothing => return Class::Inconclusive,
        Observed::Value(value) => bound.holds(value),
        Observed::Infinite => bound.holds(f64::INFINITY),
        // It takes longer than was watched: that is above any bound within the phase.
        Observed::NotWithin(watched) => match bound {
            Bound::Compare(Comparison::Greater | Comparison::GreaterOrEqual, limit) => {
                watched >= *limit
            }
            _ => false,
        },
    };
    if holds { Class::Pass } else { Class::Fail }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{self, Overrides};
    use crate::watch::series::PerRequest;
    use testbed_core::time::{Nanos, Time};

    const LIMITED: &str = "
version: 1
name: limited
arms: { a: { limiter: { fifo: { levels: { global: { rate: 1MiB/s } } } } } }
backend: { servers: 1, service: { constant: 0s } }
download: { tasks: 1, chunk: { fixed: 16KiB } }
phases: [{ name: p, for: 1s }]
";

    /// That this is expected of a limiter.
    fn plan(that: &str) -> Plan {
        let text = format!("{LIMITED}expect: [{{ id: x, that: {that} }}]\n");
        experiment::load("limited", &text, &Overrides::default()).unwrap()
    }

    /// A wait of 1 s, for none in a FIFO queue.
    fn store() -> Store {
        let mut store = Store::new(1);
        store.begin_phase(Time::ZERO);
        store.arms[0].record(PerRequest::TokenWait, Nanos::from_secs(1));
        store.arms[0].record(PerRequest::FifoWait, Nanos::ZERO);
        store
    }

    #[test]
    fn a_ratio_to_nothing_is_above_every_bound_and_null_in_json() {
        for (bound, class) in [
            ("<= 3", Class::Fail),
            (">= 3", Class::Pass),
            ("== 3", Class::Fail),
            ("within 3 +- 1", Class::Fail),
        ] {
            let verdict = judge(&plan(&format!("max(limiter.wait) / fifo {bound}")), &store());
            assert_eq!(verdict.class, class, "{bound}");
            let text = format!("infinite (in an exact FIFO queue it is 0s), expected {bound}");
            assert_eq!(verdict.expectations[0].text, text);
            let json = serde_json::to_string(&verdict.expectations[0]).unwrap();
            let json: serde_json::Value = serde_json::from_str(&json).unwrap();
            assert!(json["observed"].is_null(), "{json}");
            assert_eq!(json["remark"], "infinite (in an exact FIFO queue it is 0s)");
        }
    }
}
