//! The run as Prometheus metrics.

mod arm;
mod children;
mod controller;

use super::names;
use arm::ArmMetrics;
use children::Children;
use prometheus::{Gauge, IntCounter, Registry, TextEncoder};
use testbed_core::event::Event;
use testbed_core::observe::Observer;
use testbed_core::request::Arm;
use testbed_core::time::Time;

/// What the labels of a run can say, known before it starts. The names within each list differ.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RunLabels {
    /// The experiment's name.
    pub experiment: String,
    /// `live` or `virtual`.
    pub mode: String,
    /// The seed of all chance.
    pub seed: u64,
    /// The arms, in file order.
    pub arms: Vec<String>,
    /// The phases, in file order.
    pub phases: Vec<String>,
    /// The faults, in file order.
    pub faults: Vec<String>,
}

/// Keeps the metrics of one run, in a registry of its own. Phases and faults show 0 from the
/// start; whatever a law has not computed yet is absent.
#[derive(Debug)]
pub struct Prometheus {
    registry: Registry,
    arms: Vec<ArmMetrics>,
    phases: Vec<Gauge>,
    faults: Vec<Fault>,
}

#[derive(Debug)]
struct Fault {
    active: Gauge,
    switched_on: IntCounter,
    switched_off: IntCounter,
}

impl Prometheus {
    /// The metrics of a run that has not started.
    ///
    /// # Panics
    /// When two arms, phases or faults have the same name, which the experiment file cannot hold.
    /// Later, when an event tells of an arm, phase or fault that `labels` lack.
    pub fn new(labels: &RunLabels) -> Self {
        let registry = Registry::new();
        let children = Children::new(&registry);
        show_infos(&children, labels);
        Self {
            arms: labels.arms.iter().map(|arm| ArmMetrics::new(&children, arm)).collect(),
            phases: labels
                .phases
                .iter()
                .map(|phase| children.gauge(&names::PHASE_ACTIVE, &[phase]))
                .collect(),
            faults: labels.faults.iter().map(|fault| Fault::new(&children, fault)).collect(),
            registry,
        }
    }

    /// A handle on the registry that all metrics are in; cheap.
    pub fn registry(&self) -> Registry {
        self.registry.clone()
    }

    fn arm(&mut self, arm: Arm) -> &mut ArmMetrics {
        &mut self.arms[arm.index()]
    }

    fn enter_phase(&self, active: Option<usize>) {
        for (index, phase) in self.phases.iter().enumerate() {
            phase.set(f64::from(u8::from(active == Some(index))));
        }
    }
}

fn show_infos(children: &Children, labels: &RunLabels) {
    let version = env!("CARGO_PKG_VERSION");
    let seed = labels.seed.to_string();
    children.gauge(&names::BUILD_INFO, &[version]).set(1.0);
    children.gauge(&names::RUN_INFO, &[&labels.experiment, &labels.mode, &seed]).set(1.0);
}

impl Fault {
    fn new(children: &Children, name: &str) -> Self {
        Self {
            active: children.gauge(&names::FAULT_ACTIVE, &[name]),
            switched_on: children.counter(&names::FAULT_TRANSITIONS, &[name, "on"]),
            switched_off: children.counter(&names::FAULT_TRANSITIONS, &[name, "off"]),
        }
    }

    fn switch(&self, on: bool) {
        self.active.set(f64::from(u8::from(on)));
        let edge = if on { &self.switched_on } else { &self.switched_off };
        edge.inc();
    }
}

impl Observer for Prometheus {
    fn on_event(&mut self, _: Time, event: &Event<'_>) {
        match *event {
            Event::Arrived { arm, lag, .. } => self.arm(arm).requests.arrived(lag),
            Event::Rejected { arm, .. } => self.arm(arm).requests.rejected(),
            Event::Admitted { arm, wait, in_flight, waiting, .. } => {
                self.arm(arm).requests.admitted(wait, in_flight, waiting);
            }
            Event::Finished { arm, ref sample, in_flight, .. } => {
                self.arm(arm).requests.finished(sample, in_flight);
            }
            Event::Abandoned { arm, .. } => self.arm(arm).requests.abandoned(),
            Event::Updated { arm, ref update, vitals } => {
                self.arm(arm).controller.updated(update, vitals);
            }
            Event::InputDone { arm, makespan } => self.arm(arm).backend.input_done(makespan),
            Event::Backend { arm, in_system, queued, utilisation } => {
                self.arm(arm).backend.sampled(in_system, queued, utilisation);
            }
            Event::Phase { index, .. } => self.enter_phase(Some(index)),
            Event::Fault { index, on, .. } => self.faults[index].switch(on),
            Event::Asked { .. }
            | Event::WaitEnded { .. }
            | Event::Transfer { .. }
            | Event::Limiter { .. } => {}
            Event::Tick => {}
            Event::End => self.enter_phase(None),
        }
    }
}

/// Everything in `registry` in the text format 0.0.4, sorted by name and label values.
pub fn render(registry: &Registry) -> String {
    TextEncoder::new()
        .encode_to_string(&registry.gather())
        .expect("gather leaves out empty families, the only ones that cannot be written")
}

#[cfg(test)]
mod tests;
