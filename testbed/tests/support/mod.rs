//! The program at work in a directory of its own, watched from outside.

pub(crate) mod http;
pub(crate) mod process;
pub(crate) mod run_dir;

use process::{Finished, Running};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use tempfile::TempDir;

/// After this long a test counts as hung; nothing is expected to come near it.
pub(crate) const HUNG: Duration = Duration::from_secs(120);

/// A directory that goes with the test. The program runs in it.
pub(crate) struct Scratch {
    dir: TempDir,
}

impl Scratch {
    pub(crate) fn new() -> Self {
        Self { dir: TempDir::new().unwrap() }
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Writes a file into the directory.
    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path().join(name), content).unwrap();
    }

    pub(crate) fn start(&self, args: &[&str]) -> Running {
        Running::start(self.path(), args, Stdio::null())
    }

    /// Runs the program to its end.
    pub(crate) fn run(&self, args: &[&str]) -> Finished {
        self.start(args).ends_within(HUNG)
    }

    /// The run directories made so far.
    pub(crate) fn run_dirs(&self) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(self.path().join("runs")) else {
            return Vec::new();
        };
        entries.map(|entry| entry.unwrap().path()).collect()
    }

    /// The one run directory there is.
    pub(crate) fn run_dir(&self) -> PathBuf {
        let dirs = self.run_dirs();
        assert_eq!(dirs.len(), 1, "{dirs:?}");
        dirs[0].clone()
    }
}
