//! A standing backlog: who gets what, and how long one waits.

use crate::race::{CHUNK, KIB, Load, MIB, RATE, Race, bucket, empty, race};
use testbed_core::limit::lateness::Lateness;
use testbed_core::limit::sleepers::{RaceConfig, Ties};
use testbed_core::limit::{LevelsConfig, LimiterConfig, peek};
use testbed_core::time::Nanos;

const WAITERS: usize = 32;

fn peeking(rate: u64, ties: Ties, lateness: Lateness) -> LimiterConfig {
    let race = RaceConfig { ties, lateness };
    LimiterConfig::Peek(peek::Config { levels: empty(rate, rate), race })
}

fn one_late(length: Nanos) -> Lateness {
    let mut each = vec![Nanos::ZERO; WAITERS];
    each[5] = length;
    Lateness::Each(each)
}

fn minute(config: &LimiterConfig) -> Race {
    race(config, &Load::standing(60))
}

#[test]
fn policies_that_keep_a_turn_are_fair_to_the_round() {
    for config in LimiterConfig::all(&empty(RATE, RATE)) {
        let kept = config.guarantees().order || config.guarantees().quotes;
        if config.levels().is_some() && kept {
            let race = minute(&config);
            assert!(race.jain() > 0.999_9, "{}: {race:?}", config.name());
            assert!(race.longest <= Nanos::from_millis(125), "{}: {race:?}", config.name());
        }
    }
}

#[test]
fn what_breaks_ties_decides_who_starves() {
    for (what, ties, lateness, starved) in [
        ("stable order is a round robin", Ties::Stable, Lateness::None, 0),
        ("ties by id feed one", Ties::ById, Lateness::None, 31),
        ("last in first out feeds one", Ties::Lifo, Lateness::None, 31),
        ("one nanosecond late is never", Ties::Stable, one_late(Nanos::new(1)), 1),
        ("so it is among chances", Ties::Random, one_late(Nanos::new(1)), 1),
        ("i nanoseconds late feed the first", Ties::Stable, Lateness::Step(Nanos::new(1)), 31),
    ] {
        let race = minute(&peeking(RATE, ties, lateness));
        assert_eq!(race.starved(), starved, "{what}: {race:?}");
        assert_eq!(race.grants.iter().sum::<u64>(), 15_359, "{what}: no byte is wasted");
    }
}

#[test]
fn a_heap_that_compares_only_times_starves_some() {
    let race = minute(&peeking(RATE, Ties::UnstableHeap, Lateness::None));
    assert!((1..WAITERS).contains(&race.starved()), "{race:?}");
}

#[test]
fn who_asks_again_at_once_takes_all_from_a_race_and_nothing_from_a_queue() {
    let load = Load { turnaround: Nanos::ZERO, ..Load::standing(60) };
    for config in LimiterConfig::all(&empty(RATE, RATE)) {
        if config.levels().is_some() {
            let starved = if config.is_race() { 31 } else { 0 };
            assert_eq!(race(&config, &load).starved(), starved, "{}", config.name());
        }
    }
}

#[test]
fn one_byte_more_is_never_served_by_a_race_and_in_turn_by_tickets() {
    let larger = |id| if id == 5 { CHUNK + 1 } else { CHUNK };
    let load = Load { cost: larger, ..Load::standing(60) };
    let stable = peeking(RATE, Ties::Stable, Lateness::None);
    assert_eq!(race(&stable, &load).grants[5], 0);
    for config in LimiterConfig::all(&empty(RATE, RATE)) {
        if config.levels().is_some() && config.guarantees().quotes {
            let race = race(&config, &load);
            assert!(race.grants[5] >= 479, "{}: {race:?}", config.name());
        }
    }
}

#[test]
fn large_and_small_chunks_starve_or_share() {
    let half = |id| if id < 16 { 4 * KIB } else { CHUNK };
    let load = Load { cost: half, ..Load::standing(60) };
    for config in LimiterConfig::all(&empty(RATE, RATE)) {
        if config.levels().is_some() {
            let race = race(&config, &load);
            let starved = if config.is_race() { 16 } else { 0 };
            assert_eq!(race.starved(), starved, "{}: {race:?}", config.name());
        }
    }
}

/// Two tasks at an eighth of the rate each, 32 grants a second: 31 waiters of one, one of the other.
#[test]
fn a_crowd_that_its_task_holds_back_blocks_nobody_else() {
    let load = Load { task: |id| u32::from(id == 31), ..Load::standing(60) };
    let task = Some(bucket(RATE / 8, CHUNK, 0));
    let levels = LevelsConfig { task, ..empty(RATE, RATE) };
    for config in LimiterConfig::all(&levels) {
        if config.levels() == Some(&levels) {
            let race = race(&config, &load);
            let crowd: u64 = race.grants[..31].iter().sum();
            assert!(crowd >= 1915 && race.grants[31] >= 1915, "{}: {race:?}", config.name());
        }
    }
}

#[test]
fn random_ties_starve_nobody_for_good_and_have_a_long_tail() {
    let race = minute(&peeking(RATE, Ties::Random, Lateness::None));
    assert_eq!(race.starved(), 0);
    let rounds = race.longest.as_millis_f64() / 125.0;
    // A wait is geometric: of 15,359 about 38 last longer than 6 rounds, and 2e-7 longer than 25.
    assert!((6.0..25.0).contains(&rounds) && race.jain() > 0.99, "{rounds} rounds: {race:?}");
}

/// Tokens come in while all sleepers are 10 ms late, and who comes back from a grant within that time
/// takes them without sleeping. A resonance: who started when decides for good.
#[test]
fn late_sleepers_lose_to_those_who_come_back_awake() {
    let late = || Lateness::Constant(Nanos::from_millis(10));
    let turnaround = Nanos::from_millis(1);
    for (apart, lateness, few, fair) in [
        // One after the other, as fast as tokens come: 17 share everything.
        (244_141, late(), 15, 17.0 / 32.0),
        // All at once: 41 chunks are there when the 32 first wake, one for each.
        (0, late(), 0, 0.95),
        (244_141, Lateness::None, 0, 1.0),
    ] {
        let apart = Nanos::new(apart);
        let load = Load { apart, turnaround, ..Load::standing(20) };
        let race = race(&peeking(64 * MIB, Ties::Stable, lateness), &load);
        assert_eq!(race.at_most(100), few, "{race:?}");
        assert!((race.jain() - fair).abs() < 0.01, "{}: {race:?}", race.jain());
    }
}
