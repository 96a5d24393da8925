//! `windtunnel publish`: a finished run, read back from its directory, as OpenMetrics with timestamps.
//! A store that takes it in shows the run on the dashboards on which it would have been seen live.

mod events;
mod placing;
mod points;
mod series;
mod source;
mod waits;
mod write;

pub use placing::{Moment, Placing};

use crate::experiment::problem::Report;
use crate::run_dir::NoRun;
use crate::say;
use crate::watch::names;
use points::{Points, Series};
use source::Source;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use testbed_core::time::Time;
use thiserror::Error;
use write::{Written, write};

/// What to publish, and where.
#[derive(Clone, Debug)]
pub struct PublishCommand {
    /// A run directory.
    pub run: PathBuf,
    /// The file to write; standard output if none.
    pub out: Option<PathBuf>,
    /// Where in time the run is put.
    pub placing: Placing,
}

/// Why a run was not published.
#[derive(Debug, Error)]
pub enum PublishError {
    /// There is no such run.
    #[error(transparent)]
    NoRun(#[from] NoRun),
    /// A file of the run is not what a run writes.
    #[error(
        "{path}: {why}; the file was changed or cut off, run the experiment again",
        path = .path.display()
    )]
    Unusable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// Its experiment is not one for this program.
    #[error(
        "resolved.yaml is no experiment for this version; the run is of windtunnel {version}, publish it \
         with that"
    )]
    Invalid {
        /// The version that ran it.
        version: String,
        /// All mistakes.
        report: Box<Report>,
    },
    /// A file of the run cannot be read on.
    #[error("cannot read {path}: {source}", path = .path.display())]
    Unread {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// It is more than can be held in memory.
    #[error(
        "a file of the run gives more than {} million values, which is more than are held in memory; run it again \
         for a shorter time, with fewer arms or with a longer run.sample_every",
        points::MAX_HELD >> 20
    )]
    TooLong,
    /// The manifest does not say when the run was.
    #[error("manifest.json does not say when the run began; say it with --start or --end")]
    NoStart,
    /// It cannot be written.
    #[error("cannot write {to}: {source}")]
    Unwritten {
        /// Where to.
        to: String,
        /// The system's answer.
        source: io::Error,
    },
}

/// What was published.
#[derive(Clone, Debug)]
pub struct Published {
    /// When the run began, as placed.
    pub begin: Moment,
    /// How far it came.
    pub last: Time,
    /// Updates of windows that the run recorded.
    pub updates: u64,
    written: Written,
    /// Updates that are said to have been a little later, since stores keep one for a millisecond.
    moved: u64,
    /// Lines that could not be read, and values out of order.
    left_out: [u64; 2],
}

/// Everything that a run left behind, as values.
struct Collected {
    series: Vec<Series>,
    last: Time,
    /// All, and those that were moved.
    updates: [u64; 2],
    unread: u64,
    late: u64,
}

/// Publishes a run.
///
/// # Errors
/// When there is no run, or it cannot be written.
pub fn publish(command: &PublishCommand) -> Result<Published, PublishError> {
    let source = Source::open(&command.run)?;
    let begin_if_recorded = Moment::parse(&source.made.started).ok();
    let collected = collect(&source)?;
    let begin = match command.placing {
        Placing::Recorded => begin_if_recorded.ok_or(PublishError::NoStart)?,
        Placing::Start(start) => start,
        Placing::End(end) => end.before(collected.last),
    };
    let Collected { series, last, updates: [updates, moved], unread, late } = collected;
    let written = write_to(command.out.as_deref(), series, begin)?;
    Ok(Published { begin, last, updates, moved, written, left_out: [unread, late] })
}

fn collect(source: &Source) -> Result<Collected, PublishError> {
    let series = series::read(source)?;
    let events = events::read(source, &series.ticks)?;
    let waits = waits::read(source, &series, &events)?;
    let last = series.ticks.last().copied().unwrap_or_default().max(events.last);
    let unread = series.unread + events.unread + waits.unread;
    let all = [infos(source, &series.ticks)?, series.points, events.points, waits.points];
    let late = all.iter().map(|points| points.late).sum();
    let series = all.into_iter().flat_map(Points::into_series).collect();
    let updates = [events.updates, events.moved];
    Ok(Collected { series, last, updates, unread, late })
}

/// What ran, and what ran it.
fn infos(source: &Source, ticks: &[Time]) -> Result<Points, PublishError> {
    let mut points = Points::default();
    let (made, plan) = (&source.made, &source.plan);
    let seed = plan.seed.to_string();
    let build = points.sampled(&names::BUILD_INFO, &[&made.version]);
    let run = points.sampled(&names::RUN_INFO, &[&plan.name, plan.mode.name(), &seed]);
    [build, run].into_iter().for_each(|id| points.add(id, 1.0));
    ticks.iter().try_for_each(|tick| points.sample(*tick))?;
    Ok(points)
}

fn write_to(
    out: Option<&Path>,
    series: Vec<Series>,
    begin: Moment,
) -> Result<Written, PublishError> {
    let to = out.map_or_else(|| "to standard output".to_owned(), |out| out.display().to_string());
    let unwritten = |source| PublishError::Unwritten { to, source };
    match out {
        Some(path) => File::create(path).and_then(|file| write_all(file, series, begin)),
        // Nothing was written then as well, to a reader who had enough.
        None => match write_all(io::stdout().lock(), series, begin) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Written::default()),
            written => written,
        },
    }
    .map_err(unwritten)
}

fn write_all(out: impl Write, series: Vec<Series>, begin: Moment) -> io::Result<Written> {
    let mut out = BufWriter::with_capacity(1 << 16, out);
    let written = write(&mut out, series, begin)?;
    out.flush()?;
    Ok(written)
}

impl Published {
    /// Says what was published, and what could not be, on standard error.
    pub fn say(&self) {
        let Self { begin, last, updates, moved, written, left_out: [unread, late] } = self;
        say::err(&format!(
            "{} values of {} series, from {} on for {:.1} s; {updates} updates of windows",
            written.samples,
            written.series,
            begin.text(),
            last.as_secs_f64(),
        ));
        for (count, what) in [
            (*moved, "updates are moved to the next millisecond that is free, by 100 ms at most"),
            (
                written.merged,
                "values have a later one in the same millisecond, and only that is kept",
            ),
            (*unread, "lines could not be read and are left out; a run that was killed leaves one"),
            (*late, "values are older than the one before, and are left out"),
        ] {
            if count > 0 {
                say::err(&format!("{count} {what}"));
            }
        }
    }
}

#[cfg(test)]
mod tests;
