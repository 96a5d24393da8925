//! From a plan to a verdict: `windtunnel run`, and every run of `windtunnel serve`.

use crate::cli::Listen;
use crate::drive::engine::{FaultEngine, NoEngine};
use crate::drive::interrupt::Interrupt;
use crate::drive::shell::Ending;
use crate::drive::world::{Signal, WorldError};
use crate::experiment::file::{Mode, Waits};
use crate::experiment::plan::Plan;
use crate::report;
use crate::run_dir::{Manifest, RunDir};
use crate::say;
use crate::trace_ids::TraceIds;
use crate::traces::{NoTraces, TraceOptions, Traces};
use crate::verdict::referee::Referee;
use crate::verdict::{Verdict, judge, ruled};
use crate::watch::journal::Journal;
use crate::watch::prometheus::{ArmLabel, Prometheus, RunLabels};
use crate::watch::recorder::Recorder;
use crate::watch::serve::{MetricsServer, ServeError};
use crate::watch::view::View;
use crate::watch::waits::WaitLog;
use faults::EngineChoice;
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use testbed_core::observe::Observer;
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
    /// Which traces are exported, if any.
    pub traces: Option<TraceOptions>,
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
    /// The faults of the file cannot be had as they were asked for.
    #[error(transparent)]
    Engine(#[from] NoEngine),
    /// Traces are asked for and cannot be had.
    #[error(transparent)]
    Traces(#[from] NoTraces),
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
            Outcome::Judged(verdict) => verdict.class.exit_code(),
            Outcome::Interrupted(signal) => signal.exit_code(),
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

/// Runs `plan`, the experiment whose file reads `text`, for the command line: with a view and, if
/// asked for, metrics.
///
/// # Errors
/// When something breaks that says nothing about the experiment's question.
pub fn run(
    plan: &Plan,
    text: &str,
    options: &RunOptions,
    interrupt: Interrupt,
) -> Result<Finished, RunError> {
    let labels = labels(plan);
    let engine = FaultEngine::choose(plan, &options.faults)?;
    let prometheus = Prometheus::new(&labels);
    let server = metrics_server(&prometheus, options)?;
    let mut prepared = Prepared::new(plan, text, engine, &options.out)?;
    let mut traces = prepared.trace(plan, options.traces.as_ref(), &prometheus)?;
    let live = plan.mode == Mode::Live;
    let view = (!options.quiet).then(|| View::new(live, &labels.arms, plan.length()));
    let served = server.is_some().then_some(prometheus);
    let finished = execute(plan, &prepared, (served, view, &mut traces), interrupt);
    traces.finish(options.quiet);
    finished
}

fn metrics_server(
    prometheus: &Prometheus,
    options: &RunOptions,
) -> Result<Option<MetricsServer>, ServeError> {
    let Listen::At(addr) = options.listen else { return Ok(None) };
    let server = MetricsServer::start(addr, prometheus.registry(), prometheus.exemplars())?;
    if !options.quiet {
        say::err(&format!("metrics: http://{}/metrics", server.addr()));
    }
    Ok(Some(server))
}

/// A run that can begin.
#[derive(Debug)]
pub struct Prepared {
    /// Where it leaves what it records.
    pub run_dir: RunDir,
    engine: FaultEngine,
    /// Where the ids of traces come from, if there are traces.
    ids: Option<TraceIds>,
}

impl Prepared {
    /// Makes a directory for a run of `plan` below `out`, and writes down what is known before the
    /// first request.
    ///
    /// # Errors
    /// When the system does not let it be written.
    pub fn new(plan: &Plan, text: &str, engine: FaultEngine, out: &Path) -> Result<Self, RunError> {
        let run_dir = RunDir::create(out, &plan.name).map_err(unwritten(out))?;
        describe(&run_dir, plan, &engine, text).map_err(unwritten(run_dir.path()))?;
        Ok(Self { run_dir, engine, ids: None })
    }

    /// Traces for this run, if `options` ask for some: an observer for [`execute`].
    ///
    /// # Errors
    /// If they cannot be had.
    pub fn trace(
        &mut self,
        plan: &Plan,
        options: Option<&TraceOptions>,
        metrics: &Prometheus,
    ) -> Result<Traces, NoTraces> {
        let traces = Traces::start(options, plan, &self.run_dir.name(), metrics)?;
        self.ids = traces.ids();
        Ok(traces)
    }
}

/// Runs `plan` as it was prepared, and judges it; `watcher` sees every event.
///
/// # Errors
/// When something breaks that says nothing about the experiment's question.
pub fn execute(
    plan: &Plan,
    prepared: &Prepared,
    watcher: impl Observer,
    interrupt: Interrupt,
) -> Result<Finished, RunError> {
    let run_dir = &prepared.run_dir;
    let outcome = watched(plan, prepared, watcher, interrupt).inspect_err(|error| {
        // What broke is told anyway; that it cannot be written down as well adds nothing.
        let _ = pretty(&report::json_broken(plan, run_dir.path(), error))
            .and_then(|json| run_dir.write("verdict.json", json));
    })?;
    let finished = Finished { outcome, run_dir: run_dir.path().to_owned() };
    conclude(run_dir, plan, &finished).map_err(unwritten(run_dir.path()))?;
    Ok(finished)
}

fn unwritten(path: &Path) -> impl Fn(io::Error) -> RunError {
    move |source| RunError::RunDir { path: path.to_owned(), source }
}

/// What the labels of the metrics of `plan` say.
pub(crate) fn labels(plan: &Plan) -> RunLabels {
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
    Prepared { run_dir, engine, ids }: &Prepared,
    watcher: impl Observer,
    interrupt: Interrupt,
) -> Result<Outcome, RunError> {
    let failed = |source| unwritten(run_dir.path())(source);
    let (arms, live) = (labels(plan).arms, plan.mode == Mode::Live);
    let recorder = Recorder::new(&plan.arms, live, run_dir.open("series.csv").map_err(failed)?);
    let interrupt = interrupt.for_run();
    let mut referee = Referee::new(plan, recorder, interrupt.clone());
    let mut journal = Journal::new(&arms, live, run_dir.open("events.jsonl").map_err(failed)?);
    let mut waits = wait_log(plan, run_dir).map_err(failed)?;
    let observers = (&mut referee, &mut journal, &mut waits, watcher);
    let ran = engine.drive(plan, *ids, observers, interrupt);
    let recorded = referee.finish().map_err(failed);
    journal.finish().map_err(failed)?;
    waits.map_or(Ok(()), WaitLog::finish).map_err(failed)?;
    Ok(match ran? {
        Ending::Complete | Ending::Interrupted(Signal::Halt) => {
            let (store, ruling) = recorded?;
            Outcome::Judged(match ruling {
                None => judge(plan, &store),
                Some(ruling) => ruled(plan, &store, ruling),
            })
        }
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

fn conclude(run_dir: &RunDir, plan: &Plan, finished: &Finished) -> io::Result<()> {
    run_dir.write("verdict.json", pretty(&finished.json(plan))?)?;
    run_dir.write("verdict.txt", finished.text(plan))?;
    if let Outcome::Judged(verdict) = &finished.outcome {
        run_dir.write("verdict.md", report::markdown(plan, verdict))?;
        run_dir.write("junit.xml", report::junit(plan, verdict)?)?;
    }
    Ok(())
}

fn pretty(value: &impl serde::Serialize) -> io::Result<Vec<u8>> {
    let mut text = serde_json::to_vec_pretty(value)?;
    text.push(b'\n');
    Ok(text)
}
