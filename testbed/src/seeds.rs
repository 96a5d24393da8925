//! One experiment over several seeds: virtual runs side by side on all cores, and a verdict over all of them.

mod summary;

pub use summary::{Spread, Summary};

use crate::drive::engine::FaultEngine;
use crate::drive::interrupt::Interrupt;
use crate::drive::world::Signal;
use crate::experiment::plan::Plan;
use crate::run::{Finished, Outcome, Prepared, RunError, execute};
use crate::run_dir::RunDir;
use crate::verdict::Verdict;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{io, thread};

/// What became of an experiment over several seeds.
#[derive(Debug)]
pub struct FinishedSeeds {
    /// The verdict over all; none if it was stopped.
    pub summary: Option<Summary>,
    /// What stopped it, if anything did.
    pub signal: Option<Signal>,
    /// Where the run directories are, and the verdict over all.
    pub run_dir: PathBuf,
}

/// Runs the virtual `plan`, the experiment whose file reads `text`, for `seeds` seeds from its own on, below a new
/// directory in `out`. All arms of a seed draw the same numbers, so their differences are paired.
///
/// # Errors
/// When something breaks that says nothing about the experiment's question.
pub fn run_seeds(
    plan: &Plan,
    text: &str,
    seeds: u32,
    out: &Path,
    interrupt: &Interrupt,
) -> Result<FinishedSeeds, RunError> {
    let unwritten = |source: io::Error| RunError::RunDir { path: out.to_owned(), source };
    let parent = RunDir::create(out, &plan.name).map_err(unwritten)?;
    let plans: Vec<_> = (0..u64::from(seeds)).map(|offset| with_seed(plan, offset)).collect();
    let finished = side_by_side(&plans, text, parent.path(), interrupt)?;
    let verdicts: Option<Vec<(u64, Verdict)>> = plans
        .iter()
        .zip(finished)
        .map(|(plan, finished)| match finished.outcome {
            Outcome::Judged(verdict) => Some((plan.seed, verdict)),
            Outcome::Interrupted(_) => None,
        })
        .collect();
    let summary = verdicts.map(|verdicts| Summary::new(plan, &verdicts));
    let signal = interrupt.signal();
    let finished = FinishedSeeds { summary, signal, run_dir: parent.path().to_owned() };
    finished.write(&parent, plan).map_err(unwritten)?;
    Ok(finished)
}

fn with_seed(plan: &Plan, offset: u64) -> Plan {
    let mut plan = plan.clone();
    plan.seed = plan.seed.wrapping_add(offset);
    (plan.resolved.run.seed, plan.resolved.run.seeds) = (plan.seed, 1);
    plan
}

/// The runs of all plans in their order, as many at a time as there are cores.
fn side_by_side(
    plans: &[Plan],
    text: &str,
    parent: &Path,
    interrupt: &Interrupt,
) -> Result<Vec<Finished>, RunError> {
    let next = AtomicUsize::new(0);
    let finished = Mutex::new(Vec::new());
    let work = || {
        while let Some((index, plan)) = take(plans, &next) {
            let ran = Prepared::new(plan, text, (FaultEngine::Virtual, None), parent)
                .and_then(|prepared| execute(plan, &prepared, (), interrupt.clone()));
            finished.lock().expect("no worker panics").push((index, ran));
        }
    };
    let cores = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        (0..cores.min(plans.len())).for_each(|_| drop(scope.spawn(work)));
    });
    let mut finished = finished.into_inner().expect("no worker panics");
    finished.sort_by_key(|(index, _)| *index);
    finished.into_iter().map(|(_, ran)| ran).collect()
}

fn take<'p>(plans: &'p [Plan], next: &AtomicUsize) -> Option<(usize, &'p Plan)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    plans.get(index).map(|plan| (index, plan))
}

impl FinishedSeeds {
    /// The exit code of the process: by the verdict over all, or by the signal that stopped it.
    pub fn exit_code(&self) -> u8 {
        let stopped = || self.signal.unwrap_or(Signal::Interrupt).exit_code();
        self.summary.as_ref().map_or_else(stopped, |summary| summary.class.exit_code())
    }

    /// The verdict over all as text.
    pub fn text(&self, plan: &Plan) -> String {
        let run_dir = self.run_dir.display();
        match &self.summary {
            Some(summary) => summary.text(plan, &self.run_dir),
            None => format!("interrupted; what was recorded is in {run_dir}\n"),
        }
    }

    /// The verdict over all as JSON.
    pub fn json(&self, plan: &Plan) -> Value {
        let summary = self.summary.as_ref();
        serde_json::json!({
            "experiment": plan.name,
            "mode": plan.mode.name(),
            "verdict": summary.map_or("interrupted", |summary| summary.class.name()),
            "run_dir": self.run_dir,
            "seeds": summary.map(|summary| &summary.seeds),
            "expectations": summary.map(|summary| &summary.expectations),
            "differences": summary.map(|summary| &summary.differences),
        })
    }

    fn write(&self, parent: &RunDir, plan: &Plan) -> io::Result<()> {
        parent.write("verdict.json", format!("{:#}\n", self.json(plan)))?;
        parent.write("verdict.txt", self.text(plan))
    }
}
