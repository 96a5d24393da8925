//! `--set path=value`, and how a value is put at the end of a path.

use super::node::{Data, Field, Node, escape};
use super::{inherit, load};
use crate::experiment::problem::{Problem, did_you_mean};
use std::ops::Range;

/// An override that was made.
#[derive(Clone, Debug)]
pub(super) struct Setting {
    /// The field that was set, as a JSON pointer.
    pub(super) pointer: String,
    /// `path=value` as given.
    pub(super) text: String,
}

/// A segment of a path that leads nowhere.
pub(super) struct Missing {
    /// The field that lacks it, as a JSON pointer.
    pointer: String,
    pub(super) message: String,
    /// What the field has instead.
    there: String,
}

impl Missing {
    /// What there is in its place, where `top` is what the path begins in.
    pub(super) fn help(&self, top: &str) -> String {
        let place = match self.pointer.strip_prefix('/') {
            Some(path) => format!("`{}`", path.replace('/', ".")),
            None => top.to_owned(),
        };
        format!("{place} has {}", self.there)
    }
}

/// What is put at the end of a path.
pub(super) enum Given {
    /// By an argument: it takes over the place in the text.
    Argument(Node),
    /// By the text itself, where it has a place, and so has its name.
    Text(Range<usize>, Node),
}

impl Given {
    /// The span of its name and the value, where `place` is what it takes over.
    fn settle(self, place: &Range<usize>) -> (Range<usize>, Node) {
        match self {
            Self::Argument(value) => (place.clone(), value.moved_to(place)),
            Self::Text(name_span, value) => (name_span, value),
        }
    }
}

/// A value on the way of a path, with the place of its name if it has one.
struct Slot<'n> {
    name_span: Option<&'n mut Range<usize>>,
    value: &'n mut Node,
}

impl Slot<'_> {
    fn fill(self, given: Given) {
        let by_text = matches!(given, Given::Text(..));
        let (name_span, value) = given.settle(&self.value.span);
        *self.value = value;
        if let Some(old) = self.name_span.filter(|_| by_text) {
            *old = name_span;
        }
    }
}

/// The segments of a dotted path: `phases[1].for` has `phases`, `1`, `for`.
pub(super) fn segments(path: &str) -> Vec<String> {
    path.replace('[', ".").replace(']', "").split('.').map(str::to_owned).collect()
}

/// Puts the value at the dotted path.
pub(super) fn apply(root: &mut Node, path: &str, value_text: &str) -> Result<Setting, Problem> {
    let text = format!("{path}={value_text}");
    let value = parse_value(&text, value_text)?;
    let segments = segments(path);
    open_block(root, &segments);
    match put(root, &segments, Given::Argument(value)) {
        Ok(pointer) => Ok(Setting { pointer, text }),
        Err(missing) => {
            let help = missing.help("the file");
            let message = format!("`--set {text}`: {}", missing.message);
            Err(Problem::at_key(missing.pointer, message).with_help(help))
        }
    }
}

/// A block at the top may be left out of a file, and an arm's is the common one, so neither need be there to be
/// set within; whether there is such a block is for the schema to say.
fn open_block(root: &mut Node, segments: &[String]) {
    match segments {
        [arms, arm, block, _, ..] if arms == "arms" => inherit::open(root, arm, block),
        [block, _, ..] if !block.is_empty() && child(root, block).is_none() => {
            let empty = Node { span: root.span.clone(), data: Data::Mapping(Vec::new()) };
            // It fails where the top is no mapping, and then so does what follows.
            let _ = add(root, block, Given::Argument(empty));
        }
        _ => {}
    }
}

fn parse_value(setting: &str, value_text: &str) -> Result<Node, Problem> {
    match load::load(value_text) {
        Ok(Some(node)) => Ok(node),
        Ok(None) => Ok(Node { span: 0..0, data: Data::Scalar(serde_json::Value::Null) }),
        Err(slips) => {
            let reasons: Vec<&str> = slips.iter().map(|(_, p)| p.message.as_str()).collect();
            let message = format!("`--set {setting}`: {}", reasons.join("; "));
            Err(Problem::at_value("", message).with_help("write the value as in the file"))
        }
    }
}

fn child<'n>(node: &'n mut Node, segment: &str) -> Option<Slot<'n>> {
    match &mut node.data {
        Data::Scalar(_) => None,
        Data::List(items) => {
            let value = items.get_mut(segment.parse::<usize>().ok()?)?;
            Some(Slot { name_span: None, value })
        }
        Data::Mapping(fields) => {
            let field = fields.iter_mut().find(|field| field.name == segment)?;
            Some(Slot { name_span: Some(&mut field.name_span), value: &mut field.value })
        }
    }
}

/// Puts what is given below `node` and returns where, as a JSON pointer. The last segment may be new to its mapping.
pub(super) fn put(node: &mut Node, segments: &[String], given: Given) -> Result<String, Missing> {
    let Some((segment, deeper)) = segments.split_first() else { return Ok(String::new()) };
    let step = format!("/{}", escape(segment));
    match child(node, segment) {
        Some(slot) if deeper.is_empty() => {
            slot.fill(given);
            Ok(step)
        }
        Some(Slot { value, .. }) => match put(value, deeper, given) {
            Ok(below) => Ok(step + &below),
            Err(missing) => Err(Missing { pointer: step + &missing.pointer, ..missing }),
        },
        None if deeper.is_empty() && !segment.is_empty() => {
            add(node, segment, given).map(|()| step)
        }
        None => Err(missing(node, segment)),
    }
}

fn add(node: &mut Node, name: &str, given: Given) -> Result<(), Missing> {
    let place = node.span.clone();
    let Data::Mapping(fields) = &mut node.data else {
        return Err(missing(node, name));
    };
    let (name_span, value) = given.settle(&place);
    fields.push(Field { name: name.to_owned(), name_span, value });
    Ok(())
}

fn missing(node: &Node, segment: &str) -> Missing {
    let mut message = format!("there is no `{segment}`");
    let there = match &node.data {
        Data::Mapping(fields) if fields.is_empty() => "no fields".to_owned(),
        Data::Mapping(fields) => {
            let names: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
            message += &did_you_mean(segment, names.iter().copied());
            format!("the fields {}", names.join(", "))
        }
        Data::List(items) if items.is_empty() => "no items".to_owned(),
        Data::List(items) => format!("the items 0 to {}", items.len() - 1),
        Data::Scalar(value) => format!("the value {value}"),
    };
    Missing { pointer: String::new(), message, there }
}
