//! How late the runtime is: a task is made ready and says when it ran. It sleeps on no timer, so what it
//! finds is the runtime's and the machine's part only. One at a time, so that it costs nothing.

use std::sync::{Arc, OnceLock};
use testbed_clock::LiveClock;
use testbed_core::time::{Nanos, Time};
use tokio::runtime::Runtime;

/// Asks the runtime again and again.
#[derive(Debug, Default)]
pub(super) struct Probe {
    /// The task that is out, and how late it ran once it has run.
    out: Option<Arc<OnceLock<Nanos>>>,
}

impl Probe {
    /// How late the last task ran, and another one is sent; `None` if it has not run yet. However
    /// late a task is, it is not forgotten: it is waited for before another is sent.
    pub(super) fn ask(&mut self, runtime: &Runtime, clock: LiveClock) -> Option<Nanos> {
        let lag = self.out.as_ref().and_then(|out| out.get().copied());
        if lag.is_some() || self.out.is_none() {
            self.out = Some(send(runtime, clock, clock.now()));
        }
        lag
    }
}

fn send(runtime: &Runtime, clock: LiveClock, ready: Time) -> Arc<OnceLock<Nanos>> {
    let out = Arc::<OnceLock<Nanos>>::default();
    let report = Arc::clone(&out);
    runtime.spawn(async move {
        // It is set once, here.
        let _ = report.set(clock.now().since(ready));
    });
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::runtime::Builder;

    #[test]
    fn a_task_that_could_not_run_is_waited_for_and_reported_as_late_as_it_was() {
        let clock = LiveClock::start();
        // This runtime runs tasks only while it is given the thread.
        let runtime = Builder::new_current_thread().build().unwrap();
        let mut probe = Probe::default();
        let began = clock.now();
        assert_eq!(probe.ask(&runtime, clock), None, "the first is sent");
        assert_eq!(probe.ask(&runtime, clock), None, "it has not run");
        std::thread::sleep(std::time::Duration::from_millis(5));
        runtime.block_on(tokio::task::yield_now());
        let lag = probe.ask(&runtime, clock).unwrap();
        assert!(lag >= Nanos::from_millis(5), "{lag}");
        assert!(lag <= clock.now().since(began), "{lag}");
        assert_eq!(probe.ask(&runtime, clock), None, "the next is out");
    }
}
