//! Which phase is under way, and when each began.

use super::children::Children;
use super::names;
use prometheus::Gauge;
use testbed_clock::unix_now;

/// The phases of a run, in file order.
#[derive(Debug)]
pub(super) struct PhaseMetrics {
    children: Children,
    phases: Vec<Phase>,
}

#[derive(Debug)]
struct Phase {
    name: String,
    active: Gauge,
    /// Made when the phase begins: a 0 would be a mark in 1970.
    start: Option<Gauge>,
}

impl PhaseMetrics {
    pub(super) fn new(children: &Children, names: &[String]) -> Self {
        let phase = |name: &String| Phase {
            name: name.clone(),
            active: children.gauge(&names::PHASE_ACTIVE, &[name]),
            start: None,
        };
        Self { children: children.clone(), phases: names.iter().map(phase).collect() }
    }

    /// The phase of this index begins, by the wall clock now.
    pub(super) fn begin(&mut self, index: usize) {
        self.enter(Some(index));
        let Phase { name, start, .. } = &mut self.phases[index];
        let make = || self.children.gauge(&names::PHASE_START, &[name]);
        start.get_or_insert_with(make).set(unix_now().as_secs_f64());
    }

    /// No phase is under way any more.
    pub(super) fn end(&self) {
        self.enter(None);
    }

    fn enter(&self, active: Option<usize>) {
        for (index, phase) in self.phases.iter().enumerate() {
            phase.active.set(f64::from(u8::from(active == Some(index))));
        }
    }
}
