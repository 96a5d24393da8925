//! `windtunnel run`: from a plan to a verdict.

use crate::cli::Listen;
use crate::drive::interrupt::Interrupt;
use crate::drive::live::Live;
use crate::drive::shell::{Ending, Shell};
use crate::drive::sim::Sim;
use crate::drive::world::{Signal, WorldError};
use crate::experiment::file::{Mode, Waits};
use crate::experiment::plan::{Action, FaultPlan, Plan};
use crate::report;
use crate::run_dir::{Manifest, RunDir};
use crate::say;
use crate::verdict::{Class, Verdict, judge};
use crate::watch::journal::Journal;
use crate::watch::prometheus::{ArmLabel, Prometheus, RunLabels};
use crate::watch::recorder::Recorder;
use crate::watch::serve::{MetricsServer, ServeError};
use crate::watch::view::View;
use crate::watch::waits::WaitLog;
use faults::engine::{Resolved, TOXIPROXY_URL};
use faults::{Engine, EngineChoice, EngineError, EngineInfo, Toxic};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use testbed_core::observe::Observer;
use testbed_core::rng::Streams;
use testbed_core::time::Nanos;
use thiserror::Error;

/// How to run a plan.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Where run directories are made.
    pub out: PathBuf,
    /// Where to serve metrics.
    pub listen: Listen,
    /// What does the faults of a live run.
    pub faults: EngineChoice,
    /// No progress.
    pub quiet: bool,
}

/// Something broke; a retry may help.
#[derive(Debug, Error)]
pub enum RunError {
    /// The run directory cannot be written.
    #[error("cannot write the run directory {path}: {source}", path = .path.display())]
    RunDir {
        /// The directory.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// Metrics cannot be served.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// The faults cannot be had as they were asked for.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// Network faults are asked for, and no engine.
    #[error(
        "fault `{0}` is one of the network, and `--faults none` leaves out the proxy; choose \
         another engine, or another file"
    )]
    NoProxy(String),
    /// The world broke.
    #[error(transparent)]
    World(#[from] WorldError),
}

/// How a run came out.
#[derive(Debug)]
pub enum Outcome {
    /// It was judged.
    Judged(Verdict),
    /// It was stopped.
    Interrupted(Signal),
}

/// A finished run.
#[derive(Debug)]
pub struct Finished {
    /// How it came out.
    pub outcome: Outcome,
    /// What it left behind.
    pub run_dir: PathBuf,
}

impl Finished {
    /// The exit code of the process.
    pub const fn exit_code(&self) -> u8 {
        match &self.outcome {
            Outcome::Judged(verdict) => match verdict.class {
                Class::Pass => 0,
                Class::Inconclusive => 4,
                Class::Fail => 99,
            },
            Outcome::Interrupted(Signal::Interrupt) => 130,
            Outcome::Interrupted(Signal::Terminate) => 143,
        }
    }

    /// The verdict as JSON.
    pub fn json(&self, plan: &Plan) -> Value {
        match &self.outcome {
            Outcome::Judged(verdict) => report::json(plan, verdict, &self.run_dir),
            Outcome::Interrupted(_) => report::json_interrupted(plan, &self.run_dir),
        }
    }

    /// The verdict as text.
    pub fn text(&self, plan: &Plan) -> String {
        match &self.outcome {
            Outcome::Judged(verdict) => report::text(plan, verdict, &self.run_dir),
            Outcome::Interrupted(_) => {
                format!("interrupted; what was recorded is in {}\n", self.run_dir.display())
            }
        }
    }
}

/// Runs `plan`, the experiment whose file reads `text`.
///
/// # Errors
/// When something breaks that says nothing about the experiment's question.
pub fn run(
    plan: &Plan,
    text: &str,
    options: &RunOptions,
    interrupt: Interrupt,
) -> Result<Finished, RunError> {
    let engine = engine(plan, options)?;
    let prometheus = Prometheus::new(&labels(plan));
    let _server = match options.listen {
        Listen::Off => None,
        Listen::At(addr) => {
            let server = MetricsServer::start(addr, prometheus.registry(), prometheus.exemplars())?;
            if !options.quiet {
                say::err(&format!("metrics: http://{}/metrics", server.addr()));
            }
            Some(server)
        }
    };
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| RunError::RunDir { path, source }
    };
    let run_dir = RunDir::create(&options.out, &plan.name).map_err(failed(&options.out))?;
    describe(&run_dir, plan, &engine, text).map_err(failed(run_dir.path()))?;
    let outcome = watched(plan, &run_dir, options, prometheus, (&engine, interrupt))?;
    let finished = Finished { outcome, run_dir: run_dir.path().to_owned() };
    conclude(&run_dir, plan, &finished).map_err(failed(run_dir.path()))?;
    Ok(finished)
}

fn labels(plan: &Plan) -> RunLabels {
    RunLabels {
        experiment: plan.name.clone(),
        mode: plan.mode.name().to_owned(),
        seed: plan.seed,
        arms: plan.arms.iter().map(ArmLabel::from).collect(),
        phases: plan.phases.iter().map(|phase| phase.name.clone()).collect(),
        faults: plan.faults.iter().map(|fault| fault.name.clone()).collect(),
        deadlines: deadlines(plan),
    }
}

/// Every length of time at which a client gives up, once.
fn deadlines(plan: &Plan) -> Vec<Nanos> {
    let timeouts: BTreeSet<_> = plan.arms.iter().filter_map(|arm| arm.client().timeout).collect();
    timeouts.into_iter().collect()
}

/// What does a run's faults.
enum FaultEngine {
    /// The simulation.
    Virtual,
    /// Proxies.
    Live(Engine),
    /// Nothing: clients connect to backends themselves.
    None,
}

impl FaultEngine {
    fn info(&self) -> EngineInfo {
        let own = |name| EngineInfo { name, version: env!("CARGO_PKG_VERSION").to_owned() };
        match self {
            Self::Virtual => own("virtual"),
            Self::Live(engine) => engine.info(),
            Self::None => own("none"),
        }
    }
}

/// The engine that was chosen, once it is known that it can do all faults of the plan.
fn engine(plan: &Plan, options: &RunOptions) -> Result<FaultEngine, RunError> {
    if plan.mode == Mode::Virtual {
        return Ok(FaultEngine::Virtual);
    }
    let variable = std::env::var(TOXIPROXY_URL).ok();
    let Resolved { engine, notice } = options.faults.resolve(variable.as_deref())?;
    if let Some(notice) = notice {
        say::err(&format!("note: {notice}"));
    }
    let Some(engine) = engine else {
        let of_network = |action: &Action| matches!(action, Action::Toxic(_) | Action::Down);
        let fault = plan.faults.iter().find(|fault| of_network(&fault.action));
        let refuse = |fault: &FaultPlan| Err(RunError::NoProxy(fault.name.clone()));
        return fault.map_or(Ok(FaultEngine::None), refuse);
    };
    for FaultPlan { name, action, .. } in &plan.faults {
        if let Action::Toxic(toxic) = action {
            engine.check(&Toxic { name: Some(name.clone()), ..toxic.clone() })?;
        }
    }
    Ok(FaultEngine::Live(engine))
}

/// What is known before the first request.
fn describe(run_dir: &RunDir, plan: &Plan, engine: &FaultEngine, text: &str) -> io::Result<()> {
    run_dir.write("experiment.yaml", text)?;
    run_dir.write("manifest.json", pretty(&Manifest::new(plan, &engine.info()))?)?;
    run_dir.write("resolved.yaml", resolved(plan)?)
}

fn resolved(plan: &Plan) -> io::Result<Vec<u8>> {
    let mut yaml = Vec::new();
    let mut serializer = serde_yaml::Serializer::new(&mut yaml);
    serde_yaml::with::singleton_map_recursive::serialize(&plan.resolved, &mut serializer)
        .map_err(io::Error::other)?;
    drop(serializer);
    Ok(yaml)
}

fn watched(
    plan: &Plan,
    run_dir: &RunDir,
    options: &RunOptions,
    mut prometheus: Prometheus,
    (engine, interrupt): (&FaultEngine, Interrupt),
) -> Result<Outcome, RunError> {
    let failed = |source| RunError::RunDir { path: run_dir.path().to_owned(), source };
    let (arms, live) = (labels(plan).arms, plan.mode == Mode::Live);
    let mut recorder = Recorder::new(&plan.arms, live, run_dir.open("series.csv").map_err(failed)?);
    let mut journal = Journal::new(&arms, live, run_dir.open("events.jsonl").map_err(failed)?);
    let mut waits = wait_log(plan, run_dir).map_err(failed)?;
    let mut view = (!options.quiet).then(|| View::new(live, &arms, plan.length()));
    let served = (options.listen != Listen::Off).then_some(&mut prometheus);
    let observers = (&mut recorder, &mut journal, &mut waits, served, &mut view);
    let ran = drive(plan, engine, observers, interrupt);
    drop(view);
    let store = recorder.finish().map_err(failed);
    journal.finish().map_err(failed)?;
    waits.map_or(Ok(()), WaitLog::finish).map_err(failed)?;
    Ok(match ran? {
        Ending::Complete => Outcome::Judged(judge(plan, &store?)),
        Ending::Interrupted(signal) => Outcome::Interrupted(signal),
    })
}

/// A log of waits, if there are waits and they are to be recorded.
fn wait_log(plan: &Plan, run_dir: &RunDir) -> io::Result<Option<WaitLog<impl Write + use<>>>> {
    if plan.waits == Waits::Off || plan.arms.iter().all(|arm| arm.downloads().is_none()) {
        return Ok(None);
    }
    let out = run_dir.open("waits.csv")?;
    Ok(Some(WaitLog::new(&plan.arm_names(), plan.waits, plan.mode == Mode::Live, out)))
}

/// The one place that knows both worlds.
fn drive(
    plan: &Plan,
    engine: &FaultEngine,
    observer: impl Observer,
    interrupt: Interrupt,
) -> Result<Ending, WorldError> {
    let streams = Streams::new(plan.seed);
    let engine = match engine {
        FaultEngine::Virtual => {
            let sim = Sim::new(&plan.arms, &streams, interrupt);
            return Shell::new(plan, sim, observer).run();
        }
        FaultEngine::Live(engine) => Some(engine),
        FaultEngine::None => None,
    };
    let live = Live::start(&plan.arms, engine, &streams, interrupt)?;
    Shell::new(plan, live, observer).run()
}

fn conclude(run_dir: &RunDir, plan: &Plan, finished: &Finished) -> io::Result<()> {
    run_dir.write("verdict.json", pretty(&finished.json(plan))?)?;
    run_dir.write("verdict.txt", finished.text(plan))
}

fn pretty(value: &impl serde::Serialize) -> io::Result<Vec<u8>> {
    let mut text = serde_json::to_vec_pretty(value)?;
    text.push(b'\n');
    Ok(text)
}
