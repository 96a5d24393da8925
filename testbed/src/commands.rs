//! What the commands do, and what they have in common.

pub(crate) mod compare;
pub(crate) mod files;
pub(crate) mod parts;
pub(crate) mod replay;
pub(crate) mod runs;

use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use testbed::backend::BackendUrl;
use testbed::drive::interrupt::Interrupt;
use testbed::drive::world::Signal;
use testbed::experiment::document::Document;
use testbed::experiment::plan::Plan;
use testbed::experiment::problem::Report;
use testbed::experiment::{self, Overrides};
use testbed::run_dir;
use testbed::say;
use testbed::traces::{Collector, ENDPOINT_VARIABLE, TraceOptions};

/// Something broke; a retry may help.
pub(crate) const BROKEN: u8 = 1;

/// The command line names something that is not there.
pub(crate) const USAGE: u8 = 2;

/// The experiment file is not valid.
pub(crate) const INVALID: u8 = 3;

/// What was recorded before is not what is recorded now.
pub(crate) const REGRESSION: u8 = 98;

/// More of a file than this is not read: the parser refuses files of 1 MiB.
pub(crate) const READ_AT_MOST: u64 = 2 << 20;

/// A message for people, and the exit code that goes with it.
pub(crate) struct Failure(pub(crate) u8, pub(crate) String);

/// Why there is no plan in a file.
pub(crate) enum Unusable {
    /// It has mistakes.
    Report(Report),
    /// It cannot be read.
    Unread(Failure),
}

pub(crate) fn backend_url(flag: Option<BackendUrl>) -> Result<Option<BackendUrl>, Failure> {
    let of_environment = BackendUrl::of_environment;
    flag.map_or_else(of_environment, |url| Ok(Some(url)))
        .map_err(|message| Failure(USAGE, format!("error: {message}")))
}

pub(crate) fn trace_options(flag: Option<Collector>, share: f64) -> Option<TraceOptions> {
    TraceOptions::choose(flag, share, std::env::var(ENDPOINT_VARIABLE).ok().as_deref())
}

/// The exit code of what runs until a signal comes.
pub(crate) fn interrupted(interrupt: &Interrupt) -> u8 {
    interrupt.signal().unwrap_or(Signal::Interrupt).exit_code()
}

pub(crate) fn load(file: &Path, overrides: &Overrides) -> Result<(String, Plan), Failure> {
    let invalid = |report: Report| Failure(INVALID, report.render(colour(&io::stderr())));
    let file = &experiment_file(file)?;
    let text = read(file).map_err(|unusable| match unusable {
        Unusable::Report(report) => invalid(report),
        Unusable::Unread(failure) => failure,
    })?;
    let overrides = overrides.clone().of(file);
    let plan = experiment::load(&file.display().to_string(), &text, &overrides).map_err(invalid)?;
    Ok((text, plan))
}

/// The experiment file that is meant: that of a run, if it is a run directory.
pub(crate) fn experiment_file(path: &Path) -> Result<PathBuf, Failure> {
    run_dir::experiment_file(path).map_err(|error| Failure(USAGE, format!("error: {error}")))
}

/// The runs that are meant: each of those in a directory, or the one that it is. It is left to who reads them to say
/// what is wrong with a directory that has none.
pub(crate) fn runs(path: &Path) -> Vec<PathBuf> {
    let runs = run_dir::runs(path);
    if runs.is_empty() { vec![path.to_owned()] } else { runs }
}

/// Reads a file as text, or standard input if it is called `-`, if it is not too long to be an experiment.
pub(crate) fn read(file: &Path) -> Result<String, Unusable> {
    let unread = |error: io::Error| Unusable::Unread(unreadable(file, &error));
    let name = file.display().to_string();
    let bytes = if file == Path::new("-") {
        standard_input().map_err(unread)?
    } else {
        let opened = std::fs::File::open(file).map_err(unread)?;
        let length = opened.metadata().map_err(unread)?.len();
        Document::refuse_long(&name, length).map_err(Unusable::Report)?;
        // A pipe has no length beforehand.
        at_most(opened).map_err(unread)?
    };
    Document::text_of(&name, bytes).map_err(Unusable::Report)
}

fn at_most(from: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(READ_AT_MOST).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Standard input, which is there once, for however many runs are of it.
fn standard_input() -> io::Result<Vec<u8>> {
    static READ: OnceLock<Vec<u8>> = OnceLock::new();
    match READ.get() {
        Some(bytes) => Ok(bytes.clone()),
        None => at_most(io::stdin()).map(|bytes| READ.get_or_init(|| bytes).clone()),
    }
}

pub(crate) fn unreadable(file: &Path, error: &io::Error) -> Failure {
    let is_folder = error.kind() == io::ErrorKind::IsADirectory;
    let cure = if is_folder { "; name a file in it" } else { "" };
    Failure(USAGE, format!("error: cannot read {}: {error}{cure}", file.display()))
}

/// Whether to colour what is written there.
pub(crate) fn colour(to: &impl IsTerminal) -> bool {
    to.is_terminal() && std::env::var_os("NO_COLOR").is_none()
}

pub(crate) fn watch_signals() -> Result<Interrupt, Failure> {
    let failure = |error| Failure(BROKEN, format!("error: cannot watch for signals: {error}"));
    Interrupt::watch().map_err(failure)
}

pub(crate) fn print(text: &str) -> Result<(), Failure> {
    say::out(text).map_err(|error| Failure(BROKEN, format!("error: cannot write: {error}")))
}
