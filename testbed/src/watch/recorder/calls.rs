//! The series of an arm's requests.

use super::queue::QueueFold;
use super::sheet::Sheet;
use crate::watch::series::{self, PerRequest, Sampled};
use crate::watch::store::Interval;
use std::io::Write;
use testbed_core::queue::Rejection;
use testbed_core::request::{Outcome, Sample, Served};
use testbed_core::time::{Nanos, Time};

/// What is counted and tracked of one arm's requests between two sampling instants.
#[derive(Default)]
pub(super) struct CallsFold {
    in_flight: Track,
    waiting: Track,
    outcomes: [u64; Outcome::ALL.len()],
    rejected: u64,
    pub(super) queue: QueueFold,
    retries: u64,
    ok_at_last_tick: u64,
    latency_ns: u64,
    latencies: u64,
}

/// What is said of the end of an attempt, beside its sample.
pub(super) struct End {
    /// When the first attempt of the request was planned.
    pub(super) first: Time,
    /// Whether it was the last attempt.
    pub(super) over: bool,
    pub(super) served: Option<Served>,
    pub(super) hit: Option<bool>,
}

/// A value that changes with events, integrated over time.
#[derive(Default)]
struct Track {
    value: f64,
    since: Time,
    integral: f64,
    min: f64,
    max: f64,
}

impl Track {
    fn set(&mut self, now: Time, value: f64) {
        self.integral += self.value * now.since(self.since).get() as f64;
        self.since = now;
        self.value = value;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Closes the interval that ends at `now` and begins the next.
    fn take(&mut self, begin: Time, now: Time) -> Interval {
        self.set(now, self.value);
        let length = now.since(begin);
        let mean = if length.get() > 0 { self.integral / length.get() as f64 } else { self.value };
        let interval =
            Interval { end: now, length, min: self.min, max: self.max, mean, last: self.value };
        (self.integral, self.min, self.max) = (0.0, self.value, self.value);
        interval
    }
}

impl CallsFold {
    pub(super) fn arrived(&mut self, now: Time) {
        self.waiting.set(now, self.waiting.value + 1.0);
    }

    /// A waiting request went away unserved.
    pub(super) fn left(&mut self, now: Time) {
        self.waiting.set(now, self.waiting.value - 1.0);
    }

    pub(super) fn rejected(&mut self, now: Time, why: Rejection) {
        self.rejected += 1;
        self.queue.rejected(why);
        self.left(now);
    }

    pub(super) fn admitted(&mut self, now: Time, in_flight: u32, waiting: u32) {
        self.in_flight.set(now, f64::from(in_flight));
        self.waiting.set(now, f64::from(waiting));
    }

    pub(super) fn in_flight(&mut self, now: Time, in_flight: u32) {
        self.in_flight.set(now, f64::from(in_flight));
    }

    pub(super) fn retried(&mut self, again: bool) {
        self.retries += u64::from(again);
    }

    /// An attempt ended. What was given up says how long somebody waited, not how long it takes.
    pub(super) fn finished<W: Write>(
        &mut self,
        (arm, live): (usize, bool),
        sample: &Sample,
        end: &End,
        sheet: &mut Sheet<W>,
    ) {
        self.outcomes[sample.outcome as usize] += 1;
        if sample.outcome == Outcome::Cancelled {
            return;
        }
        let store = sheet.arm(arm);
        if end.over {
            let latency = sample.end.since(end.first);
            self.latency_ns += latency.get();
            self.latencies += 1;
            store.record(PerRequest::Latency, latency);
        }
        store.record(PerRequest::Rtt, sample.rtt());
        if live {
            store.record(PerRequest::SendLag, sample.sent.since(sample.start));
        }
        if let Some(served) = end.served {
            store.record(PerRequest::Age, served.age);
            if live {
                store.record(PerRequest::Lateness, served.lateness);
            }
        }
        if let Some(hit) = end.hit {
            store.record(PerRequest::Toxic, Nanos::from_secs(u64::from(hit)));
        }
    }

    /// A sampling instant; the interval began at `begin`.
    pub(super) fn tick<W: Write>(
        &mut self,
        begin: Time,
        now: Time,
        arm: usize,
        sheet: &mut Sheet<W>,
    ) {
        self.tick_tracks(begin, now, arm, sheet);
        self.queue.tick(now, arm, sheet);
        for outcome in Outcome::ALL {
            let count = self.outcomes[outcome as usize];
            sheet.step(now, arm, series::outcome_series(outcome).name, count as f64);
        }
        sheet.step(now, arm, series::REJECTED.name, self.rejected as f64);
        sheet.step(now, arm, series::RETRIES.name, self.retries as f64);
        if self.latencies > 0 {
            let mean_ns = self.latency_ns as f64 / self.latencies as f64;
            (self.latency_ns, self.latencies) = (0, 0);
            sheet.row(now, arm, PerRequest::Latency.info().name, mean_ns / 1e9);
        }
    }

    fn tick_tracks<W: Write>(&mut self, begin: Time, now: Time, arm: usize, sheet: &mut Sheet<W>) {
        let (in_flight, waiting) = (self.in_flight.take(begin, now), self.waiting.take(begin, now));
        let ok = self.outcomes[Outcome::Success as usize];
        let goodput = (ok - self.ok_at_last_tick) as f64 / now.since(begin).as_secs_f64();
        self.ok_at_last_tick = ok;
        sheet.interval(arm, Sampled::InFlight, in_flight);
        sheet.interval(arm, Sampled::Waiting, waiting);
        sheet.interval(arm, Sampled::Goodput, Interval::level(begin, now, goodput));
    }

    /// What the end of the run cut off is known only after its last sampling instant.
    pub(super) fn end<W: Write>(&self, now: Time, arm: usize, sheet: &mut Sheet<W>) {
        let cut_off = self.outcomes[Outcome::Cancelled as usize];
        sheet.step(now, arm, series::outcome_series(Outcome::Cancelled).name, cut_off as f64);
    }
}
