//! The running policy.

use super::Config;
use super::lumps::Lumps;
use crate::limit::lateness::Lateness;
use crate::limit::quantity::ByteRate;
use crate::limit::waiting::{Wait, Waiting};
use crate::limit::{Ask, Counters, Grant, Level, Levels, Limiter, Waiter};
use crate::rng::{Rng, Streams};
use crate::time::Time;
use std::collections::{BTreeMap, VecDeque};

/// The running policy.
#[derive(Debug)]
pub struct LeakyBucket {
    lumps: Lumps,
    is_fair: bool,
    lateness: Lateness,
    rng: Rng,
    waiting: Waiting<Turn>,
    /// Who stands in the line, by place. The lowest is the head.
    line: BTreeMap<i64, u32>,
    /// Who sleeps for all, and when it wakes.
    core: Option<(u32, Time)>,
    /// Who was woken to be the next core, unless somebody else is before it runs.
    heir: Option<u32>,
    /// Who has all it asked for, in the order in which they run, and since when.
    ready: VecDeque<u32>,
    ready_at: Time,
    counters: Counters,
    /// None: the tokens are in the lumps.
    levels: Levels,
}

/// What a waiter still has to get.
#[derive(Clone, Copy, Debug)]
struct Turn {
    /// Bytes.
    missing: u64,
    /// Its place in the line, if it stands there.
    place: Option<i64>,
}

impl LeakyBucket {
    pub(super) fn new(config: &Config, streams: &Streams) -> Self {
        Self {
            lumps: Lumps::new(config.levels.global.as_ref(), config.interval),
            is_fair: config.fair,
            lateness: config.lateness.clone(),
            rng: streams.stream("limiter"),
            waiting: Waiting::default(),
            line: BTreeMap::new(),
            core: None,
            heir: None,
            ready: VecDeque::new(),
            ready_at: Time::ZERO,
            counters: Counters::default(),
            levels: Levels::default(),
        }
    }

    fn is_core(&self, id: u32) -> bool {
        self.core.is_some_and(|(core, _)| core == id)
    }

    /// Puts a waiter before the first or behind the last of the line.
    fn stand(&mut self, id: u32, at_the_head: bool) {
        let first = self.line.first_key_value().map_or(0, |(place, _)| place - 1);
        let last = self.line.last_key_value().map_or(0, |(place, _)| place + 1);
        let place = if at_the_head { first } else { last };
        if let Some(wait) = self.waiting.get_mut(id) {
            wait.state.place = Some(place);
            self.line.insert(place, id);
        }
    }

    fn leave_line(&mut self, id: u32) {
        let place = self.waiting.get_mut(id).and_then(|wait| wait.state.place.take());
        if let Some(place) = place {
            self.line.remove(&place);
        }
    }

    /// Gives what is there to the line. A core that has all learns of it when it wakes.
    fn share(&mut self, now: Time) {
        while let Some(id) = self.line.first_key_value().map(|(_, id)| *id) {
            if !self.fill(id) {
                return;
            }
            self.leave_line(id);
            if !self.is_core(id) {
                self.ready.push_back(id);
                self.ready_at = now;
            }
        }
    }

    /// Gives a waiter what is there, as far as it needs it; whether it has all then.
    fn fill(&mut self, id: u32) -> bool {
        let Some(wait) = self.waiting.get_mut(id) else { return false };
        wait.state.missing -= self.lumps.take_up_to(wait.state.missing);
        wait.state.missing == 0
    }

    /// The lumps that are due and for which nobody woke.
    fn catch_up(&mut self, now: Time) {
        if self.lumps.catch_up(now) {
            self.share(now);
            self.set_timer();
        }
    }

    fn become_core(&mut self, id: u32) {
        self.core = Some((id, Time::NEVER));
        self.set_timer();
    }

    /// The core sleeps until the next lump.
    fn set_timer(&mut self) {
        let Some((id, _)) = self.core else { return };
        let Some(waiter) = self.waiting.get(id).map(|wait| wait.waiter) else { return };
        let wakes_at = self.lateness.fires_at(self.lumps.next(), waiter, &mut self.rng);
        self.core = Some((id, wakes_at));
    }

    /// The core shares out what came. If it has all itself, it goes.
    fn serve(&mut self, now: Time, core: u32) {
        self.share(now);
        let stands = self.waiting.get(core).is_some_and(|wait| wait.state.place.is_some());
        if stands || !self.fill(core) {
            return self.set_timer();
        }
        // It runs already, so it goes before those whom it woke.
        self.ready.push_front(core);
        self.release(now);
    }

    /// There is no core any more; the last of the line is woken to be the next.
    fn release(&mut self, now: Time) {
        self.core = None;
        self.heir = self.line.last_key_value().map(|(_, id)| *id);
        self.ready_at = now;
    }

    /// The heir runs. There may be a core by now, or it may have all it asked for.
    fn on_heir_woke(&mut self, now: Time, id: u32) {
        let stands = self.waiting.get(id).is_some_and(|wait| wait.state.place.is_some());
        if self.core.is_some() || !stands {
            return;
        }
        if !self.is_fair {
            self.leave_line(id);
        }
        self.become_core(id);
        if self.lumps.catch_up(now) {
            self.serve(now, id);
        }
    }

    fn grant(&mut self, id: u32) -> Option<Grant> {
        let wait = self.waiting.remove(id)?;
        self.counters.grants += 1;
        Some(wait.grant())
    }

    /// Who runs next at `now`, if he does not go: the heir, then a core whose timer has fired.
    fn run_next(&mut self, now: Time) -> bool {
        if let Some(id) = self.heir.take() {
            self.on_heir_woke(now, id);
            return true;
        }
        let Some((id, _)) = self.core.filter(|(_, at)| *at <= now) else { return false };
        self.counters.wakes += 1;
        self.lumps.come(now);
        self.serve(now, id);
        true
    }
}

impl Limiter for LeakyBucket {
    fn ask(&mut self, now: Time, waiter: Waiter, cost: u64) -> Ask {
        self.counters.asks += 1;
        let barges = !self.is_fair && self.lumps.take(cost);
        if !barges {
            self.catch_up(now);
        }
        let missing = if barges { 0 } else { cost - self.lumps.take_up_to(cost) };
        if missing == 0 {
            self.counters.grants += 1;
            return Ask::Granted;
        }
        let state = Turn { missing, place: None };
        self.waiting.insert(Wait { waiter, cost, asked_at: now, quoted: None, state });
        let is_core = self.core.is_none();
        if self.is_fair || !is_core {
            self.stand(waiter.id, is_core);
        }
        if is_core {
            self.become_core(waiter.id);
        }
        Ask::Waiting { quoted: None }
    }

    fn next_wake(&self) -> Option<Time> {
        let runs = !self.ready.is_empty() || self.heir.is_some();
        if runs { Some(self.ready_at) } else { self.core.map(|(_, at)| at) }
    }

    fn on_wake(&mut self, now: Time) -> Option<Grant> {
        loop {
            if let Some(id) = self.ready.pop_front() {
                return self.grant(id);
            }
            if !self.run_next(now) {
                return None;
            }
        }
    }

    /// What it held goes to the line. (In the crate an heir that is dropped before it runs leaves the
    /// line without a core until somebody asks. Here the last of those left is the heir.)
    fn cancel(&mut self, now: Time, id: u32) -> bool {
        let was_core = self.is_core(id);
        self.leave_line(id);
        let Some(wait) = self.waiting.remove(id) else { return false };
        self.counters.cancels += 1;
        self.ready.retain(|who| *who != id);
        self.lumps.give_back(wait.cost - wait.state.missing);
        self.share(now);
        if was_core || self.heir == Some(id) {
            self.release(now);
        }
        true
    }

    fn set_rate(&mut self, now: Time, level: Level, rate: ByteRate) {
        if level == Level::Global {
            self.catch_up(now);
            self.lumps.set_rate(rate);
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

    fn tokens(&self, _: Time) -> Option<f64> {
        Some(self.lumps.balance() as f64)
    }
}
