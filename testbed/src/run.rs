//! From a plan to a verdict: `windtunnel run`, and every run of `windtunnel serve`.

mod files;

pub(crate) use files::has_waits;

use crate::backend::BackendUrl;
use crate::cli::Listen;
use crate::drive::engine::{FaultEngine, NoEngine};
use crate::drive::interrupt::Interrupt;
use crate::drive::shell::Ending;
use crate::drive::world::{Signal, WorldError};
use crate::experiment::file::Mode;
use crate::experiment::plan::Plan;
use crate::page::{Stage, write_report};
use crate::report;
use crate::run_dir::{Manifest, RunDir};
use crate::say;
use crate::serve::history::History;
use crate::serve::onlooker::Onlooker;
use crate::serve::runs::info;
use crate::serve::tap::Tap;
use crate::serve::wire::End;
use crate::trace_ids::TraceIds;
use crate::traces::{NoTraces, TraceOptions, Traces};
use crate::verdict::referee::Referee;
use crate::verdict::{Verdict, judge, ruled};
use crate::watch::arrivals::ArrivalLog;
use crate::watch::journal::Journal;
use crate::watch::prometheus::{ArmLabel, Prometheus, RunLabels};
use crate::watch::recorder::Recorder;
use crate::watch::serve::{MetricsServer, ServeError};
use crate::watch::server::ServerMetrics;
use crate::watch::view::View;
use crate::watch::waits::WaitLog;
use faults::EngineChoice;
use serde_json::Value;
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use testbed_clock::LiveClock;
use testbed_core::observe::Observer;
use testbed_core::time::{Nanos, Time};
use thiserror::Error;

/// How long the end of a run may be held up by pages that have not heard of it yet.
const LAST_WORDS: Nanos = Nanos::from_millis(100);

/// How to run a plan.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Where run directories are made.
    pub out: PathBuf,
    /// Where to serve metrics.
    pub listen: Listen,
    /// What does the faults of a live run.
    pub faults: EngineChoice,
    /// Where the backends of a live run are made, if not here.
    pub backend: Option<BackendUrl>,
    /// Which traces are exported, if any.
    pub traces: Option<TraceOptions>,
    /// Whether the run gets a report (see [`write_report`]).
    pub report: bool,
    /// No progress.
    pub quiet: bool,
}

/// Something broke; a retry may help.
#[derive(Debug, Error)]
pub enum RunError {
    /// The run directory cannot be written.
    #[error("cannot write the run directory {path}: {source}; choose another place with --out", path = .path.display())]
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

    /// Whether it was judged, and not interrupted.
    pub const fn is_judged(&self) -> bool {
        matches!(self.outcome, Outcome::Judged(_))
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
    let stage = Stage::default();
    let server = metrics_server(&prometheus, options, stage.clone())?;
    let made = (engine, options.backend.clone());
    let mut prepared = Prepared::new(plan, text, made, &options.out)?;
    let mut traces = prepared.trace(plan, options.traces.as_ref(), &prometheus)?;
    let live = plan.mode == Mode::Live;
    let view = (!options.quiet).then(|| View::new(live, &labels.arms, plan.length()));
    let history = server
        .is_some()
        .then(|| History::new(info(&plan.name, plan, &prepared.run_dir), ServerMetrics::default()));
    if let Some(history) = &history {
        stage.show(prepared.run_dir.path().to_owned(), history.clone());
    }
    let tap = history.clone().map(|history| Tap::new(history, &labels.arms));
    prepared.tell(history.clone());
    let served = history.is_some().then_some(prometheus);
    let finished = execute(plan, &prepared, (served, view, tap, &mut traces), interrupt);
    traces.finish(options.quiet);
    if let Some(history) = history {
        see_off(&history, plan, &finished);
    }
    if options.report && finished.is_ok() {
        report_if_possible(&prepared.run_dir);
    }
    finished
}

/// Tells those who watch how the run ended, and gives them [`LAST_WORDS`] to hear of it. Nobody watches
/// most runs, and those who do take the end at once.
fn see_off(history: &History, plan: &Plan, finished: &Result<Finished, RunError>) {
    history.end(match finished {
        Ok(finished) => End::of(plan, finished),
        Err(error) => End::broken(error.to_string()),
    });
    let clock = LiveClock::start();
    while history.readers() > 0 && clock.now() < Time::ZERO.after(LAST_WORDS) {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Writes the report of a run. What the run has found out does not depend on it, so one that cannot be written is
/// no failure.
pub(crate) fn report_if_possible(run_dir: &RunDir) {
    if let Err(error) = write_report(run_dir.path()) {
        say::err(&format!("there is no report: {error}"));
    }
}

fn metrics_server(
    prometheus: &Prometheus,
    options: &RunOptions,
    stage: Stage,
) -> Result<Option<MetricsServer>, ServeError> {
    let Listen::At(addr) = options.listen else { return Ok(None) };
    let server = MetricsServer::start(addr, prometheus.registry(), prometheus.exemplars(), stage)?;
    if !options.quiet {
        say::err(&format!("page: http://{}/", server.addr()));
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
    /// Where the backends of a live run are made, if not here.
    backend: Option<BackendUrl>,
    /// Where the ids of traces come from, if there are traces.
    ids: Option<TraceIds>,
    /// Who is told how expectations stand, if anybody may watch.
    history: Option<History>,
}

impl Prepared {
    /// Makes a directory for a run of `plan` below `out`, and writes down what is known before the
    /// first request. The backends of a live run are made at the URL, if there is one.
    ///
    /// # Errors
    /// When the system does not let it be written.
    pub fn new(
        plan: &Plan,
        text: &str,
        (engine, backend): (FaultEngine, Option<BackendUrl>),
        out: &Path,
    ) -> Result<Self, RunError> {
        let backend = backend.filter(|_| plan.mode == Mode::Live);
        let run_dir = RunDir::create(out, &plan.name).map_err(unwritten(out))?;
        let manifest = Manifest::new(plan, &engine.info(), backend.as_ref());
        describe(&run_dir, plan, &manifest, text).map_err(unwritten(run_dir.path()))?;
        Ok(Self { run_dir, engine, backend, ids: None, history: None })
    }

    /// Has `history` told how expectations stand while the run goes.
    pub(crate) fn tell(&mut self, history: impl Into<Option<History>>) {
        self.history = history.into();
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
        let _ = files::pretty(&report::json_broken(plan, run_dir.path(), error))
            .and_then(|json| run_dir.write("verdict.json", json));
    })?;
    let finished = Finished { outcome, run_dir: run_dir.path().to_owned() };
    files::conclude(run_dir, plan, &finished).map_err(unwritten(run_dir.path()))?;
    Ok(finished)
}

fn unwritten(path: &Path) -> impl Fn(io::Error) -> RunError {
    move |source| RunError::RunDir { path: path.to_owned(), source }
}

/// What the labels of the metrics of `plan` say.
pub fn labels(plan: &Plan) -> RunLabels {
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
fn describe(run_dir: &RunDir, plan: &Plan, manifest: &Manifest, text: &str) -> io::Result<()> {
    run_dir.write("experiment.yaml", text)?;
    run_dir.write("manifest.json", files::pretty(manifest)?)?;
    for (name, content) in &plan.traces {
        run_dir.write(name, content)?;
    }
    run_dir.write("resolved.yaml", resolved(plan)?)
}

/// The file of `plan` with everything that was left out, as YAML.
pub(crate) fn resolved(plan: &Plan) -> io::Result<Vec<u8>> {
    let mut yaml = Vec::new();
    let mut serializer = serde_yaml::Serializer::new(&mut yaml);
    serde_yaml::with::singleton_map_recursive::serialize(&plan.resolved, &mut serializer)
        .map_err(io::Error::other)?;
    drop(serializer);
    Ok(yaml)
}

fn watched(
    plan: &Plan,
    Prepared { run_dir, engine, backend, ids, history }: &Prepared,
    watcher: impl Observer,
    interrupt: Interrupt,
) -> Result<Outcome, RunError> {
    let failed = |source| unwritten(run_dir.path())(source);
    let (arms, live) = (labels(plan).arms, plan.mode == Mode::Live);
    let recorder = Recorder::new(&plan.arms, live, run_dir.open("series.csv").map_err(failed)?);
    let interrupt = interrupt.for_run();
    let referee = Referee::new(plan, recorder, interrupt.clone());
    let mut onlooker = Onlooker::new(plan, referee, history.clone());
    let mut journal = Journal::new(&arms, live, run_dir.open("events.jsonl").map_err(failed)?);
    let mut waits = files::wait_log(plan, run_dir).map_err(failed)?;
    let mut arrivals = files::arrival_log(plan, run_dir).map_err(failed)?;
    let observers = (&mut onlooker, &mut journal, &mut waits, &mut arrivals, watcher);
    let ran = engine.drive(plan, backend.as_ref(), *ids, observers, interrupt);
    let recorded = onlooker.into_referee().finish().map_err(failed);
    let entries = journal.finish().map_err(failed)?;
    waits.map_or(Ok(()), WaitLog::finish).map_err(failed)?;
    arrivals.map_or(Ok(()), ArrivalLog::finish).map_err(failed)?;
    Ok(match ran? {
        Ending::Complete | Ending::Interrupted(Signal::Halt) => {
            let (store, ruling) = recorded?;
            files::write_numbers(run_dir, plan, &store, &entries).map_err(failed)?;
            Outcome::Judged(match ruling {
                None => judge(plan, &store),
                Some(ruling) => ruled(plan, &store, ruling),
            })
        }
        Ending::Interrupted(signal) => Outcome::Interrupted(signal),
    })
}
