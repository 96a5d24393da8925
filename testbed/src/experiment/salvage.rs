//! What can be read of a file that has mistakes, so that they do not hide others.
//!
//! Each mistake costs the smallest part of the file for which something neutral can stand in: a field
//! of an arm, phase, fault or expectation, or a field at the top. Those parts are lost: the check of
//! meaning says nothing about them. A field with a misspelt name counts as the one that was probably
//! meant.

use super::check::Lost;
use super::document::{Document, escape};
use super::file::File;
use super::problem::{Problem, closest};
use serde_json::Value;

/// With more mistakes than a report shows, there is no need to look for further ones. Those that only the
/// types see are found one by one.
const ENOUGH: usize = 50;
/// What stands in for fields that must be there.
const REQUIRED: [(&str, &str); 4] =
    [("/version", "1"), ("/name", "unnamed"), ("/arms", "{}"), ("/phases", "[]")];
/// The same in the entries of lists. An empty name is one that nobody knows.
const REQUIRED_IN: [(&str, &str, &str); 5] = [
    ("/phases", "name", "''"),
    ("/phases", "for", "1s"),
    ("/faults", "name", "''"),
    ("/expect", "id", "''"),
    ("/expect", "that", "''"),
];
/// What stands in for a lost block, common or an arm's own: nothing that could be too much for
/// anything, or too fast.
const BLOCKS: [(&str, &str); 3] = [
    ("backend", "{ servers: 1, service: { constant: 1s } }"),
    ("load", "{ open: { constant: { rate: 1/s } } }"),
    ("download", "{ tasks: 1, chunk: { fixed: 1B } }"),
];

/// Reads what can be read of a document in which a check by its `schema` found `problems`; adds those
/// that only the types see. `None` if nothing
/// can be read, or there are mistakes enough.
pub(super) fn read(
    document: &Document,
    schema: &Value,
    problems: &mut Vec<Problem>,
) -> Option<(File, Lost)> {
    let mut salvage = Salvage { rest: document.clone(), schema, lost: Lost::default() };
    for problem in problems.iter().take(ENOUGH) {
        salvage.lose(&problem.path);
    }
    while problems.len() <= ENOUGH {
        salvage.complete();
        match salvage.rest.deserialize() {
            Ok(file) => return Some((file, salvage.lost)),
            Err(problem) => {
                let lost = salvage.lose(&problem.path);
                problems.push(problem);
                if !lost {
                    return None;
                }
            }
        }
    }
    None
}

struct Salvage<'s> {
    /// The document without what is lost.
    rest: Document,
    schema: &'s Value,
    lost: Lost,
}

impl Salvage<'_> {
    /// Takes out the part in which there is a mistake, and says whether there was one to take. An entry
    /// that lacks a field stays, and is completed.
    fn lose(&mut self, pointer: &str) -> bool {
        let part = part(pointer);
        let incomplete = part.is_empty() || (is_entry(part) && self.rest.is_mapping(part));
        if incomplete || !self.rest.has(part) {
            return false;
        }
        let meant = self.meant(part);
        self.rest.take_out(part);
        self.lost.add(meant);
        true
    }

    /// The field that one with an unknown name was probably meant to be, if that is not there.
    fn meant(&self, part: &str) -> String {
        let Some((holder, name)) = part.rsplit_once('/') else { return part.to_owned() };
        let fields = self.fields(holder);
        if fields.contains(&name) {
            return part.to_owned();
        }
        let absent = fields.iter().copied().filter(|f| !self.rest.has(&format!("{holder}/{f}")));
        closest(name, absent).map_or_else(|| part.to_owned(), |meant| format!("{holder}/{meant}"))
    }

    /// The fields that the mapping at the top, or an entry, may have.
    fn fields(&self, holder: &str) -> Vec<&str> {
        let place = match holder.split('/').nth(1) {
            None => "/properties",
            Some("arms") => "/definitions/ArmFile/properties",
            Some("phases") => "/definitions/PhaseFile/properties",
            Some("faults") => "/definitions/FaultFile/properties",
            Some(_) => "/definitions/ExpectFile/properties",
        };
        let fields = self.schema.pointer(place).and_then(Value::as_object);
        fields.into_iter().flatten().map(|(name, _)| name.as_str()).collect()
    }

    /// Puts something neutral where the types need something.
    fn complete(&mut self) {
        REQUIRED.iter().for_each(|(pointer, yaml)| self.stand_in(pointer, yaml));
        for (list, field, yaml) in REQUIRED_IN {
            for index in 0..self.rest.entries(list) {
                self.stand_in(&format!("{list}/{index}/{field}"), yaml);
            }
        }
        let arms = self.rest.names("/arms");
        let arms = arms.iter().map(|name| format!("/arms/{}", escape(name)));
        for holder in arms.chain([String::new()]) {
            for (block, yaml) in BLOCKS {
                let pointer = format!("{holder}/{block}");
                if self.lost.covers(&pointer) {
                    self.stand_in(&pointer, yaml);
                }
            }
        }
    }

    fn stand_in(&mut self, pointer: &str, yaml: &str) {
        if !self.rest.has(pointer) {
            self.rest.fill_in(pointer, yaml);
            self.lost.add(pointer);
        }
    }
}

/// The part of the file that is lost with a mistake at `pointer`.
fn part(pointer: &str) -> &str {
    let segments = match pointer.split('/').nth(1) {
        Some("arms" | "phases" | "faults" | "expect") => 3,
        _ => 1,
    };
    let end = pointer.match_indices('/').nth(segments).map_or(pointer.len(), |(end, _)| end);
    &pointer[..end]
}

/// Whether a part is an entry of one of the lists, or an arm.
fn is_entry(part: &str) -> bool {
    part.matches('/').count() == 2
}
