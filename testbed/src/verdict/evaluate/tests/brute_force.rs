//! Evaluation over random steps against a dense grid of instants, which needs no cleverness.

use crate::verdict::evaluate::{Evidence, Observed, Scope, evaluate, watch};
use crate::verdict::grammar::{Clause, condition, parse};
use crate::watch::store::Store;
use proptest::collection::vec;
use proptest::prelude::*;
use testbed_core::time::{Nanos, Time};

const LENGTH_MS: u64 = 200;

fn ms(ms: u64) -> Time {
    Time::ZERO.after(Nanos::from_millis(ms))
}

/// One phase, in which `a.x` has the values at these milliseconds, the first at 0.
fn store(steps: &[(u64, i32)]) -> Store {
    let mut store = Store::new(1);
    store.begin_phase(ms(0));
    for (at, value) in steps {
        store.arms[0].step(1, ms(*at), "a.x", f64::from(*value));
    }
    store.reach(ms(LENGTH_MS));
    store
}

/// The value in each millisecond.
fn grid(steps: &[(u64, i32)]) -> Vec<f64> {
    let at = |ms| steps.iter().rev().find(|(begin, _)| *begin <= ms).map(|(_, value)| *value);
    (0..LENGTH_MS).map(|ms| f64::from(at(ms).unwrap())).collect()
}

fn steps() -> impl Strategy<Value = Vec<(u64, i32)>> {
    vec((1..LENGTH_MS, -20..20), 0..12).prop_map(|mut steps| {
        steps.push((0, 5));
        steps.sort_by_key(|(at, _)| *at);
        steps.dedup_by_key(|(at, _)| *at);
        steps
    })
}

fn evidence(store: &Store) -> Evidence<'_> {
    let arms = vec!["a".to_owned()];
    Evidence { store, arms, faults: Vec::new(), oracles: Vec::new() }
}

/// What `function` comes to; NaN for nothing.
fn observed(store: &Store, function: &str) -> f64 {
    let sentence = parse(&format!("{function} <= 1s")).unwrap();
    let Clause::Claim(claim) = &sentence.alternatives[0][0] else { panic!("a claim") };
    let scope = Scope { arm: 0, phase: None };
    match evaluate(&evidence(store), scope, claim.plain().unwrap()) {
        Observed::Value(value) => value,
        Observed::NotWithin(_) | Observed::Infinite => f64::INFINITY,
        Observed::Nothing => f64::NAN,
    }
}

/// The slope of the least-squares line through the middles of all milliseconds.
fn slope(grid: &[f64]) -> f64 {
    let n = grid.len() as f64;
    let mean = grid.iter().sum::<f64>() / n;
    let times = (0..grid.len()).map(|ms| (ms as f64 + 0.5) / 1e3 - n / 2e3);
    let (mut xt, mut tt) = (0.0, 0.0);
    for (t, x) in times.zip(grid) {
        (xt, tt) = (xt + t * (x - mean), tt + t * t);
    }
    // Within a millisecond time goes on too, which the middles leave out.
    xt / (tt + n * 1e-6 / 12.0)
}

/// The longest row of milliseconds for which it is true.
fn longest(grid: &[f64], holds: impl Fn(f64) -> bool) -> u64 {
    let (mut longest, mut row) = (0, 0);
    for x in grid {
        row = if holds(*x) { row + 1 } else { 0 };
        longest = longest.max(row);
    }
    longest
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn functions_agree_with_a_dense_grid(steps in steps()) {
        let (store, grid) = (store(&steps), grid(&steps));
        let n = grid.len() as f64;
        let mean = grid.iter().sum::<f64>() / n;
        let variance = grid.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
        let tail = &grid[grid.len() - grid.len() / 10..];
        let level = tail.iter().sum::<f64>() / tail.len() as f64;
        // No integer lies on the edge of a band of 7.3 % but 0, and a level of 0 is a matter of rounding.
        prop_assume!(level.abs() > 1e-6);
        let outside = grid.iter().rposition(|x| (x - level).abs() > 0.073 * level.abs());
        let settled = outside.map_or(0.0, |ms| (ms + 1) as f64 / 1e3);
        let settled = if settled * 1e3 >= n { f64::INFINITY } else { settled };
        for (function, wanted) in [
            ("mean(a.x)", mean),
            ("sum(a.x)", mean * n / 1e3),
            ("stddev(a.x)", variance.sqrt()),
            ("slope(a.x)", slope(&grid)),
            ("settling(a.x, band=7.3%)", settled),
        ] {
            let got = observed(&store, function);
            let near = got == wanted || (got - wanted).abs() <= 1e-6 * (1.0 + wanted.abs());
            prop_assert!(near, "{} is {}, not {}", function, got, wanted);
        }
    }

    #[test]
    fn conditions_agree_with_a_dense_grid(steps in steps(), limit in -20i32..20, lasting in 1u64..60) {
        let (store, grid) = (store(&steps), grid(&steps));
        let condition = condition(&format!("a.x > {limit} for {lasting}ms")).unwrap();
        let watched = watch(&evidence(&store), Scope { arm: 0, phase: None }, &condition).unwrap();
        let holds = |x: f64| x > f64::from(limit);
        let wanted = longest(&grid, holds);
        prop_assert_eq!(watched.longest.unwrap_or(Nanos::ZERO), Nanos::from_millis(wanted));
        prop_assert_eq!(watched.lasted.is_some(), wanted >= lasting);
        let without = grid.iter().filter(|x| !holds(**x)).count();
        prop_assert_eq!(watched.without, Nanos::from_millis(without as u64));
        let broken = grid.iter().position(|x| !holds(*x)).map(|at| ms(at as u64));
        prop_assert_eq!(watched.broken, broken);
    }
}
