//! The runs of a server: one at a time, on a thread of its own, and the last hundred of them.

use super::history::{History, Reader};
use super::tap::Tap;
use super::wire::{End, Kind, RunInfo, State};
use crate::backend::BackendUrl;
use crate::drive::engine::FaultEngine;
use crate::drive::interrupt::Interrupt;
use crate::drive::world::Signal;
use crate::experiment::plan::Plan;
use crate::page::Stage;
use crate::run::{Finished, Outcome, Prepared, RunError, execute, labels, report_if_possible};
use crate::run_dir::RunDir;
use crate::traces::{TraceOptions, Traces};
use crate::watch::current::{Current, Shown};
use crate::watch::prometheus::{ArmLabel, Prometheus};
use crate::watch::server::ServerMetrics;
use faults::EngineChoice;
use std::any::Any;
use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use thiserror::Error;

/// Runs that are remembered.
const REMEMBERED: usize = 100;

/// All runs of a server. Clones share them.
#[derive(Clone, Debug)]
pub(super) struct Runs {
    how: How,
    current: Current,
    stage: Stage,
    metrics: ServerMetrics,
    table: Arc<Mutex<Table>>,
}

/// How all runs are run.
#[derive(Clone, Debug)]
pub(super) struct How {
    /// Where run directories are made.
    pub(super) out: PathBuf,
    /// What does the faults of live runs.
    pub(super) faults: EngineChoice,
    /// Where the backends of live runs are made, if not here.
    pub(super) backend: Option<BackendUrl>,
    /// Which traces are exported, if any.
    pub(super) traces: Option<TraceOptions>,
}

/// One run.
#[derive(Clone, Debug)]
pub(super) struct Run {
    id: String,
    pub(super) history: History,
    interrupt: Interrupt,
}

/// Why a run was not started.
#[derive(Debug, Error)]
pub(super) enum NotStarted {
    /// Another one goes on.
    #[error(
        "{} runs now, and one experiment runs at a time; wait for its end, or stop it with DELETE \
         /api/runs/{}", .0.experiment, .0.id
    )]
    Busy(Box<RunInfo>),
    /// The server is about to end.
    #[error("the server is shutting down; start it again")]
    Closing,
    /// Its directory cannot be written.
    #[error("{0}; choose another folder with --out")]
    Unwritten(#[from] RunError),
    /// The system gives no thread.
    #[error("cannot start a thread: {0}; try again")]
    NoThread(#[from] io::Error),
}

#[derive(Debug, Default)]
struct Table {
    /// From the oldest to the newest.
    remembered: VecDeque<Run>,
    /// The one that goes on; its thread takes it out at its end.
    active: Option<Run>,
    closing: bool,
}

impl Runs {
    pub(super) fn new(
        how: How,
        (current, stage): (Current, Stage),
        metrics: ServerMetrics,
    ) -> Self {
        Self { how, current, stage, metrics, table: Arc::default() }
    }

    /// Starts a run of `plan`, the experiment called `experiment` whose file reads `text`.
    ///
    /// # Errors
    /// When another one goes on, or something breaks before the first request.
    pub(super) fn start(
        &self,
        experiment: &str,
        text: &str,
        plan: Plan,
    ) -> Result<Run, NotStarted> {
        let mut table = self.lock();
        if table.closing {
            return Err(NotStarted::Closing);
        }
        if let Some(active) = &table.active {
            return Err(NotStarted::Busy(Box::new(active.info())));
        }
        let engine = FaultEngine::choose(&plan, &self.how.faults).map_err(RunError::from)?;
        let made = (engine, self.how.backend.clone());
        let mut prepared = Prepared::new(&plan, text, made, &self.how.out)?;
        let run = Run::new(experiment, &plan, &prepared.run_dir, &self.metrics);
        let prometheus = Prometheus::new(&labels(&plan));
        prepared.tell(run.history.clone());
        let traces = prepared.trace(&plan, self.how.traces.as_ref(), &prometheus);
        let traces = traces.map_err(RunError::from)?;
        let (registry, exemplars) = (prometheus.registry(), prometheus.exemplars());
        self.metrics.show_in(&registry);
        self.current.show(Shown { registry, exemplars });
        self.stage.show(prepared.run_dir.path().to_owned(), run.history.clone());
        let (runs, its) = (self.clone(), run.clone());
        let work = move || runs.carry_out(&its, &plan, &prepared, (prometheus, traces));
        thread::Builder::new().name("windtunnel-run".into()).spawn(work)?;
        table.remember(run.clone());
        table.active = Some(run.clone());
        Ok(run)
    }

    /// The run with this id, if it is remembered.
    pub(super) fn find(&self, id: &str) -> Option<Run> {
        self.lock().remembered.iter().find(|run| run.id == id).cloned()
    }

    /// All runs that are remembered, the newest first.
    pub(super) fn list(&self) -> Vec<RunInfo> {
        let runs: Vec<_> = self.lock().remembered.iter().rev().cloned().collect();
        runs.iter().map(Run::info).collect()
    }

    /// Whether a run goes on.
    pub(super) fn is_busy(&self) -> bool {
        self.lock().active.is_some()
    }

    /// Whether no run will be started any more.
    pub(super) fn is_closing(&self) -> bool {
        self.lock().closing
    }

    /// Starts no run any more, and stops the one that goes on.
    pub(super) fn close(&self, signal: Signal) {
        let mut table = self.lock();
        table.closing = true;
        if let Some(active) = &table.active {
            active.interrupt.raise(signal);
        }
    }

    /// Whether every run is over and its end has been read by all who read.
    pub(super) fn is_quiet(&self) -> bool {
        let table = self.lock();
        table.active.is_none() && table.remembered.iter().all(|run| run.history.readers() == 0)
    }

    /// The whole of a run, on its thread.
    fn carry_out(
        &self,
        run: &Run,
        plan: &Plan,
        prepared: &Prepared,
        (prometheus, mut traces): (Prometheus, Traces),
    ) {
        let tap = Tap::new(run.history.clone(), &labels(plan).arms);
        let ran = catch_unwind(AssertUnwindSafe(|| {
            execute(plan, prepared, (prometheus, tap, &mut traces), run.interrupt.clone())
        }));
        traces.finish(false);
        report_if_possible(&prepared.run_dir);
        self.metrics.run_ended(verdict(ran.as_ref().ok()));
        let end = match ran {
            Ok(Ok(finished)) => End::of(plan, &finished),
            Ok(Err(error)) => End::broken(error.to_string()),
            Err(panic) => End::broken(format!("the run panicked: {}", message(&*panic))),
        };
        // Whoever reads of the end may start the next run at once.
        self.lock().active = None;
        run.history.end(end);
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        // A table is whole between any two statements.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Run {
    fn new(experiment: &str, plan: &Plan, run_dir: &RunDir, metrics: &ServerMetrics) -> Self {
        let info = info(experiment, plan, run_dir);
        let (id, interrupt) = (info.id.clone(), Interrupt::default());
        Self { id, history: History::new(info, metrics.clone()), interrupt }
    }

    /// The run as it is.
    pub(super) fn info(&self) -> RunInfo {
        self.history.info()
    }

    /// Stops it as Ctrl-C would; nothing, if it is over.
    pub(super) fn stop(&self) {
        self.interrupt.raise(Signal::Interrupt);
    }

    /// A new reader of its messages; none if there are as many as may be.
    pub(super) fn reader(&self) -> Option<Reader> {
        self.history.reader()
    }
}

impl Table {
    fn remember(&mut self, run: Run) {
        if self.remembered.len() == REMEMBERED {
            self.remembered.pop_front();
        }
        self.remembered.push_back(run);
    }
}

impl End {
    /// The end of a run that broke nothing.
    pub(crate) fn of(plan: &Plan, finished: &Finished) -> Self {
        let state = match finished.outcome {
            Outcome::Judged(_) => State::Finished,
            Outcome::Interrupted(_) => State::Interrupted,
        };
        let (verdict, text) = (Some(finished.json(plan)), finished.text(plan));
        Self { state, exit_code: finished.exit_code(), verdict, text, error: None }
    }

    /// The end of a run that broke.
    pub(crate) fn broken(error: String) -> Self {
        let text = String::new();
        Self { state: State::Broken, exit_code: 1, verdict: None, text, error: Some(error) }
    }
}

/// A run of `plan` as it begins.
pub(crate) fn info(experiment: &str, plan: &Plan, run_dir: &RunDir) -> RunInfo {
    let kind = |arm| {
        let ArmLabel { name, kind, .. } = ArmLabel::from(arm);
        (name, Kind::from(kind))
    };
    RunInfo {
        id: run_dir.name(),
        experiment: experiment.to_owned(),
        mode: plan.mode,
        seed: plan.seed,
        arms: plan.arms.iter().map(kind).collect(),
        length_ns: plan.length().get(),
        run_dir: run_dir.path().display().to_string(),
        state: State::Running,
        t_ns: 0,
        phase: String::new(),
        faults: Vec::new(),
        forgotten: 0,
        readers_dropped: 0,
        verdict: None,
        error: None,
    }
}

/// The verdict of a run, or why it has none; of one that panicked there is nothing.
fn verdict(ran: Option<&Result<Finished, RunError>>) -> &'static str {
    match ran {
        Some(Ok(Finished { outcome: Outcome::Judged(verdict), .. })) => verdict.class.name(),
        Some(Ok(Finished { outcome: Outcome::Interrupted(_), .. })) => "interrupted",
        Some(Err(_)) | None => "broken",
    }
}

/// What a panic said.
fn message(panic: &(dyn Any + Send)) -> &str {
    let literal = panic.downcast_ref::<&str>().copied();
    literal
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("without words")
}
