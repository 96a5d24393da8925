//! A place in the schema, seen from the field that leads there.

use crate::experiment::schema_check::{list, noun, of_type};
use serde_json::Value;
use std::collections::BTreeSet;

/// References and wrappers followed before a schema counts as a loop.
const HOPS: usize = 16;

/// What is around a value in a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Around {
    /// A mapping in which it has this name.
    Field(String),
    /// A list.
    Entry,
}

/// What the schema says of a field.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'s> {
    root: &'s Value,
    /// The field as it stands in what holds it: its own description and default.
    outer: &'s Value,
    /// What that refers to.
    pub(super) node: &'s Value,
    /// The name of the type that it refers to.
    definition: Option<&'s str>,
}

impl<'s> Place<'s> {
    pub(super) const fn root(schema: &'s Value) -> Self {
        Self { root: schema, outer: schema, node: schema, definition: None }
    }

    /// The schema of values here.
    #[cfg(test)]
    pub(super) const fn outer(&self) -> &'s Value {
        self.outer
    }

    /// The name of the type of values here, if it has one.
    pub(super) const fn definition(&self) -> Option<&'s str> {
        self.definition
    }

    /// The place of a part of the schema.
    pub(super) fn inside(&self, outer: &'s Value) -> Self {
        let (mut node, mut definition) = (outer, None);
        for _ in 0..HOPS {
            if let Some(target) = node.get("$ref").and_then(Value::as_str) {
                definition = target.rsplit('/').next();
                let target = target.strip_prefix('#').unwrap_or_default();
                node = self.root.pointer(target).unwrap_or(&Value::Null);
            } else if let Some(only) = wrapped(node) {
                node = only;
            } else {
                break;
            }
        }
        Self { root: self.root, outer, node, definition }
    }

    /// What `name` leads to from here, and what is around a value there. Numbers of entries and names of
    /// the file's own may be left out.
    pub(super) fn step(&self, name: &str) -> Option<(Self, Vec<Around>)> {
        if let Some((_, inner)) = self.properties().find(|(field, _)| *field == name) {
            return Some((inner, vec![Around::Field(name.to_owned())]));
        }
        if let Some(word) = self.branches().find(|branch| branch.word() == Some(name)) {
            return Some((word, Vec::new()));
        }
        let entry = self.entry()?;
        let (skipped, named) = if self.node.get("items").is_some() {
            let is_number = name.bytes().all(|b| b.is_ascii_digit());
            (Around::Entry, is_number.then_some(Around::Entry))
        } else {
            (Around::Field("one".to_owned()), Some(Around::Field(name.to_owned())))
        };
        match entry.step(name) {
            Some((inner, around)) => Some((inner, [vec![skipped], around].concat())),
            None => Some((entry, vec![named?])),
        }
    }

    /// The type of the entries of a list, or of a mapping with names of the file's own.
    pub(super) fn entry(&self) -> Option<Self> {
        let entry = self.node.get("items").or_else(|| self.node.get("additionalProperties"))?;
        entry.is_object().then(|| self.inside(entry))
    }

    /// Fields: those of a mapping, and those of each of its kinds.
    fn properties(&self) -> impl Iterator<Item = (&'s str, Self)> + use<'s> {
        self.fields_beside().chain(self.kinds())
    }

    /// The fields that a mapping has whatever its kind.
    fn fields_beside(&self) -> impl Iterator<Item = (&'s str, Self)> + use<'s> {
        self.fields_of(self.node)
    }

    /// The fields of which a mapping has one, its kind.
    fn kinds(&self) -> impl Iterator<Item = (&'s str, Self)> + use<'s> {
        let own = *self;
        self.branches().flat_map(move |branch| own.fields_of(branch.node))
    }

    fn fields_of(&self, node: &'s Value) -> impl Iterator<Item = (&'s str, Self)> + use<'s> {
        let own = *self;
        let all = node.get("properties").and_then(Value::as_object).into_iter().flatten();
        // What a kind brings in is `true` in the mapping that it is joined to.
        let all = all.filter(|(_, field)| field.is_object());
        all.map(move |(name, field)| (name.as_str(), own.inside(field)))
    }

    /// The alternatives.
    pub(super) fn branches(&self) -> impl Iterator<Item = Self> + use<'s> {
        let own = *self;
        let listed = |keyword| self.node.get(keyword).and_then(Value::as_array);
        let all = listed("oneOf").or_else(|| listed("anyOf")).into_iter().flatten();
        all.map(move |branch| own.inside(branch)).filter(|branch| !is_null(branch.node))
    }

    /// The word that this alternative is.
    pub(super) fn word(&self) -> Option<&'s str> {
        self.node.get("const").and_then(Value::as_str)
    }

    /// What may follow in a path.
    pub(super) fn names(&self) -> Vec<&'s str> {
        let words = self.branches().filter_map(|branch| branch.word());
        let mut names: Vec<_> = self.properties().map(|(name, _)| name).chain(words).collect();
        if names.is_empty() {
            return self.entry().map_or_else(Vec::new, |entry| entry.names());
        }
        let mut seen = BTreeSet::new();
        names.retain(|name| seen.insert(*name));
        names
    }

    /// Whether a mapping is incomplete without the field.
    pub(super) fn requires(&self, name: &str) -> bool {
        let entry = self.entry();
        let node = entry.map_or(self.node, |entry| entry.node);
        required(node).any(|required| required == name)
    }

    /// The paragraphs that say what it is: what stands at the field, then what stands at its type.
    pub(super) fn about(&self) -> Vec<String> {
        let nodes = if self.is_quantity() { vec![self.outer] } else { vec![self.outer, self.node] };
        let mut all: Vec<String> = Vec::new();
        for node in nodes {
            let text = node.get("description").and_then(Value::as_str).unwrap_or_default();
            for paragraph in text.split("\n\n").map(|text| text.replace('\n', " ")) {
                if !(paragraph.is_empty() || all.contains(&paragraph)) {
                    all.push(paragraph);
                }
            }
        }
        all
    }

    /// Whether it is a number with a unit; the description of such a type is how one writes it.
    fn is_quantity(&self) -> bool {
        self.node.get("pattern").is_some() && self.definition.is_some()
    }

    /// The type in words.
    pub(super) fn kind(&self) -> String {
        let words: Vec<_> = self.branches().filter_map(|branch| branch.word()).collect();
        let kinds: Vec<_> = self.kinds().map(|(name, _)| name).collect();
        let beside: Vec<_> = self.fields_beside().map(|(name, _)| name).collect();
        match (self.definition, self.entry()) {
            (Some(name), _) if self.node.get("pattern").is_some() => noun(name),
            (_, Some(entry)) if self.node.get("items").is_some() => {
                format!("a list; each entry is {}", entry.kind())
            }
            (_, Some(entry)) if self.node.get("properties").is_none() => {
                format!("a mapping from names to values; each value is {}", entry.kind())
            }
            _ if !words.is_empty() && kinds.is_empty() && beside.is_empty() => {
                format!("one of the words {}", list(&words))
            }
            _ if self.node.get("oneOf").is_some() => {
                let beside = if beside.is_empty() {
                    String::new()
                } else {
                    format!("; beside it {}", list(&beside))
                };
                let kinds = list(&kinds);
                format!("a mapping with one kind of {kinds}{}{beside}", or_words(&words))
            }
            _ if plain_type(self.node).is_empty() => {
                let kinds: BTreeSet<_> = self.branches().map(|branch| branch.kind()).collect();
                Vec::from_iter(kinds).join(" or ")
            }
            _ => plain_type(self.node),
        }
    }

    /// How a quantity is written.
    pub(super) fn unit(&self) -> String {
        let text = self.node.get("description").and_then(Value::as_str);
        let text = text.filter(|_| self.is_quantity());
        text.unwrap_or_default().to_owned()
    }

    /// The least and the greatest that it may be.
    pub(super) fn range(&self) -> String {
        let bound =
            |keyword: &str| [self.outer, self.node].into_iter().find_map(|node| node.get(keyword));
        match (bound("minimum"), bound("maximum")) {
            (Some(least), Some(greatest)) => format!("{least} to {greatest}"),
            (Some(least), None) => format!("{least} or more"),
            (None, Some(greatest)) => format!("{greatest} or less"),
            (None, None) => String::new(),
        }
    }

    /// What it is if it is left out, as a file would write it.
    pub(super) fn default_text(&self) -> String {
        let default = self.outer.get("default").filter(|default| !default.is_null());
        default.map_or_else(String::new, super::flow)
    }

    /// What the schema says would stand here.
    pub(super) fn keyword(&self, keyword: &str) -> Option<&'s Value> {
        self.outer.get(keyword).or_else(|| self.node.get(keyword))
    }

    /// The fields that must be there.
    pub(super) fn required(&self) -> impl Iterator<Item = &'s str> + use<'s> {
        required(self.node)
    }
}

fn required(node: &Value) -> impl Iterator<Item = &str> {
    node.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

fn or_words(words: &[&str]) -> String {
    if words.is_empty() { String::new() } else { format!(", or the word {}", list(words)) }
}

fn plain_type(node: &Value) -> String {
    let types = match node.get("type") {
        Some(Value::String(name)) => vec![name.as_str()],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let wanted = types.into_iter().filter(|name| *name != "null").map(of_type);
    wanted.collect::<Vec<_>>().join(" or ")
}

/// What a wrapper of one schema holds: `allOf` of one, or a choice of one and nothing.
fn wrapped(node: &Value) -> Option<&Value> {
    let all = ["allOf", "anyOf"].into_iter().find_map(|keyword| node.get(keyword)?.as_array())?;
    let mut inner = all.iter().filter(|part| !is_null(part));
    let only = inner.next()?;
    inner.next().is_none().then_some(only)
}

fn is_null(node: &Value) -> bool {
    node.get("type").and_then(Value::as_str) == Some("null")
}
