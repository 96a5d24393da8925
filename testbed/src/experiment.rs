//! Experiment files: from YAML to a plan that can be run, or to a report of every mistake.
//!
//! ```text
//! text -> Document (positions; an arm's `set` carried out) -> schema check -> File (typed) -> semantic check -> Plan
//! ```
//!
//! Each stage goes on with what the ones before could read, so that one report has all mistakes.

pub mod check;
pub mod document;
pub mod explain;
pub mod file;
pub mod plan;
pub mod predict;
pub mod problem;
mod salvage;
pub mod schema_check;
pub mod sweep;
pub mod trace_files;

use document::Document;
use file::{File, Mode, VERSION};
use plan::Plan;
use problem::{Problem, Report};
use schema_check::Checker;
use schemars::generate::SchemaSettings;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// Never changes, so it is made once: a sweep reads its file once and more for every point.
static CHECKER: LazyLock<Checker> = LazyLock::new(|| Checker::new(schema()));

/// What the command line changes of a file, and where that is.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// The file's folder, in which the traces are that it names; if none, it may name none.
    pub folder: Option<PathBuf>,
    /// `--mode`.
    pub mode: Option<Mode>,
    /// `--seed`.
    pub seed: Option<u64>,
    /// `--set path=value`, in order.
    pub set: Vec<(String, String)>,
    /// `--axis`: axes beside those of the file's sweep, by name, as YAML.
    pub axes: Vec<(String, String)>,
}

impl Overrides {
    /// Of a file at this path, of which nothing is changed.
    pub fn at(file: &Path) -> Self {
        Self::default().of(file)
    }

    /// The same of a file at this path.
    #[must_use]
    pub fn of(self, file: &Path) -> Self {
        Self { folder: file.parent().map(Path::to_owned), ..self }
    }

    /// These, and `settings` after them.
    #[must_use]
    pub fn with(&self, settings: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut with = self.clone();
        with.set.extend(settings);
        with
    }

    /// What is common to all arms is changed before they take it over, so that they have it; what is changed in
    /// one stays as it is told.
    fn change(&self, document: &mut Document) -> Result<(), Problem> {
        let of_an_arm = |(path, _): &&(String, String)| path.starts_with("arms.");
        for (path, value) in self.set.iter().filter(|setting| !of_an_arm(setting)) {
            document.set(path, value)?;
        }
        document.inherit();
        for (path, value) in self.set.iter().filter(of_an_arm) {
            document.set(path, value)?;
        }
        document.inherit();
        if !self.axes.is_empty() && document.to_json().pointer("/sweep/axes").is_none() {
            document.set("sweep.axes", "{}")?;
        }
        for (name, axis) in &self.axes {
            document.set(&format!("sweep.axes.{name}"), axis)?;
        }
        Ok(())
    }
}

/// Reads and checks the text of the file called `name`.
///
/// # Errors
/// Every mistake that was found, with its place and its cure.
pub fn load(name: &str, text: &str, overrides: &Overrides) -> Result<Plan, Report> {
    let (document, plan) = read(name, text, overrides)?;
    let point = |overrides: &Overrides| load_point(name, text, overrides);
    let problems = sweep::check(&plan, overrides, point);
    if problems.is_empty() { Ok(plan) } else { Err(Report::new(&document, problems)) }
}

/// Reads and checks one point of a sweep: like [`load`], and the plan has no sweep.
///
/// # Errors
/// Every mistake that was found, with its place and its cure.
pub fn load_point(name: &str, text: &str, overrides: &Overrides) -> Result<Plan, Report> {
    let (_, mut plan) = read(name, text, overrides)?;
    plan.resolved.sweep = None;
    Ok(plan)
}

fn read(name: &str, text: &str, overrides: &Overrides) -> Result<(Document, Plan), Report> {
    let mut document = Document::read(name, text)?;
    let fail = |document: &Document, problems: Vec<Problem>| Report::new(document, problems);
    let changed = overrides.change(&mut document);
    changed.map_err(|problem| fail(&document, vec![problem]))?;
    if let Some(problem) = other_version(&document) {
        return Err(fail(&document, vec![problem]));
    }
    let mut problems = CHECKER.check(&document);
    let Some((mut file, lost)) = salvage::read(&document, CHECKER.schema(), &mut problems) else {
        return Err(fail(&document, problems));
    };
    file.run.mode = overrides.mode.unwrap_or(file.run.mode);
    file.run.seed = overrides.seed.unwrap_or(file.run.seed);
    let traces = trace_files::read(&mut file, overrides.folder.as_deref(), &mut problems);
    match check::plan(file, lost) {
        Ok(plan) if problems.is_empty() && document.is_sound() => {
            return Ok((document, Plan { traces, ..plan }));
        }
        Ok(_) => {}
        Err(more) => problems.extend(more),
    }
    Err(fail(&document, problems))
}

/// The JSON Schema of experiment files: draft-07, which editors have understood for longest.
/// `testbed/schema/experiment.v1.json` is a copy for them.
pub fn schema() -> serde_json::Value {
    SchemaSettings::draft07().into_generator().into_root_schema_for::<File>().to_value()
}

/// A file of another version gets one message about that, not a hundred about its fields.
fn other_version(document: &Document) -> Option<Problem> {
    let json = document.to_json();
    let version = json.get("version")?;
    if version.as_u64() == Some(u64::from(VERSION)) {
        return None;
    }
    let message =
        format!("this file is of version {version}; this program reads version {VERSION}");
    let help = format!("write `version: {VERSION}`, or use the program that belongs to the file");
    Some(Problem::at_value("/version", message).with_help(help))
}

#[cfg(test)]
mod bad_files;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_that_would_spin_are_refused() {
        let file = |service: &str, think: &str, reject: &str| {
            format!(
                "version: 1\nname: t\narms: {{ a: {{ controller: {{ fixed: {{ limit: 1 }} }} }} }}\n\
                 backend: {{ servers: 1, service: {service} }}\n\
                 load: {{ closed: {{ clients: 1 {think} }} }}\nphases: [ {{ name: p, for: 1s }} ]\n\
                 faults: [ {{ name: f, backend: {{ reject: {{ status: 429, {reject} }} }} }} ]\n"
            )
        };
        let (some, none) = ("{ constant: 1ms }", "{ constant: 0s }");
        let think = ", think: { constant: 1ms }";
        for (service, think, reject, accepted) in [
            (some, "", "after: 1ms", true),
            (some, "", "after: 0s", false),
            (some, think, "after: 0s", true),
            (none, "", "after: 1ms", false),
            (none, think, "after: 1ms", true),
        ] {
            let loaded = load("t", &file(service, think, reject), &Overrides::default());
            assert_eq!(loaded.is_ok(), accepted, "{service} {think} {reject}");
        }
    }

    #[test]
    fn clients_that_would_be_refused_for_ever_are_refused() {
        let refuses = "rate_limit: { on_excess: refuse }";
        let file = |law: &str, think: &str| {
            format!(
                "version: 1\nname: t\narms: {{ a: {{ controller: {{ {law} }} }} }}\n\
                 backend: {{ servers: 1, service: {{ constant: 1ms }} }}\n\
                 load: {{ closed: {{ clients: 1 {think} }} }}\nphases: [ {{ name: p, for: 1s }} ]\n"
            )
        };
        let limiter = "limiter: { fifo: { levels: { global: { rate: 5B/s } } } }";
        let law = refuses.replace("{ on", &format!("{{ {limiter}, on"));
        for (law, think, accepted) in [
            (law.clone(), "", false),
            (format!("windowed: {{ law: {{ {law} }} }}"), "", false),
            (law.replace("refuse", "wait"), "", true),
            (law, ", think: { constant: 1ms }", true),
        ] {
            let loaded = load("t", &file(&law, think), &Overrides::default());
            assert_eq!(loaded.is_ok(), accepted, "{law} {think}");
        }
    }

    #[test]
    fn what_is_for_virtual_time_only_does_not_run_live() {
        let file = |run: &str| {
            format!(
                "version: 1\nname: t\nrun: {{ {run} }}\n\
                 arms: {{ a: {{ controller: {{ fixed: {{ limit: 1 }} }} }} }}\n\
                 backend: {{ servers: 1, service: {{ constant: 1ms }} }}\n\
                 load: {{ closed: {{ clients: 1 }} }}\nphases: [ {{ name: p, for: 1s }} ]\n"
            )
        };
        for (run, mode, accepted) in [
            ("mode: live", None, true),
            ("virtual_only: it takes a day", None, true),
            ("virtual_only: it takes a day", Some(Mode::Live), false),
            ("mode: live, virtual_only: it takes a day", None, false),
            ("mode: live, virtual_only: it takes a day", Some(Mode::Virtual), true),
        ] {
            let overrides = Overrides { mode, ..Overrides::default() };
            let loaded = load("t", &file(run), &overrides);
            assert_eq!(loaded.is_ok(), accepted, "{run} as {mode:?}");
        }
    }

    #[test]
    fn the_schema_for_editors_is_the_one_that_is_checked() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/schema/experiment.v1.json");
        let committed = std::fs::read_to_string(path).unwrap();
        let committed: serde_json::Value = serde_json::from_str(&committed).unwrap();
        let cure = "run: cargo run --release -- schema > testbed/schema/experiment.v1.json";
        assert!(committed == schema(), "{cure}");
    }
}
