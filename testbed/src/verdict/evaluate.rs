//! Evaluating a sentence over what was recorded.

mod waiters;

use super::grammar::{Aggregate, Comparison, FIFO_WAIT, Measure, WAIT};
use crate::watch::series::PerRequest;
use crate::watch::store::{ArmStore, Distribution, Interval, PhaseSpan, Store};
use testbed_core::time::Time;

/// What was observed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Observed {
    /// A value, in base units.
    Value(f64),
    /// For `time_to`: it did not happen within this many seconds.
    NotWithin(f64),
    /// A ratio to nothing: above every number.
    Infinite,
    /// Nothing was recorded that could answer the question.
    Nothing,
}

impl From<Option<f64>> for Observed {
    fn from(value: Option<f64>) -> Self {
        value.map_or(Self::Nothing, Self::Value)
    }
}

/// Computes `measure` of one arm, within a phase or over the whole run.
pub fn evaluate(store: &Store, arm: usize, phase: Option<usize>, measure: &Measure) -> Observed {
    let Some(span) = store.span(phase) else {
        return Observed::Nothing;
    };
    let arm = &store.arms[arm];
    match measure {
        Measure::Aggregate { aggregate, series } => {
            aggregated(arm, phase, &span, *aggregate, series).into()
        }
        Measure::TimeTo { series, comparison, value } => {
            time_to(arm, phase, &span, series, *comparison, *value)
        }
        Measure::OverFifo(aggregate) => {
            let of = |series| aggregated(arm, phase, &span, *aggregate, series);
            of(WAIT).zip(of(FIFO_WAIT)).map_or(Observed::Nothing, |(wait, fifo)| ratio(wait, fifo))
        }
        Measure::Jain => waiters::jain(&arm.waiters(phase)).into(),
        Measure::ZeroProgress { rounds } => {
            waiters::zero_progress(&arm.waiters(phase), *rounds).into()
        }
    }
}

/// `wait` over `fifo`, neither of them negative. Who waits in neither is as well off in both.
fn ratio(wait: f64, fifo: f64) -> Observed {
    if fifo > 0.0 {
        Observed::Value(wait / fifo)
    } else if wait > 0.0 {
        Observed::Infinite
    } else {
        Observed::Value(1.0)
    }
}

fn aggregated(
    arm: &ArmStore,
    phase: Option<usize>,
    span: &PhaseSpan,
    aggregate: Aggregate,
    series: &str,
) -> Option<f64> {
    if let Some(per_request) = PerRequest::named(series) {
        return of_distribution(&arm.distribution(per_request, phase), aggregate);
    }
    if let Some(intervals) = arm.intervals.get(series) {
        return of_intervals(intervals.within(phase), aggregate);
    }
    let (before, points) = arm.steps.get(series)?.within(phase);
    of_levels(&levels(before, points, span), aggregate)
}

fn of_distribution(distribution: &Distribution, aggregate: Aggregate) -> Option<f64> {
    match aggregate {
        Aggregate::Mean => distribution.mean(),
        Aggregate::Max => distribution.max(),
        Aggregate::Min => distribution.min(),
        Aggregate::Last => distribution.last(),
        Aggregate::Percentile(percent) => distribution.percentile(percent),
    }
}

fn of_intervals(intervals: &[Interval], aggregate: Aggregate) -> Option<f64> {
    match aggregate {
        Aggregate::Max => intervals.iter().map(|interval| interval.max).reduce(f64::max),
        Aggregate::Min => intervals.iter().map(|interval| interval.min).reduce(f64::min),
        Aggregate::Last => intervals.last().map(|interval| interval.last),
        Aggregate::Mean | Aggregate::Percentile(_) => {
            let level = |interval: &Interval| (interval.mean, interval.length.as_secs_f64());
            of_levels(&intervals.iter().map(level).collect::<Vec<_>>(), aggregate)
        }
    }
}

/// Values with the seconds for which each was in force, in order.
fn levels(before: Option<f64>, points: &[(Time, f64)], span: &PhaseSpan) -> Vec<(f64, f64)> {
    let begin = before.map(|value| (span.begin, value));
    let all: Vec<_> = begin.into_iter().chain(points.iter().copied()).collect();
    let ends = all.iter().skip(1).map(|(at, _)| *at).chain([span.end]);
    all.iter().zip(ends).map(|((at, value), end)| (*value, end.since(*at).as_secs_f64())).collect()
}

fn of_levels(levels: &[(f64, f64)], aggregate: Aggregate) -> Option<f64> {
    let values = || levels.iter().map(|(value, _)| *value);
    match aggregate {
        Aggregate::Max => values().reduce(f64::max),
        Aggregate::Min => values().reduce(f64::min),
        Aggregate::Last => levels.last().map(|(value, _)| *value),
        Aggregate::Mean => {
            let seconds: f64 = levels.iter().map(|(_, seconds)| seconds).sum();
            let area: f64 = levels.iter().map(|(value, seconds)| value * seconds).sum();
            if seconds > 0.0 {
                Some(area / seconds)
            } else {
                levels.last().map(|(value, _)| *value)
            }
        }
        Aggregate::Percentile(percent) => percentile_over_time(levels, percent),
    }
}

/// The least value that was not exceeded for `percent` of the time.
fn percentile_over_time(levels: &[(f64, f64)], percent: f64) -> Option<f64> {
    let mut sorted = levels.to_vec();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let wanted = sorted.iter().map(|(_, seconds)| seconds).sum::<f64>() * percent / 100.0;
    let mut below = 0.0;
    for (value, seconds) in &sorted {
        below += seconds;
        if below >= wanted {
            return Some(*value);
        }
    }
    sorted.last().map(|(value, _)| *value)
}

fn time_to(
    arm: &ArmStore,
    phase: Option<usize>,
    span: &PhaseSpan,
    series: &str,
    comparison: Comparison,
    wanted: f64,
) -> Observed {
    let holds = |value: f64| comparison.holds(value, wanted);
    let reached = if let Some(intervals) = arm.intervals.get(series) {
        let items = intervals.within(phase);
        items.iter().find(|interval| holds(interval.mean)).map(|interval| interval.end)
    } else if let Some(steps) = arm.steps.get(series) {
        let (before, points) = steps.within(phase);
        let at_once = before.filter(|value| holds(*value)).map(|_| span.begin);
        at_once.or_else(|| points.iter().find(|(_, value)| holds(*value)).map(|(at, _)| *at))
    } else {
        return Observed::Nothing;
    };
    match reached {
        Some(at) => Observed::Value(at.since(span.begin).as_secs_f64()),
        None => Observed::NotWithin(span.end.since(span.begin).as_secs_f64()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::grammar::parse;
    use crate::watch::store::WaiterShare;
    use testbed_core::time::Nanos;

    fn secs(s: u64) -> Time {
        Time::ZERO.after(Nanos::from_secs(s))
    }

    /// Two phases of 10 s. `controller.window` is 2 from 0 s, 4 from 5 s, 8 from 14 s;
    /// `rpc.goodput` is 10/s and then 30/s; `rpc.latency` is 1 to 100 ms in the first phase.
    fn store() -> Store {
        let mut store = Store::new(1);
        store.begin_phase(secs(0));
        store.arms[0].step(1, secs(0), "controller.window", 2.0);
        store.arms[0].step(1, secs(5), "controller.window", 4.0);
        for ms in 1..=100 {
            store.arms[0].record(PerRequest::Latency, Nanos::from_millis(ms));
        }
        let goodput = |begin, end, value| Interval::level(secs(begin), secs(end), value);
        store.arms[0].interval(1, "rpc.goodput", goodput(0, 10, 10.0));
        store.reach(secs(10));
        store.begin_phase(secs(10));
        store.arms[0].step(2, secs(14), "controller.window", 8.0);
        store.arms[0].interval(2, "rpc.goodput", goodput(10, 20, 30.0));
        store.reach(secs(20));
        store
    }

    #[test]
    fn sentences_over_what_was_recorded() {
        let (whole, first, second) = (None, Some(0), Some(1));
        let value = Observed::Value;
        for (phase, measure, observed) in [
            (first, "max(controller.window)", value(4.0)),
            (second, "min(controller.window)", value(4.0)), // carried over from the first
            (second, "last(controller.window)", value(8.0)),
            (first, "mean(controller.window)", value(3.0)),
            (second, "mean(controller.window)", value((4.0 * 4.0 + 6.0 * 8.0) / 10.0)),
            (whole, "mean(controller.window)", value((5.0 * 2.0 + 9.0 * 4.0 + 6.0 * 8.0) / 20.0)),
            (whole, "p50(controller.window)", value(4.0)),
            (whole, "p95(controller.window)", value(8.0)),
            (second, "mean(rpc.goodput)", value(30.0)),
            (whole, "mean(rpc.goodput)", value(20.0)),
            (first, "time_to(controller.window >= 2)", value(0.0)),
            (first, "time_to(controller.window >= 4)", value(5.0)),
            (second, "time_to(controller.window >= 8)", value(4.0)),
            (second, "time_to(controller.window >= 9)", Observed::NotWithin(10.0)),
            (whole, "time_to(controller.window >= 8)", value(14.0)),
            (second, "time_to(rpc.goodput >= 20)", value(10.0)),
            (first, "max(controller.gradient)", Observed::Nothing),
            (second, "max(rpc.latency)", Observed::Nothing),
        ] {
            let bound = if measure.starts_with("time_to") { "<= 1s" } else { "<= 1" };
            let sentence = parse(&format!("{measure} {bound}")).unwrap();
            let got = evaluate(&store(), 0, phase, &sentence.measure);
            assert_eq!(got, observed, "{measure} in {phase:?}");
        }
    }

    #[test]
    fn distributions_are_exact_to_three_digits() {
        for (measure, milliseconds) in [
            ("min(rpc.latency)", 1.0),
            ("mean(rpc.latency)", 50.5),
            ("p50(rpc.latency)", 50.0),
            ("p99(rpc.latency)", 99.0),
            ("max(rpc.latency)", 100.0),
            ("last(rpc.latency)", 100.0),
        ] {
            let sentence = parse(&format!("{measure} < 1s")).unwrap();
            let Observed::Value(got) = evaluate(&store(), 0, None, &sentence.measure) else {
                panic!("{measure} has a value");
            };
            assert!((got * 1e3 / milliseconds - 1.0).abs() < 1e-3, "{measure} is {got}");
        }
    }

    /// Two phases of 10 s. In the first, waits of 3 s and 1 s are 2 s and 1 s in a FIFO queue, and
    /// of two waiters one gets 3 KiB and the other 1 KiB, after 20 rounds. In the second, one wait
    /// of 1 s is none in a FIFO queue, and another is none in both. A third has just begun.
    fn limited() -> Store {
        let mut store = Store::new(1);
        let arm = |store: &mut Store, waits: &[(u64, u64)], shares: [(u64, f64); 2]| {
            for (wait, fifo) in waits {
                store.arms[0].record(PerRequest::TokenWait, Nanos::from_secs(*wait));
                store.arms[0].record(PerRequest::FifoWait, Nanos::from_secs(*fifo));
            }
            for (id, (granted, worst_rounds)) in (0..).zip(shares) {
                let took_part = true;
                *store.arms[0].waiter(id).unwrap() =
                    WaiterShare { took_part, granted, worst_rounds };
            }
        };
        store.begin_phase(secs(0));
        arm(&mut store, &[(3, 2), (1, 1)], [(3072, 0.5), (1024, 20.0)]);
        store.reach(secs(10));
        store.begin_phase(secs(10));
        arm(&mut store, &[(0, 0), (1, 0)], [(0, 1.0), (0, 30.0)]);
        store.reach(secs(20));
        store.begin_phase(secs(20));
        store
    }

    #[test]
    fn sentences_over_what_waiters_got() {
        use Observed::{Infinite, Nothing, Value};
        let (whole, first, second, third) = (None, Some(0), Some(1), Some(2));
        for (phase, measure, observed) in [
            (first, "max(limiter.wait) / fifo", Value(1.5)),
            (first, "min(limiter.wait) / fifo", Value(1.0)),
            (first, "mean(limiter.wait) / fifo", Value(2.0 / 1.5)),
            (first, "last(limiter.wait) / fifo", Value(1.0)),
            (second, "min(limiter.wait) / fifo", Value(1.0)),
            (second, "max(limiter.wait) / fifo", Infinite),
            (whole, "max(limiter.wait) / fifo", Value(1.5)),
            (third, "max(limiter.wait) / fifo", Nothing),
            (first, "jain(download.granted by waiter)", Value(0.8)),
            (second, "jain(download.granted by waiter)", Nothing),
            (whole, "jain(download.granted by waiter)", Value(0.8)),
            (first, "zero_progress(20 rounds)", Value(1.0)),
            (first, "zero_progress(20.5 rounds)", Value(0.0)),
            (second, "zero_progress(1 round)", Value(2.0)),
            (whole, "zero_progress(30 rounds)", Value(1.0)),
            (third, "zero_progress(1 round)", Nothing),
            (whole, "max(real - quoted)", Nothing),
            (whole, "makespan", Nothing),
        ] {
            let sentence = parse(&format!("{measure} <= 1")).unwrap();
            let got = evaluate(&limited(), 0, phase, &sentence.measure);
            assert_eq!(got, observed, "{measure} in {phase:?}");
        }
    }
}
