//! A limiter that is an asynchronous function, as those of libraries are, before the downloads of a
//! live run.
//!
//! ```text
//! ask -> its future is polled once, here -> it is ready: granted at once
//!                                        -> it is not: a task of tokio waits for it
//! the task: ready -> the instant and the ask go into `granted`, the shell's bell is rung
//! the shell: next_wake is that instant -> on_wake
//! ```
//!
//! Whoever gives up drops the future, by its task.

use super::{Back, What};
use std::collections::VecDeque;
use std::fmt::Debug;
use std::pin::Pin;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use testbed_clock::LiveClock;
use testbed_core::limit::quantity::{ByteRate, Bytes};
use testbed_core::limit::waiting::{self, Waiting};
use testbed_core::limit::{Ask, Counters, Grant, Level, Levels, Limiter, Waiter};
use testbed_core::request::Arm;
use testbed_core::time::Time;
use testbed_core::vitals::Vitals;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

/// A wait for tokens: ready once they are granted, given up when it is dropped.
pub(super) type Wait = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Where tokens come from.
pub(super) trait Acquire: Debug + Send {
    /// Begins to wait for `cost` tokens.
    fn acquire(&self, cost: Bytes) -> Wait;
}

/// Tells the shell that a grant is there.
#[derive(Clone, Debug)]
pub(super) struct Bell {
    pub(super) clock: LiveClock,
    /// When the run began, by the clock.
    pub(super) origin: Time,
    pub(super) arm: Arm,
    pub(super) back: Sender<Back>,
}

impl Bell {
    fn now(&self) -> Time {
        Time::ZERO.after(self.clock.now().since(self.origin))
    }

    fn ring(&self) {
        // Nobody listens any more once the run is over.
        let _ = self.back.send(Back { arm: self.arm, what: What::Granted });
    }
}

/// What a task has waited for.
#[derive(Clone, Copy, Debug)]
struct Granted {
    at: Time,
    waiter: u32,
    /// The number of the ask: the waiter may have given up and asked again.
    ask: u64,
}

/// Grants that the shell has not taken yet, in the order in which they came.
#[derive(Clone, Debug, Default)]
struct Tray(Arc<Mutex<VecDeque<Granted>>>);

impl Tray {
    /// Puts a grant down, of this instant: instants come in order.
    fn put(&self, bell: &Bell, waiter: u32, ask: u64) {
        let mut tray = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tray.push_back(Granted { at: bell.now(), waiter, ask });
    }

    fn first(&self) -> Option<Granted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).front().copied()
    }

    fn take(&self, now: Time) -> Option<Granted> {
        let mut tray = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = tray.front().is_some_and(|granted| granted.at <= now);
        if is_due { tray.pop_front() } else { None }
    }
}

/// An ask that a task waits for. Dropping it gives it up.
#[derive(Debug)]
struct Pending {
    ask: u64,
    task: JoinHandle<()>,
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A limiter elsewhere. How often it looks at its tokens, and how many it has, it does not tell.
#[derive(Debug)]
pub(super) struct Outside<A> {
    limiter: A,
    runtime: Handle,
    bell: Bell,
    waiting: Waiting<Pending>,
    tray: Tray,
    counters: Counters,
    /// None: the tokens are elsewhere.
    levels: Levels,
}

impl<A: Acquire> Outside<A> {
    pub(super) fn new(limiter: A, runtime: Handle, bell: Bell) -> Self {
        let (waiting, tray) = (Waiting::default(), Tray::default());
        let (counters, levels) = (Counters::default(), Levels::default());
        Self { limiter, runtime, bell, waiting, tray, counters, levels }
    }

    fn wait(&self, waiter: u32, wait: Wait) -> Pending {
        let (ask, tray, bell) = (self.counters.asks, self.tray.clone(), self.bell.clone());
        let task = self.runtime.spawn(async move {
            wait.await;
            tray.put(&bell, waiter, ask);
            bell.ring();
        });
        Pending { ask, task }
    }

    /// The grant, unless whoever waited for it has given up.
    fn grant(&mut self, granted: Granted) -> Option<Grant> {
        let wait = self.waiting.get(granted.waiter)?;
        if wait.state.ask != granted.ask {
            return None;
        }
        let grant = self.waiting.remove(granted.waiter)?.grant();
        self.counters.grants += 1;
        Some(grant)
    }
}

impl<A: Acquire> Limiter for Outside<A> {
    fn ask(&mut self, now: Time, waiter: Waiter, cost: u64) -> Ask {
        self.counters.asks += 1;
        // The crate's timers are the runtime's.
        let _inside = self.runtime.enter();
        let mut wait = self.limiter.acquire(Bytes::new(cost));
        let first_look = wait.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        if first_look == Poll::Ready(()) {
            self.counters.grants += 1;
            return Ask::Granted;
        }
        let state = self.wait(waiter.id, wait);
        self.waiting.insert(waiting::Wait { waiter, cost, asked_at: now, quoted: None, state });
        Ask::Waiting { quoted: None }
    }

    fn next_wake(&self) -> Option<Time> {
        self.tray.first().map(|granted| granted.at)
    }

    fn on_wake(&mut self, now: Time) -> Option<Grant> {
        while let Some(granted) = self.tray.take(now) {
            if let Some(grant) = self.grant(granted) {
                return Some(grant);
            }
        }
        None
    }

    fn cancel(&mut self, _now: Time, id: u32) -> bool {
        let was_waiting = self.waiting.remove(id).is_some();
        self.counters.cancels += u64::from(was_waiting);
        was_waiting
    }

    /// Its rate is what it was built with.
    fn set_rate(&mut self, _now: Time, _level: Level, _rate: ByteRate) {}

    fn waiting(&self) -> usize {
        self.waiting.len()
    }

    fn counters(&self) -> Counters {
        self.counters
    }

    fn levels(&self) -> &Levels {
        &self.levels
    }

    fn vitals(&self, vitals: &mut Vitals) {
        vitals.push("waiting", self.waiting() as f64);
        vitals.push("asks", self.counters.asks as f64);
        vitals.push("grants", self.counters.grants as f64);
        vitals.push("cancels", self.counters.cancels as f64);
    }
}

#[cfg(test)]
mod tests;
