//! The running policy.

use super::{Config, OnCancel, Oversize};
use crate::limit::lateness::Lateness;
use crate::limit::line::Line;
use crate::limit::quantity::ByteRate;
use crate::limit::waiting::{Wait, Waiting};
use crate::limit::{Ask, Counters, Grant, Level, Levels, Limiter, Waiter};
use crate::rng::{Rng, Streams};
use crate::time::Time;
use std::collections::{BTreeMap, BTreeSet};

/// The running policy.
#[derive(Debug)]
pub struct Fifo {
    oversize: Oversize,
    on_cancel: OnCancel,
    lateness: Lateness,
    rng: Rng,
    levels: Levels,
    waiting: Waiting<Place>,
    /// By level and key.
    lines: [Vec<TimedLine>; 3],
    /// The timers of the heads.
    timers: BTreeSet<(Time, Level, u32)>,
    next_ticket: u64,
    kept_tickets: BTreeMap<u32, u64>,
    counters: Counters,
}

/// Where a waiter stands.
#[derive(Clone, Copy, Debug)]
struct Place {
    ticket: u64,
    level: Level,
    /// Bytes it has paid at this level. Those before it are paid in full.
    paid: u64,
}

#[derive(Debug, Default)]
struct TimedLine {
    line: Line,
    timer: Option<Time>,
}

impl Fifo {
    pub(super) fn new(config: &Config, streams: &Streams) -> Self {
        Self {
            oversize: config.oversize,
            on_cancel: config.on_cancel,
            lateness: config.lateness.clone(),
            rng: streams.stream("limiter"),
            levels: Levels::new(&config.levels, streams),
            waiting: Waiting::default(),
            lines: Default::default(),
            timers: BTreeSet::new(),
            next_ticket: 0,
            kept_tickets: BTreeMap::new(),
            counters: Counters::default(),
        }
    }

    fn line(&mut self, level: Level, key: u32) -> &mut TimedLine {
        let (lines, index) = (&mut self.lines[level as usize], key as usize);
        if index >= lines.len() {
            lines.resize_with(index + 1, TimedLine::default);
        }
        &mut lines[index]
    }

    fn ticket(&mut self, id: u32) -> u64 {
        self.kept_tickets.remove(&id).unwrap_or_else(|| {
            self.next_ticket += 1;
            self.next_ticket
        })
    }

    /// Passes the levels from `first` on; the one that makes the waiter wait, if any.
    fn pass(&mut self, now: Time, waiter: Waiter, cost: u64, first: usize) -> Option<Level> {
        Level::ALL
            .into_iter()
            .skip(first)
            .find(|level| self.levels.limits(*level) && !self.pass_level(now, *level, waiter, cost))
    }

    fn pass_level(&mut self, now: Time, level: Level, waiter: Waiter, cost: u64) -> bool {
        let is_free = self.line(level, level.key(waiter)).line.is_empty();
        is_free && self.pay(now, level, waiter, cost)
    }

    /// Takes `bytes` at one level if they are there.
    fn pay(&mut self, now: Time, level: Level, waiter: Waiter, bytes: u64) -> bool {
        let Some(bucket) = self.levels.bucket(now, level, waiter) else { return true };
        let is_there = bucket.ready_at(now, bytes).is_some_and(|at| at <= now);
        if is_there {
            bucket.take(now, bytes);
        }
        is_there
    }

    /// When a waiter who joins at `first` will have passed everything, as far as the bytes ahead
    /// of it say; `None` for never.
    fn quote(&mut self, now: Time, waiter: Waiter, cost: u64, first: Level) -> Option<Time> {
        Level::ALL[first as usize..].iter().try_fold(now, |latest, &level| {
            let ahead = self.line(level, level.key(waiter)).line.bytes();
            let Some(bucket) = self.levels.bucket(now, level, waiter) else { return Some(latest) };
            let hangs = self.oversize == Oversize::Hang && cost > bucket.capacity();
            (!hangs).then(|| latest.max(bucket.due(now, ahead.saturating_add(cost))))
        })
    }

    fn join(&mut self, now: Time, wait: Wait<Place>) {
        let (level, ticket) = (wait.state.level, wait.state.ticket);
        let (waiter, cost) = (wait.waiter, wait.cost);
        self.waiting.insert(wait);
        let key = level.key(waiter);
        if self.line(level, key).line.join(ticket, waiter.id, cost) {
            self.arm(now, level, key);
        }
    }

    /// Sets the timer of a line for what its head needs next. A head whose tokens are there already
    /// is served by whoever is awake, so its timer is not late.
    fn arm(&mut self, now: Time, level: Level, key: u32) {
        let timer = self.head(level, key).and_then(|(waiter, bytes)| {
            let at = self.levels.level_ready_at(now, level, waiter, bytes)?;
            Some(if at > now { self.lateness.fires_at(at, waiter, &mut self.rng) } else { now })
        });
        let old = std::mem::replace(&mut self.line(level, key).timer, timer);
        if let Some(at) = old {
            self.timers.remove(&(at, level, key));
        }
        if let Some(at) = timer {
            self.timers.insert((at, level, key));
        }
    }

    /// The head of a line and the bytes that it needs at once.
    fn head(&mut self, level: Level, key: u32) -> Option<(Waiter, u64)> {
        let id = self.line(level, key).line.head()?;
        let wait = self.waiting.get(id)?;
        let owed = wait.cost - wait.state.paid;
        let bytes = match (self.oversize, self.levels.capacity(level)) {
            (Oversize::Instalments, Some(capacity)) => owed.min(capacity),
            _ => owed,
        };
        Some((wait.waiter, bytes))
    }

    /// The timer of a line fired: its head pays, and goes on if it owes nothing more.
    fn serve(&mut self, now: Time, level: Level, key: u32) -> Option<Grant> {
        self.counters.wakes += 1;
        let paid =
            self.head(level, key).filter(|(head, bytes)| self.pay(now, level, *head, *bytes));
        let through = paid.and_then(|(head, bytes)| self.credit(head.id, bytes));
        self.arm(now, level, key);
        self.go_on(now, through?)
    }

    /// Notes what a head has paid. It leaves its line when that is all.
    fn credit(&mut self, id: u32, bytes: u64) -> Option<Wait<Place>> {
        let wait = self.waiting.get_mut(id)?;
        wait.state.paid += bytes;
        let (Place { ticket, level, paid }, key) = (wait.state, wait.state.level.key(wait.waiter));
        let owed = wait.cost - paid;
        self.line(level, key).line.pay(bytes);
        if owed > 0 {
            return None;
        }
        self.line(level, key).line.leave(ticket, 0);
        self.waiting.remove(id)
    }

    /// From one level to the next.
    fn go_on(&mut self, now: Time, wait: Wait<Place>) -> Option<Grant> {
        let next = wait.state.level as usize + 1;
        match self.pass(now, wait.waiter, wait.cost, next) {
            None => {
                self.counters.grants += 1;
                Some(wait.grant())
            }
            Some(level) => {
                let state = Place { level, paid: 0, ..wait.state };
                self.join(now, Wait { state, ..wait });
                None
            }
        }
    }

    /// Gives back what a waiter has paid, at this level and at those before it.
    fn refund(&mut self, now: Time, wait: &Wait<Place>) {
        for level in &Level::ALL[..=wait.state.level as usize] {
            let paid = if *level == wait.state.level { wait.state.paid } else { wait.cost };
            let bucket = self.levels.bucket(now, *level, wait.waiter).filter(|_| paid > 0);
            if let Some(bucket) = bucket {
                bucket.give_back(now, paid);
                self.arm(now, *level, level.key(wait.waiter));
            }
        }
    }
}

impl Limiter for Fifo {
    fn ask(&mut self, now: Time, waiter: Waiter, cost: u64) -> Ask {
        self.counters.asks += 1;
        let Some(level) = self.pass(now, waiter, cost, 0) else {
            self.counters.grants += 1;
            return Ask::Granted;
        };
        let quoted = self.quote(now, waiter, cost, level);
        let state = Place { ticket: self.ticket(waiter.id), level, paid: 0 };
        self.join(now, Wait { waiter, cost, asked_at: now, quoted, state });
        Ask::Waiting { quoted }
    }

    fn next_wake(&self) -> Option<Time> {
        self.timers.first().map(|(at, ..)| *at)
    }

    fn on_wake(&mut self, now: Time) -> Option<Grant> {
        while let Some(&(at, level, key)) = self.timers.first() {
            if at > now {
                return None;
            }
            let grant = self.serve(now, level, key);
            if grant.is_some() {
                return grant;
            }
        }
        None
    }

    fn cancel(&mut self, now: Time, id: u32) -> bool {
        let Some(wait) = self.waiting.remove(id) else { return false };
        self.counters.cancels += 1;
        let (Place { ticket, level, paid }, key) = (wait.state, wait.state.level.key(wait.waiter));
        let was_head = self.line(level, key).line.leave(ticket, wait.cost - paid);
        self.refund(now, &wait);
        // A head that sleeps on is not woken by somebody behind it who leaves.
        if was_head {
            self.arm(now, level, key);
        }
        if self.on_cancel == OnCancel::KeepTicket {
            self.kept_tickets.insert(id, ticket);
        }
        true
    }

    fn set_rate(&mut self, now: Time, level: Level, rate: ByteRate) {
        self.levels.set_rate(now, level, rate);
        for key in 0..self.lines[level as usize].len() {
            self.arm(now, level, key as u32);
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
}
