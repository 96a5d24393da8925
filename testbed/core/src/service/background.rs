//! Background load: jobs that nobody waits for, on the servers and in the backlog of everybody else.
//!
//! They arrive by themselves and without a pattern, at the rate that brings the servers to a given
//! utilisation: `(utilisation * servers - servers at work for requests) / mean service time`. That rate
//! changes with each request that begins or ends, so their instants come by a time change, as those of
//! a load whose rate changes with time: exactly, one draw a job.

use super::{Job, Service};
use crate::rng::Rng;
use crate::time::{Nanos, Time};
use rand::RngExt as _;
use rand_distr::Exp1;

/// When background jobs arrive.
#[derive(Debug)]
pub(super) struct Background {
    rng: Rng,
    /// The utilisation to be reached, if any, from 0 to 1.
    target: Option<f64>,
    /// Arrivals expected from `since` until the next one; below 0, if that has been noticed too late.
    left: f64,
    since: Time,
    /// Arrivals a nanosecond since then.
    rate: f64,
    /// Servers that work on background jobs.
    pub(super) busy: u32,
}

impl Background {
    pub(super) const fn new(rng: Rng) -> Self {
        Self { rng, target: None, left: 0.0, since: Time::ZERO, rate: 0.0, busy: 0 }
    }

    /// Another utilisation from `now` on; with the same one it goes on as it is.
    fn set(&mut self, now: Time, target: Option<f64>) {
        if target != self.target {
            // Without a rate none arrives; one is worked out as soon as the backend moves.
            (self.target, self.since, self.rate) = (target, now, 0.0);
            self.left = self.rng.sample(Exp1);
        }
    }

    /// Another rate from `now` on.
    fn follow(&mut self, now: Time, rate: f64) {
        self.left -= self.rate * now.since(self.since).get() as f64;
        self.since = self.since.max(now);
        self.rate = rate;
    }

    /// What has passed since was no time at all.
    pub(super) const fn resume(&mut self, now: Time) {
        self.since = now;
    }

    /// When the next one arrives, unless the rate changes before.
    pub(super) fn next_wake(&self) -> Option<Time> {
        let wait = libm::ceil(self.left.max(0.0) / self.rate);
        (self.rate > 0.0).then(|| self.since.after(Nanos::new(wait as u64)))
    }

    /// One has arrived at `now`. What is overdue stays so: however late it is noticed, none is lost.
    fn arrived(&mut self, now: Time) {
        self.follow(now, self.rate);
        let gap: f64 = self.rng.sample(Exp1);
        self.left += gap;
    }
}

impl<J> Service<J> {
    /// Has background jobs bring the servers to this utilisation, from 0 to 1; `None`: there are none.
    pub(super) fn set_background(&mut self, now: Time, target: Option<f64>) {
        self.background.set(now, target);
        self.follow_background(now);
    }

    /// Adapts the rate of background jobs to what else is at work.
    pub(super) fn follow_background(&mut self, now: Time) {
        let Some(target) = self.background.target.filter(|_| self.frozen_at.is_none()) else {
            return;
        };
        let requests = f64::from(self.busy - self.background.busy);
        let missing = (target * f64::from(self.servers) - requests).max(0.0);
        let mean_ns = self.config.service.mean().get() as f64 * self.slowdown(now);
        self.background.follow(now, missing / mean_ns.max(1.0));
    }

    /// Lets in the background jobs that arrive before anything else happens, and not after `now`.
    pub(super) fn let_in_background(&mut self, now: Time) {
        let departure = self.departures.peek().map_or(Time::NEVER, |next| next.0.0);
        let until = now.min(departure);
        while let Some(at) = self.background.next_wake().filter(|at| *at <= until) {
            self.background.arrived(at);
            self.begin_background(at);
            if self.departures.peek().is_some_and(|next| next.0.0 < until) {
                return;
            }
        }
    }

    fn begin_background(&mut self, now: Time) {
        let service = self.config.service.draw(&mut self.background.rng);
        let slot = self.store(Job { service, ..Job::background(now) });
        if self.busy < self.servers {
            self.start(now, slot);
        } else if !self.wait(slot) {
            drop(self.forget(slot));
        }
    }
}
