//! `set` in an arm: single fields in which it is not as the blocks at the top of the file say.
//!
//! The arm is given a copy of each block that is concerned, and the fields are put into it, so everything after this
//! sees an arm with blocks of its own. Copies keep their places in the text.

use super::Document;
use super::load::Slip;
use super::node::{Data, Field, Node};
use super::set::{Given, put, segments};
use crate::experiment::problem::{Problem, did_you_mean};
use std::ops::Range;

/// What an arm takes from the top of the file, unless it has its own.
const COMMON: [&str; 5] = ["backend", "load", "download", "admission", "client"];
/// What only an arm has, and `set` may reach into.
const OWN: [&str; 2] = ["controller", "limiter"];

impl Document {
    /// Carries out each arm's `set`; what cannot be set is wrong with the document from then on.
    pub(in crate::experiment) fn inherit(&mut self) {
        let common = common(&self.root);
        let Some(arms) = self.root.field_mut("arms") else { return };
        let Data::Mapping(arms) = &mut arms.value.data else { return };
        for arm in arms {
            for field in take_settings(&mut arm.value) {
                self.slips.extend(set(&mut arm.value, &common, field).err());
            }
        }
    }
}

/// The blocks at the top that arms can take.
fn common(root: &Node) -> Vec<Field> {
    let Data::Mapping(fields) = &root.data else { return Vec::new() };
    fields.iter().filter(|field| COMMON.contains(&field.name.as_str())).cloned().collect()
}

/// Takes `set` out of an arm. What is no mapping stays, for the schema to refuse.
fn take_settings(arm: &mut Node) -> Vec<Field> {
    let Data::Mapping(fields) = &mut arm.data else { return Vec::new() };
    let settings = |field: &Field| field.name == "set" && is_mapping(&field.value);
    let Some(place) = fields.iter().position(settings) else { return Vec::new() };
    match fields.remove(place).value.data {
        Data::Mapping(settings) => settings,
        Data::Scalar(_) | Data::List(_) => Vec::new(),
    }
}

fn set(arm: &mut Node, common: &[Field], setting: Field) -> Result<(), Slip> {
    let Field { name: path, name_span, value } = setting;
    let segments = segments(&path);
    let known = || COMMON.into_iter().chain(OWN);
    let block = segments.first().map_or("", String::as_str);
    if !known().any(|name| name == block) {
        let message = format!("`{block}` is no block of an arm{}", did_you_mean(block, known()));
        let help =
            format!("a path in `set` begins with {}", known().collect::<Vec<_>>().join(", "));
        return Err((name_span, Problem::at_key("", message).with_help(help)));
    }
    // A common block that is no mapping is refused as such, and once.
    let is_spoilt = |field: &Field| field.name == block && !is_mapping(&field.value);
    if common.iter().any(is_spoilt) {
        return Ok(());
    }
    take_over(arm, common, block, &name_span);
    let put = put(arm, &segments, Given::Text(name_span.clone(), value));
    put.map(|_| ()).map_err(|missing| {
        let message = format!("`{path}`: {}", missing.message);
        (name_span, Problem::at_key("", message).with_help(missing.help("the arm")))
    })
}

const fn is_mapping(node: &Node) -> bool {
    matches!(node.data, Data::Mapping(_))
}

/// Gives the arm its own copy of a common block, or an empty one that is named at `span`, if it has none yet.
fn take_over(arm: &mut Node, common: &[Field], block: &str, span: &Range<usize>) {
    let Data::Mapping(fields) = &mut arm.data else { return };
    if fields.iter().any(|field| field.name == block) {
        return;
    }
    let empty = || {
        let value = Node { span: span.clone(), data: Data::Mapping(Vec::new()) };
        Field { name: block.to_owned(), name_span: span.clone(), value }
    };
    fields.push(common.iter().find(|field| field.name == block).cloned().unwrap_or_else(empty));
}

/// For a setting within a block of an arm that has the common one: gives it a copy.
pub(super) fn open(root: &mut Node, arm: &str, block: &str) {
    if !COMMON.contains(&block) {
        return;
    }
    let common = common(root);
    if let Some(arm) = root.field_mut("arms").and_then(|arms| arms.value.field_mut(arm)) {
        let span = arm.value.span.clone();
        take_over(&mut arm.value, &common, block, &span);
    }
}
