//! Random operations on every policy, with its defaults and with the settings that change most,
//! over one level and over three. Invariants are checked after each operation.

use crate::policies::policies;
use crate::race::bucket;
use proptest::prelude::*;
use std::collections::BTreeMap;
use testbed_core::limit::quantity::ByteRate;
use testbed_core::limit::{Ask, Grant, Level, LevelsConfig, Limiter, LimiterConfig, Waiter};
use testbed_core::rng::Streams;
use testbed_core::time::{Nanos, Time};

const BILLIONTHS: u128 = 1_000_000_000;

fn one_level() -> LevelsConfig {
    LevelsConfig::global(bucket(1000, 1000, 300))
}

fn three_levels() -> LevelsConfig {
    LevelsConfig {
        queue: Some(bucket(800, 500, 0)),
        task: Some(bucket(600, 200, 200)),
        ..one_level()
    }
}

#[derive(Clone, Debug)]
enum Operation {
    Ask { id: u32, cost: u64 },
    Cancel(u32),
    Pass(u64),
    Rate(Level, u64),
}

fn operation() -> impl Strategy<Value = Operation> {
    let level = prop::sample::select(&Level::ALL[..]);
    prop_oneof![
        6 => (0u32..8, 1u64..200).prop_map(|(id, cost)| Operation::Ask { id, cost }),
        1 => (0u32..8).prop_map(Operation::Cancel),
        6 => (0u64..200_000_000).prop_map(Operation::Pass),
        1 => (level, 1u64..4000).prop_map(|(level, rate)| Operation::Rate(level, rate)),
    ]
}

/// A limiter, and what a caller can know of it.
struct Model {
    config: LimiterConfig,
    limiter: Box<dyn Limiter>,
    now: Time,
    /// Who waits, with what was quoted, in the order of the asks.
    waiting: Vec<(u32, Option<Time>)>,
    /// Bytes, by level and key.
    granted: BTreeMap<(Level, u32), u64>,
    /// Every grant after a wait, in order.
    log: Vec<(Time, u32)>,
    supplies: Vec<Supply>,
    rate_changed: bool,
}

/// What a bucket of a level has had at most.
struct Supply {
    level: Level,
    rate: u64,
    /// There at the beginning and come in since, in billionths of a byte.
    came: u128,
}

impl Supply {
    fn of(levels: &LevelsConfig, level: Level) -> Option<Self> {
        let bucket = levels.bucket(level)?;
        let came = u128::from(bucket.initial()) * BILLIONTHS;
        Some(Self { level, rate: bucket.rate.get(), came })
    }
}

impl Model {
    fn new(config: LimiterConfig) -> Self {
        let limiter = config.build(&Streams::new(1));
        let supply = |level| Supply::of(config.levels()?, level);
        let supplies = Level::ALL.into_iter().filter_map(supply).collect();
        Self {
            config,
            limiter,
            now: Time::ZERO,
            waiting: Vec::new(),
            granted: BTreeMap::new(),
            log: Vec::new(),
            supplies,
            rate_changed: false,
        }
    }

    fn apply(&mut self, operation: &Operation) {
        match *operation {
            Operation::Ask { id, cost } => self.ask(id, cost),
            Operation::Cancel(id) => self.cancel(id),
            Operation::Pass(ns) => self.pass(self.now.after(Nanos::new(ns))),
            Operation::Rate(level, rate) => self.set_rate(level, rate),
        }
        self.drain();
    }

    fn cancel(&mut self, id: u32) {
        let waited = self.waiting.iter().any(|(waiter, _)| *waiter == id);
        assert_eq!(self.limiter.cancel(self.now, id), waited);
        self.waiting.retain(|(waiter, _)| *waiter != id);
    }

    fn set_rate(&mut self, level: Level, rate: u64) {
        let of_level = |supply: &&mut Supply| supply.level == level;
        self.supplies.iter_mut().filter(of_level).for_each(|supply| supply.rate = rate);
        let rate = ByteRate::per_second(rate).expect("above zero");
        self.limiter.set_rate(self.now, level, rate);
        self.rate_changed = true;
    }

    fn ask(&mut self, id: u32, cost: u64) {
        if self.waiting.iter().any(|(waiter, _)| *waiter == id) {
            return;
        }
        let waiter = Waiter { id, task: id / 2, queue: id / 4, segment: 0 };
        match self.limiter.ask(self.now, waiter, cost) {
            Ask::Granted => self.count(waiter, cost),
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
        for supply in &mut self.supplies {
            supply.came += u128::from(at.since(self.now).get()) * u128::from(supply.rate);
        }
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
        self.log.push((self.now, id));
        self.count(grant.waiter, grant.cost);
    }

    fn count(&mut self, waiter: Waiter, cost: u64) {
        for level in Level::ALL {
            *self.granted.entry((level, level.key(waiter))).or_default() += cost;
        }
    }

    fn assert_invariants(&self) {
        let name = self.config.name();
        assert_eq!(self.limiter.waiting(), self.waiting.len(), "{name}");
        self.assert_tokens_are_conserved();
        if self.config.guarantees().rate {
            self.supplies.iter().for_each(|supply| self.assert_nothing_is_early(supply));
        }
        let nobody = self.waiting.is_empty();
        let wakes = self.limiter.next_wake().is_some();
        assert_eq!(wakes, !nobody, "{name}: a lost wake-up, or one for nobody");
    }

    /// Every token is accounted for, and while nobody waits those and only those are gone that were
    /// granted, whoever gave up before.
    fn assert_tokens_are_conserved(&self) {
        let name = self.config.name();
        for level in Level::ALL {
            let Some(ledger) = self.limiter.levels().ledger(level) else { continue };
            let tokens = self.limiter.levels().level_units(level);
            assert_eq!(tokens, Some(ledger.balance()), "{name}: tokens");
            if self.waiting.is_empty() && !leaves_ghosts(&self.config) {
                let granted: u64 = self.granted_at(level).map(|(_, granted)| granted).sum();
                let granted = i128::from(granted) * BILLIONTHS as i128;
                assert_eq!(ledger.taken - ledger.returned, granted, "{name}: a ghost");
            }
        }
    }

    fn assert_nothing_is_early(&self, supply: &Supply) {
        for (key, granted) in self.granted_at(supply.level) {
            let is_there = u128::from(granted) * BILLIONTHS <= supply.came;
            assert!(is_there, "{}: {:?} {key} is early", self.config.name(), supply.level);
        }
    }

    fn granted_at(&self, level: Level) -> impl Iterator<Item = (u32, u64)> {
        self.granted.range((level, 0)..=(level, u32::MAX)).map(|((_, key), bytes)| (*key, *bytes))
    }
}

/// Whether a cancelled wait takes its tokens all the same, because the settings say so.
fn leaves_ghosts(config: &LimiterConfig) -> bool {
    matches!(config, LimiterConfig::Reservation(reservation) if !reservation.refund)
}

fn run(config: LimiterConfig, operations: &[Operation]) -> Model {
    let mut model = Model::new(config);
    for operation in operations {
        model.apply(operation);
        model.assert_invariants();
    }
    // At the slowest rate that may have been set, what waits is served in the end, after what the
    // ghosts of cancelled waits have taken.
    let ghosts = operations.len() as u64;
    model.pass(model.now.after(Nanos::from_secs((8 + ghosts) * 200)));
    assert!(model.waiting.is_empty(), "{} left {:?}", model.config.name(), model.waiting);
    model
}

proptest! {
    #[test]
    fn policies_keep_what_they_promise(operations in prop::collection::vec(operation(), 0..120)) {
        for config in policies(&one_level()).into_iter().chain(policies(&three_levels())) {
            run(config, &operations);
        }
    }

    #[test]
    fn who_gives_up_leaves_nothing_behind(
        operations in prop::collection::vec(operation(), 0..60),
    ) {
        for config in policies(&one_level()).into_iter().chain(policies(&three_levels())) {
            let mut model = Model::new(config);
            operations.iter().for_each(|operation| model.apply(operation));
            (0..8).for_each(|id| model.apply(&Operation::Cancel(id)));
            model.assert_invariants();
            prop_assert_eq!(model.waiting.len(), 0);
        }
    }

    #[test]
    fn the_same_operations_give_the_same_grants(
        operations in prop::collection::vec(operation(), 0..60),
    ) {
        for config in policies(&three_levels()) {
            let again = run(config.clone(), &operations);
            prop_assert_eq!(run(config, &operations).log, again.log);
        }
    }
}
