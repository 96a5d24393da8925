//! Measures over what was recorded, as tables.

mod brute_force;
mod response;

use super::*;
use crate::verdict::grammar::{Clause, parse};
use crate::watch::store::Interval;
use crate::watch::store::WaiterShare;
use testbed_core::time::Nanos;

/// What the measure of a plain sentence comes to, of the only arm and without a plan.
fn observed_in(store: &Store, phase: Option<usize>, sentence: &str) -> Observed {
    let sentence = parse(sentence).unwrap();
    let Clause::Claim(claim) = &sentence.alternatives[0][0] else { panic!("a claim") };
    let (arms, faults, oracles) = (vec!["a".to_owned()], Vec::new(), Vec::new());
    let evidence = Evidence { store, arms, faults, oracles };
    evaluate(&evidence, Scope { arm: 0, phase }, claim.plain().unwrap())
}

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
        let got = observed_in(&store(), phase, &format!("{measure} {bound}"));
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
        let Observed::Value(got) = observed_in(&store(), None, &format!("{measure} < 1s")) else {
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
            *store.arms[0].waiter(id).unwrap() = WaiterShare { took_part, granted, worst_rounds };
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
        let got = observed_in(&limited(), phase, &format!("{measure} <= 1"));
        assert_eq!(got, observed, "{measure} in {phase:?}");
    }
}
