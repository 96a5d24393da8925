//! The plan: an experiment file, checked and resolved, with instants in place of names.

use super::file::{
    AbortAs, AdmissionFile, Classify, File, Honesty, Mode, OverSeeds, Severity, Waits,
};
use super::trace_files::TraceFiles;
use crate::headline::Better;
use crate::verdict::grammar::{Condition, Expression, Sentence};
use faults::Toxic;
use testbed_core::client::ClientConfig;
use testbed_core::control::ControllerConfig;
use testbed_core::download::DownloadConfig;
use testbed_core::hold::Hold;
use testbed_core::limit::LimiterConfig;
use testbed_core::load::LoadConfig;
use testbed_core::request::Outcome;
use testbed_core::service::{HttpFault, ServiceConfig, SlowStart};
use testbed_core::time::{Nanos, Time};
use testbed_core::vitals::Unit;

/// A run that can be started.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The experiment's name.
    pub name: String,
    /// Virtual time or the real thing.
    pub mode: Mode,
    /// The seed of all chance.
    pub seed: u64,
    /// How often sampled series are taken.
    pub sample_every: Nanos,
    /// Which waits become rows of waits.csv.
    pub waits: Waits,
    /// Whether arrivals become rows of arrivals.csv.
    pub arrivals: bool,
    /// The variants, in file order; at least one.
    pub arms: Vec<ArmPlan>,
    /// The phases, in order; at least one, each longer than 0.
    pub phases: Vec<PhasePlan>,
    /// What goes wrong.
    pub faults: Vec<FaultPlan>,
    /// What must be true at the end of a phase for the run to go on; each has a phase.
    pub gates: Vec<Expectation>,
    /// What ends the run.
    pub aborts: Vec<Abort>,
    /// What the machine must do.
    pub honesty: Honesty,
    /// What is expected of this mode.
    pub expect: Vec<Expectation>,
    /// What is measured, if it is a point of a sweep.
    pub measures: Vec<Measured>,
    /// The file with everything that was left out.
    pub resolved: File,
    /// The traces that it names.
    pub traces: TraceFiles,
}

/// A number that is taken at each point of a sweep.
#[derive(Clone, PartialEq, Debug)]
pub struct Measured {
    /// Its name.
    pub name: String,
    /// The arm that it is taken from, by index, where its expression names none.
    pub arm: usize,
    /// The phase over which it is taken, by index; the whole run if none.
    pub phase: Option<usize>,
    /// What it is.
    pub expression: Expression,
    /// The unit of its values.
    pub unit: Unit,
    /// Which way it is better.
    pub better: Better,
}

/// A variant.
#[derive(Clone, Debug)]
pub struct ArmPlan {
    /// Its name.
    pub name: String,
    /// Its backend.
    pub backend: ServiceConfig,
    /// The arm whose backend it is, by index: itself, or the first of those that share it.
    pub host: usize,
    /// What it does with it.
    pub work: Work,
}

/// What an arm does: requests behind a controller, or downloads behind a limiter.
#[derive(Clone, Debug)]
pub enum Work {
    /// Requests behind a controller.
    Calls(Box<Calls>),
    /// Downloads behind a limiter.
    Downloads(Box<Downloads>),
}

/// Requests behind a controller.
#[derive(Clone, Debug)]
pub struct Calls {
    /// The law.
    pub controller: ControllerConfig,
    /// The load.
    pub load: LoadConfig,
    /// How requests wait and their answers are read.
    pub admission: AdmissionFile,
    /// What the clients do.
    pub client: ClientConfig,
}

/// Downloads behind a limiter.
#[derive(Clone, Debug)]
pub struct Downloads {
    /// The policy.
    pub limiter: LimiterConfig,
    /// The load.
    pub load: DownloadConfig,
}

impl Work {
    /// The kind of state machine at work and its name: law `velox`, policy `fifo`.
    pub fn law(&self) -> (&'static str, &'static str) {
        match self {
            Self::Calls(calls) => ("law", calls.controller.name()),
            Self::Downloads(downloads) => ("policy", downloads.limiter.name()),
        }
    }
}

impl ArmPlan {
    /// Its requests, if it has any.
    pub fn calls(&self) -> Option<&Calls> {
        match &self.work {
            Work::Calls(calls) => Some(calls),
            Work::Downloads(_) => None,
        }
    }

    /// Its downloads, if it has any.
    pub fn downloads(&self) -> Option<&Downloads> {
        match &self.work {
            Work::Calls(_) => None,
            Work::Downloads(downloads) => Some(downloads),
        }
    }

    /// What its clients do.
    pub fn client(&self) -> ClientConfig {
        self.calls().map(|calls| calls.client.clone()).unwrap_or_default()
    }

    /// Which answers mean what.
    pub fn classify(&self) -> Classify {
        self.calls().map(|calls| calls.admission.classify.clone()).unwrap_or_default()
    }
}

/// A named span of time.
#[derive(Clone, Debug)]
pub struct PhasePlan {
    /// Its name.
    pub name: String,
    /// When it begins.
    pub begin: Time,
    /// When it ends.
    pub end: Time,
}

/// Something that goes wrong.
#[derive(Clone, Debug)]
pub struct FaultPlan {
    /// Its name.
    pub name: String,
    /// When it is switched on.
    pub begin: Time,
    /// When it is switched off.
    pub end: Time,
    /// The arms that it acts on, by index.
    pub arms: Vec<usize>,
    /// What it does.
    pub action: Action,
}

/// What a fault does.
#[derive(Clone, Debug)]
pub enum Action {
    /// The backend does something to single requests.
    Http(HttpFault),
    /// The backend is held at a degree of congestion.
    Hold(Hold),
    /// The backend has only so many servers.
    Servers(u32),
    /// The backend stands still.
    Freeze,
    /// The backend's servers are slow at first.
    SlowStart(SlowStart),
    /// A toxic on the network.
    Toxic(Toxic),
    /// The proxy is down.
    Down,
}

/// Something that is expected to come true.
#[derive(Clone, Debug)]
pub struct Expectation {
    /// Its name.
    pub id: String,
    /// The arms that it speaks of, by index.
    pub arms: Vec<usize>,
    /// The phase that it speaks of; the whole run if none.
    pub phase: Option<usize>,
    /// What it means if it does not come true.
    pub severity: Severity,
    /// With how many of several seeds it must.
    pub over_seeds: OverSeeds,
    /// What it says.
    pub sentence: Sentence,
}

/// Something that ends the run as soon as it is true.
#[derive(Clone, Debug)]
pub struct Abort {
    /// The arms that it speaks of, by index.
    pub arms: Vec<usize>,
    /// A comparison of series.
    pub condition: Condition,
    /// What becomes of the run.
    pub ends_as: AbortAs,
}

impl Classify {
    /// What an answer with this status means.
    pub fn outcome(&self, status: u16) -> Outcome {
        if self.overload.contains(&status) {
            Outcome::Overload
        } else if (200..300).contains(&status) {
            Outcome::Success
        } else {
            Outcome::Error
        }
    }
}

impl Plan {
    /// How long all phases last together.
    pub fn length(&self) -> Nanos {
        self.phases.last().map_or(Nanos::ZERO, |phase| phase.end.since(Time::ZERO))
    }

    /// The name of the phase at an instant; that of the last after its end.
    pub fn phase_at(&self, at: Time) -> String {
        let begun = self.phases.iter().rev().find(|phase| phase.begin <= at);
        begun.map(|phase| phase.name.clone()).unwrap_or_default()
    }

    /// How many expectations of the file this mode judges, as people read it: a live run of a file that is meant for
    /// virtual time proves little.
    pub fn judges(&self) -> String {
        let (here, all) = (self.expect.len(), self.resolved.expect.len());
        if here == all {
            return format!("{all} expectations");
        }
        format!("{here} of {all} expectations; the others are for another mode")
    }

    /// Whether something is expected, but nothing of this mode.
    pub fn judges_nothing(&self) -> bool {
        self.expect.is_empty() && !self.resolved.expect.is_empty()
    }

    /// The names of the arms, in order.
    pub fn arm_names(&self) -> Vec<String> {
        self.arms.iter().map(|arm| arm.name.clone()).collect()
    }
}
