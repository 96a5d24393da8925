//! The run as Prometheus metrics.

mod arm;
mod children;
mod conservation;
mod controller;
mod faults;
mod limiter;
mod named;
mod phases;
mod queue;
mod regimes;
mod spans;
mod together;
mod transfers;
mod updates;
mod waits;

use super::exemplars::Exemplars;
use super::names;
use super::spans::SpanLedger;
use crate::experiment::plan::{ArmPlan, Work};
use arm::{ArmMetrics, CallMetrics, DownloadMetrics};
use children::Children;
pub(crate) use named::MAX_NAMED;
use phases::PhaseMetrics;
use prometheus::{Gauge, Histogram, IntCounter, Registry, TextEncoder};
use regimes::RegimeMetrics;
use testbed_core::control::ControllerConfig;
use testbed_core::event::Event;
use testbed_core::observe::Observer;
use testbed_core::request::Arm;
use testbed_core::time::{Nanos, Time};
use waits::Crowd;

/// What the labels of a run can say, known before it starts. The names within each list differ.
#[derive(Clone, PartialEq, Debug)]
pub struct RunLabels {
    /// The experiment's name.
    pub experiment: String,
    /// `live` or `virtual`.
    pub mode: String,
    /// The seed of all chance.
    pub seed: u64,
    /// The arms, in file order.
    pub arms: Vec<ArmLabel>,
    /// The phases, in file order.
    pub phases: Vec<String>,
    /// The faults, in file order.
    pub faults: Vec<String>,
    /// Every length of time at which somebody gives up, as the clients' timeouts: bounds of all
    /// histograms of lengths of time.
    pub deadlines: Vec<Nanos>,
}

/// What is known of an arm before it runs.
#[derive(Clone, PartialEq, Debug)]
pub struct ArmLabel {
    /// Its name.
    pub name: String,
    /// What it does, and with it which numbers it has.
    pub kind: ArmKind,
    /// Whether it has a law with a window.
    pub has_window: bool,
    /// The most that its law's window can be, in requests, if it has a law with a ceiling.
    pub ceiling: Option<f64>,
}

/// What an arm does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ArmKind {
    /// Requests behind a controller.
    Calls,
    /// Downloads behind a limiter.
    Downloads,
}

impl From<&ArmPlan> for ArmLabel {
    fn from(plan: &ArmPlan) -> Self {
        let kind = match plan.work {
            Work::Calls(_) => ArmKind::Calls,
            Work::Downloads(_) => ArmKind::Downloads,
        };
        let law = plan.calls().map(|calls| &calls.controller);
        let has_window = law.is_some_and(ControllerConfig::has_window);
        let ceiling = law.and_then(ControllerConfig::ceiling);
        Self { name: plan.name.clone(), kind, has_window, ceiling }
    }
}

/// Keeps the metrics of one run, in a registry of its own. Phases and faults show 0 from the
/// start; whatever a law has not computed yet is absent.
#[derive(Debug)]
pub struct Prometheus {
    registry: Registry,
    exemplars: Exemplars,
    spans: SpanLedger,
    children: Children,
    arms: Vec<ArmMetrics>,
    regimes: RegimeMetrics,
    phases: PhaseMetrics,
    faults: Vec<Fault>,
    /// Of a run that has a runtime, from its first report on.
    runtime_lag: Option<Histogram>,
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
    /// Later, when an event tells of an arm, phase or fault that `labels` lack, or
    /// of work that is not of its arm's kind.
    pub fn new(labels: &RunLabels) -> Self {
        let registry = Registry::new();
        let children = Children::new(&registry, &labels.deadlines);
        show_program(&children);
        show_run(&children, labels);
        Self {
            arms: labels.arms.iter().map(|arm| ArmMetrics::new(&children, arm)).collect(),
            regimes: RegimeMetrics::new(&children, &labels.arms),
            phases: PhaseMetrics::new(&children, &labels.phases),
            faults: labels.faults.iter().map(|fault| Fault::new(&children, fault)).collect(),
            exemplars: Exemplars::new(&labels.deadlines),
            spans: spans::shown(&children),
            runtime_lag: None,
            children,
            registry,
        }
    }

    /// A handle on the registry that all metrics are in; cheap.
    pub fn registry(&self) -> Registry {
        self.registry.clone()
    }

    /// A handle on the exemplars of its histograms; cheap.
    pub fn exemplars(&self) -> Exemplars {
        self.exemplars.clone()
    }

    /// A handle on the counts of spans that it shows; cheap.
    pub fn spans(&self) -> SpanLedger {
        self.spans.clone()
    }

    fn arm(&mut self, arm: Arm) -> &mut ArmMetrics {
        &mut self.arms[arm.index()]
    }

    fn calls(&mut self, arm: Arm) -> &mut CallMetrics {
        self.arm(arm).calls()
    }

    fn downloads(&mut self, arm: Arm) -> &mut DownloadMetrics {
        self.arm(arm).downloads()
    }

    fn sample(&self, now: Time) {
        self.arms.iter().for_each(|arm| arm.sample(now));
    }

    fn runtime_lagged(&mut self, lag: Nanos) {
        let make = || self.children.histogram(&names::RUNTIME_LAG, &[]);
        self.runtime_lag.get_or_insert_with(make).observe(lag.as_secs_f64());
    }
}

/// What a program shows that has no run yet: its version, and what the system says of its process.
pub fn idle() -> Registry {
    let registry = Registry::new();
    show_program(&Children::new(&registry, &[]));
    registry
}

fn show_program(children: &Children) {
    let version = env!("CARGO_PKG_VERSION");
    children.gauge(&names::BUILD_INFO, &[version]).set(1.0);
    show_process(children);
}

fn show_run(children: &Children, labels: &RunLabels) {
    let seed = labels.seed.to_string();
    children.gauge(&names::RUN_INFO, &[&labels.experiment, &labels.mode, &seed]).set(1.0);
}

/// What the system says of this process: processor time, memory, files.
fn show_process(children: &Children) {
    #[cfg(target_os = "linux")]
    children.collect(prometheus::process_collector::ProcessCollector::for_self());
    #[cfg(not(target_os = "linux"))]
    let _ = children;
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
    fn on_event(&mut self, now: Time, event: &Event<'_>) {
        self.regimes.follow(now, event);
        match *event {
            Event::Arrived { arm, lag, .. } => self.calls(arm).requests.arrived(lag),
            Event::Rejected { arm, why, .. } => {
                self.calls(arm).requests.rejected();
                self.calls(arm).queue.rejected(why);
            }
            Event::Queue { arm, oldest, looks, lost } => {
                self.calls(arm).queue.looked(oldest, looks, lost);
            }
            Event::Admitted { arm, wait, in_flight, waiting, .. } => {
                self.calls(arm).requests.admitted(wait, in_flight, waiting);
            }
            Event::Finished { arm, ref sample, in_flight, hit, again, .. } => {
                let requests = &self.calls(arm).requests;
                requests.finished(sample, in_flight);
                requests.followed(hit, again);
            }
            Event::Abandoned { arm, .. } => self.calls(arm).requests.abandoned(),
            Event::Updated { arm, ref update, vitals } => {
                self.calls(arm).controller.updated(update, vitals);
            }
            Event::Asked { arm, ref wait, waiting } => {
                self.downloads(arm).waits.asked(wait, waiting);
            }
            Event::WaitEnded { arm, ref wait, end, overtook, waiting, active, .. } => {
                let crowd = Crowd { overtook, waiting, active };
                self.downloads(arm).waits.ended(now, wait, end, crowd);
            }
            Event::Transfer { arm, waiter, change, active } => {
                let metrics = self.downloads(arm);
                metrics.waits.transfer(waiter, change);
                metrics.transfers.changed(change, active);
            }
            Event::Limiter { arm, vitals, tokens, stocks } => {
                self.downloads(arm).limiter.looked(vitals, tokens, stocks);
            }
            Event::InputDone { arm, makespan } => self.arm(arm).backend.input_done(makespan),
            Event::Backend { arm, in_system, queued, utilisation } => {
                self.arm(arm).backend.sampled(in_system, queued, utilisation);
            }
            Event::Fed { arm, lag } => self.arm(arm).backend.fed(lag),
            Event::Phase { index, .. } => self.phases.begin(index),
            Event::Fault { index, on, .. } => self.faults[index].switch(on),
            Event::Injected { arm, name, counts } => self.arm(arm).faults.injected(name, counts),
            Event::Network { arm, ref network } => self.arm(arm).faults.network(network),
            Event::Healed { .. } => {}
            Event::Runtime { lag } => self.runtime_lagged(lag),
            Event::Tick => self.sample(now),
            Event::End => {
                self.sample(now);
                self.phases.end();
            }
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
