//! The model under a lock, and the alarm that releases its answers.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use testbed_clock::{Alarm, AlarmId, Timer};
use testbed_core::hold::{Feed, Hold};
use testbed_core::rng::Streams;
use testbed_core::service::{
    BackendState, Counts, Released, Request, Rule, Service, ServiceConfig, SlowStart,
};
use testbed_core::time::Time;
use tokio::sync::oneshot;

/// Takes one answer: its status, the backend's account of it, and what a rule does to it.
pub(super) type Responder = oneshot::Sender<Released<()>>;

/// The model in real time. Every change goes through [`Engine::change`], which keeps the alarm set
/// for the model's next wake.
pub(super) struct Engine {
    timer: Timer,
    alarm: Arc<ReleaseDue>,
    state: Mutex<State>,
}

struct State {
    service: Service<Responder>,
    /// Requests so far.
    requests: u64,
    /// What the model was fed last.
    feed: Feed,
    /// Whether the hold was pushed from outside, so that nobody feeds the model after an answer.
    open_loop: bool,
    /// The alarm that is set, never later than the model's next wake.
    armed: Option<(Time, AlarmId)>,
}

/// The engine's one alarm. It does not keep the engine alive: the timer may outlive it.
struct ReleaseDue(Weak<Engine>);

impl Engine {
    /// An idle model on this timer and its clock.
    pub(super) fn new(config: &ServiceConfig, streams: &Streams, timer: Timer) -> Arc<Self> {
        Arc::new_cyclic(|engine| Self {
            timer,
            alarm: Arc::new(ReleaseDue(Weak::clone(engine))),
            state: Mutex::new(State {
                service: Service::new(config, streams),
                requests: 0,
                feed: Feed::default(),
                open_loop: false,
                armed: None,
            }),
        })
    }

    /// A request arrives. `responder` is dropped unused if the backend closes before its answer.
    pub(super) fn arrive(&self, request: Request<'_>, responder: Responder) {
        self.change(|state, now| {
            state.requests += 1;
            state.service.arrive(now, request, responder);
        });
    }

    /// How many requests have arrived.
    pub(super) fn requests(&self) -> u64 {
        self.lock().requests
    }

    /// Replaces the hold by one whose owner feeds it.
    pub(super) fn set_hold(&self, hold: Option<Hold>) {
        self.change(|state, now| {
            state.open_loop = false;
            state.service.set_hold(now, hold);
        });
    }

    /// Replaces the hold by one from outside, together with what it is to go by.
    pub(super) fn push_hold(&self, hold: Option<Hold>, feed: Feed) {
        self.change(|state, now| {
            state.open_loop = true;
            state.service.set_hold(now, hold);
            state.feed(feed);
        });
    }

    /// Replaces the rules about single requests.
    pub(super) fn set_rules(&self, rules: Vec<Rule>) {
        self.change(|state, _| state.service.set_rules(rules));
    }

    /// The rules in force.
    pub(super) fn rules(&self) -> Vec<Rule> {
        self.lock().service.rules().to_vec()
    }

    /// What every rule has done so far, by name.
    pub(super) fn injected(&self) -> Vec<(String, Counts)> {
        let state = self.lock();
        state.service.injected().map(|(name, counts)| (name.to_owned(), counts)).collect()
    }

    /// What is wrong with the model on purpose.
    pub(super) fn faults(&self) -> Vec<String> {
        self.lock().service.faults()
    }

    /// Replaces the slow starts.
    pub(super) fn set_slow_starts(&self, starts: &[(String, SlowStart)]) {
        self.change(|state, now| state.service.set_slow_starts(now, starts));
    }

    /// Replaces the number of servers.
    pub(super) fn set_servers(&self, servers: Option<u32>) {
        self.change(|state, now| state.service.set_servers(now, servers));
    }

    /// Stops the model, or lets it go on.
    pub(super) fn set_frozen(&self, frozen: bool) {
        self.change(|state, now| state.service.set_frozen(now, frozen));
    }

    /// Feeds a gradient hold.
    pub(super) fn feed(&self, feed: Feed) {
        self.change(|state, _| state.feed(feed));
    }

    /// The hold in force and what it was fed last.
    pub(super) fn hold(&self) -> (Option<Hold>, Feed) {
        let state = self.lock();
        (state.service.hold(), state.feed)
    }

    /// The state of the model; utilisation counts from the look before.
    pub(super) fn look(&self) -> BackendState {
        self.change(|state, now| state.service.look(now))
    }

    /// Drops every job inside, unanswered.
    pub(super) fn drain(&self) {
        let dropped = {
            let mut state = self.lock();
            self.disarm(&mut state);
            state.service.drain()
        };
        // Outside the lock, since each wakes the task that waits for its answer.
        drop(dropped);
    }

    /// Sends every answer that is due, outside the lock. Each is released at a time of its own, so
    /// that its lateness counts the sending of those before it.
    fn release_due(&self) {
        while let Some(released) = self.release_next() {
            // Fails if the client has gone: the work was done all the same.
            let (responder, released) = released.split();
            let _ = responder.send(released);
        }
    }

    /// Takes out the next answer that is due; if there is none, sets the alarm for the next.
    fn release_next(&self) -> Option<Released<Responder>> {
        let mut state = self.lock();
        let released = state.release(self.timer.clock().now());
        if released.is_none() {
            self.disarm(&mut state);
            self.arm(&mut state);
        }
        released
    }

    fn change<T>(&self, change: impl FnOnce(&mut State, Time) -> T) -> T {
        let mut state = self.lock();
        // Read under the lock, so that the model sees no time go back.
        let now = self.timer.clock().now();
        let result = change(&mut state, now);
        self.arm(&mut state);
        result
    }

    /// Sets the alarm for the model's next wake, unless one is set that is not later.
    fn arm(&self, state: &mut State) {
        let Some(at) = state.service.next_wake() else {
            return;
        };
        if state.armed.is_none_or(|(armed, _)| at < armed) {
            self.disarm(state);
            let id = self.timer.alarm(at, Arc::clone(&self.alarm) as Arc<dyn Alarm>);
            state.armed = Some((at, id));
        }
    }

    fn disarm(&self, state: &mut State) {
        if let Some((_, id)) = state.armed.take() {
            self.timer.cancel(id);
        }
    }

    /// A bug that panicked under the lock has already spoken; closing must still work after it.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn feed(&mut self, feed: Feed) {
        self.feed = feed;
        self.service.feed(feed);
    }

    /// The next job to be answered. In an open loop the model would wait in vain for a feed after
    /// each answer, so it is fed what it knows already.
    fn release(&mut self, now: Time) -> Option<Released<Responder>> {
        let released = self.service.release(now)?;
        if self.open_loop {
            self.service.feed(self.feed);
        }
        Some(released)
    }
}

impl Alarm for ReleaseDue {
    fn fire(&self, _now: Time) {
        if let Some(engine) = self.0.upgrade() {
            engine.release_due();
        }
    }
}

#[cfg(test)]
mod tests;
