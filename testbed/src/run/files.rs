//! The files that a run leaves in its directory.

use super::{Finished, Outcome};
use crate::counts;
use crate::experiment::file::{Mode, Waits};
use crate::experiment::plan::Plan;
use crate::headline;
use crate::report;
use crate::run_dir::RunDir;
use crate::watch::admission::{self, ADMISSION};
use crate::watch::arrivals::{self, ArrivalLog};
use crate::watch::journal::Entries;
use crate::watch::store::Store;
use crate::watch::waits::WaitLog;
use std::io::{self, Write};

/// Whether a run of `plan` records waits.
pub(crate) fn has_waits(plan: &Plan) -> bool {
    plan.waits != Waits::Off && plan.arms.iter().any(|arm| arm.downloads().is_some())
}

/// A log of waits, if there are waits and they are to be recorded.
pub(super) fn wait_log(
    plan: &Plan,
    run_dir: &RunDir,
) -> io::Result<Option<WaitLog<impl Write + use<>>>> {
    if !has_waits(plan) {
        return Ok(None);
    }
    let out = run_dir.open("waits.csv")?;
    Ok(Some(WaitLog::new(&plan.arm_names(), plan.waits, plan.mode == Mode::Live, out)))
}

/// What other runs can be held against.
pub(super) fn write_numbers(
    run_dir: &RunDir,
    plan: &Plan,
    store: &Store,
    entries: &Entries,
) -> io::Result<()> {
    if let Some(csv) = admission::csv(store, &plan.arm_names()) {
        run_dir.write(ADMISSION, csv)?;
    }
    run_dir.write("numbers.json", pretty(&headline::numbers(plan, store, entries))?)?;
    run_dir.write("distributions.csv", counts::write(plan, store)?)
}

/// A log of arrivals, if they are to be recorded.
pub(super) fn arrival_log(
    plan: &Plan,
    run_dir: &RunDir,
) -> io::Result<Option<ArrivalLog<impl Write + use<>>>> {
    let opened = plan.arrivals.then(|| run_dir.open(arrivals::FILE)).transpose()?;
    Ok(opened.map(|out| ArrivalLog::new(plan, plan.mode == Mode::Live, out)))
}

pub(super) fn conclude(run_dir: &RunDir, plan: &Plan, finished: &Finished) -> io::Result<()> {
    run_dir.write("verdict.json", pretty(&finished.json(plan))?)?;
    run_dir.write("verdict.txt", finished.text(plan))?;
    if let Outcome::Judged(verdict) = &finished.outcome {
        run_dir.write("verdict.md", report::markdown(plan, verdict))?;
        run_dir.write("junit.xml", report::junit(plan, verdict)?)?;
    }
    Ok(())
}

pub(super) fn pretty(value: &impl serde::Serialize) -> io::Result<Vec<u8>> {
    let mut text = serde_json::to_vec_pretty(value)?;
    text.push(b'\n');
    Ok(text)
}
