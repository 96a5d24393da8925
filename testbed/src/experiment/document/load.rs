//! From text to tree, with all limits on the way.
//!
//! This works on the parser's events, not on its loader: the loader would expand aliases and build
//! any depth first, and a file that is refused must cost nothing.

mod extent;
mod scalar;

use super::node::{Data, Field, Node};
use crate::experiment::problem::{Problem, short};
use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span, StrInput};
use serde_json::Value;
use std::collections::BTreeSet;
use std::ops::Range;

/// Mappings and lists that may stand inside each other.
const MAX_DEPTH: usize = 32;
/// Values, names included, that a file may have.
const MAX_NODES: usize = 50_000;

/// A problem and the bytes it is about.
pub(super) type Slip = (Range<usize>, Problem);

/// Parts of the parser's messages, and what mostly helps.
const CURES: [(&str, &str); 10] = [
    ("tab", "indent with spaces"),
    ("mapping values are not allowed", "is the indentation right? Text with `: ` needs quotes"),
    ("simple key", "the line here or the one above lacks the `: ` of `name: value`"),
    ("quoted scalar", "close the quotes"),
    ("may not precede", "write a space after the colon"),
    ("flow", "close the bracket; text with `,` needs quotes here"),
    ("indentation", "is a bracket open further up, or the indentation wrong?"),
    ("':' indicator", "is a bracket open further up?"),
    ("unexpected character", "text that begins with this character needs quotes"),
    ("anchor", "text that begins with `*` or `&` needs quotes"),
];

/// The tree of a text, `None` without content, or all that is wrong with it.
pub(super) fn load(text: &str) -> Result<Option<Node>, Vec<Slip>> {
    match read(text)? {
        (root, slips) if slips.is_empty() => Ok(root),
        (_, slips) => Err(slips),
    }
}

/// The tree of a text with what is wrong and does not hinder reading on, or else all that is wrong.
pub(super) fn read(text: &str) -> Result<(Option<Node>, Vec<Slip>), Vec<Slip>> {
    check_characters(text).map_err(|slip| vec![slip])?;
    let mut loader = Loader::new(text);
    match loader.document() {
        Ok(root) => Ok((root, loader.slips)),
        Err(last) => {
            loader.slips.push(last);
            Err(loader.slips)
        }
    }
}

/// The tree of an experiment file, which is a mapping.
pub(super) fn mapping_at_top(root: Option<Node>) -> Result<Node, Vec<Slip>> {
    let help = "begin with `version: 1` and `name: ...`";
    let (span, message) = match root {
        Some(root) if matches!(root.data, Data::Mapping(_)) => return Ok(root),
        Some(root) => (root.span, "an experiment file is a mapping of fields, `name: value`"),
        None => (0..0, "the file is empty, or has comments only"),
    };
    Err(vec![slip(span, message, help)])
}

fn slip(span: Range<usize>, message: impl Into<String>, help: impl Into<String>) -> Slip {
    (span, Problem::at_value("", message).with_help(help))
}

/// The parser takes a NUL for the end, and a terminal takes escapes for commands.
fn check_characters(text: &str) -> Result<(), Slip> {
    let forbidden = |&(_, c): &(usize, char)| c.is_control() && !matches!(c, '\t' | '\n' | '\r');
    text.char_indices().find(forbidden).map_or(Ok(()), |(offset, c)| {
        let message = format!("control character U+{:04X}", u32::from(c));
        Err(slip(
            offset..offset + c.len_utf8(),
            message,
            "remove it; in quotes, write an escape such as \"\\e\"",
        ))
    })
}

struct Loader<'t> {
    text: &'t str,
    parser: Parser<'t, StrInput<'t>>,
    /// Byte offset of each character, and of the end: the parser counts characters.
    offsets: Vec<usize>,
    /// Byte offset behind the last character that is no white space.
    end: usize,
    nodes: usize,
    /// What is wrong but does not hinder reading on.
    slips: Vec<Slip>,
}

impl<'t> Loader<'t> {
    fn new(text: &'t str) -> Self {
        let offsets = text.char_indices().map(|(offset, _)| offset).chain([text.len()]).collect();
        let parser = Parser::new_from_str(text);
        Self { text, parser, offsets, end: text.trim_end().len(), nodes: 0, slips: Vec::new() }
    }

    fn next(&mut self) -> Result<(Event<'t>, Range<usize>), Slip> {
        match self.parser.next_event() {
            Some(Ok((event, Span { start, end }))) => {
                Ok((event, self.byte(start.index())..self.byte(end.index())))
            }
            Some(Err(error)) => {
                // At the end, the last line says more than the empty one behind it.
                let offset = self.byte(error.marker().index()).min(self.end);
                Err(syntax_error(&error, offset))
            }
            None => Ok((Event::StreamEnd, self.byte(usize::MAX)..self.byte(usize::MAX))),
        }
    }

    fn byte(&self, character: usize) -> usize {
        let end = self.offsets.last().copied().unwrap_or(0);
        self.offsets.get(character).copied().unwrap_or(end)
    }

    fn document(&mut self) -> Result<Option<Node>, Slip> {
        self.next()?; // the stream starts
        if self.next()?.0 == Event::StreamEnd {
            return Ok(None);
        }
        let (event, span) = self.next()?;
        let root = self.node(event, span, 0)?;
        self.next()?; // the document ends
        match self.next()? {
            (Event::StreamEnd, _) => Ok(Some(root)),
            (_, span) => Err(slip(
                span,
                "a second document begins here",
                "keep one experiment a file; remove the `---` and what follows",
            )),
        }
    }

    /// The node that begins with `event`, inside `depth` others.
    fn node(&mut self, event: Event<'t>, span: Range<usize>, depth: usize) -> Result<Node, Slip> {
        self.count(&span)?;
        self.refuse_extras(&event, &span);
        match event {
            Event::Scalar(text, style, ..) => {
                let span = extent::of_scalar(self.text, span, style);
                let value = scalar::resolve(&text, style).unwrap_or_else(|problem| {
                    self.slips.push((span.clone(), problem));
                    Value::Null
                });
                Ok(Node { span, data: Data::Scalar(value) })
            }
            Event::SequenceStart(..) => self.list(&span, deeper(depth, &span)?),
            Event::MappingStart(..) => self.mapping(&span, deeper(depth, &span)?),
            // An alias; nothing is there in its place.
            _ => {
                self.refuse_anchors(&span);
                Ok(Node { span, data: Data::Scalar(Value::Null) })
            }
        }
    }

    fn list(&mut self, start: &Range<usize>, depth: usize) -> Result<Node, Slip> {
        let mut items: Vec<Node> = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if event == Event::SequenceEnd {
                let last = items.last().map(|item| item.span.end);
                return Ok(Node {
                    span: extent::of_collection(start, last, &span),
                    data: Data::List(items),
                });
            }
            items.push(self.node(event, span, depth)?);
        }
    }

    fn mapping(&mut self, start: &Range<usize>, depth: usize) -> Result<Node, Slip> {
        let mut fields: Vec<Field> = Vec::new();
        let mut names = BTreeSet::new();
        loop {
            let (event, span) = self.next()?;
            if event == Event::MappingEnd {
                let last = fields.last().map(|field| field.value.span.end);
                return Ok(Node {
                    span: extent::of_collection(start, last, &span),
                    data: Data::Mapping(fields),
                });
            }
            let (name, span) = self.name(event, span, depth)?;
            let (event, value_span) = self.next()?;
            let mut value = self.node(event, value_span, depth)?;
            if value.span.is_empty() {
                value.span.clone_from(&span);
            }
            if let Some(name) = name.filter(|name| self.check_new(&mut names, name, &span)) {
                fields.push(Field { name, name_span: span, value });
            }
        }
    }

    /// The name of a field and where it stands; `None` if it is no text, which is then among the
    /// slips.
    fn name(
        &mut self,
        event: Event<'t>,
        span: Range<usize>,
        depth: usize,
    ) -> Result<(Option<String>, Range<usize>), Slip> {
        let plain = matches!(event, Event::Scalar(_, ScalarStyle::Plain, ..));
        let Node { span, data } = self.node(event, span, depth)?;
        let (message, help) = match data {
            Data::Scalar(Value::String(name)) if plain && name == "<<" => {
                ("merge keys are not used in experiment files".into(), "write the fields out")
            }
            Data::Scalar(Value::String(name)) => return Ok((Some(name), span)),
            Data::Scalar(value) => {
                (format!("a field's name is text, not `{value}`"), "put the name in quotes")
            }
            _ => ("a field's name is text".into(), "write `name: value`"),
        };
        self.slips.push(slip(span.clone(), message, help));
        Ok((None, span))
    }

    fn check_new(&mut self, names: &mut BTreeSet<String>, name: &str, span: &Range<usize>) -> bool {
        let new = names.insert(name.to_owned());
        if !new {
            let message = format!("duplicate field `{}`", short(name));
            self.slips.push(slip(span.clone(), message, "it stands further up too; keep one"));
        }
        new
    }

    fn count(&mut self, span: &Range<usize>) -> Result<(), Slip> {
        self.nodes += 1;
        if self.nodes <= MAX_NODES {
            return Ok(());
        }
        let message = format!("more than {MAX_NODES} values and names up to here");
        Err(slip(span.clone(), message, "split the experiment, or describe it with fewer entries"))
    }

    fn refuse_anchors(&mut self, span: &Range<usize>) {
        let message = "anchors and aliases are not used in experiment files";
        self.slips.push(slip(span.clone(), message, "write the value out in each place"));
    }

    fn refuse_extras(&mut self, event: &Event<'t>, span: &Range<usize>) {
        let (Event::Scalar(_, _, anchor, tag)
        | Event::SequenceStart(anchor, tag)
        | Event::MappingStart(anchor, tag)) = event
        else {
            return;
        };
        if *anchor > 0 {
            self.refuse_anchors(span);
        }
        if let Some(tag) = tag {
            let message = format!("the tag `{}` has no meaning here", short(&tag.to_string()));
            let help = "remove it; a kind is written as a field, such as `constant: 40ms`";
            self.slips.push(slip(span.clone(), message, help));
        }
    }
}

fn deeper(depth: usize, span: &Range<usize>) -> Result<usize, Slip> {
    if depth < MAX_DEPTH { Ok(depth + 1) } else { Err(too_deep(span.clone())) }
}

fn too_deep(span: Range<usize>) -> Slip {
    let message = format!("mappings and lists nest deeper than {MAX_DEPTH} here");
    slip(span, message, "check the brackets and the indentation")
}

/// The parser's message with a cure for the frequent ones.
fn syntax_error(error: &ScanError, offset: usize) -> Slip {
    let info = error.info();
    // The scanner runs ahead and has a limit of its own.
    if info.contains("recursion limit") {
        return too_deep(offset..offset);
    }
    let cure = CURES.iter().find(|(part, _)| info.contains(part));
    let help = cure.map_or("check indentation, quotes and brackets around here", |(_, cure)| cure);
    slip(offset..offset, format!("not valid YAML: {info}"), help)
}
