//! Who gets on, who waits since when, and how many rounds of grants went by meanwhile. Pure.

use std::collections::{BTreeMap, BTreeSet};
use testbed_core::download::Change;
use testbed_core::limit::Waiter;
use testbed_core::time::{Nanos, Time};
use testbed_core::vitals::Vitals;
use testbed_core::wait::Wait;

/// So many rounds without a grant are no progress, where nothing else is said.
pub(super) const ROUNDS_WITHOUT: f64 = 20.0;

/// The progress of those with a transfer, counted in rounds: a round is as many grants as there are
/// transfers at the time.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// Rounds so far: each grant is one part of as many as there are transfers.
    rounds: f64,
    /// The rounds there were at the last grant or, before the first one, at the beginning. An abort
    /// changes nothing: who is stranded by aborts makes no progress.
    since: BTreeMap<u32, f64>,
}

impl Progress {
    /// Something happened to a transfer.
    pub(super) fn transfer(&mut self, waiter: Waiter, change: Change) {
        match change {
            Change::Opened { .. } => {
                self.since.entry(waiter.id).or_insert(self.rounds);
            }
            Change::Aborted { .. } => {}
            Change::Done { .. } | Change::Failed => {
                self.since.remove(&waiter.id);
            }
        }
    }

    /// A grant, while so many transfers were active; the rounds that its waiter went without one.
    pub(super) fn grant(&mut self, waiter: Waiter, active: u32) -> f64 {
        self.rounds += 1.0 / f64::from(active.max(1));
        let before = self.since.insert(waiter.id, self.rounds);
        self.rounds - before.unwrap_or(self.rounds)
    }

    /// Those with a transfer, with the rounds that they have gone without a grant.
    pub(super) fn without(&self) -> impl Iterator<Item = (u32, f64)> {
        self.since.iter().map(|(id, since)| (*id, self.rounds - since))
    }

    /// How many have gone [`ROUNDS_WITHOUT`] rounds or more.
    pub(super) fn zero_progress(&self) -> usize {
        self.without().filter(|(_, rounds)| *rounds >= ROUNDS_WITHOUT).count()
    }
}

/// The waits of one limiter that are under way.
#[derive(Debug, Default)]
pub(super) struct WaitsUnderWay {
    /// By the instant of the ask and the waiter.
    waits: BTreeSet<(Time, u32)>,
}

impl WaitsUnderWay {
    pub(super) fn begin(&mut self, wait: &Wait) {
        self.waits.insert(key(wait));
    }

    pub(super) fn end(&mut self, wait: &Wait) {
        self.waits.remove(&key(wait));
    }

    /// How long each has lasted, the oldest first.
    pub(super) fn ages(&self, now: Time) -> impl Iterator<Item = Nanos> {
        self.waits.iter().map(move |&(asked_at, _)| now.since(asked_at))
    }
}

const fn key(wait: &Wait) -> (Time, u32) {
    (wait.asked_at, wait.waiter.id)
}

/// Looks at the bucket for a grant, over the run so far; 0 before the first grant, and `None` of a limiter
/// that does not count them.
pub(super) fn wakes_per_grant(vitals: &Vitals) -> Option<f64> {
    let wakes = vitals.get("wakes")?;
    let grants = vitals.get("grants").filter(|grants| *grants > 0.0);
    Some(grants.map_or(0.0, |grants| wakes / grants))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO.after(Nanos::from_millis(ms))
    }

    fn waiter(id: u32) -> Waiter {
        Waiter { id, ..Waiter::default() }
    }

    fn wait(id: u32, asked_ms: u64) -> Wait {
        let (waiter, asked_at, fifo_at) = (waiter(id), at(asked_ms), Time::ZERO);
        Wait { waiter, cost: 1, asked_at, quoted: None, fifo_at }
    }

    #[test]
    fn ages_are_those_of_the_waits_under_way_from_the_oldest_on() {
        let mut waits = WaitsUnderWay::default();
        for (id, asked_ms) in [(7, 10), (3, 20), (1, 20), (5, 40)] {
            waits.begin(&wait(id, asked_ms));
        }
        waits.end(&wait(3, 20));
        let ages: Vec<_> = waits.ages(at(50)).map(|age| age.get() / 1_000_000).collect();
        assert_eq!(ages, [40, 30, 10]);
    }

    #[test]
    fn a_round_is_as_many_grants_as_there_are_active_transfers() {
        // Active transfers, grants to another, waiters without progress before and after the last.
        for (active, grants, before, after) in
            [(1, 20, 0, 1), (4, 79, 0, 0), (4, 80, 0, 1), (8, 160, 0, 1), (0, 20, 0, 1)]
        {
            let mut progress = Progress::default();
            progress.transfer(waiter(0), Change::Opened { attempt: 0 });
            for _ in 1..grants {
                progress.grant(waiter(1), active);
            }
            assert_eq!(progress.zero_progress(), before, "{active} active");
            progress.grant(waiter(1), active);
            assert_eq!(progress.zero_progress(), after, "{active} active, {grants} grants");
        }
    }

    #[test]
    fn a_grant_is_progress_an_abort_is_none_and_who_is_done_needs_none() {
        let mut progress = Progress::default();
        let opened = |attempt| Change::Opened { attempt };
        progress.transfer(waiter(0), opened(0));
        let pass = |progress: &mut Progress, rounds| {
            for _ in 0..rounds {
                progress.grant(waiter(1), 1);
            }
        };
        pass(&mut progress, 15);
        assert_eq!(progress.grant(waiter(0), 1), 16.0);
        pass(&mut progress, 15);
        progress.transfer(waiter(0), opened(1));
        assert_eq!(progress.zero_progress(), 0);
        pass(&mut progress, 5);
        assert_eq!(progress.zero_progress(), 1);
        progress.transfer(waiter(0), Change::Done { task_done: true });
        assert_eq!(progress.zero_progress(), 0);
    }
}
