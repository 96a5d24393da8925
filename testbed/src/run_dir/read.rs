//! Runs that were made before: where they are, and the files that every one of them has, as a whole.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// More of a file is not read: twice what an experiment may have.
const READ_AT_MOST: u64 = 2 << 20;

/// The file that every run directory has, and no directory of several runs.
const MANIFEST: &str = "manifest.json";
/// The experiment of a run, with everything that its file left out.
const EXPERIMENT: &str = "resolved.yaml";

/// What every run has is not there.
#[derive(Debug, Error)]
#[error(
    "cannot read {path}: {source}; give a directory that `windtunnel run` made, such as {example}",
    path = .path.display(), example = .example.display()
)]
pub struct NoRun {
    /// The file.
    pub path: PathBuf,
    /// The system's answer.
    pub source: io::Error,
    /// A run directory: one of those in the directory that was given, if it has some.
    pub example: PathBuf,
}

impl NoRun {
    fn new(run: &Path, name: &str, source: io::Error) -> Self {
        let usual = || PathBuf::from("runs/2026-01-31T10-22-07Z-overload-recovery-0a2b");
        let example = runs(run).into_iter().find(|inside| inside != run).unwrap_or_else(usual);
        Self { path: run.join(name), source, example }
    }
}

/// The directory itself if it is a run's, otherwise those directly in it that are, by name: what `windtunnel run`
/// leaves of several seeds. A name sorts by when its run began. Empty if there is none.
pub fn runs(path: &Path) -> Vec<PathBuf> {
    let is_run = |path: &Path| path.join(MANIFEST).is_file();
    if is_run(path) {
        return vec![path.to_owned()];
    }
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let mut runs: Vec<_> = entries.map(|entry| entry.path()).filter(|dir| is_run(dir)).collect();
    runs.sort();
    runs
}

/// The experiment file that is meant: that of a run, if it is a run directory.
///
/// # Errors
/// If it is a directory, and no run's.
pub fn experiment_file(path: &Path) -> Result<PathBuf, NoRun> {
    if !path.is_dir() {
        return Ok(path.to_owned());
    }
    open(path, EXPERIMENT).map(|_| path.join(EXPERIMENT))
}

/// Opens a file of the run in a directory.
pub(crate) fn open(run: &Path, name: &str) -> Result<File, NoRun> {
    File::open(run.join(name)).map_err(|source| NoRun::new(run, name, source))
}

/// The text of a file of the run in a directory.
pub(crate) fn whole(run: &Path, name: &str) -> Result<String, NoRun> {
    let (file, mut text) = (open(run, name)?, String::new());
    let read = file.take(READ_AT_MOST).read_to_string(&mut text);
    read.map(|_| text).map_err(|source| NoRun::new(run, name, source))
}
