//! A driver: waiters who ask again and again, in virtual time.

use std::collections::{BTreeMap, BTreeSet};
use testbed_core::bucket::BucketConfig;
use testbed_core::limit::quantity::{ByteRate, Bytes};
use testbed_core::limit::{Ask, LevelsConfig, Limiter, LimiterConfig, Waiter};
use testbed_core::rng::Streams;
use testbed_core::time::{Nanos, Time};

pub(crate) const KIB: u64 = 1024;
pub(crate) const MIB: u64 = 1024 * KIB;
pub(crate) const CHUNK: u64 = 16 * KIB;
/// 16 KiB at 4 MiB/s: 3.90625 ms; a round of 32 is 125 ms.
pub(crate) const RATE: u64 = 4 * MIB;

/// One global bucket that is empty at the beginning.
pub(crate) fn empty(rate: u64, capacity: u64) -> LevelsConfig {
    LevelsConfig::global(bucket(rate, capacity, 0))
}

pub(crate) fn bucket(rate: u64, capacity: u64, initial: u64) -> BucketConfig {
    let (capacity, initial) = (Some(Bytes::new(capacity)), Some(Bytes::new(initial)));
    let rate = ByteRate::per_second(rate).unwrap();
    BucketConfig { capacity, initial, ..BucketConfig::new(rate) }
}

/// Who asks for what.
pub(crate) struct Load {
    pub(crate) waiters: u32,
    /// The task of a waiter.
    pub(crate) task: fn(u32) -> u32,
    /// The cost of a waiter's asks.
    pub(crate) cost: fn(u32) -> u64,
    /// From the first ask of a waiter to that of the next.
    pub(crate) apart: Nanos,
    /// From a grant to the next ask.
    pub(crate) turnaround: Nanos,
    /// Grants after which a waiter has all it wants.
    pub(crate) grants_each: u64,
    pub(crate) patience: Patience,
    pub(crate) until: Time,
}

/// How long a waiter waits before it gives up. It asks again 1 s later; after 2 s, 4 s and so on to
/// 60 s if it got nothing in between.
#[derive(Clone, Copy)]
pub(crate) struct Patience {
    /// Of one who has had nothing since it began or gave up.
    pub(crate) fresh: Nanos,
    /// Of one whose last ask was granted.
    pub(crate) served: Nanos,
}

impl Patience {
    const ENDLESS: Self = Self { fresh: Nanos::MAX, served: Nanos::MAX };

    /// libcurl with a low-speed limit of 1024 B/s for 30 s, which it checks each second: a transfer
    /// without a byte ends 31 s after it began, and 36 s after a chunk, because that chunk is in its
    /// 5-second average at first.
    pub(crate) const LOW_SPEED: Self =
        Self { fresh: Nanos::from_secs(31), served: Nanos::from_secs(36) };
}

impl Load {
    /// 32 waiters of 16 KiB, 20 us from a grant to the next ask, for ever.
    pub(crate) fn standing(seconds: u64) -> Self {
        Self {
            waiters: 32,
            task: |id| id,
            cost: |_| CHUNK,
            apart: Nanos::ZERO,
            turnaround: Nanos::from_micros(20),
            grants_each: u64::MAX,
            patience: Patience::ENDLESS,
            until: Time::ZERO.after(Nanos::from_secs(seconds)),
        }
    }

    /// 1280 grants of 16 KiB in all: 20 MiB, 5 s at 4 MiB/s.
    pub(crate) fn twenty_mib(waiters: u32) -> Self {
        Self { waiters, grants_each: 1280 / u64::from(waiters), ..Self::standing(10_000) }
    }
}

/// What a race gave.
#[derive(Debug)]
pub(crate) struct Race {
    pub(crate) grants: Vec<u64>,
    pub(crate) longest: Nanos,
    pub(crate) last_grant: Time,
    pub(crate) bytes: u64,
    pub(crate) given_up: u64,
    /// Waiters who were turned away, and do not ask again.
    pub(crate) refused: usize,
}

impl Race {
    pub(crate) fn starved(&self) -> usize {
        self.at_most(0)
    }

    /// How many waiters got no more grants than this.
    pub(crate) fn at_most(&self, most: u64) -> usize {
        self.grants.iter().filter(|grants| **grants <= most).count()
    }

    /// Jain's index: 1 if all got the same, 1/n if one got everything.
    pub(crate) fn jain(&self) -> f64 {
        let sum: f64 = self.grants.iter().map(|grants| *grants as f64).sum();
        let squares: f64 = self.grants.iter().map(|grants| (*grants as f64).powi(2)).sum();
        sum * sum / (self.grants.len() as f64 * squares)
    }
}

/// The driver's state.
struct Driver<'a> {
    load: &'a Load,
    limiter: Box<dyn Limiter>,
    /// Asks to come, in order.
    asks: BTreeMap<(Time, u64), u32>,
    /// When those who wait lose patience.
    ends: BTreeSet<(Time, u32)>,
    waiters: Vec<Tries>,
    sequence: u64,
    race: Race,
}

/// What a waiter has been through.
#[derive(Clone, Default)]
struct Tries {
    /// When it loses patience.
    end: Time,
    /// How often it gave up since its last grant.
    given_up: u32,
}

/// Runs a load through a limiter.
pub(crate) fn race(config: &LimiterConfig, load: &Load) -> Race {
    let race = Race {
        grants: vec![0; load.waiters as usize],
        longest: Nanos::ZERO,
        last_grant: Time::ZERO,
        bytes: 0,
        given_up: 0,
        refused: 0,
    };
    let mut driver = Driver {
        load,
        limiter: config.build(&Streams::new(7)),
        asks: BTreeMap::new(),
        ends: BTreeSet::new(),
        waiters: vec![Tries::default(); load.waiters as usize],
        sequence: 0,
        race,
    };
    let first_ask = |id: u32| Time::from_nanos(u64::from(id) * load.apart.get());
    (0..load.waiters).for_each(|id| driver.ask_at(first_ask(id), id));
    while driver.step() {}
    driver.race
}

impl Driver<'_> {
    fn ask_at(&mut self, at: Time, id: u32) {
        self.sequence += 1;
        self.asks.insert((at, self.sequence), id);
    }

    /// Of an ask and a wake at the same instant the wake comes first: it was decided earlier. Who
    /// asks again without any turnaround does so before anybody else is woken.
    fn step(&mut self) -> bool {
        let ask = self.asks.first_key_value().map_or(Time::NEVER, |((at, _), _)| *at);
        let end = self.ends.first().map_or(Time::NEVER, |(at, _)| *at);
        let wake = self.limiter.next_wake().unwrap_or(Time::NEVER);
        let now = ask.min(end).min(wake);
        if now >= self.load.until {
            return false;
        }
        if ask == now && (wake > now || self.load.turnaround == Nanos::ZERO) {
            self.ask(now);
        } else if wake == now {
            if let Some(grant) = self.limiter.on_wake(now) {
                let id = grant.waiter.id;
                self.ends.remove(&(self.waiters[id as usize].end, id));
                self.granted(now, id, grant.asked_at);
            }
        } else {
            self.give_up(now);
        }
        true
    }

    fn ask(&mut self, now: Time) {
        let (_, id) = self.asks.pop_first().unwrap();
        let waiter = Waiter { id, task: (self.load.task)(id), queue: 0, segment: 0 };
        match self.limiter.ask(now, waiter, (self.load.cost)(id)) {
            Ask::Granted => self.granted(now, id, now),
            Ask::Waiting { .. } => self.wait(now, id),
            Ask::Refused => self.race.refused += 1,
        }
    }

    fn wait(&mut self, now: Time, id: u32) {
        let tries = &mut self.waiters[id as usize];
        let is_fresh = tries.given_up > 0 || self.race.grants[id as usize] == 0;
        let Patience { fresh, served } = self.load.patience;
        tries.end = now.after(if is_fresh { fresh } else { served });
        self.ends.insert((tries.end, id));
    }

    fn granted(&mut self, now: Time, id: u32, asked_at: Time) {
        let grants = &mut self.race.grants[id as usize];
        *grants += 1;
        self.waiters[id as usize].given_up = 0;
        let wants_more = *grants < self.load.grants_each;
        self.race.longest = self.race.longest.max(now.since(asked_at));
        self.race.last_grant = now;
        self.race.bytes += (self.load.cost)(id);
        if wants_more {
            self.ask_at(now.after(self.load.turnaround), id);
        }
    }

    fn give_up(&mut self, now: Time) {
        let (_, id) = self.ends.pop_first().unwrap();
        assert!(self.limiter.cancel(now, id));
        self.race.given_up += 1;
        let given_up = &mut self.waiters[id as usize].given_up;
        let pause = Nanos::from_secs((1 << (*given_up).min(6)).min(60));
        *given_up += 1;
        self.ask_at(now.after(pause), id);
    }
}
