//! `windtunnel verify`: runs a finished virtual run again and holds what it records against what is there,
//! byte by byte.

use crate::drive::engine::simulate;
use crate::drive::interrupt::Interrupt;
use crate::drive::shell::Ending;
use crate::drive::world::{Signal, WorldError};
use crate::experiment::file::Mode;
use crate::experiment::plan::Plan;
use crate::experiment::problem::Report;
use crate::experiment::{self, Overrides};
use crate::run::{has_waits, labels};
use crate::run_dir::{self, NoRun};
use crate::shell;
use crate::watch::arrivals::{self, ArrivalLog};
use crate::watch::journal::Journal;
use crate::watch::recorder::Recorder;
use crate::watch::waits::WaitLog;
use std::cell::RefCell;
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use thiserror::Error;

/// Why a run was not verified.
#[derive(Debug, Error)]
pub enum VerifyError {
    /// There is no such run.
    #[error(transparent)]
    NoRun(#[from] NoRun),
    /// Its experiment is not one for this program.
    #[error("resolved.yaml is no experiment for this version of the program\n{0}")]
    Invalid(Report),
    /// It was live.
    #[error(
        "this run was live, and no two of those are alike; `windtunnel run {path} --mode virtual` runs the same in \
         virtual time",
        path = shell::word(.0)
    )]
    Live(PathBuf),
    /// It broke this time.
    #[error(transparent)]
    World(#[from] WorldError),
    /// It was stopped.
    #[error("interrupted: nothing is known")]
    Interrupted(Signal),
}

/// What a run recorded and what it records now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// The files, each with the first difference, if there is one.
    pub files: Vec<(&'static str, Option<Difference>)>,
}

/// Where two files part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The line, from 1.
    pub line: u64,
    /// What it was; nothing if the file ended before.
    pub recorded: String,
    /// What it is now; nothing if the run ended before.
    pub now: String,
}

impl Verified {
    /// Whether everything is the same.
    pub fn same(&self) -> bool {
        self.files.iter().all(|(_, difference)| difference.is_none())
    }
}

impl fmt::Display for Verified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (file, difference) in &self.files {
            match difference {
                None => writeln!(f, "same       {file}")?,
                Some(Difference { line, recorded, now }) => {
                    writeln!(
                        f,
                        "different  {file}:{line}\n  recorded: {recorded}\n  now:      {now}"
                    )?;
                }
            }
        }
        Ok(())
    }
}

/// Runs again what left the directory `run` behind.
///
/// # Errors
/// If that is no virtual run of this program's, or it breaks or is stopped.
pub fn verify(run: &Path, interrupt: Interrupt) -> Result<Verified, VerifyError> {
    let plan = plan_of(run)?;
    if plan.mode == Mode::Live {
        return Err(VerifyError::Live(run.join("resolved.yaml")));
    }
    let compared = |name| run_dir::open(run, name).map(Comparing::new);
    let (series, events) = (compared("series.csv")?, compared("events.jsonl")?);
    let mut files = vec![("series.csv", series.clone()), ("events.jsonl", events.clone())];
    let mut recorder = Recorder::new(&plan.arms, false, series);
    let mut journal = Journal::new(&labels(&plan).arms, false, events);
    let mut waits = None;
    if has_waits(&plan) {
        let rows = compared("waits.csv")?;
        files.push(("waits.csv", rows.clone()));
        waits = Some(WaitLog::new(&plan.arm_names(), plan.waits, false, rows));
    }
    let mut arrivals = None;
    if plan.arrivals {
        let rows = compared(arrivals::FILE)?;
        files.push((arrivals::FILE, rows.clone()));
        arrivals = Some(ArrivalLog::new(&plan, false, rows));
    }
    let observers = (&mut recorder, &mut journal, &mut waits, &mut arrivals);
    if let Ending::Interrupted(signal) = simulate(&plan, observers, interrupt)? {
        return Err(VerifyError::Interrupted(signal));
    }
    // A file that cannot be read on differs there.
    let logs = (waits.map(WaitLog::finish), arrivals.map(ArrivalLog::finish));
    drop((recorder.finish(), journal.finish(), logs));
    let ended = |(name, file): (&'static str, Comparing)| (name, file.end());
    Ok(Verified { files: files.into_iter().map(ended).collect() })
}

/// The plan of the run in a directory.
fn plan_of(run: &Path) -> Result<Plan, VerifyError> {
    let text = run_dir::whole(run, "resolved.yaml")?;
    let file = run.join("resolved.yaml");
    experiment::load(&file.display().to_string(), &text, &Overrides::at(&file))
        .map_err(VerifyError::Invalid)
}

/// A file that is held against what is written to it. Clones share it.
#[derive(Clone, Debug)]
struct Comparing(Rc<RefCell<Comparison>>);

#[derive(Debug)]
struct Comparison {
    recorded: BufReader<File>,
    /// The line that is compared, from 1, and as much of it as was the same.
    line: u64,
    same: Vec<u8>,
    found: Option<Found>,
}

/// The first difference, while its line is still being written.
#[derive(Debug)]
struct Found {
    recorded: Vec<u8>,
    now: Vec<u8>,
    whole: bool,
}

impl Comparing {
    fn new(file: File) -> Self {
        let recorded = BufReader::new(file);
        let comparison = Comparison { recorded, line: 1, same: Vec::new(), found: None };
        Self(Rc::new(RefCell::new(comparison)))
    }

    /// The first difference, once everything was written.
    fn end(self) -> Option<Difference> {
        let mut comparison = self.0.borrow_mut();
        let left = comparison.recorded.fill_buf().is_ok_and(|left| !left.is_empty());
        if left && comparison.found.is_none() {
            comparison.differs(&[]);
        }
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
        let found = comparison.found.as_ref()?;
        Some(Difference {
            line: comparison.line,
            recorded: text(&found.recorded),
            now: text(&found.now),
        })
    }
}

impl Write for Comparing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().take(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Comparison {
    fn take(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            if let Some(found) = &mut self.found {
                found.more(bytes);
                return Ok(());
            }
            let recorded = self.recorded.fill_buf()?;
            let same =
                recorded.iter().zip(bytes).take_while(|(recorded, byte)| recorded == byte).count();
            let differs = same < bytes.len() && same < recorded.len().max(1);
            self.line += bytes[..same].iter().filter(|byte| **byte == b'\n').count() as u64;
            self.same.extend_from_slice(&bytes[..same]);
            if let Some(end) = self.same.iter().rposition(|byte| *byte == b'\n') {
                self.same.drain(..=end);
            }
            self.recorded.consume(same);
            bytes = &bytes[same..];
            if differs {
                self.differs(bytes);
                return Ok(());
            }
        }
        Ok(())
    }

    fn differs(&mut self, now: &[u8]) {
        let mut recorded = self.same.clone();
        // What cannot be read is not there.
        let _ = self.recorded.read_until(b'\n', &mut recorded);
        let mut found = Found { recorded, now: std::mem::take(&mut self.same), whole: false };
        found.more(now);
        self.found = Some(found);
    }
}

impl Found {
    /// Further bytes of this run: its line ends with the first end of a line.
    fn more(&mut self, bytes: &[u8]) {
        if self.whole {
            return;
        }
        let end = bytes.iter().position(|byte| *byte == b'\n');
        self.now.extend_from_slice(&bytes[..end.unwrap_or(bytes.len())]);
        self.whole = end.is_some();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compare(recorded: &str, now: &[&str]) -> Option<(u64, String, String)> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), recorded).unwrap();
        let mut comparing = Comparing::new(file.reopen().unwrap());
        for piece in now {
            comparing.write_all(piece.as_bytes()).unwrap();
        }
        comparing.end().map(|Difference { line, recorded, now }| (line, recorded, now))
    }

    #[test]
    fn the_first_difference_is_told_with_both_lines_however_they_are_written() {
        let different =
            |line, recorded: &str, now: &str| Some((line, recorded.to_owned(), now.to_owned()));
        for (now, expected) in [
            (&["one\ntwo\nthree\n"][..], None),
            (&["o", "ne\nt", "wo\nthree", "\n"], None),
            (&["one\ntw", "enty\nthree\n"], different(2, "two", "twenty")),
            (&["one\nt", "o", "o\n", "x"], different(2, "two", "too")),
            (&["one\ntwo\n"], different(3, "three", "")),
            (&["one\ntwo\nthree\nfour\n"], different(4, "", "four")),
            (&[], different(1, "one", "")),
        ] {
            assert_eq!(compare("one\ntwo\nthree\n", now), expected, "{now:?}");
        }
    }
}
