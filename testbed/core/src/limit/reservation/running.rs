//! The running policy.

use super::go::{GoBucket, Reserved};
use super::{Arithmetic, Beyond, Config};
use crate::limit::guava::Bursty;
use crate::limit::lateness::Lateness;
use crate::limit::quantity::ByteRate;
use crate::limit::waiting::{Wait, Waiting};
use crate::limit::{Ask, Counters, Grant, Level, Levels, Limiter, Waiter};
use crate::rng::{Rng, Streams};
use crate::time::{Nanos, Time};
use std::collections::{BTreeMap, BTreeSet};

/// The running policy.
#[derive(Debug)]
pub struct Reservation {
    account: Account,
    refund: bool,
    at_most: Nanos,
    beyond: Beyond,
    lateness: Lateness,
    rng: Rng,
    levels: Levels,
    waiting: Waiting<Slot>,
    /// By instant, then by order of ask.
    timers: BTreeSet<(Time, u64, u32)>,
    counters: Counters,
}

/// Who keeps the tokens.
#[derive(Debug)]
enum Account {
    /// The levels.
    Exact,
    /// Go's bucket.
    Go {
        bucket: GoBucket,
        /// By waiter, of those who sleep.
        reserved: BTreeMap<u32, Reserved>,
        /// The last grant: it can still be cancelled, at its own instant.
        granted: Option<(u32, Reserved)>,
    },
    /// Guava's.
    Guava(Bursty),
}

/// What a sleeper has reserved.
#[derive(Clone, Copy, Debug)]
struct Slot {
    /// When each level's debt is paid off.
    dues: [Time; 3],
    /// It goes then, if not before.
    bound: Time,
    /// Its timer.
    timer: (Time, u64, u32),
}

impl Reservation {
    pub(super) fn new(config: &Config, streams: &Streams) -> Self {
        let bucket = config.levels.global.as_ref().filter(|_| config.arithmetic == Arithmetic::Go);
        let levels = match bucket {
            Some(_) => Levels::default(),
            None => Levels::new(&config.levels, streams),
        };
        let account = bucket.map_or(Account::Exact, |bucket| Account::Go {
            bucket: GoBucket::new(bucket),
            reserved: BTreeMap::new(),
            granted: None,
        });
        let at_most = config.at_most.unwrap_or(Nanos::MAX);
        let (refund, beyond) = (config.refund, config.beyond);
        let unbounded = Self::with(account, levels, &config.lateness, streams);
        Self { refund, at_most, beyond, ..unbounded }
    }

    /// With the tokens of Guava's limiter. What was reserved stays so.
    pub(in crate::limit) fn of_guava(
        bursty: Bursty,
        lateness: &Lateness,
        streams: &Streams,
    ) -> Self {
        Self::with(Account::Guava(bursty), Levels::default(), lateness, streams)
    }

    fn with(account: Account, levels: Levels, lateness: &Lateness, streams: &Streams) -> Self {
        Self {
            account,
            refund: false,
            at_most: Nanos::MAX,
            beyond: Beyond::default(),
            lateness: lateness.clone(),
            rng: streams.stream("limiter"),
            levels,
            waiting: Waiting::default(),
            timers: BTreeSet::new(),
            counters: Counters::default(),
        }
    }

    /// Takes the tokens, into debt if need be. When each level's debt is paid off; `None` if they
    /// are refused.
    fn reserve(&mut self, now: Time, waiter: Waiter, cost: u64) -> Option<[Time; 3]> {
        if let Account::Guava(bursty) = &mut self.account {
            return Some([bursty.reserve(now, cost); 3]);
        }
        let longest = if self.beyond == Beyond::Refuse { self.at_most } else { Nanos::MAX };
        if let Account::Go { bucket, reserved, granted } = &mut self.account {
            let longest_ns = i64::try_from(longest.get()).unwrap_or(i64::MAX);
            let new = bucket.reserve(now, cost, longest_ns)?;
            if new.due() > now {
                reserved.insert(waiter.id, new);
            } else {
                *granted = Some((waiter.id, new));
            }
            return Some([new.due(); 3]);
        }
        let levels = &mut self.levels;
        let due = |level| levels.bucket(now, level, waiter).map_or(now, |it| it.due(now, cost));
        let dues = Level::ALL.map(due);
        if latest(&dues).since(now) > longest {
            return None;
        }
        levels.take(now, waiter, cost);
        Some(dues)
    }

    fn give_back(&mut self, now: Time, wait: &Wait<Slot>) {
        match &mut self.account {
            Account::Exact => self.levels.give_back(now, wait.waiter, wait.cost),
            Account::Guava(_) => {}
            Account::Go { bucket, reserved, .. } => {
                if let Some(reserved) = reserved.remove(&wait.waiter.id) {
                    bucket.cancel(now, &reserved);
                }
            }
        }
    }

    fn timer(&mut self, goes_at: Time, waiter: Waiter, order: u64) -> (Time, u64, u32) {
        let fires = self.lateness.fires_at(goes_at, waiter, &mut self.rng);
        (fires, order, waiter.id)
    }

    fn note_grant(&mut self, id: u32) {
        if let Account::Go { reserved, granted, .. } = &mut self.account {
            *granted = reserved.remove(&id).map(|reserved| (id, reserved));
        }
    }

    /// In Go a grant can be cancelled too, at its own instant.
    fn cancel_grant(&mut self, now: Time, id: u32) {
        if let Account::Go { bucket, granted, .. } = &mut self.account
            && let Some((_, reserved)) = granted.take_if(|(last, _)| *last == id)
        {
            bucket.cancel(now, &reserved);
        }
    }

    /// Stretches what is left of every wait at a level by `old / new`, rounded up.
    fn stretch(&mut self, now: Time, level: Level, old: ByteRate, new: ByteRate) {
        let mut moved = Vec::new();
        for wait in self.waiting.iter_mut() {
            let due = &mut wait.state.dues[level as usize];
            *due = stretched(now, *due, old, new);
            moved.push((wait.waiter, wait.state.goes_at(), wait.state.timer));
        }
        for (waiter, goes_at, old_timer) in moved {
            let timer = self.timer(goes_at, waiter, old_timer.1);
            self.timers.remove(&old_timer);
            self.timers.insert(timer);
            if let Some(wait) = self.waiting.get_mut(waiter.id) {
                wait.state.timer = timer;
            }
        }
    }
}

impl Slot {
    fn goes_at(&self) -> Time {
        latest(&self.dues).min(self.bound)
    }
}

fn latest(dues: &[Time; 3]) -> Time {
    dues.iter().copied().fold(Time::ZERO, Time::max)
}

fn stretched(now: Time, due: Time, old: ByteRate, new: ByteRate) -> Time {
    let left = u128::from(due.since(now).get()) * u128::from(old.get());
    let left = left.div_ceil(u128::from(new.get()));
    now.after(Nanos::new(u64::try_from(left).unwrap_or(u64::MAX)))
}

impl Limiter for Reservation {
    fn ask(&mut self, now: Time, waiter: Waiter, cost: u64) -> Ask {
        self.counters.asks += 1;
        let Some(dues) = self.reserve(now, waiter, cost) else { return Ask::Refused };
        let bound = now.after(self.at_most);
        let at = latest(&dues).min(bound);
        if at <= now {
            self.counters.grants += 1;
            return Ask::Granted;
        }
        let timer = self.timer(at, waiter, self.counters.asks);
        self.timers.insert(timer);
        let (quoted, state) = (Some(at), Slot { dues, bound, timer });
        self.waiting.insert(Wait { waiter, cost, asked_at: now, quoted, state });
        Ask::Waiting { quoted }
    }

    fn try_ask(&mut self, now: Time, waiter: Waiter, cost: u64) -> bool {
        self.counters.asks += 1;
        let granted = match &mut self.account {
            Account::Go { bucket, .. } => bucket.reserve(now, cost, 0).is_some(),
            Account::Guava(bursty) => bursty.try_reserve(now, cost),
            Account::Exact => self.levels.take_or_wait(now, waiter, cost).is_ok(),
        };
        self.counters.grants += u64::from(granted);
        granted
    }

    fn next_wake(&self) -> Option<Time> {
        self.timers.first().map(|(at, ..)| *at)
    }

    fn on_wake(&mut self, now: Time) -> Option<Grant> {
        let &(at, _, id) = self.timers.first()?;
        if at > now {
            return None;
        }
        self.timers.pop_first();
        let wait = self.waiting.remove(id)?;
        self.note_grant(id);
        self.counters.wakes += 1;
        self.counters.grants += 1;
        Some(wait.grant())
    }

    fn cancel(&mut self, now: Time, id: u32) -> bool {
        let Some(wait) = self.waiting.remove(id) else {
            self.cancel_grant(now, id);
            return false;
        };
        self.timers.remove(&wait.state.timer);
        self.counters.cancels += 1;
        if self.refund {
            self.give_back(now, &wait);
        }
        true
    }

    fn set_rate(&mut self, now: Time, level: Level, rate: ByteRate) {
        match (&mut self.account, level) {
            (Account::Go { bucket, .. }, Level::Global) => bucket.set_rate(now, rate),
            (Account::Guava(bursty), Level::Global) => bursty.set_rate(now, rate),
            (Account::Go { .. } | Account::Guava(_), _) => {}
            (Account::Exact, _) => {
                if let Some(old) = self.levels.set_rate(now, level, rate) {
                    self.stretch(now, level, old, rate);
                }
            }
        }
    }

    fn waiting(&self) -> usize {
        self.waiting.len()
    }

    fn counters(&self) -> Counters {
        self.counters
    }

    fn levels(&self) -> &Levels {
        &self.levels
    }

    fn tokens(&self, now: Time) -> Option<f64> {
        match &self.account {
            Account::Exact => self.levels.tokens(Level::Global),
            Account::Go { bucket, .. } => Some(bucket.tokens(now)),
            Account::Guava(bursty) => Some(bursty.tokens(now)),
        }
    }
}
