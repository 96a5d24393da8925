//! The experiments that a server may run: the files of one folder, and no other file.

mod name;

use crate::experiment::document::Document;
use crate::experiment::plan::Plan;
use crate::experiment::problem::Report;
use crate::experiment::{self, Overrides};
use name::Name;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;
use thiserror::Error;

/// Files that are listed.
const FILES: usize = 1000;
/// Folders within folders that are looked into.
const DEPTH: usize = 8;
/// More of a file than this is not read: the parser refuses files of 1 MiB.
const READ_AT_MOST: u64 = (1 << 20) + 1;
/// Names that an error lists.
const NAMED: usize = 20;

/// A folder of experiments.
#[derive(Clone, Debug)]
pub struct Catalogue {
    folder: PathBuf,
    /// What was said of each file that was listed, and of which version of it: checking a file
    /// takes milliseconds, which a live run beside it would feel.
    listed: Arc<Mutex<BTreeMap<String, (Version, Value)>>>,
}

/// When a file was changed, and its length in bytes.
type Version = (SystemTime, u64);

/// An experiment that was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found {
    /// Its name: the file's path in the folder, without `.yaml`.
    pub name: String,
    /// Its text.
    pub text: String,
    /// Its file; the traces that it names are there or below.
    pub file: PathBuf,
}

/// Why an experiment is not to be had.
#[derive(Debug, Error)]
pub enum Unfound {
    /// What was asked for is no name of an experiment.
    #[error(
        "{0:?} is no name of an experiment; write its path in the folder of experiments without \
         .yaml: letters, digits, dots, dashes and underscores, with slashes between folders"
    )]
    Name(String),
    /// There is no such file in the folder.
    #[error("there is no experiment {name}; there is {there}")]
    Missing {
        /// What was asked for.
        name: String,
        /// What there is, in words.
        there: String,
    },
    /// It leads out of the folder.
    #[error("{0} leads out of the folder of experiments; copy the file into it")]
    Outside(String),
    /// It cannot be read.
    #[error("cannot read the experiment {name}: {reason}")]
    Unread {
        /// Which.
        name: String,
        /// What the system says.
        reason: io::Error,
    },
    /// It is too long to be an experiment, or no text.
    #[error("{0}")]
    Refused(Report),
}

impl Catalogue {
    /// The experiments in `folder`, which need not be there yet.
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), listed: Arc::default() }
    }

    /// Whether the folder can be read.
    ///
    /// # Errors
    /// With what the system says, if not.
    pub fn check(&self) -> io::Result<()> {
        fs::read_dir(&self.folder).map(drop)
    }

    /// The names of all experiments, sorted; the first 1000.
    ///
    /// # Errors
    /// When the folder cannot be read. Folders below it that cannot be read are left out.
    pub fn names(&self) -> io::Result<Vec<String>> {
        let root = self.folder.canonicalize()?;
        self.check()?;
        let mut names = Vec::new();
        walk(&root, &root, DEPTH, &mut names);
        names.sort();
        Ok(names)
    }

    /// What there is to say of each experiment, as JSON: `{name, title, about, mode, seed, arms,
    /// length_ns}`, or `{name, problem}` for a file with mistakes.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn list(&self) -> io::Result<Vec<Value>> {
        let names = self.names()?;
        self.listed().retain(|name, _| names.contains(name));
        Ok(names.iter().map(|name| self.entry(name)).collect())
    }

    /// The experiment of that name. The folder's own name may stand before it and `.yaml` after
    /// it, so that a path to the file is a name, too.
    ///
    /// # Errors
    /// When it is not there, or is none that may be read.
    pub fn find(&self, asked: &str) -> Result<Found, Unfound> {
        let name = Name::parse(asked).ok_or_else(|| Unfound::Name(shortened(asked)))?;
        let own = self.folder.file_name().and_then(|own| own.to_str());
        let below = own.and_then(|own| name.below(own));
        match self.read(&name) {
            Err(Unfound::Missing { .. }) if below.is_some() => {
                below.map_or_else(|| Err(self.missing(name.as_str())), |below| self.read(&below))
            }
            read => read,
        }
    }

    fn read(&self, name: &Name) -> Result<Found, Unfound> {
        let called = || name.as_str().to_owned();
        let unread = |reason: io::Error| match reason.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => self.missing(name.as_str()),
            _ => Unfound::Unread { name: called(), reason },
        };
        let root = self.folder.canonicalize().map_err(unread)?;
        let path = root.join(name.file()).canonicalize().map_err(unread)?;
        if !path.starts_with(&root) {
            return Err(Unfound::Outside(called()));
        }
        // Opening a pipe would wait for somebody to write into it.
        if !path.is_file() {
            return Err(self.missing(name.as_str()));
        }
        let length = path.metadata().map_err(unread)?.len();
        Document::refuse_long(&name.file(), length).map_err(Unfound::Refused)?;
        let mut bytes = Vec::new();
        let opened = File::open(&path).map_err(unread)?;
        opened.take(READ_AT_MOST).read_to_end(&mut bytes).map_err(unread)?;
        let text = Document::text_of(&name.file(), bytes).map_err(Unfound::Refused)?;
        Ok(Found { name: called(), text, file: path })
    }

    fn missing(&self, name: &str) -> Unfound {
        Unfound::Missing { name: name.to_owned(), there: self.there() }
    }

    /// What there is, in words.
    fn there(&self) -> String {
        let names = match self.names() {
            Ok(names) if names.is_empty() => {
                return format!("no .yaml file in {}", self.folder.display());
            }
            Ok(names) => names,
            Err(error) => {
                return format!("no folder {} that can be read: {error}", self.folder.display());
            }
        };
        let more = names.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        names[..names.len().min(NAMED)].join(", ") + &more
    }

    fn entry(&self, name: &str) -> Value {
        let Some(version) = self.version(name) else { return self.describe(name) };
        if let Some((_, entry)) = self.listed().get(name).filter(|(of, _)| *of == version) {
            return entry.clone();
        }
        let entry = self.describe(name);
        self.listed().insert(name.to_owned(), (version, entry.clone()));
        entry
    }

    fn version(&self, name: &str) -> Option<Version> {
        let file = self.folder.join(Name::parse(name)?.file());
        let metadata = file.metadata().ok()?;
        Some((metadata.modified().ok()?, metadata.len()))
    }

    fn describe(&self, name: &str) -> Value {
        let found = match self.find(name) {
            Ok(found) => found,
            Err(unfound) => return json!({ "name": name, "problem": unfound.to_string() }),
        };
        match found.plan(&Overrides::default()) {
            Ok(plan) => described(name, &plan),
            Err(report) => json!({ "name": name, "problem": report.to_string() }),
        }
    }

    /// Nothing that can panic runs under this lock.
    fn listed(&self) -> MutexGuard<'_, BTreeMap<String, (Version, Value)>> {
        self.listed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Found {
    /// The plan of the experiment with `overrides`.
    ///
    /// # Errors
    /// Every mistake in the text or the overrides.
    pub fn plan(&self, overrides: &Overrides) -> Result<Plan, Report> {
        let overrides = overrides.clone().of(&self.file);
        experiment::load(&format!("{}.yaml", self.name), &self.text, &overrides)
    }
}

fn described(name: &str, plan: &Plan) -> Value {
    json!({
        "name": name,
        "title": plan.name,
        "about": first_sentence(&plan.resolved.about),
        "mode": plan.mode,
        "seed": plan.seed,
        "arms": plan.arm_names(),
        "length_ns": plan.length().get(),
    })
}

fn first_sentence(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let end = [". ", "? ", "! "].iter().filter_map(|end| text.find(end)).min();
    match end {
        Some(end) => text[..=end].to_owned(),
        None => text,
    }
}

/// So much of what was asked for that a message stays readable.
fn shortened(asked: &str) -> String {
    asked.chars().take(80).collect()
}

/// Gathers the names below `folder`. Files may be links that stay in `root`; a linked folder is not
/// looked into, since it may lead back up.
fn walk(root: &Path, folder: &Path, depth: usize, names: &mut Vec<String>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        let inside = path.canonicalize().is_ok_and(|real| real.starts_with(root));
        if !inside || names.len() >= FILES {
            continue;
        }
        if path.is_dir() {
            if depth > 0 && !path.is_symlink() {
                walk(root, &path, depth - 1, names);
            }
        } else if path.is_file() {
            names.extend(Name::of(root, &path).map(|name| name.as_str().to_owned()));
        }
    }
}

#[cfg(test)]
mod tests;
