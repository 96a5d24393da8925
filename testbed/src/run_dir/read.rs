//! The files that every run has, read as a whole.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// More of a file is not read: twice what an experiment may have.
const READ_AT_MOST: u64 = 2 << 20;

/// What every run has is not there.
#[derive(Debug, Error)]
#[error(
    "cannot read {path}: {source}; give a directory that `windtunnel run` made, such as \
     runs/2026-01-31T10-22-07Z-overload-recovery-0a2b",
    path = .path.display()
)]
pub struct NoRun {
    /// The file.
    pub path: PathBuf,
    /// The system's answer.
    pub source: io::Error,
}

/// Opens a file of the run in a directory.
pub(crate) fn open(run: &Path, name: &str) -> Result<File, NoRun> {
    let path = run.join(name);
    File::open(&path).map_err(|source| NoRun { path, source })
}

/// The text of a file of the run in a directory.
pub(crate) fn whole(run: &Path, name: &str) -> Result<String, NoRun> {
    let (file, mut text) = (open(run, name)?, String::new());
    let read = file.take(READ_AT_MOST).read_to_string(&mut text);
    read.map(|_| text).map_err(|source| NoRun { path: run.join(name), source })
}
