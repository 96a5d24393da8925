//! `--set path=value`.

use super::load;
use super::node::{Data, Field, Node, escape};
use crate::experiment::problem::{Problem, did_you_mean};

/// An override that was made.
#[derive(Clone, Debug)]
pub(super) struct Setting {
    /// The field that was set, as a JSON pointer.
    pub(super) pointer: String,
    /// `path=value` as given.
    pub(super) text: String,
}

/// A segment of a path that leads nowhere.
struct Missing {
    /// The field that lacks it, as a JSON pointer.
    pointer: String,
    message: String,
    /// What the field has instead.
    there: String,
}

/// Puts the value at the dotted path.
pub(super) fn apply(root: &mut Node, path: &str, value_text: &str) -> Result<Setting, Problem> {
    let text = format!("{path}={value_text}");
    let value = parse_value(&text, value_text)?;
    let dotted = path.replace('[', ".").replace(']', "");
    let segments: Vec<&str> = dotted.split('.').collect();
    open_block(root, &segments);
    match put(root, &segments, value) {
        Ok(pointer) => Ok(Setting { pointer, text }),
        Err(Missing { pointer, message, there }) => {
            let place = match pointer.strip_prefix('/') {
                Some(path) => format!("`{}`", path.replace('/', ".")),
                None => "the file".to_owned(),
            };
            Err(Problem::at_key(pointer, format!("`--set {text}`: {message}"))
                .with_help(format!("{place} has {there}")))
        }
    }
}

/// A block at the top may be left out of a file, so it need not be there to be set within; whether
/// there is such a block is for the schema to say.
fn open_block(root: &mut Node, segments: &[&str]) {
    if let [block, _, ..] = segments
        && !block.is_empty()
        && child(root, block).is_none()
    {
        let empty = Node { span: root.span.clone(), data: Data::Mapping(Vec::new()) };
        // It fails where the top is no mapping, and then so does what follows.
        let _ = add(root, block, empty);
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

fn child<'n>(node: &'n mut Node, segment: &str) -> Option<&'n mut Node> {
    match &mut node.data {
        Data::Scalar(_) => None,
        Data::List(items) => items.get_mut(segment.parse::<usize>().ok()?),
        Data::Mapping(fields) => {
            fields.iter_mut().find(|field| field.name == segment).map(|field| &mut field.value)
        }
    }
}

/// Puts the value below `node` and returns where, as a JSON pointer.
fn put(node: &mut Node, segments: &[&str], value: Node) -> Result<String, Missing> {
    let Some((segment, deeper)) = segments.split_first() else {
        // The value takes over the place in the text.
        *node = value.moved_to(&node.span.clone());
        return Ok(String::new());
    };
    let step = format!("/{}", escape(segment));
    match child(node, segment) {
        Some(child) => match put(child, deeper, value) {
            Ok(below) => Ok(step + &below),
            Err(missing) => Err(Missing { pointer: step + &missing.pointer, ..missing }),
        },
        None if deeper.is_empty() && !segment.is_empty() => {
            add(node, segment, value).map(|()| step)
        }
        None => Err(missing(node, segment)),
    }
}

fn add(node: &mut Node, name: &str, value: Node) -> Result<(), Missing> {
    let name_span = node.span.clone();
    let Data::Mapping(fields) = &mut node.data else {
        return Err(missing(node, name));
    };
    let value = value.moved_to(&name_span);
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
