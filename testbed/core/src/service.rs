//! The backend as a model: servers, a bounded backlog, service times, HTTP faults and a hold.
//!
//! It owns a finite resource, so latency depends on what is in flight. It is told the time and
//! answers which jobs are released; virtual mode calls it directly, the live backend wraps HTTP
//! around it. `J` is whatever the caller wants back with a job: a ticket, or a channel to answer on.
//!
//! After every call ask [`Service::release`] until it has no more, **letting the client react in
//! between**: a gradient hold decides at each release, by the baseline that the one before moved.

mod background;
mod backlog;
mod body;
mod capacity;
mod config;
mod contention;
mod http;
mod released;
mod slow_start;

pub use backlog::{By, Discipline, Expired, Fair, Start};
pub use body::{BodySize, MAX_BODY};
pub use config::ServiceConfig;
pub use contention::{Contention, Knee};
pub use http::{
    Active, Calls, Counts, Drip, End, Harm, HttpFault, Leaving, Manner, NoAnswer, Reject, Request,
    Reset, RetryAfter, Rule, Said, Schedule, SlowHeaders, Truncate, Which, WrongLength,
};
pub use released::Released;
pub use slow_start::SlowStart;

use crate::hold::{Feed, Hold, Holder};
use crate::request::Served;
use crate::rng::{Rng, Streams};
use crate::time::{Nanos, Time};
use background::Background;
use backlog::{Backlog, Waiting};
use http::{Decided, Rules};
use serde::{Deserialize, Serialize};
use slow_start::Warming;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The status of a request that found the backlog full.
pub const OVERFLOW_STATUS: u16 = 503;
/// The age of an answer that turns a request away, unless the file says otherwise. Even a cheap answer
/// takes a moment; at none at all, a client that tries again at once would stop virtual time.
pub const TURNED_AWAY_AFTER: Nanos = Nanos::from_millis(1);

/// The state of a backend at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Default, Serialize, Deserialize)]
pub struct BackendState {
    /// Jobs inside: queued, in service, held.
    pub in_system: u32,
    /// Jobs that wait for a server.
    pub queued: u32,
    /// Mean share of busy servers since the last look.
    pub utilisation: f64,
}

#[derive(Debug)]
struct Job<J> {
    /// `None`: it is background.
    payload: Option<J>,
    /// Calls that came before it.
    call: u64,
    arrived: Time,
    /// When its client gives it up.
    until: Time,
    /// When its answer is ready; for a waiting job, the service time it will take is kept instead.
    ready: Time,
    service: Nanos,
    /// Whom it belongs to, in the backlog.
    flow: u32,
    status: u16,
    in_service: bool,
    harm: Option<Box<Harm>>,
}

impl<J> Job<J> {
    /// A job that nobody waits for, without a service time yet.
    const fn background(now: Time) -> Self {
        Self {
            payload: None,
            call: 0,
            arrived: now,
            until: Time::NEVER,
            ready: now,
            service: Nanos::ZERO,
            flow: 0,
            status: 200,
            in_service: false,
            harm: None,
        }
    }
}

/// Order of equals: by instant, then by the order in which they were put in.
type Queued = Reverse<(Time, u64, u32)>;

/// The running backend.
#[derive(Debug)]
pub struct Service<J> {
    config: ServiceConfig,
    /// Servers that there are now.
    servers: u32,
    /// Since when it stands still.
    frozen_at: Option<Time>,
    /// What arrived while it stood still, with its rejection.
    at_the_door: Vec<(u32, Option<(u16, Nanos)>)>,
    rules: Rules,
    warming: Vec<Warming>,
    holder: Holder,
    service_rng: Rng,
    /// Calls that have arrived.
    calls: u64,
    busy: u32,
    jobs: Vec<Option<Job<J>>>,
    free_slots: Vec<u32>,
    backlog: Backlog,
    background: Background,
    departures: BinaryHeap<Queued>,
    /// Answers that are ready and kept, by arrival.
    held: BinaryHeap<Queued>,
    sequence: u64,
    busy_ns: u64,
    busy_since: Time,
    looked_at: Time,
}

impl<J> Service<J> {
    /// An idle backend that draws from the streams `service`, `reject` and `background`.
    pub fn new(config: &ServiceConfig, streams: &Streams) -> Self {
        Self {
            config: config.clone(),
            servers: config.servers,
            frozen_at: None,
            at_the_door: Vec::new(),
            rules: Rules::new(streams.stream("reject")),
            warming: Vec::new(),
            holder: Holder::default(),
            service_rng: streams.stream("service"),
            calls: 0,
            busy: 0,
            jobs: Vec::new(),
            free_slots: Vec::new(),
            backlog: Backlog::new(config.backlog, config.queue, config.expired),
            background: Background::new(streams.stream("background")),
            departures: BinaryHeap::new(),
            held: BinaryHeap::new(),
            sequence: 0,
            busy_ns: 0,
            busy_since: Time::ZERO,
            looked_at: Time::ZERO,
        }
    }

    /// Replaces the rules in force. The first that matches a request decides about it; a rule with
    /// a name that was there before goes on with its counts. Names are to be one of a kind.
    pub fn set_rules(&mut self, rules: Vec<Rule>) {
        self.rules.set(rules);
    }

    /// The rules in force, in order.
    pub fn rules(&self) -> &[Rule] {
        self.rules.in_force()
    }

    /// What every rule that was ever in force has done so far, by name.
    pub fn injected(&self) -> impl Iterator<Item = (&str, Counts)> {
        self.rules.counts()
    }

    /// Replaces the hold. Lifting it lets everything go that is ready.
    pub fn set_hold(&mut self, now: Time, hold: Option<Hold>) {
        self.holder.set(hold);
        self.set_background(now, self.holder.utilisation());
    }

    /// The hold in force.
    pub const fn hold(&self) -> Option<Hold> {
        self.holder.hold()
    }

    /// Tells a gradient hold what the client's side knows.
    pub const fn feed(&mut self, feed: Feed) {
        self.holder.feed(feed);
    }

    /// A request arrives.
    pub fn arrive(&mut self, now: Time, request: Request<'_>, payload: J) {
        // Drawn for every call, so that the n-th call takes as long in every arm.
        let call = self.calls;
        let service = self.config.service.nth(call, &mut self.service_rng);
        self.calls += 1;
        let Decided { rejected, harm } = self.rules.decide(now, request);
        let until = request.patience.map_or(Time::NEVER, |patience| now.after(patience));
        let (payload, flow) = (Some(payload), self.backlog.arrive(now, request));
        let job = Job { payload, call, until, service, flow, harm, ..Job::background(now) };
        let slot = self.store(job);
        if self.frozen_at.is_some() {
            self.at_the_door.push((slot, rejected));
        } else {
            self.enter(now, slot, rejected);
        }
    }

    /// A job is turned away, begun or put into the backlog.
    fn enter(&mut self, now: Time, slot: u32, rejected: Option<(u16, Nanos)>) {
        if let Some((status, after)) = rejected {
            self.turn_away(now.after(after), slot, status);
        } else if self.busy < self.servers {
            self.start(now, slot);
        } else if !self.wait(slot) {
            self.turn_away(now.after(TURNED_AWAY_AFTER), slot, OVERFLOW_STATUS);
        }
    }

    /// Puts a job into the backlog; whether there was room.
    fn wait(&mut self, slot: u32) -> bool {
        let Job { arrived: since, until, service, flow, .. } = *self.job(slot);
        self.backlog.push(Waiting { slot, since, until, service, flow })
    }

    /// The next instant at which [`Service::release`] has something to do; not after now, if it has.
    pub fn next_wake(&self) -> Option<Time> {
        if self.frozen_at.is_some() {
            return None;
        }
        let departure = self.departures.peek().map(|Reverse((ready, ..))| *ready);
        let held = self.held.peek().map(|Reverse((arrived, ..))| self.may_go(*arrived));
        Time::earliest([departure, held, self.background.next_wake()])
    }

    /// The next job whose answer leaves at or before `now`.
    pub fn release(&mut self, now: Time) -> Option<Released<J>> {
        if self.frozen_at.is_some() {
            return None;
        }
        while let Some(slot) = self.depart(now) {
            let job = self.job(slot);
            if job.payload.is_none() {
                drop(self.forget(slot));
                continue;
            }
            if job.status != 200 || !self.holder.keeps_answers() && self.held.is_empty() {
                let planned = job.ready;
                return Some(self.let_go(now, planned, slot));
            }
            let arrived = job.arrived;
            self.sequence += 1;
            self.held.push(Reverse((arrived, self.sequence, slot)));
        }
        self.release_held(now)
    }

    /// What is inside, and how busy it was since the last look.
    pub fn look(&mut self, now: Time) -> BackendState {
        self.count_busy(now);
        let capacity = now.since(self.looked_at).get() as f64 * f64::from(self.servers);
        let utilisation = if capacity > 0.0 { self.busy_ns as f64 / capacity } else { 0.0 };
        self.busy_ns = 0;
        self.looked_at = now;
        let in_system = (self.jobs.len() - self.free_slots.len()) as u32;
        BackendState { in_system, queued: self.queued(), utilisation }
    }

    /// Takes out everything, released or not: the run is over.
    pub fn drain(&mut self) -> Vec<J> {
        self.backlog.clear();
        self.at_the_door.clear();
        self.departures.clear();
        self.held.clear();
        self.free_slots.clear();
        (self.busy, self.background.busy) = (0, 0);
        std::mem::take(&mut self.jobs).into_iter().flatten().filter_map(|job| job.payload).collect()
    }

    fn start(&mut self, now: Time, slot: u32) {
        self.count_busy(now);
        self.busy += 1;
        let scale = self.slowdown(now);
        let job = self.job_mut(slot);
        job.in_service = true;
        if scale != 1.0 {
            job.service = job.service.scaled(scale);
        }
        job.ready = now.after(job.service);
        let (ready, flow, background) = (job.ready, job.flow, job.payload.is_none());
        self.backlog.begin(now, flow);
        self.sequence += 1;
        self.departures.push(Reverse((ready, self.sequence, slot)));
        self.background.busy += u32::from(background);
        self.follow_background(now);
    }

    fn turn_away(&mut self, ready: Time, slot: u32, status: u16) {
        let job = self.job_mut(slot);
        (job.ready, job.status) = (ready, status);
        self.sequence += 1;
        self.departures.push(Reverse((ready, self.sequence, slot)));
    }

    /// Takes the next job whose answer is ready at `now` out of its server, which takes the next
    /// from the backlog at the instant it became free, however late this is noticed.
    fn depart(&mut self, now: Time) -> Option<u32> {
        self.let_in_background(now);
        let Reverse((ready, _, slot)) = *self.departures.peek()?;
        if ready > now {
            return None;
        }
        self.departures.pop();
        let Job { in_service, ref payload, flow, service, .. } = *self.job(slot);
        let background = payload.is_none();
        if in_service {
            self.count_busy(ready);
            self.backlog.end(ready, flow, service);
            self.busy -= 1;
            self.background.busy -= u32::from(background);
            self.follow_background(ready);
            self.fill_servers(ready);
        }
        Some(slot)
    }

    fn release_held(&mut self, now: Time) -> Option<Released<J>> {
        let Reverse((arrived, _, slot)) = *self.held.peek()?;
        if self.may_go(arrived) > now {
            return None;
        }
        self.held.pop();
        self.holder.released(now);
        let planned = match self.holder.hold() {
            Some(Hold::Latency(latency)) => arrived.after(latency).max(self.job(slot).ready),
            _ => now,
        };
        Some(self.let_go(now, planned, slot))
    }

    fn may_go(&self, arrived: Time) -> Time {
        arrived.after(self.holder.age()).max(self.holder.next_turn())
    }

    fn let_go(&mut self, now: Time, planned: Time, slot: u32) -> Released<J> {
        let job = self.forget(slot);
        let served = Served { age: now.since(job.arrived), lateness: now.since(planned) };
        let payload = job.payload.expect("what is answered was asked for");
        let body = self.config.body.nth(job.call, job.status);
        Released { job: payload, status: job.status, body, served, harm: job.harm }
    }

    /// Takes a job out of its slot.
    fn forget(&mut self, slot: u32) -> Job<J> {
        self.free_slots.push(slot);
        self.jobs[slot as usize].take().expect("a queued slot has a job")
    }

    fn store(&mut self, job: Job<J>) -> u32 {
        match self.free_slots.pop() {
            Some(slot) => {
                self.jobs[slot as usize] = Some(job);
                slot
            }
            None => {
                self.jobs.push(Some(job));
                self.jobs.len() as u32 - 1
            }
        }
    }

    fn job(&self, slot: u32) -> &Job<J> {
        self.jobs[slot as usize].as_ref().expect("a queued slot has a job")
    }

    fn job_mut(&mut self, slot: u32) -> &mut Job<J> {
        self.jobs[slot as usize].as_mut().expect("a queued slot has a job")
    }

    fn count_busy(&mut self, now: Time) {
        self.busy_ns += now.since(self.busy_since).get() * u64::from(self.busy);
        self.busy_since = self.busy_since.max(now);
    }
}
