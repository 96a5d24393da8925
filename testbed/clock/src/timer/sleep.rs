//! Sleeping in a task, on the timer's own queue.

use super::{Alarm, AlarmId, Timer};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use testbed_core::time::Time;

/// A future that is ready at its deadline and not before; made by
/// [`Timer::sleep_until`](super::Timer::sleep_until).
///
/// It enters the timer's queue when it is first polled, and leaves it when dropped.
#[derive(Debug)]
#[must_use = "a future does nothing unless polled"]
pub struct Sleep {
    timer: Timer,
    deadline: Time,
    alarm: Option<(AlarmId, Arc<WakeUp>)>,
}

/// The alarm of one sleep.
#[derive(Debug, Default)]
struct WakeUp {
    state: Mutex<WakeState>,
}

#[derive(Debug, Default)]
struct WakeState {
    fired: bool,
    /// The time is near: the task stays awake.
    roused: bool,
    waker: Option<Waker>,
}

impl Sleep {
    pub(super) fn new(timer: Timer, deadline: Time) -> Self {
        Self { timer, deadline, alarm: None }
    }

    /// When the sleep ends.
    pub fn deadline(&self) -> Time {
        self.deadline
    }

    fn set_alarm(&mut self, waker: &Waker) {
        let wake_up = Arc::new(WakeUp::default());
        wake_up.lock().waker = Some(waker.clone());
        let id = self.timer.alarm(self.deadline, Arc::clone(&wake_up) as Arc<dyn Alarm>);
        self.alarm = Some((id, wake_up));
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.timer.clock().now() >= self.deadline {
            return Poll::Ready(());
        }
        match &self.alarm {
            Some((_, wake_up)) => wake_up.poll(context.waker()),
            None => {
                self.set_alarm(context.waker());
                Poll::Pending
            }
        }
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some((id, _)) = self.alarm {
            self.timer.cancel(id);
        }
    }
}

impl WakeUp {
    /// Ready once fired; until then `waker` is the one to wake, at once while the time is near.
    fn poll(&self, waker: &Waker) -> Poll<()> {
        let mut state = self.lock();
        if state.fired {
            return Poll::Ready(());
        }
        match &mut state.waker {
            Some(known) => known.clone_from(waker),
            none => *none = Some(waker.clone()),
        }
        let roused = state.roused;
        drop(state);
        if roused {
            waker.wake_by_ref();
        }
        Poll::Pending
    }

    fn lock(&self) -> MutexGuard<'_, WakeState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state and wakes the task.
    fn wake(&self, change: impl FnOnce(&mut WakeState)) {
        let mut state = self.lock();
        change(&mut state);
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl Alarm for WakeUp {
    fn fire(&self, _now: Time) {
        self.wake(|state| state.fired = true);
    }

    fn rouse(&self) {
        self.wake(|state| state.roused = true);
    }
}
