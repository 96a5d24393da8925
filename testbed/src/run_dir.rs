//! The run directory: everything that a run leaves behind, written as it goes.

mod lines;
mod read;

pub(crate) use lines::lines;
pub use read::{NoRun, experiment_file, runs};
pub(crate) use read::{open, whole};

use crate::backend::BackendUrl;
use crate::experiment::plan::Plan;
use crate::experiment::trace_files;
use crate::program;
use faults::EngineInfo;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};
use testbed_clock::unix_seconds;

/// A run's own directory, `<parent>/<utc>-<name>-<id>/`.
#[derive(Clone, Debug)]
pub struct RunDir {
    path: PathBuf,
}

/// How a run was made: `manifest.json`.
#[derive(Clone, Debug, Serialize)]
pub struct Manifest<'a> {
    program: &'static str,
    version: &'static str,
    /// SHA-256 of the program; none if it could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    program_sha256: Option<&'static str>,
    experiment: &'a str,
    mode: &'static str,
    seed: u64,
    engine: &'static str,
    engine_version: String,
    /// Where the backends were made, if not by this process.
    #[serde(skip_serializing_if = "Option::is_none")]
    backend: Option<String>,
    started: String,
    /// The traces of the experiment, by their names in the run directory: the SHA-256 of each.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    traces: BTreeMap<&'a str, String>,
    os: &'static str,
    arch: &'static str,
    cpus: usize,
}

impl RunDir {
    /// Makes a new directory under `parent`, and `parent` if need be.
    ///
    /// # Errors
    /// When the system does not allow it.
    pub fn create(parent: &Path, name: &str) -> io::Result<Self> {
        let started = utc(unix_seconds()).replace(':', "-");
        fs::create_dir_all(parent)?;
        // Two runs may start within one second; the first free id is taken.
        for id in 0..u16::MAX {
            let id = (std::process::id() as u16).wrapping_add(id);
            let path = parent.join(format!("{started}-{name}-{id:04x}"));
            match fs::create_dir(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                created => return created.map(|()| Self { path }),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its own name: `<utc>-<name>-<id>`, no two alike in a parent.
    pub fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Writes a whole file.
    ///
    /// # Errors
    /// When the system does not allow it.
    pub fn write(&self, file: &str, content: impl AsRef<[u8]>) -> io::Result<()> {
        fs::write(self.path.join(file), content)
    }

    /// Opens a file to be written as the run goes.
    ///
    /// # Errors
    /// When the system does not allow it.
    pub fn open(&self, file: &str) -> io::Result<BufWriter<File>> {
        Ok(BufWriter::with_capacity(1 << 16, File::create_new(self.path.join(file))?))
    }
}

impl<'a> Manifest<'a> {
    /// The manifest of a run that starts now, with `engine` between clients and backends, which are made
    /// at `backend` if that is somewhere.
    pub fn new(plan: &'a Plan, engine: &EngineInfo, backend: Option<&BackendUrl>) -> Self {
        Self {
            program: "windtunnel",
            version: env!("CARGO_PKG_VERSION"),
            program_sha256: program::hash().ok(),
            experiment: &plan.name,
            mode: plan.mode.name(),
            seed: plan.seed,
            engine: engine.name,
            engine_version: engine.version.clone(),
            backend: backend.map(ToString::to_string),
            started: utc(unix_seconds()),
            traces: trace_files::hashes(&plan.traces),
            os: std::env::consts::OS,
            arch: std::env::consts::ARCH,
            cpus: std::thread::available_parallelism().map_or(1, Into::into),
        }
    }
}

/// `2026-01-31T10:22:07Z`.
fn utc(unix_seconds: u64) -> String {
    let at = UNIX_EPOCH + Duration::from_secs(unix_seconds);
    humantime::format_rfc3339_seconds(at).to_string()
}
