//! Who waits for a limiter, and since when.

use super::wire::Oldest;
use crate::watch::waits::waiter_name;
use indexmap::IndexMap;
use std::collections::BTreeMap;
use testbed_core::event::Event;
use testbed_core::limit::Waiter;
use testbed_core::time::Time;

/// Waiters of an arm that are told of, the oldest waits first.
const TOLD: usize = 10;

/// The waits under way of each arm.
#[derive(Debug)]
pub(super) struct WaitingArms {
    /// By the arm's name; in each, by the instant of the ask and the waiter's id.
    arms: IndexMap<String, BTreeMap<(Time, u32), Waiter>>,
}

impl WaitingArms {
    /// Of the arms with these names, in file order.
    pub(super) fn new(names: impl Iterator<Item = String>) -> Self {
        Self { arms: names.map(|name| (name, BTreeMap::new())).collect() }
    }

    pub(super) fn on_event(&mut self, event: &Event<'_>) {
        match *event {
            Event::Asked { arm, ref wait, .. } => {
                let key = (wait.asked_at, wait.waiter.id);
                self.arms[arm.index()].insert(key, wait.waiter);
            }
            Event::WaitEnded { arm, ref wait, .. } => {
                self.arms[arm.index()].remove(&(wait.asked_at, wait.waiter.id));
            }
            _ => {}
        }
    }

    /// The oldest waits of each arm.
    pub(super) fn oldest(&self, now: Time) -> IndexMap<String, Vec<Oldest>> {
        let told = |((asked_at, _), waiter): (&(Time, u32), &Waiter)| Oldest {
            waiter: waiter_name(*waiter),
            age_ns: now.since(*asked_at).get(),
        };
        let of_arm = |waits: &BTreeMap<_, _>| waits.iter().take(TOLD).map(told).collect();
        self.arms.iter().map(|(arm, waits)| (arm.clone(), of_arm(waits))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use testbed_core::request::Arm;
    use testbed_core::time::Nanos;
    use testbed_core::wait::Wait;

    #[test]
    fn the_oldest_waits_are_told_with_their_ages() {
        let at = |s: u64| Time::ZERO.after(Nanos::from_secs(s));
        let wait = |id: u32| {
            let waiter = Waiter { id, task: id, ..Waiter::default() };
            let asked_at = at(u64::from(20 - id));
            Wait { waiter, cost: 1, asked_at, quoted: None, fifo_at: Time::ZERO }
        };
        let mut arms = WaitingArms::new(["a".to_owned()].into_iter());
        for id in 0..20 {
            arms.on_event(&Event::Asked { arm: Arm(0), wait: wait(id), waiting: 1 });
        }
        let told = &arms.oldest(at(30))["a"];
        assert_eq!(told.len(), TOLD);
        let oldest = Oldest { waiter: "task19/seg0".into(), age_ns: 29_000_000_000 };
        assert_eq!(told[0], oldest);
    }
}
