//! Verdicts: what an experiment expected, held against what was recorded.

pub mod evaluate;
pub mod grammar;
pub mod guard;
pub mod judge;
pub mod oracle;
pub mod referee;
pub mod standing;
#[cfg(test)]
mod statistics;
pub mod units;
pub mod utilisation;

use crate::experiment::file::{AbortAs, Severity};
use crate::experiment::plan::{Expectation, Plan};
use crate::watch::store::Store;
use evaluate::{Evidence, Scope};
use guard::{Breach, Generator, Held};
use judge::{Finding, Judge};
use referee::Ruling;
use serde::Serialize;
use testbed_core::time::Time;
use utilisation::Utilised;

/// How a run, or one expectation, came out. Later ones are worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// What was expected came true.
    Pass,
    /// What was expected did not come true, and the file says that this is only to be told.
    Warn,
    /// The run cannot answer: too little was recorded, or the machine did not do what was asked.
    Inconclusive,
    /// What was expected did not come true.
    Fail,
    /// Something broke; nothing is known.
    Error,
}

impl From<AbortAs> for Class {
    fn from(ends_as: AbortAs) -> Self {
        match ends_as {
            AbortAs::Fail => Self::Fail,
            AbortAs::Inconclusive => Self::Inconclusive,
        }
    }
}

impl Class {
    /// What a process exits with.
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Pass | Self::Warn => 0,
            Self::Error => 1,
            Self::Inconclusive => 4,
            Self::Fail => 99,
        }
    }

    /// The class in one word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Warn => "warn",
            Self::Inconclusive => "inconclusive",
            Self::Fail => "fail",
            Self::Error => "error",
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
    /// The whole sentence.
    pub that: String,
    /// What it means if it does not come true.
    #[serde(skip_serializing_if = "Severity::is_fail")]
    pub severity: Severity,
    /// What was measured, as the sentence has it; of several clauses, the one on which the sentence hung.
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
    /// How far within the limit the value is, in base units; below 0 beyond it.
    pub margin: Option<f64>,
    /// When the limit was first broken, if it was and there is such an instant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub breach: Option<Instant>,
    /// What was observed and what was expected, as people read it.
    #[serde(skip)]
    pub text: String,
}

/// A moment of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Instant {
    /// Nanoseconds since the run began.
    pub t_ns: u64,
    /// The phase.
    pub phase: String,
}

/// The outcome of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// The worst class of all; a failure counts only if the machine did what was asked.
    pub class: Class,
    /// Why it ended before its last phase, if it did.
    pub ended: Option<Box<Ruling>>,
    /// Every expectation, in the order of the file; none if it ended early.
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

/// The verdict of a run that was ended early: nothing is judged but what ended it.
pub fn ruled(plan: &Plan, store: &Store, ruling: Ruling) -> Verdict {
    let (holds, generators) = (guard::holds(plan, store), guard::generators(plan, store));
    let (class, ended) = (ruling.verdict, Some(Box::new(ruling)));
    let (expectations, breaches) = (Vec::new(), Vec::new());
    let utilised = utilisation::utilised(plan, store);
    Verdict { class, ended, expectations, breaches, holds, utilised, generators }
}

/// Judges a complete run.
pub fn judge(plan: &Plan, store: &Store) -> Verdict {
    let judge = Judge::new(plan, Evidence::new(plan, store));
    let judged = |expectation| judge_arms(&judge, plan, expectation);
    let expectations: Vec<_> = plan.expect.iter().flat_map(judged).collect();
    let holds = guard::holds(plan, store);
    let generators = guard::generators(plan, store);
    let utilised = utilisation::utilised(plan, store);
    let mut breaches = guard::breaches(plan, &holds, &generators);
    breaches.extend(utilisation::breaches(&utilised));
    let worst = expectations.iter().map(|judged| judged.verdict).max().unwrap_or(Class::Pass);
    let cannot_say = !breaches.is_empty() || plan.judges_nothing();
    let class = if cannot_say { Class::Inconclusive } else { worst };
    Verdict { class, ended: None, expectations, breaches, holds, utilised, generators }
}

/// Judges an expectation of each arm that it speaks of.
fn judge_arms(judge: &Judge<'_>, plan: &Plan, expectation: &Expectation) -> Vec<Judged> {
    let judged = |&arm: &usize| {
        let scope = Scope { arm, phase: expectation.phase };
        Judged::new(plan, expectation, arm, judge.judge(scope, &expectation.sentence))
    };
    expectation.arms.iter().map(judged).collect()
}

impl Judged {
    fn new(plan: &Plan, expectation: &Expectation, arm: usize, finding: Finding) -> Self {
        let class = match finding.class {
            Class::Fail if expectation.severity == Severity::Warn => Class::Warn,
            class => class,
        };
        let at = |at: Time| Instant { t_ns: at.as_nanos(), phase: plan.phase_at(at) };
        Self {
            id: expectation.id.clone(),
            arm: plan.arms[arm].name.clone(),
            phase: expectation.phase.map(|phase| plan.phases[phase].name.clone()),
            that: expectation.sentence.to_string(),
            severity: expectation.severity,
            measure: finding.measure,
            verdict: class,
            observed: finding.observed,
            remark: finding.remark,
            limit: finding.limit,
            margin: finding.margin,
            breach: finding.breach.map(at),
            text: finding.text,
        }
    }
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
