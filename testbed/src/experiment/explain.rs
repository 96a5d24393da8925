//! `windtunnel explain`: what a field of the file is. All of it comes from the JSON Schema, and so from
//! the types and their doc comments.

mod example;
mod schema_place;

use super::problem::{did_you_mean, short};
use example::{example, flow, nested};
use schema_place::{Around, Place};
use serde_json::Value;
use textwrap::{Options, fill};

/// Columns of a line.
const WIDTH: usize = 100;
/// Full paths that are suggested for the end of one.
const SUGGESTED: usize = 6;

/// What a path that leads nowhere should have been.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{message}\n  help: {help}")]
pub struct Unknown {
    message: String,
    help: String,
}

/// What the field at the dotted `path` is: meaning, type, unit, range, default, an example, and what is
/// inside. Entries of lists and names of arms may be left out: `faults.backend.hold`,
/// `arms.controller.velox.window`. The empty path is the whole file.
///
/// # Errors
/// If there is no such field, with suggestions.
pub fn explain(schema: &Value, path: &str) -> Result<String, Unknown> {
    let dotted = path.replace('[', ".").replace(']', "");
    let segments: Vec<&str> = dotted.split('.').filter(|segment| !segment.is_empty()).collect();
    let (mut place, mut around) = (Place::root(schema), Vec::new());
    for (depth, segment) in segments.iter().enumerate() {
        let (inner, more) = place
            .step(segment)
            .ok_or_else(|| unknown(schema, &place, &segments[..depth], &segments[depth..]))?;
        place = inner;
        around.extend(more);
    }
    Ok(text(&place, &segments.join("."), &around))
}

fn unknown(schema: &Value, at: &Place<'_>, above: &[&str], rest: &[&str]) -> Unknown {
    let (segment, wanted) = (rest[0], [above, rest].concat().join("."));
    let ending = format!(".{wanted}");
    let mut ends: Vec<_> =
        paths(schema).into_iter().filter(|path| path.ends_with(&ending)).collect();
    ends.truncate(SUGGESTED);
    let inside = at.names();
    let place = if above.is_empty() { "the file".to_owned() } else { above.join(".") };
    let guess = did_you_mean(segment, inside.iter().copied());
    let message = format!("there is no `{}` in {place}{guess}", short(segment));
    let help = match (ends.is_empty(), inside.is_empty()) {
        (false, _) => format!("fields that end so: {}", ends.join(", ")),
        (true, true) => format!("nothing is inside of {place}"),
        (true, false) => format!("{place} has: {}", inside.join(", ")),
    };
    Unknown { message, help }
}

/// The path of every field, with lists and names of arms left out. A law within a law has the fields of any
/// other, so what is in a type that is in itself is left out, too.
pub fn paths(schema: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![(String::new(), Place::root(schema), Vec::new())];
    while let Some((path, place, above)) = open.pop() {
        for name in place.names() {
            let Some((inside, _)) = place.step(name) else { continue };
            let inner = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
            let own = inside.definition();
            if own.is_none_or(|own| !above.contains(&own)) {
                let above = above.iter().copied().chain(own).collect();
                open.push((inner.clone(), inside, above));
            }
            found.push(inner);
        }
    }
    found.sort_unstable();
    found
}

fn text(place: &Place<'_>, path: &str, around: &[Around]) -> String {
    let mut out = if path.is_empty() { String::new() } else { format!("{path}\n\n") };
    for paragraph in place.about() {
        out += &format!("{}\n\n", indented(&paragraph, "  ", "  "));
    }
    let mut row = |head: &str, text: &str| {
        if !text.is_empty() {
            let head = format!("  {head:9} ");
            out += &format!("{}\n", indented(text, &head, &" ".repeat(head.len())));
        }
    };
    row("type", &place.kind());
    row("unit", &place.unit());
    row("range", &place.range());
    row("default", &place.default_text());
    if !around.is_empty() {
        let whole = flow(&nested(around, example(place)));
        // On the line it is a field of the file, without the braces of the file.
        let inner = whole.strip_prefix("{ ").and_then(|text| text.strip_suffix(" }"));
        row("example", inner.unwrap_or(&whole));
    }
    out + &inside(place)
}

/// A row for each name inside.
fn inside(place: &Place<'_>) -> String {
    let names = place.names();
    let width = names.iter().map(|name| name.len()).max().unwrap_or(0);
    let mut out = if names.is_empty() { String::new() } else { "\n".to_owned() };
    for name in names {
        let about = place.step(name).and_then(|(inner, _)| inner.about().into_iter().next());
        let about = about.unwrap_or_default();
        let mark = if place.requires(name) { " (required)" } else { "" };
        let head = format!("  {name:width$}  ");
        out +=
            &format!("{}\n", indented(&format!("{about}{mark}"), &head, &" ".repeat(head.len())));
    }
    out
}

fn indented(text: &str, first: &str, others: &str) -> String {
    let options = Options::new(WIDTH).initial_indent(first).subsequent_indent(others);
    fill(text, options.break_words(false)).trim_end().to_owned()
}

#[cfg(test)]
mod tests;
