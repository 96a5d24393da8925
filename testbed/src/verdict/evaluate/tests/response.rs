//! How series answer to steps and faults, in numbers that can be worked out by hand.

use super::secs;
use crate::verdict::evaluate::{Evidence, FaultSpan, Observed, Scope, evaluate, watch};
use crate::verdict::grammar::{Clause, condition, parse};
use crate::watch::store::Store;
use testbed_core::time::{Nanos, Time};

/// `a.level` is 10 until a fault from 10 s to 20 s, then 4, and from 25 s on 9.5; `a.count` grows by 3 at 2 s,
/// 12 s and 22 s. `a.step` goes from 2 to 12 and down to 8 in the last phase. Phases of 10 s.
fn store() -> Store {
    let mut store = Store::new(1);
    for (phase, begin) in [0, 10, 20].into_iter().enumerate() {
        store.begin_phase(secs(begin));
        let points: &[(u64, &str, f64)] = match phase {
            0 => &[
                (0, "a.level", 10.0),
                (0, "a.step", 2.0),
                (0, "a.count", 0.0),
                (2, "a.count", 3.0),
            ],
            1 => &[(11, "a.level", 4.0), (12, "a.count", 6.0)],
            _ => &[
                (22, "a.step", 12.0),
                (22, "a.count", 9.0),
                (24, "a.step", 8.0),
                (25, "a.level", 9.5),
            ],
        };
        for (at, series, value) in points {
            store.arms[0].step(phase + 1, secs(*at), series, *value);
        }
        store.reach(secs(begin + 10));
    }
    store
}

fn evidence(store: &Store) -> Evidence<'_> {
    let (begin, end) = (secs(10), secs(20));
    let fault = FaultSpan { name: "slow".to_owned(), begin, end, arms: vec![0] };
    Evidence { store, arms: vec!["a".to_owned()], faults: vec![fault], oracles: Vec::new() }
}

#[test]
fn responses_can_be_worked_out_by_hand() {
    use Observed::{NotWithin, Nothing, Value};
    let (whole, first, second, third) = (None, Some(0), Some(1), Some(2));
    let store = store();
    for (phase, sentence, observed) in [
        (whole, "reaction(a.level, fault=slow) < 1s", Value(1.0)),
        (whole, "reaction(a.level, fault=slow, band=61%) < 1s", NotWithin(10.0)),
        // 9.5 is within 10 % of 10, and not within 4 %.
        (whole, "recovery(a.level, fault=slow) < 1s", Value(5.0)),
        (whole, "recovery(a.level, fault=slow, band=4%) < 1s", NotWithin(10.0)),
        (whole, "recovery(a.level, fault=slow, band=61%) < 1s", Value(0.0)),
        (whole, "reaction(a.level, fault=other) < 1s", Nothing),
        // The final level of the last phase is 8, and its first value 2.
        (third, "overshoot(a.step) < 1", Value((12.0 - 8.0) / (8.0 - 2.0))),
        (third, "settling(a.step) < 1s", Value(4.0)),
        (third, "settling(a.step, band=50%) < 1s", Value(2.0)),
        (third, "settling(a.level) < 1s", Value(5.0)),
        (first, "settling(a.level) < 1s", Value(0.0)),
        (first, "overshoot(a.level) < 1", Nothing),
        (first, "oscillation(a.level) < 1", Value(0.0)),
        (first, "stddev(a.level) < 1", Value(0.0)),
        // 2 for 2 s, 12 for 2 s, 8 for 6 s: mean 7.6.
        (third, "mean(a.step) < 1", Value(7.6)),
        (third, "sum(a.step) < 1", Value(76.0)),
        (third, "count(a.step) < 1", Value(2.0)),
        (second, "count(a.step) < 1", Value(0.0)),
        // From 3, carried over, to 6 in 10 s.
        (second, "rate(a.count) < 1", Value(0.3)),
        (whole, "rate(a.count) < 1", Value(0.3)),
        (third, "slope(a.count) < 1", Value(0.288)),
    ] {
        let sentence = parse(sentence).unwrap();
        let Clause::Claim(claim) = &sentence.alternatives[0][0] else { panic!("a claim") };
        let scope = Scope { arm: 0, phase };
        let got = evaluate(&evidence(&store), scope, claim.plain().unwrap());
        match (got, observed) {
            (Value(got), Value(wanted)) => {
                assert!((got - wanted).abs() < 1e-12, "{sentence}: {got}")
            }
            (got, wanted) => assert_eq!(got, wanted, "{sentence} in {phase:?}"),
        }
    }
}

#[test]
fn conditions_are_followed_from_instant_to_instant() {
    let store = store();
    let s = |seconds: Option<u64>| seconds.map(Nanos::from_secs);
    let at = |seconds: Option<u64>| seconds.map(|s| Time::ZERO.after(Nanos::from_secs(s)));
    for (phase, text, longest, lasted, broken, without) in [
        (None, "a.level > 5", Some(11), Some(0), Some(11), 14),
        (None, "a.level > 5 for 11s", Some(11), Some(11), Some(11), 14),
        (None, "a.level > 5 for 12s", Some(11), None, Some(11), 14),
        (Some(1), "a.level > 5", Some(1), Some(10), Some(11), 9),
        (None, "a.step > a.level", Some(3), Some(22), Some(0), 27),
        (None, "a.step > max(a.step)", None, None, Some(0), 30),
        (None, "2 * a.step + 1 >= 5", Some(30), Some(0), None, 0),
    ] {
        let condition = condition(text).unwrap();
        let watched = watch(&evidence(&store), Scope { arm: 0, phase }, &condition).unwrap();
        assert_eq!(
            (watched.longest, watched.without),
            (s(longest), Nanos::from_secs(without)),
            "{text}"
        );
        assert_eq!((watched.lasted, watched.broken), (at(lasted), at(broken)), "{text}");
    }
    let condition = condition("a.other > 5").unwrap();
    assert!(watch(&evidence(&store), Scope { arm: 0, phase: None }, &condition).is_err());
}
