//! Headline numbers: what every arm of a run came to, in a few numbers that runs can be compared by. A run leaves
//! them behind as `numbers.json`.

use crate::experiment::plan::{Plan, Work};
use crate::verdict::evaluate::{Evidence, Scope, value};
use crate::verdict::grammar::{Aggregate, Expression, Measure, Operator};
use crate::watch::journal::Entries;
use crate::watch::regime::Regime;
use crate::watch::store::Store;
use Aggregate::{Count, Last, Max, Mean, Percentile};
use serde::{Deserialize, Serialize};
use testbed_core::vitals::Unit;

/// Which way a number is better.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// The more, the better.
    More,
    /// The less, the better.
    Less,
    /// The nearer to what was expected, the better.
    Nearer,
    /// No value is better by itself.
    Neither,
}

impl Better {
    /// In one word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::More => "more",
            Self::Less => "less",
            Self::Nearer => "nearer",
            Self::Neither => "neither",
        }
    }
}

/// A headline number, as it is known beforehand.
#[derive(Clone, Copy, Debug)]
pub struct Headline {
    /// Its name.
    pub name: &'static str,
    /// Which way it is better.
    pub better: Better,
    /// The unit of its values.
    pub unit: Unit,
    /// Where it comes from.
    pub source: Source,
}

/// Where a headline number comes from.
#[derive(Clone, Copy, Debug)]
pub enum Source {
    /// An expression over what was recorded. Its text is the number's `measure`.
    Measure(fn() -> Expression),
    /// How often the arm came into a regime in the whole run.
    Entries(Regime),
}

/// One headline number of one arm.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Number {
    /// The arm.
    pub arm: String,
    /// The phase; the whole run if none.
    #[serde(rename = "in", default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// The headline's name.
    pub name: String,
    /// What it is taken from.
    pub measure: String,
    /// The value, in base units; none if nothing was recorded that it could be taken from.
    pub value: Option<f64>,
}

const fn measured(
    name: &'static str,
    better: Better,
    unit: Unit,
    of: fn() -> Expression,
) -> Headline {
    Headline { name, better, unit, source: Source::Measure(of) }
}

const fn entries(name: &'static str, regime: Regime) -> Headline {
    Headline { name, better: Better::Less, unit: Unit::Count, source: Source::Entries(regime) }
}

/// The name of the window that was not exceeded for half of the time.
pub const WINDOW_MEDIAN: &str = "window median";

/// Those of arms with a controller.
const CALLS: [Headline; 9] = [
    measured("goodput", Better::More, Unit::PerSecond, || all(Mean, "rpc.goodput")),
    measured("latency p50", Better::Less, Unit::Seconds, || all(Percentile(50.0), "rpc.latency")),
    measured("latency p99", Better::Less, Unit::Seconds, || all(Percentile(99.0), "rpc.latency")),
    measured("wait p99", Better::Less, Unit::Seconds, || all(Percentile(99.0), "admission.wait")),
    measured("wait max", Better::Less, Unit::Seconds, || all(Max, "admission.wait")),
    measured("rejected share", Better::Less, Unit::Ratio, rejected_share),
    measured(WINDOW_MEDIAN, Better::Neither, Unit::Requests, || {
        all(Percentile(50.0), "controller.window")
    }),
    measured("window end", Better::Neither, Unit::Requests, || all(Last, "controller.window")),
    entries("stalls", Regime::Stall),
];

/// Those of arms with a limiter.
const DOWNLOADS: [Headline; 6] = [
    measured("goodput", Better::More, Unit::BytesPerSecond, || all(Mean, "limiter.throughput")),
    measured("wait p50", Better::Less, Unit::Seconds, || all(Percentile(50.0), "limiter.wait")),
    measured("wait p99", Better::Less, Unit::Seconds, || all(Percentile(99.0), "limiter.wait")),
    measured("wait max", Better::Less, Unit::Seconds, || all(Max, "limiter.wait")),
    measured("jain", Better::More, Unit::Ratio, || Measure::Jain.into()),
    entries("starvations", Regime::Starvation),
];

/// The headlines of an arm that does this work.
pub const fn headlines(work: &Work) -> &'static [Headline] {
    match work {
        Work::Calls(_) => &CALLS,
        Work::Downloads(_) => &DOWNLOADS,
    }
}

/// The headline that is taken from `measure`, if there is one.
pub fn find(measure: &str) -> Option<&'static Headline> {
    CALLS.iter().chain(&DOWNLOADS).find(|headline| headline.measure() == measure)
}

/// Every headline number of every arm of `plan` over the whole run, and of each phase the median of the window.
pub fn numbers(plan: &Plan, store: &Store, entries: &Entries) -> Vec<Number> {
    let evidence = Evidence::new(plan, store);
    let phases = || std::iter::once(None).chain((0..plan.phases.len()).map(Some));
    let scopes =
        (0..plan.arms.len()).flat_map(|arm| phases().map(move |phase| Scope { arm, phase }));
    let of = |scope: Scope| {
        let arm = &plan.arms[scope.arm];
        let number = |headline: &Headline| Number {
            arm: arm.name.clone(),
            phase: scope.phase.map(|phase| plan.phases[phase].name.clone()),
            name: headline.name.to_owned(),
            measure: headline.measure(),
            value: headline.value(&evidence, entries, scope),
        };
        let wanted = |headline: &&Headline| scope.phase.is_none() || headline.name == WINDOW_MEDIAN;
        headlines(&arm.work).iter().filter(wanted).map(number).collect::<Vec<_>>()
    };
    scopes.flat_map(of).collect()
}

impl Headline {
    fn value(&self, evidence: &Evidence<'_>, entries: &Entries, scope: Scope) -> Option<f64> {
        match self.source {
            Source::Measure(measure) => {
                let known = value(evidence, scope, &measure()).ok()?.value();
                known.filter(|value| value.is_finite())
            }
            Source::Entries(regime) => Some(entries.of(scope.arm, regime) as f64),
        }
    }

    /// What it is taken from, in words.
    pub fn measure(&self) -> String {
        match self.source {
            Source::Measure(measure) => measure().to_string(),
            Source::Entries(regime) => format!("times that it came into `{}`", regime.name()),
        }
    }
}

/// All values of a series in one.
fn all(aggregate: Aggregate, series: &str) -> Expression {
    Measure::Aggregate { aggregate, series: series.to_owned() }.into()
}

/// Of all requests that were admitted or rejected.
fn rejected_share() -> Expression {
    let rejected = || all(Last, "rpc.rejected");
    rejected().then(Operator::Over, rejected().then(Operator::Plus, all(Count, "admission.wait")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{self, Overrides};
    use crate::verdict::grammar::expression;
    use crate::watch::series;

    const BOTH: &str = "
version: 1
name: both
arms:
  calls: { controller: { fixed: { limit: 4 } } }
  downloads: { limiter: { fifo: { levels: { global: { rate: 1MiB/s } } } } }
backend: { servers: 1, service: { constant: 1ms } }
load: { closed: { clients: 1 } }
download: { tasks: 1, chunk: { fixed: 16KiB } }
phases: [{ name: p, for: 1s }]
";

    #[test]
    fn every_headline_is_taken_from_series_that_such_an_arm_has_in_their_unit() {
        let plan = experiment::load("both", BOTH, &Overrides::default()).unwrap();
        for arm in &plan.arms {
            for headline in headlines(&arm.work) {
                let Source::Measure(measure) = headline.source else { continue };
                let of_arm = |name: &str| series::find(name, &arm.work).map(|(unit, _)| unit);
                let unit_of = |_: Option<&str>, name: &str| of_arm(name);
                let dimension = crate::verdict::units::dimension(&measure(), &unit_of);
                let dimension = dimension.unwrap().expect("a known series");
                assert_eq!(dimension, headline.unit.into(), "{}", headline.name);
            }
        }
    }

    #[test]
    fn what_a_headline_is_taken_from_can_be_written_in_a_file() {
        for headline in CALLS.iter().chain(&DOWNLOADS) {
            let Source::Measure(measure) = headline.source else { continue };
            assert_eq!(expression(&headline.measure()).as_ref(), Ok(&measure()));
        }
    }
}
