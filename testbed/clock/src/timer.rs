//! A timer precise to tens of microseconds: one thread, one ordered queue of alarms.

mod agenda;
mod queue;
mod sleep;

pub use queue::AlarmId;
pub use sleep::Sleep;

use crate::{LiveClock, set_fine_timer_slack};
use agenda::{Agenda, Step};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use testbed_core::time::Time;

/// Something that wants to be called at a time.
pub trait Alarm: Send + Sync {
    /// Called once, on the timer's thread, when the alarm's time has come; `now` is the time of the
    /// call and never before that. Must be short and must not panic: every other alarm waits.
    fn fire(&self, now: Time);

    /// Called a moment before that, if at all: what is asleep may use it to be awake in time. May
    /// be followed by no call of [`Alarm::fire`], where the alarm is taken back.
    fn rouse(&self) {}
}

/// A handle to a timer thread. Clones share the thread; it ends when the last one is dropped, and
/// alarms that are still to come are then forgotten.
#[derive(Clone, Debug)]
pub struct Timer {
    clock: LiveClock,
    handle: Arc<Handle>,
}

/// What all clones of a [`Timer`] share. The thread holds only `shared`, so that the last clone's
/// drop can be told from the thread's own.
#[derive(Debug)]
struct Handle {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    /// Rung when the first deadline moves forward, and at the end.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    agenda: Agenda<Arc<dyn Alarm>>,
    closed: bool,
}

impl Timer {
    /// Starts the thread `windtunnel-timer`; deadlines are read on `clock`.
    ///
    /// # Panics
    /// If the operating system refuses a thread, as [`std::thread::spawn`] does.
    pub fn start(clock: LiveClock) -> Self {
        let shared = Arc::new(Shared::default());
        let thread = Arc::clone(&shared);
        thread::Builder::new()
            .name("windtunnel-timer".into())
            .spawn(move || thread.run(clock))
            .expect("the operating system starts a thread");
        Self { clock, handle: Arc::new(Handle { shared }) }
    }

    /// The clock that deadlines are read on.
    pub fn clock(&self) -> LiveClock {
        self.clock
    }

    /// Fires `alarm` at `at`, or as soon as possible if that has passed. Alarms fire in order of
    /// their times, and those for the same time in order of these calls.
    pub fn alarm(&self, at: Time, alarm: Arc<dyn Alarm>) -> AlarmId {
        let (id, is_first) = self.handle.shared.lock().agenda.alarms.insert(at, alarm);
        if is_first {
            self.handle.shared.changed.notify_one();
        }
        id
    }

    /// Takes an alarm back. False if it has fired, or is just about to.
    pub fn cancel(&self, id: AlarmId) -> bool {
        let alarm = self.handle.shared.lock().agenda.alarms.remove(id);
        alarm.is_some()
    }

    /// A future that is ready at `at` and not before. Dropping it leaves nothing behind.
    pub fn sleep_until(&self, at: Time) -> Sleep {
        Sleep::new(self.clone(), at)
    }

    /// How many alarms are to come, sleeps that were polled among them.
    pub fn pending(&self) -> usize {
        self.handle.shared.lock().agenda.alarms.len()
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.changed.notify_one();
    }
}

impl Shared {
    /// The body of the timer's thread.
    fn run(&self, clock: LiveClock) {
        set_fine_timer_slack();
        let mut state = self.lock();
        while !state.closed {
            state = match state.agenda.step(clock.now()) {
                Step::Wait(Some(length)) => self.wait_at_most(state, length.as_std()),
                Step::Wait(None) => {
                    self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
                }
                Step::Rouse(alarm) => self.without(state, || alarm.rouse()),
                Step::Fire(alarm) => self.without(state, || alarm.fire(clock.now())),
            };
        }
    }

    /// Calls foreign code, with the lock released: an alarm may set others.
    fn without<'a>(
        &'a self,
        state: MutexGuard<'a, State>,
        call: impl FnOnce(),
    ) -> MutexGuard<'a, State> {
        drop(state);
        call();
        self.lock()
    }

    fn wait_at_most<'a>(
        &self,
        state: MutexGuard<'a, State>,
        length: std::time::Duration,
    ) -> MutexGuard<'a, State> {
        let waited = self.changed.wait_timeout(state, length);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// No foreign code runs under this lock, so a poisoned state is still whole.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
