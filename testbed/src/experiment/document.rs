//! An experiment file as a tree that knows where in the text each field stands.
//!
//! The text goes through [`Document::parse`], which refuses what an experiment file has no use for
//! (anchors, tags, several documents, huge or deep files) before it can cost anything. The tree
//! then serves the schema check as JSON and the typed stage through serde_yaml, and `--set`
//! changes it in between.

mod inherit;
mod load;
mod mend;
mod node;
mod set;
mod typed;

use super::problem::{At, Position, Problem, Report, Source};
use load::Slip;
use node::Node;
pub(super) use node::escape;
use serde::de::DeserializeOwned;
use serde::{Serialize, Serializer};
use set::Setting;
use std::ops::Range;

/// Bytes a file may have.
const MAX_BYTES: u64 = 1 << 20;
/// With more mistakes in its YAML than a report shows, a document is not looked into further.
const SLIPS: usize = 50;

/// A parsed experiment file: a mapping, with positions.
///
/// Serialises to the fields in the order of the file.
#[derive(Clone, Debug)]
pub struct Document {
    source: Source,
    root: Node,
    settings: Vec<Setting>,
    /// What is wrong with it as YAML; see [`Document::read`].
    slips: Vec<Slip>,
}

impl Document {
    /// Parses the text of the file called `name`.
    ///
    /// # Errors
    /// All that is wrong with the text as YAML, placed. Refused are: syntax errors, files over
    /// 1 MiB, files without content or with more than one document, anything but a mapping at the
    /// top, nesting deeper than 32, more than 50,000 nodes, anchors and aliases, tags, merge keys,
    /// keys that are not text, duplicate keys, numbers that are not finite, control characters.
    pub fn parse(name: &str, text: &str) -> Result<Self, Report> {
        let document = Self::read(name, text)?;
        if document.slips.is_empty() { Ok(document) } else { Err(Report::new(&document, [])) }
    }

    /// The same, but goes on where there is something to go on with: duplicate fields, anchors, aliases,
    /// tags and odd names are kept, and are part of every [`Report::new`] about the document.
    ///
    /// # Errors
    /// All that is wrong with a text of which no tree can be made.
    pub fn read(name: &str, text: &str) -> Result<Self, Report> {
        Self::refuse_long(name, text.len() as u64)?;
        let source = Source::new(name, text);
        let read = load::read(text).and_then(|(root, slips)| match load::mapping_at_top(root) {
            Ok(root) => Ok((root, slips)),
            Err(more) => Err([slips, more].concat()),
        });
        match read {
            Ok((root, slips)) if slips.len() <= SLIPS => {
                Ok(Self { source, root, settings: Vec::new(), slips })
            }
            Ok((_, slips)) | Err(slips) => Err(Report::placed(source, slips)),
        }
    }

    /// Whether nothing is wrong with it as YAML.
    pub fn is_sound(&self) -> bool {
        self.slips.is_empty()
    }

    /// What is wrong with it as YAML, with the bytes it is about.
    pub(super) fn slips(&self) -> &[Slip] {
        &self.slips
    }

    /// Refuses a file by its length, before it is read.
    ///
    /// # Errors
    /// If `bytes` are more than an experiment file may have: 1 MiB.
    pub fn refuse_long(name: &str, bytes: u64) -> Result<(), Report> {
        if bytes <= MAX_BYTES {
            return Ok(());
        }
        let message = format!("the file has {bytes} bytes; 1 MiB is the limit");
        let problem = Problem::at_value("", message)
            .with_help("an experiment file is a page or two; is this the right file?");
        Err(Report::placed(Source::new(name, ""), vec![(0..0, problem)]))
    }

    /// The bytes of a file as text.
    ///
    /// # Errors
    /// If they are not UTF-8, at the first byte that is not.
    pub fn text_of(name: &str, bytes: Vec<u8>) -> Result<String, Report> {
        String::from_utf8(bytes).map_err(|error| {
            let (sound, _) = error.as_bytes().split_at(error.utf8_error().valid_up_to());
            let message = "not UTF-8 text, so no experiment file";
            let problem = Problem::at_value("", message)
                .with_help("save it in the encoding UTF-8; is this the right file?");
            // What follows is no text: it cannot be shown.
            let source = Source::new(name, &String::from_utf8_lossy(sound));
            Report::placed(source, vec![(sound.len()..sound.len(), problem)])
        })
    }

    /// The text this was parsed from.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Where the field at the JSON pointer `path` stands.
    ///
    /// For a field that is not there: the name of the nearest field around it. What begins
    /// on a line below its name is pointed at by its name.
    pub fn locate(&self, path: &str, at: At) -> Position {
        self.source.position(self.span(path, at))
    }

    pub(super) fn span(&self, path: &str, at: At) -> Range<usize> {
        let found = self.root.find(path);
        match at {
            At::Value if found.complete && !self.begins_below(&found) => found.node.span.clone(),
            At::Value | At::Key => found.key,
        }
    }

    /// Where the whole value of the field at `path` stands; nowhere if there is none.
    pub(super) fn whole(&self, path: &str) -> Range<usize> {
        let found = self.root.find(path);
        if found.complete { found.node.span.clone() } else { 0..0 }
    }

    fn begins_below(&self, found: &node::Found<'_>) -> bool {
        let between = self.source.text().get(found.key.end..found.node.span.start);
        between.is_some_and(|between| between.contains('\n'))
    }

    /// The file as JSON, for the schema check.
    pub fn to_json(&self) -> serde_json::Value {
        self.root.to_json()
    }

    /// Reads the file into its type, enums written as `kind: {...}`.
    ///
    /// # Errors
    /// The first value the type refuses. Meant for a document that has passed the schema check,
    /// which finds all mistakes at once and words them better.
    pub fn deserialize<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        typed::deserialize(&self.root)
    }

    /// Overrides one value, as `--set path=value` does.
    ///
    /// `path` is dotted: `arms.integer.controller.velox.start`, `phases[1].for` or `phases.1.for`.
    /// The last field may be new to its mapping; all before it must exist, but a block at the top, and a block of
    /// an arm, which is the common one until it is set within. The value is YAML, of
    /// which the same is refused as in a file; an empty text is null.
    ///
    /// # Errors
    /// The segment that is missing with what there is in its place, or what is wrong with the
    /// value.
    pub fn set(&mut self, path: &str, value_text: &str) -> Result<(), Problem> {
        let setting = set::apply(&mut self.root, path, value_text)?;
        self.settings.push(setting);
        Ok(())
    }

    /// The `path=value` by which [`Document::set`] made the field at `pointer`, if it did.
    pub(super) fn setting(&self, pointer: &str) -> Option<&str> {
        let covers = |setting: &&Setting| {
            let rest = pointer.strip_prefix(setting.pointer.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.settings.iter().rev().find(covers).map(|setting| setting.text.as_str())
    }
}

impl Serialize for Document {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.root.serialize(serializer)
    }
}

#[cfg(test)]
mod tests;
