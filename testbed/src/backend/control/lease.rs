//! Leases: backends go when their testbed has gone.
//!
//! A testbed that is killed takes nothing away. What it had made here would stand for ever, with its
//! faults, and hold the ports; so it is to be heard of again and again.

use super::arms::Arms;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use testbed_clock::LiveClock;
use testbed_core::time::{Nanos, Time};

/// Who has the backends, if it is somebody who says so.
#[derive(Debug)]
pub(super) struct Lease {
    length: Nanos,
    clock: LiveClock,
    held: Mutex<Option<Held>>,
}

/// A testbed that has the backends.
#[derive(Debug)]
struct Held {
    testbed: String,
    /// When it ends unless the testbed is heard of.
    ends: Time,
}

impl Lease {
    /// Nobody's yet; each lasts for `length` since its testbed was heard of.
    pub(super) fn new(length: Nanos, clock: LiveClock) -> Self {
        Self { length, clock, held: Mutex::default() }
    }

    /// Gives the backends to this testbed, or to nobody in particular.
    pub(super) fn give(&self, testbed: Option<&str>) {
        let ends = self.clock.now().after(self.length);
        *self.lock() = testbed.map(|testbed| Held { testbed: testbed.to_owned(), ends });
    }

    /// Hears of a testbed; false if the backends are not, or no more, its own.
    pub(super) fn hear(&self, testbed: &str) -> bool {
        let ends = self.clock.now().after(self.length);
        let mut held = self.lock();
        let own = held.as_mut().filter(|held| held.testbed == testbed);
        own.map(|held| held.ends = ends).is_some()
    }

    /// When the lease of this testbed ends as things are; `None` if it has none.
    fn ends(&self, testbed: &str) -> Option<Time> {
        self.lock().as_ref().filter(|held| held.testbed == testbed).map(|held| held.ends)
    }

    /// Takes the lease of this testbed away if it is over.
    pub(super) fn expire(&self, testbed: &str) -> bool {
        let now = self.clock.now();
        let over = |held: &mut Held| held.testbed == testbed && held.ends <= now;
        self.lock().take_if(over).is_some()
    }

    /// It is whole between any two statements.
    fn lock(&self) -> MutexGuard<'_, Option<Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Closes the backends of `testbed` once its lease is over, unless they have become another's.
pub(super) fn watch(arms: &Arc<Arms>, testbed: String) {
    let (arms, timer) = (Arc::downgrade(arms), arms.timer.clone());
    tokio::spawn(async move {
        while let Some(arms) = arms.upgrade() {
            let Some(ends) = arms.lease.ends(&testbed) else { return };
            if arms.expire(&testbed).await {
                return;
            }
            drop(arms);
            timer.sleep_until(ends).await;
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_is_its_testbeds_until_it_is_over_or_given_to_another() {
        let lease = Lease::new(Nanos::from_secs(3600), LiveClock::start());
        assert!(!lease.hear("a"), "nobody has it");
        lease.give(Some("a"));
        assert!(lease.hear("a") && !lease.hear("b"));
        assert!(!lease.expire("a"), "it has just begun");
        lease.give(Some("b"));
        assert!(!lease.hear("a") && lease.hear("b"));
        lease.give(None);
        assert!(!lease.hear("b"));
        let lease = Lease::new(Nanos::ZERO, LiveClock::start());
        lease.give(Some("a"));
        assert!(!lease.expire("b"));
        assert!(lease.expire("a") && !lease.expire("a"), "once");
    }
}
