//! The timeline: when phases begin and faults are switched, as a sorted list.

use crate::experiment::plan::Plan;
use testbed_core::time::Time;

/// A change at an instant. At one instant, faults go off, then a phase begins, then faults go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// A fault is switched.
    Fault {
        /// Its index in the plan.
        index: usize,
        /// On or off.
        on: bool,
    },
    /// A phase begins.
    Phase(usize),
    /// The last phase ends.
    End,
}

/// The changes of a run, in order.
#[derive(Clone, Debug)]
pub struct Timeline {
    changes: Vec<(Time, Change)>,
    next: usize,
}

impl Timeline {
    /// The timeline of a plan, at its beginning.
    pub fn new(plan: &Plan) -> Self {
        let mut changes = Vec::new();
        for (index, fault) in plan.faults.iter().enumerate() {
            changes.push((fault.begin, Change::Fault { index, on: true }));
            changes.push((fault.end, Change::Fault { index, on: false }));
        }
        for (index, phase) in plan.phases.iter().enumerate() {
            changes.push((phase.begin, Change::Phase(index)));
        }
        let end = plan.phases.last().map_or(Time::ZERO, |phase| phase.end);
        changes.push((end, Change::End));
        changes.sort_by_key(|(at, change)| (*at, change.rank()));
        Self { changes, next: 0 }
    }

    /// The instant of the next change.
    pub fn next(&self) -> Time {
        self.changes.get(self.next).map_or(Time::NEVER, |(at, _)| *at)
    }

    /// The next change that is due at `now`; ask until there is none.
    pub fn take(&mut self, now: Time) -> Option<Change> {
        let (at, change) = *self.changes.get(self.next)?;
        (at <= now).then(|| {
            self.next += 1;
            change
        })
    }

    /// Whether everything has been taken.
    pub fn is_over(&self) -> bool {
        self.next == self.changes.len()
    }
}

impl Change {
    const fn rank(self) -> u8 {
        match self {
            Self::Fault { on: false, .. } => 0,
            Self::Phase(_) => 1,
            Self::Fault { on: true, .. } => 2,
            Self::End => 3,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Overrides, load};

    #[test]
    fn at_one_instant_faults_go_off_a_phase_begins_and_faults_go_on() {
        let text = "version: 1\nname: t\narms: { a: { controller: { fixed: { limit: 1 } } } }\n\
                    backend: { servers: 1, service: { constant: 1ms } }\n\
                    load: { closed: { clients: 1 } }\n\
                    phases: [ { name: p, for: 1s }, { name: q, for: 2s } ]\n\
                    faults:\n\
                    - { name: second, during: q, backend: { hold: { scale: 2 } } }\n\
                    - { name: first, during: p, backend: { hold: { scale: 3 } } }\n";
        let plan = load("t", text, &Overrides::default()).unwrap();
        let mut timeline = Timeline::new(&plan);
        let mut changes = Vec::new();
        while !timeline.is_over() {
            let at = timeline.next();
            let change = timeline.take(at).unwrap();
            changes.push((at.as_secs_f64(), change));
        }
        let fault = |index, on| Change::Fault { index, on };
        let expected = [
            (0.0, Change::Phase(0)),
            (0.0, fault(1, true)),
            (1.0, fault(1, false)),
            (1.0, Change::Phase(1)),
            (1.0, fault(0, true)),
            (3.0, fault(0, false)),
            (3.0, Change::End),
        ];
        assert_eq!(changes, expected);
    }
}
