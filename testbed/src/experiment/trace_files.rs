//! The traces that an experiment names: finds their files, reads them, and says where they are wrong.
//!
//! A trace lies in the experiment's own folder or below it, so the folder as a whole can be moved, and a client
//! that may set fields of a file on a server cannot have other files read there. In a plan each is called by
//! what it holds, `trace-<16 digits of its SHA-256>.csv`; a run directory gets a copy of that name.

mod rows;

pub(crate) use rows::MOST_ROWS;

use super::file::File;
use super::problem::Problem;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use testbed_core::load::LoadConfig;
use testbed_core::service::ServiceConfig;
use testbed_core::time::{Nanos, Time};
use testbed_core::trace::{Rows, Trace};

/// All traces of an experiment together, in bytes: as many as a million rows with every column have.
const MOST_BYTES: u64 = 64 << 20;

/// The content of every trace of a plan, by its name there.
pub type TraceFiles = BTreeMap<String, Arc<[u8]>>;

/// Reads the traces that `file` names, from `folder`, and has the file call them by what they hold. What cannot be
/// read is among the `problems`, and something neutral stands in for it.
pub(super) fn read(
    file: &mut File,
    folder: Option<&Path>,
    problems: &mut Vec<Problem>,
) -> TraceFiles {
    let (read, rows, files) = Default::default();
    let mut reading = Reading { folder, read, rows, files, bytes: 0 };
    let mut each = |at: String, trace: &mut Trace, column: Column| {
        if let Err(mistake) = reading.fill(trace, column) {
            let at = format!("{at}/{}", mistake.field);
            problems.push(Problem::at_value(at, mistake.message).with_help(mistake.help));
            trace.rows = Arc::new(neutral());
        }
    };
    let common = (String::new(), file.load.as_mut(), file.backend.as_mut());
    let arms = file.arms.iter_mut().map(|(name, arm)| {
        let at = format!("/arms/{}", super::check::escape(name));
        (at, arm.load.as_mut(), arm.backend.as_mut())
    });
    for (at, load, backend) in [common].into_iter().chain(arms) {
        if let Some((below, trace)) = load.and_then(LoadConfig::trace_mut) {
            let column =
                if below.starts_with("open") { Column::Arrivals } else { Column::Services };
            each(format!("{at}/load/{below}"), trace, column);
        }
        let Some(ServiceConfig { service, body, .. }) = backend else { continue };
        if let Some(trace) = service.trace_mut() {
            each(format!("{at}/backend/service/trace"), trace, Column::Services);
        }
        if let Some(trace) = body.trace_mut() {
            each(format!("{at}/backend/body/trace"), trace, Column::Bodies);
        }
    }
    reading.files
}

/// One request at 0 s that takes a second, and an empty answer: too much for nobody.
fn neutral() -> Rows {
    let mut rows = Rows::default();
    rows.arrivals.push(Time::ZERO);
    rows.bodies.push(0);
    rows.with_services(vec![Nanos::from_secs(1)])
}

/// What a trace is named for.
#[derive(Clone, Copy)]
enum Column {
    Arrivals,
    Services,
    Bodies,
}

impl Column {
    /// Its name in the header.
    const fn name(self) -> &'static str {
        match self {
            Self::Arrivals => "arrival_s",
            Self::Services => "service_s",
            Self::Bodies => "body_bytes",
        }
    }

    /// What its numbers are in.
    const fn unit(self) -> &'static str {
        match self {
            Self::Arrivals | Self::Services => " in seconds",
            Self::Bodies => "",
        }
    }

    fn is_empty(self, rows: &Rows) -> bool {
        match self {
            Self::Arrivals => rows.arrivals.is_empty(),
            Self::Services => rows.services().is_empty(),
            Self::Bodies => rows.bodies.is_empty(),
        }
    }
}

/// Why a trace cannot be had.
struct Mistake {
    /// The field of the trace that is wrong.
    field: &'static str,
    message: String,
    help: String,
}

impl Mistake {
    fn of_file(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { field: "file", message: message.into(), help: help.into() }
    }
}

struct Reading<'f> {
    /// Where the experiment is.
    folder: Option<&'f Path>,
    /// The SHA-256 and the content of each file so far, by its name in the experiment.
    read: BTreeMap<String, (String, Arc<[u8]>)>,
    /// The rows of each file so far, of one arm or all. Places that name the same share them.
    rows: BTreeMap<(String, Option<String>), Arc<Rows>>,
    files: TraceFiles,
    bytes: u64,
}

impl Reading<'_> {
    fn fill(&mut self, trace: &mut Trace, column: Column) -> Result<(), Mistake> {
        let called = trace.file.clone();
        let (hash, content) = self.content(&called)?;
        if let Some(other) = trace.sha256.as_ref().filter(|expected| **expected != hash) {
            let message =
                format!("the SHA-256 of {called} is {hash}, not {other}: it is another file now");
            let help = "take the file from before, or leave out `sha256:` if the new one is meant";
            return Err(Mistake { field: "sha256", message, help: help.to_owned() });
        }
        let rows = self.rows(&called, &content, trace.arm.clone())?;
        if column.is_empty(&rows) {
            let (of, name, unit) = (trace.arm.as_ref(), column.name(), column.unit());
            let of = of.map_or_else(String::new, |arm| format!(" of arm `{arm}`"));
            let help = format!("give the file a column `{name}`{unit}, and at least one row{of}");
            return Err(Mistake::of_file(format!("{called} has no `{name}`{of}"), help));
        }
        trace.file = format!("trace-{}.csv", &hash[..16]);
        (trace.sha256, trace.rows) = (Some(hash), rows);
        self.files.insert(trace.file.clone(), content);
        Ok(())
    }

    fn rows(
        &mut self,
        called: &str,
        content: &[u8],
        arm: Option<String>,
    ) -> Result<Arc<Rows>, Mistake> {
        let key = (called.to_owned(), arm);
        if let Some(known) = self.rows.get(&key) {
            return Ok(Arc::clone(known));
        }
        let rows = rows::read(content, key.1.as_deref()).map_err(|wrong| {
            let message = format!("{called}:{}: {}", wrong.line, wrong.message);
            Mistake::of_file(message, wrong.cure)
        })?;
        Ok(Arc::clone(self.rows.entry(key).or_insert_with(|| Arc::new(rows))))
    }

    /// The SHA-256 and the content of the file that an experiment calls so.
    fn content(&mut self, called: &str) -> Result<(String, Arc<[u8]>), Mistake> {
        if let Some(known) = self.read.get(called) {
            return Ok(known.clone());
        }
        let path = self.path(called)?;
        let unread = |error| {
            let help = "give a CSV file by its path from the experiment file's folder";
            Mistake::of_file(format!("cannot read {called}: {error}"), help)
        };
        let (mut content, left) = (Vec::new(), MOST_BYTES - self.bytes);
        let opened = fs::File::open(&path).map_err(unread)?;
        opened.take(left + 1).read_to_end(&mut content).map_err(unread)?;
        if content.len() as u64 > left {
            let message = format!(
                "with {called}, the traces of this file have more than {} MiB",
                MOST_BYTES >> 20
            );
            return Err(Mistake::of_file(message, "take a part of it, such as its first rows"));
        }
        self.bytes += content.len() as u64;
        let hash = hex(&Sha256::digest(&content));
        let known = (hash, Arc::from(content));
        self.read.insert(called.to_owned(), known.clone());
        Ok(known)
    }

    /// Where a file is, if it is in the folder.
    fn path(&self, called: &str) -> Result<PathBuf, Mistake> {
        let help = "put the trace into the experiment file's folder, and give its path from there";
        let Some(folder) = self.folder else {
            return Err(Mistake::of_file(
                "this experiment is in no folder, so it cannot name files",
                help,
            ));
        };
        let below = Path::new(called).components().all(|part| matches!(part, Component::Normal(_)));
        if !below || called.is_empty() {
            let message = format!("`{called}` is not a path within the experiment file's folder");
            return Err(Mistake::of_file(message, help));
        }
        let folder = if folder == Path::new("") { Path::new(".") } else { folder };
        let path = folder.join(called);
        let missing = |error| Mistake::of_file(format!("cannot read {called}: {error}"), help);
        let real = path.canonicalize().map_err(missing)?;
        // A link may lead elsewhere, and opening a pipe would wait for somebody to write into it.
        if !real.starts_with(folder.canonicalize().map_err(missing)?) || !real.is_file() {
            return Err(Mistake::of_file(
                format!("{called} leads out of the folder, or is no file"),
                help,
            ));
        }
        Ok(path)
    }
}

/// The SHA-256 of each of these, by name, in hexadecimal digits.
pub(crate) fn hashes(files: &TraceFiles) -> BTreeMap<&str, String> {
    files.iter().map(|(name, content)| (name.as_str(), hex(&Sha256::digest(content)))).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests;
