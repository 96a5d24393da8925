//! What does a run's faults: chosen before the run, for all of it.

use super::interrupt::Interrupt;
use super::live::Live;
use super::shell::{Ending, Shell};
use super::sim::Sim;
use super::world::WorldError;
use crate::backend::BackendUrl;
use crate::experiment::file::Mode;
use crate::experiment::plan::{Action, FaultPlan, Plan};
use crate::say;
use crate::trace_ids::TraceIds;
use faults::engine::{Resolved, TOXIPROXY_URL};
use faults::{Engine, EngineChoice, EngineError, EngineInfo, Toxic};
use testbed_core::observe::Observer;
use testbed_core::rng::Streams;
use thiserror::Error;

/// What does a run's faults.
#[derive(Debug)]
pub enum FaultEngine {
    /// The simulation.
    Virtual,
    /// Proxies.
    Live(Engine),
    /// Nothing: clients connect to backends themselves.
    None,
}

/// Why a run cannot have the faults of its file.
#[derive(Debug, Error)]
pub enum NoEngine {
    /// The engine is not to be had, or cannot do one of the faults.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// Network faults are in the file, and no proxy is wanted.
    #[error(
        "fault `{0}` is one of the network, and `--faults none` leaves out the proxy; choose \
         another engine, or another file"
    )]
    NoProxy(String),
}

impl FaultEngine {
    /// The engine that `choice` comes to for `plan`, once it is known that it can do all of its
    /// faults. Virtual runs have their own.
    ///
    /// # Errors
    /// If it is not to be had, or cannot do them.
    pub fn choose(plan: &Plan, choice: &EngineChoice) -> Result<Self, NoEngine> {
        if plan.mode == Mode::Virtual {
            return Ok(Self::Virtual);
        }
        let variable = std::env::var(TOXIPROXY_URL).ok();
        let Resolved { engine, notice } = choice.resolve(variable.as_deref())?;
        if let Some(notice) = notice {
            say::err(&format!("note: {notice}"));
        }
        engine.map_or_else(|| without_proxy(plan), |engine| able(plan, engine))
    }

    /// Its name and version, for the manifest.
    pub fn info(&self) -> EngineInfo {
        let own = |name| EngineInfo { name, version: env!("CARGO_PKG_VERSION").to_owned() };
        match self {
            Self::Virtual => own("virtual"),
            Self::Live(engine) => engine.info(),
            Self::None => own("none"),
        }
    }

    /// Runs `plan` with these faults. The one place that knows both worlds. The backends of a live run are
    /// made at `backend`, if that is somewhere; with `ids`, its calls carry the context of their traces.
    ///
    /// # Errors
    /// When the world breaks.
    pub fn drive(
        &self,
        plan: &Plan,
        backend: Option<&BackendUrl>,
        ids: Option<TraceIds>,
        observer: impl Observer,
        interrupt: Interrupt,
    ) -> Result<Ending, WorldError> {
        let streams = Streams::new(plan.seed);
        let engine = match self {
            Self::Virtual => return simulate(plan, observer, interrupt),
            Self::Live(engine) => Some(engine),
            Self::None => None,
        };
        let mut live = Live::start(&plan.arms, engine, backend, &streams, interrupt)?;
        if let Some(ids) = ids {
            live.trace(ids);
        }
        Shell::new(plan, live, observer).run()
    }
}

/// Runs `plan` in virtual time.
///
/// # Errors
/// When the world breaks: virtual time stands still.
pub fn simulate(
    plan: &Plan,
    observer: impl Observer,
    interrupt: Interrupt,
) -> Result<Ending, WorldError> {
    let sim = Sim::new(&plan.arms, &Streams::new(plan.seed), interrupt);
    Shell::new(plan, sim, observer).run()
}

fn without_proxy(plan: &Plan) -> Result<FaultEngine, NoEngine> {
    let of_network = |action: &Action| matches!(action, Action::Toxic(_) | Action::Down);
    match plan.faults.iter().find(|fault| of_network(&fault.action)) {
        Some(fault) => Err(NoEngine::NoProxy(fault.name.clone())),
        None => Ok(FaultEngine::None),
    }
}

fn able(plan: &Plan, engine: Engine) -> Result<FaultEngine, NoEngine> {
    for FaultPlan { name, action, .. } in &plan.faults {
        if let Action::Toxic(toxic) = action {
            engine.check(&Toxic { name: Some(name.clone()), ..toxic.clone() })?;
        }
    }
    Ok(FaultEngine::Live(engine))
}
