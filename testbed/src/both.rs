//! `run FILE --mode both`: one experiment in virtual time and live, and the distance between the two, so that everyone
//! sees how far a virtual verdict can be trusted.

mod distance;
mod show;

pub use distance::{Apart, Distance, PhaseWindow, Quantiles};

use crate::drive::interrupt::Interrupt;
use crate::experiment::plan::Plan;
use crate::run::{Finished, Outcome, RunError, RunOptions, run};
use crate::run_dir::{NoRun, RunDir};
use crate::verdict::Class;
use serde_json::{Value, json};
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Something broke; a retry may help.
#[derive(Debug, Error)]
pub enum BothError {
    /// One of the runs.
    #[error(transparent)]
    Run(#[from] RunError),
    /// What a run left behind cannot be read.
    #[error(transparent)]
    NoRun(#[from] NoRun),
    /// What a run left behind is not what it wrote.
    #[error("{path} cannot be used: {why}", path = .path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
}

/// A plan of each mode.
#[derive(Clone, Copy, Debug)]
pub struct Plans<'p> {
    /// In virtual time.
    pub simulated: &'p Plan,
    /// The same file, live.
    pub live: &'p Plan,
}

/// Both runs, finished.
#[derive(Debug)]
pub struct FinishedBoth {
    /// The virtual run.
    pub simulated: Finished,
    /// The live run; none if the virtual one was interrupted.
    pub live: Option<Finished>,
    /// How far they are apart; none if one was interrupted.
    pub distance: Option<Distance>,
    /// The directory with both run directories, `both.json` and `both.md`.
    pub dir: PathBuf,
}

/// Runs the plans, both of the experiment whose file reads `text`, one after the other below a new directory. Metrics
/// and traces are of the live run alone.
///
/// # Errors
/// When something breaks that says nothing about the experiment's question.
pub fn run_both(
    plans: Plans<'_>,
    text: &str,
    [simulated, live]: [&RunOptions; 2],
    interrupt: &Interrupt,
) -> Result<FinishedBoth, BothError> {
    let name = format!("{}-both", plans.live.name);
    let unwritten = |source| RunError::RunDir { path: live.out.clone(), source };
    let parent = RunDir::create(&live.out, &name).map_err(unwritten)?;
    let below =
        |options: &RunOptions| RunOptions { out: parent.path().to_owned(), ..options.clone() };
    let simulated = run(plans.simulated, text, &below(simulated), interrupt.clone())?;
    let mut both =
        FinishedBoth { simulated, live: None, distance: None, dir: parent.path().to_owned() };
    if both.simulated.is_judged() {
        both.live = Some(run(plans.live, text, &below(live), interrupt.clone())?);
    }
    both.distance = both.measured()?;
    both.write(&parent, plans).map_err(unwritten)?;
    Ok(both)
}

impl FinishedBoth {
    fn measured(&self) -> Result<Option<Distance>, BothError> {
        let live = self.live.as_ref().filter(|live| live.is_judged());
        live.map(|live| Distance::between(&self.simulated.run_dir, &live.run_dir)).transpose()
    }

    /// The exit code of the process: that of the worse verdict.
    pub fn exit_code(&self) -> u8 {
        let last = self.live.as_ref().unwrap_or(&self.simulated);
        self.class().map_or_else(|| last.exit_code(), Class::exit_code)
    }

    /// The worse of both verdicts; none if one run was interrupted.
    fn class(&self) -> Option<Class> {
        let class = |finished: &Finished| match &finished.outcome {
            Outcome::Judged(verdict) => Some(verdict.class),
            Outcome::Interrupted(_) => None,
        };
        Some(class(&self.simulated)?.max(class(self.live.as_ref()?)?))
    }

    fn verdict(&self) -> &'static str {
        self.class().map_or("interrupted", Class::name)
    }

    /// Both verdicts and the distance as text.
    pub fn text(&self, plans: Plans<'_>) -> String {
        let mut out = self.simulated.text(plans.simulated);
        if let Some(live) = &self.live {
            out = format!("{out}\n{}", live.text(plans.live));
        }
        if let Some(distance) = &self.distance {
            out = format!("{out}\n{}", show::text(distance));
        }
        let (verdict, name) = (self.verdict().to_uppercase(), &plans.live.name);
        format!("{out}\n{verdict}  {name} (both)  {}\n", self.dir.display())
    }

    /// Both verdicts and the distance as JSON.
    pub fn json(&self, plans: Plans<'_>) -> Value {
        json!({
            "experiment": plans.live.name,
            "mode": "both",
            "verdict": self.verdict(),
            "run_dir": self.dir,
            "virtual": self.simulated.json(plans.simulated),
            "live": self.live.as_ref().map(|live| live.json(plans.live)),
            "distance": self.distance,
        })
    }

    fn write(&self, parent: &RunDir, plans: Plans<'_>) -> io::Result<()> {
        parent.write("both.json", format!("{:#}\n", self.json(plans)))?;
        let Some(distance) = &self.distance else { return Ok(()) };
        let verdicts = [("virtual", Some(&self.simulated)), ("live", self.live.as_ref())]
            .map(|(mode, finished)| (mode, finished.map_or("none", verdict_of)));
        parent.write("both.md", show::markdown(&plans.live.name, verdicts, distance))
    }
}

fn verdict_of(finished: &Finished) -> &'static str {
    match &finished.outcome {
        Outcome::Judged(verdict) => verdict.class.name(),
        Outcome::Interrupted(_) => "interrupted",
    }
}
