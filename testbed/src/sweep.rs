//! `windtunnel sweep`: an experiment at every combination of its axes' values, in virtual time, on
//! all cores.

mod cache;
mod map;
mod measures;
mod points;
mod scorecard;
mod table;

use crate::drive::engine::simulate;
use crate::drive::interrupt::Interrupt;
use crate::drive::shell::Ending;
use crate::drive::world::{Signal, WorldError};
use crate::experiment::plan::Plan;
use crate::experiment::predict::Formula;
use crate::experiment::problem::Report;
use crate::experiment::{Overrides, load_point};
use crate::page::{REPORT, sweep_report};
use crate::run_dir::RunDir;
use crate::verdict::judge;
use crate::watch::recorder::Recorder;
use cache::{Cache, Point, Row};
use indicatif::{ProgressBar, ProgressStyle};
use map::{Shown, SweepPage};
use points::Grid;
use scorecard::Scorecard;
use serde_json::json;
use std::io;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use table::Outcomes;
use thiserror::Error;

/// What to sweep.
#[derive(Clone, Debug)]
pub struct SweepCommand {
    /// What the file is called in messages.
    pub name: String,
    /// What it reads.
    pub text: String,
    /// What is changed of it at every point.
    pub overrides: Overrides,
    /// Where points are kept and results are written.
    pub out: PathBuf,
    /// How many points run at a time; as many as there are cores, if none.
    pub jobs: Option<NonZeroUsize>,
    /// No progress.
    pub quiet: bool,
}

/// Why a sweep came to no end.
#[derive(Debug, Error)]
pub enum SweepError {
    /// The file has no axes.
    #[error(
        "{0} has no `sweep`; write one, or give an axis: --axis 'start=arms.double.controller.velox.start=[2, 4, 8]'"
    )]
    NoAxes(String),
    /// A value of several axes together is a mistake.
    #[error("{0}")]
    Invalid(Report),
    /// Points cannot be kept, or results not be written.
    #[error("cannot keep points in {path}: {source}", path = .path.display())]
    Unkept {
        /// The directory.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// A point broke.
    #[error("{labels}: {source}")]
    World {
        /// The point's values.
        labels: String,
        /// What broke.
        source: WorldError,
    },
    /// It was stopped. What was run is kept.
    #[error("interrupted after {done} of {all} points; the next sweep goes on from there")]
    Interrupted {
        /// The signal.
        signal: Signal,
        /// Points that are known.
        done: usize,
        /// Points that there are.
        all: usize,
    },
}

/// A finished sweep.
#[derive(Clone, Debug)]
pub struct Swept {
    /// The results, as people read them.
    pub text: String,
    /// The results as JSON.
    pub json: serde_json::Value,
    /// The exit code of the process.
    pub exit_code: u8,
}

/// Runs every point of the sweep in `plan`, which is the file of `command`, that is not known yet.
///
/// # Errors
/// When there is nothing to sweep, or a point cannot be run or kept. What was run is kept.
pub fn sweep(
    command: &SweepCommand,
    plan: &Plan,
    interrupt: &Interrupt,
) -> Result<Swept, SweepError> {
    let no_axes = || SweepError::NoAxes(command.name.clone());
    let file = plan.resolved.sweep.as_ref().ok_or_else(no_axes)?;
    let grid = Grid::new(file, plan.seed);
    let folder = command.out.join("points");
    let unkept = |source| SweepError::Unkept { path: folder.clone(), source };
    let work = Work {
        command,
        grid: &grid,
        seeds: grid.seeds().collect(),
        cache: Cache::open(&folder).map_err(unkept)?,
        interrupt,
        next: AtomicUsize::new(0),
    };
    let points = work.all()?;
    let formula = file.predict.as_ref().map(|predict| {
        let formula = Formula::parse(&predict.when).expect("the check has read it");
        (predict.expect.clone(), formula)
    });
    let outcomes = Outcomes::new(&grid, points, formula);
    let dir = RunDir::create(&command.out, &format!("{}-sweep", plan.name)).map_err(unkept)?;
    let card = file.scorecard.as_ref().map(|card| Scorecard::new(card, plan, &outcomes));
    let text = text(&outcomes, card.as_ref());
    write(&dir, command, &outcomes, card.as_ref()).map_err(unkept)?;
    dir.write("sweep.txt", &text).map_err(unkept)?;
    let page = SweepPage {
        experiment: &plan.name,
        about: &plan.resolved.about,
        text: &command.text,
        when: file.predict.as_ref().map(|predict| predict.when.as_str()),
        scorecard: card.as_ref(),
        outcomes: Shown::new(&outcomes),
    };
    dir.write(REPORT, sweep_report(&plan.name, &page)).map_err(unkept)?;
    Ok(Swept {
        text: format!(
            "{}\n{}  {} (sweep)  {}\n",
            text,
            outcomes.class().to_uppercase(),
            plan.name,
            dir.path().display()
        ),
        json: json!({
            "experiment": plan.name, "verdict": outcomes.class(), "run_dir": dir.path(), "points": outcomes.json(),
            "scorecard": card,
        }),
        exit_code: outcomes.exit_code(),
    })
}

/// What people read of it.
fn text(outcomes: &Outcomes<'_>, card: Option<&Scorecard>) -> String {
    let parts = [outcomes.text(), card.map_or_else(String::new, scorecard::text)];
    let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("\n")
}

fn write(
    dir: &RunDir,
    command: &SweepCommand,
    outcomes: &Outcomes<'_>,
    card: Option<&Scorecard>,
) -> io::Result<()> {
    dir.write("experiment.yaml", &command.text)?;
    dir.write("sweep.csv", outcomes.csv()?)?;
    if outcomes.measured() {
        dir.write("measures.csv", measures::csv(outcomes)?)?;
    }
    let Some(card) = card else { return Ok(()) };
    dir.write("scorecard.csv", scorecard::csv(card)?)?;
    dir.write("scorecard.json", serde_json::to_vec(card)?)
}

/// What the threads of a sweep share.
struct Work<'s> {
    command: &'s SweepCommand,
    grid: &'s Grid,
    seeds: Vec<u64>,
    cache: Cache,
    interrupt: &'s Interrupt,
    /// The point that nobody has begun.
    next: AtomicUsize,
}

impl Work<'_> {
    fn len(&self) -> usize {
        self.grid.cells() * self.seeds.len()
    }

    /// What every point came to: cell by cell, seed by seed.
    fn all(&self) -> Result<Vec<Point>, SweepError> {
        let cores = || thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let jobs = self.command.jobs.unwrap_or_else(cores).get().min(self.len());
        let progress = self.progress();
        let mut points: Vec<Option<Point>> = vec![None; self.len()];
        let mut failure = None;
        thread::scope(|scope| {
            let (send, done) = channel();
            for _ in 0..jobs {
                let send = send.clone();
                scope.spawn(move || self.take_points(&send));
            }
            drop(send);
            for (index, result) in done {
                progress.inc(1);
                match result {
                    Ok(point) => points[index] = Some(point),
                    Err(error) => {
                        // The others stop at their next point.
                        self.next.store(self.len(), Ordering::Relaxed);
                        failure = failure.take().or(Some(error));
                    }
                }
            }
        });
        progress.finish_and_clear();
        let done = points.iter().flatten().count();
        match (failure, self.interrupt.signal()) {
            (_, Some(signal)) => Err(SweepError::Interrupted { signal, done, all: self.len() }),
            (Some(error), None) => Err(error),
            (None, None) => Ok(points.into_iter().flatten().collect()),
        }
    }

    fn progress(&self) -> ProgressBar {
        if self.command.quiet {
            return ProgressBar::hidden();
        }
        let style = ProgressStyle::with_template("{bar:30} {pos} of {len} points, {eta} left");
        // Drawn on standard error, and only if that is a terminal.
        ProgressBar::new(self.len() as u64).with_style(style.expect("a template"))
    }

    fn take_points(&self, send: &Sender<(usize, Result<Point, SweepError>)>) {
        while self.interrupt.signal().is_none() {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            if index >= self.len() {
                return;
            }
            match self.point(index).transpose() {
                // It was stopped.
                None => return,
                Some(result) => {
                    // It is heard until all have ended.
                    let _ = send.send((index, result));
                }
            }
        }
    }

    /// What the point of that index came to; `None` if it was stopped.
    fn point(&self, index: usize) -> Result<Option<Point>, SweepError> {
        let cell = self.grid.cell(index / self.seeds.len());
        let seed = self.seeds[index % self.seeds.len()];
        let overrides = cell.overrides(&self.command.overrides, seed);
        let plan = load_point(&self.command.name, &self.command.text, &overrides);
        let plan = plan.map_err(SweepError::Invalid)?;
        let unkept = |source| SweepError::Unkept { path: self.command.out.clone(), source };
        let name = self.cache.name(&plan).map_err(unkept)?;
        if let Some(known) = self.cache.get(&name) {
            return Ok(Some(known));
        }
        let ran = run(&plan, self.interrupt.clone());
        let world = |source| SweepError::World { labels: cell.labels().join(", "), source };
        let Some(point) = ran.map_err(world)? else { return Ok(None) };
        self.cache.put(&name, &point).map_err(unkept)?;
        Ok(Some(point))
    }
}

/// Runs a point and judges it; `None` if it was stopped.
fn run(plan: &Plan, interrupt: Interrupt) -> Result<Option<Point>, WorldError> {
    let mut recorder = Recorder::new(&plan.arms, false, io::sink());
    let ending = simulate(plan, &mut recorder, interrupt)?;
    if let Ending::Interrupted(_) = ending {
        return Ok(None);
    }
    let store = recorder.finish().expect("a sink takes everything");
    let verdict = judge(plan, &store);
    let row = |judged: &crate::verdict::Judged| Row {
        id: judged.id.clone(),
        arm: judged.arm.clone(),
        verdict: judged.verdict.name().to_owned(),
        observed: judged.observed,
        limit: judged.limit.clone(),
    };
    Ok(Some(Point {
        seed: plan.seed,
        verdict: verdict.class.name().to_owned(),
        expectations: verdict.expectations.iter().map(row).collect(),
        measures: measures::numbers(plan, &store),
        breaches: verdict
            .breaches
            .iter()
            .map(|breach| format!("{}: {}", breach.arm, breach.message))
            .collect(),
    }))
}
