//! Every registered policy through the same rules, and the races that decide who starves.

use proptest::prelude::*;
use std::collections::BTreeMap;
use testbed_core::bucket::BucketConfig;
use testbed_core::limit::lateness::Lateness;
use testbed_core::limit::quantity::{ByteRate, Bytes};
use testbed_core::limit::{Ask, Grant, Level, LevelsConfig, Limiter, LimiterConfig, Waiter, peek};
use testbed_core::rng::Streams;
use testbed_core::time::{Nanos, Time};

const KIB: u64 = 1024;
const WAITERS: u32 = 32;
const CHUNK: u64 = 16 * KIB;
/// 16 KiB at 4 MiB/s: 3.90625 ms; a round of 32 is 125 ms.
const RATE: u64 = 4 * KIB * KIB;

fn levels(rate: u64, capacity: u64, initial: u64) -> LevelsConfig {
    let rate = ByteRate::per_second(rate).expect("above zero");
    let (capacity, initial) = (Some(Bytes::new(capacity)), Some(Bytes::new(initial)));
    LevelsConfig::global(BucketConfig { capacity, initial, ..BucketConfig::new(rate) })
}

/// What a race gave: grants a waiter, and the longest wait.
#[derive(Debug)]
struct Race {
    grants: Vec<u64>,
    longest: Nanos,
}

impl Race {
    fn starved(&self) -> usize {
        self.grants.iter().filter(|grants| **grants == 0).count()
    }

    /// Jain's index: 1 if all got the same, 1/n if one got everything.
    fn jain(&self) -> f64 {
        let sum: f64 = self.grants.iter().map(|grants| *grants as f64).sum();
        let squares: f64 = self.grants.iter().map(|grants| (*grants as f64).powi(2)).sum();
        sum * sum / (self.grants.len() as f64 * squares)
    }
}

/// A standing backlog: 32 waiters, each of which asks again `turnaround` after its grant.
fn race(
    config: &LimiterConfig,
    costs: impl Fn(u32) -> u64,
    turnaround: Nanos,
    until: Time,
) -> Race {
    let mut limiter = config.build(&Streams::new(7));
    let mut asks: BTreeMap<(Time, u64), u32> =
        (0..WAITERS).map(|id| ((Time::ZERO, u64::from(id)), id)).collect();
    let mut race = Race { grants: vec![0; WAITERS as usize], longest: Nanos::ZERO };
    let mut sequence = u64::from(WAITERS);
    loop {
        let next_ask = asks.keys().next().map_or(Time::NEVER, |(at, _)| *at);
        let now = limiter.next_wake().unwrap_or(Time::NEVER).min(next_ask);
        if now >= until {
            return race;
        }
        let granted = if next_ask == now {
            let id = asks.pop_first().map_or(0, |(_, id)| id);
            let answer = limiter.ask(now, Waiter { id, task: id, queue: 0 }, costs(id));
            (answer == Ask::Granted).then_some((id, now))
        } else {
            limiter.on_wake(now).map(|grant| (grant.waiter.id, grant.asked_at))
        };
        if let Some((id, asked_at)) = granted {
            race.grants[id as usize] += 1;
            race.longest = race.longest.max(now.since(asked_at));
            asks.insert((now.after(turnaround), sequence), id);
            sequence += 1;
        }
    }
}

fn peeking(ties: peek::Ties, lateness: Lateness) -> LimiterConfig {
    LimiterConfig::Peek(peek::Config { levels: levels(RATE, RATE, 0), ties, lateness })
}

fn one_late(length: Nanos) -> Lateness {
    let mut each = vec![Nanos::ZERO; WAITERS as usize];
    each[5] = length;
    Lateness::Each(each)
}

/// 60 s of a standing backlog, 20 us from a grant to the next ask.
fn minute(config: &LimiterConfig, costs: impl Fn(u32) -> u64) -> Race {
    race(config, costs, Nanos::from_micros(20), Time::ZERO.after(Nanos::from_secs(60)))
}

#[test]
fn policies_that_keep_a_turn_are_fair_to_the_round() {
    for config in LimiterConfig::all(&levels(RATE, RATE, 0)) {
        let kept = config.guarantees().order || config.guarantees().quotes;
        if config.levels().is_some() && kept {
            let race = minute(&config, |_| CHUNK);
            assert!(race.jain() > 0.999_9, "{}: {race:?}", config.name());
            assert!(race.longest <= Nanos::from_millis(125), "{}: {race:?}", config.name());
        }
    }
}

#[test]
fn what_breaks_ties_decides_who_starves() {
    use peek::Ties::{ById, Lifo, Stable};
    for (what, ties, lateness, starved) in [
        ("stable order is a round robin", Stable, Lateness::None, 0),
        ("ties by id feed one", ById, Lateness::None, 31),
        ("last in first out feeds one", Lifo, Lateness::None, 31),
        ("one nanosecond late is never", Stable, one_late(Nanos::new(1)), 1),
        ("i nanoseconds late feed the first", Stable, Lateness::Step(Nanos::new(1)), 31),
    ] {
        let race = minute(&peeking(ties, lateness), |_| CHUNK);
        assert_eq!(race.starved(), starved, "{what}: {race:?}");
        assert_eq!(race.grants.iter().sum::<u64>(), 15_359, "{what}: no byte is wasted");
    }
}

#[test]
fn one_byte_more_is_never_served_by_a_race_and_in_turn_by_tickets() {
    let larger = |id| if id == 5 { CHUNK + 1 } else { CHUNK };
    let stable = peeking(peek::Ties::Stable, Lateness::None);
    assert_eq!(minute(&stable, larger).grants[5], 0);
    for config in LimiterConfig::all(&levels(RATE, RATE, 0)) {
        if config.levels().is_some() && config.guarantees().quotes {
            let race = minute(&config, larger);
            assert!(race.grants[5] >= 479, "{}: {race:?}", config.name());
        }
    }
}

#[test]
fn random_ties_starve_nobody_for_good_and_have_a_long_tail() {
    let race = minute(&peeking(peek::Ties::Random, Lateness::None), |_| CHUNK);
    assert_eq!(race.starved(), 0);
    let rounds = race.longest.as_millis_f64() / 125.0;
    assert!((5.0..20.0).contains(&rounds), "{rounds} rounds");
}

#[test]
fn a_chunk_beyond_the_capacity_hangs_where_the_policy_says_so() {
    let limited = |config: &LimiterConfig| config.levels().is_some();
    for config in LimiterConfig::all(&levels(RATE, CHUNK - 1, 0)).into_iter().filter(limited) {
        let race = minute(&config, |_| CHUNK);
        let hangs = config.hangs(CHUNK).is_some();
        assert_eq!(race.starved() == WAITERS as usize, hangs, "{}: {race:?}", config.name());
    }
}

/// Bytes a second and bytes with which the properties begin.
const FIRST_RATE: u64 = 1000;
const INITIAL: u64 = 300;

#[derive(Clone, Debug)]
enum Operation {
    Ask { id: u32, cost: u64 },
    Cancel(u32),
    Pass(u64),
    Rate(u64),
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        6 => (0u32..8, 1u64..200).prop_map(|(id, cost)| Operation::Ask { id, cost }),
        1 => (0u32..8).prop_map(Operation::Cancel),
        6 => (0u64..200_000_000).prop_map(Operation::Pass),
        1 => (1u64..4000).prop_map(Operation::Rate),
    ]
}

/// A limiter, and what a caller can know of it.
struct Model {
    config: LimiterConfig,
    limiter: Box<dyn Limiter>,
    now: Time,
    /// Who waits, with what was quoted, in the order of the asks.
    waiting: Vec<(u32, Option<Time>)>,
    granted: u64,
    rate: u64,
    /// What was there at the beginning and has come in since, in billionths of a byte.
    came: u128,
    rate_changed: bool,
}

impl Model {
    fn new(config: LimiterConfig) -> Self {
        let limiter = config.build(&Streams::new(1));
        Self {
            config,
            limiter,
            now: Time::ZERO,
            waiting: Vec::new(),
            granted: 0,
            rate: FIRST_RATE,
            came: u128::from(INITIAL) * 1_000_000_000,
            rate_changed: false,
        }
    }

    fn apply(&mut self, operation: &Operation) {
        match *operation {
            Operation::Ask { id, cost } => self.ask(id, cost),
            Operation::Cancel(id) => {
                let waited = self.waiting.iter().any(|(waiter, _)| *waiter == id);
                assert_eq!(self.limiter.cancel(self.now, id), waited);
                self.waiting.retain(|(waiter, _)| *waiter != id);
            }
            Operation::Pass(ns) => self.pass(self.now.after(Nanos::new(ns))),
            Operation::Rate(rate) => {
                self.rate = rate;
                let rate = ByteRate::per_second(rate).expect("above zero");
                self.limiter.set_rate(self.now, Level::Global, rate);
                self.rate_changed = true;
            }
        }
        self.drain();
    }

    fn ask(&mut self, id: u32, cost: u64) {
        if self.waiting.iter().any(|(waiter, _)| *waiter == id) {
            return;
        }
        match self.limiter.ask(self.now, Waiter { id, task: id / 2, queue: 0 }, cost) {
            Ask::Granted => self.granted += cost,
            Ask::Waiting { quoted } => {
                assert!(quoted.is_none_or(|at| at >= self.now), "a quote lies ahead");
                self.waiting.push((id, quoted));
            }
            Ask::Refused => panic!("every cost fits into this bucket"),
        }
    }

    fn pass(&mut self, until: Time) {
        while let Some(wake) = self.limiter.next_wake().filter(|wake| *wake <= until) {
            self.reach(wake);
            self.drain();
        }
        self.reach(until);
    }

    fn reach(&mut self, at: Time) {
        self.came += u128::from(at.since(self.now).get()) * u128::from(self.rate);
        self.now = self.now.max(at);
    }

    fn drain(&mut self) {
        while let Some(grant) = self.limiter.on_wake(self.now) {
            self.take(&grant);
        }
        assert!(self.limiter.next_wake().is_none_or(|wake| wake > self.now), "nothing stays due");
    }

    fn take(&mut self, grant: &Grant) {
        let guarantees = self.config.guarantees();
        let id = grant.waiter.id;
        let place = self.waiting.iter().position(|(waiter, _)| *waiter == id);
        let place = place.expect("only who waits is granted");
        assert!(!guarantees.order || place == 0, "overtaken: {:?}", self.waiting);
        let (_, quoted) = self.waiting.remove(place);
        if guarantees.quotes && !self.rate_changed {
            assert!(quoted.is_none_or(|at| self.now <= at), "later than quoted");
        }
        self.granted += grant.cost;
    }

    fn assert_invariants(&self) {
        let name = self.config.name();
        assert_eq!(self.limiter.waiting(), self.waiting.len(), "{name}");
        for level in Level::ALL {
            let ledger = self.limiter.levels().ledger(level);
            let balance = ledger.map(|ledger| ledger.balance());
            assert_eq!(self.limiter.levels().level_units(level), balance, "{name}: tokens");
        }
        if self.config.guarantees().rate {
            let granted = u128::from(self.granted) * 1_000_000_000;
            // A wait that is stretched by another rate is rounded to a nanosecond.
            assert!(granted <= self.came + 1_000_000_000, "{name}: more than came in");
        }
        let wakes = self.limiter.next_wake().is_some();
        assert!(wakes || self.waiting.is_empty(), "{name}: a lost wake-up");
    }
}

proptest! {
    #[test]
    fn policies_keep_what_they_promise(operations in prop::collection::vec(operation(), 0..120)) {
        for config in LimiterConfig::all(&levels(FIRST_RATE, 1000, INITIAL)) {
            let mut model = Model::new(config);
            for operation in &operations {
                model.apply(operation);
                model.assert_invariants();
            }
            // At the slowest rate that was set, what waits is served in the end.
            model.pass(model.now.after(Nanos::from_secs(8 * 200)));
            prop_assert!(model.waiting.is_empty(), "{} left {:?}", model.config.name(), model.waiting);
        }
    }
}

#[test]
fn settings_survive_yaml_and_defaults_are_valid() {
    for config in LimiterConfig::all(&levels(1000, 1000, 300)) {
        let mut yaml = Vec::new();
        let mut serializer = serde_yaml::Serializer::new(&mut yaml);
        let written =
            serde_yaml::with::singleton_map_recursive::serialize(&config, &mut serializer);
        written.expect("settings can be written");
        let deserializer = serde_yaml::Deserializer::from_slice(&yaml);
        let read: Result<LimiterConfig, _> =
            serde_yaml::with::singleton_map_recursive::deserialize(deserializer);
        assert_eq!(read.expect("what was written can be read"), config);
        assert_eq!(config.invalid(), []);
    }
}
