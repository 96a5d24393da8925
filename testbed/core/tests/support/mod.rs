//! A ledger that is rebuilt from events alone.

use testbed_core::event::Event;
use testbed_core::observe::Observer;
use testbed_core::request::Outcome;
use testbed_core::time::{Nanos, Time};

/// What can be known of one arm by watching its events.
#[derive(Debug, Default, PartialEq, Eq, Clone)]
pub(crate) struct Ledger {
    pub(crate) arrived: u64,
    pub(crate) rejected: u64,
    pub(crate) admitted: u64,
    pub(crate) abandoned: u64,
    pub(crate) finished: u64,
    pub(crate) cancelled: u64,
    pub(crate) limit: u64,
    /// Whether an admission by the gate ever found more in flight than the limit of that moment.
    pub(crate) overfull: bool,
    /// How long the oldest that waits had waited at the last look.
    pub(crate) oldest: Nanos,
    pub(crate) last: Time,
}

impl Ledger {
    pub(crate) fn in_flight(&self) -> u64 {
        self.admitted - self.finished
    }

    pub(crate) fn waiting(&self) -> u64 {
        self.arrived - self.rejected - self.admitted - self.abandoned
    }
}

impl Observer for Ledger {
    fn on_event(&mut self, now: Time, event: &Event<'_>) {
        assert!(now >= self.last, "events never go back in time");
        self.last = now;
        match event {
            Event::Arrived { .. } => self.arrived += 1,
            Event::Rejected { .. } => self.rejected += 1,
            Event::Admitted { in_flight, limit, gated, waiting, .. } => {
                self.admitted += 1;
                self.overfull |= *gated && u64::from(*in_flight) > *limit;
                assert_eq!(u64::from(*in_flight), self.in_flight());
                assert_eq!(u64::from(*waiting), self.waiting());
            }
            Event::Finished { sample, in_flight, .. } => {
                self.finished += 1;
                self.cancelled += u64::from(sample.outcome == Outcome::Cancelled);
                assert_eq!(u64::from(*in_flight), self.in_flight());
            }
            Event::Abandoned { .. } => self.abandoned += 1,
            Event::Queue { oldest, .. } => self.oldest = *oldest,
            Event::Updated { update, .. } => self.limit = update.limit,
            Event::InputDone { .. }
            | Event::Asked { .. }
            | Event::WaitEnded { .. }
            | Event::Transfer { .. }
            | Event::Limiter { .. }
            | Event::Injected { .. }
            | Event::Network { .. }
            | Event::Healed { .. }
            | Event::Backend { .. }
            | Event::Phase { .. }
            | Event::Fault { .. }
            | Event::Fed { .. }
            | Event::Runtime { .. }
            | Event::Tick
            | Event::End => {}
        }
    }
}
