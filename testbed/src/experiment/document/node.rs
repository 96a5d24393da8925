//! The tree: values with the byte spans they come from.

use serde::{Serialize, Serializer};
use serde_json::Value;
use std::ops::Range;

/// A value and where it stands in the text, in bytes.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) span: Range<usize>,
    pub(super) data: Data,
}

/// What a node holds. A scalar is never a list or an object.
#[derive(Clone, Debug)]
pub(super) enum Data {
    Scalar(Value),
    List(Vec<Node>),
    Mapping(Vec<Field>),
}

/// A named value. Names are unique within their mapping.
#[derive(Clone, Debug)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) name_span: Range<usize>,
    pub(super) value: Node,
}

/// How far a pointer led.
pub(super) struct Found<'n> {
    pub(super) node: &'n Node,
    /// The name of `node`, or the node itself where it has none.
    pub(super) key: Range<usize>,
    /// Whether `node` is what the pointer names, not something around it.
    pub(super) complete: bool,
}

impl Node {
    /// Follows a JSON pointer as far as there are fields for it.
    pub(super) fn find(&self, pointer: &str) -> Found<'_> {
        let mut found = Found { node: self, key: self.span.clone(), complete: true };
        for segment in pointer.split('/').skip(1) {
            let Some((node, key)) = found.node.child(&unescape(segment)) else {
                return Found { complete: false, ..found };
            };
            found = Found { node, key, complete: true };
        }
        found
    }

    fn child(&self, segment: &str) -> Option<(&Self, Range<usize>)> {
        match &self.data {
            Data::Scalar(_) => None,
            Data::List(items) => {
                let item = items.get(segment.parse::<usize>().ok()?)?;
                Some((item, item.span.clone()))
            }
            Data::Mapping(fields) => {
                let field = fields.iter().find(|field| field.name == segment)?;
                Some((&field.value, field.name_span.clone()))
            }
        }
    }

    /// The field of this name, to be changed.
    pub(super) fn field_mut(&mut self, name: &str) -> Option<&mut Field> {
        match &mut self.data {
            Data::Mapping(fields) => fields.iter_mut().find(|field| field.name == name),
            Data::Scalar(_) | Data::List(_) => None,
        }
    }

    pub(super) fn to_json(&self) -> Value {
        match &self.data {
            Data::Scalar(value) => value.clone(),
            Data::List(items) => items.iter().map(Self::to_json).collect(),
            Data::Mapping(fields) => {
                let field = |field: &Field| (field.name.clone(), field.value.to_json());
                Value::Object(fields.iter().map(field).collect())
            }
        }
    }

    /// The same value as if all of it stood at `span`.
    pub(super) fn moved_to(self, span: &Range<usize>) -> Self {
        let data = match self.data {
            Data::Scalar(value) => Data::Scalar(value),
            Data::List(items) => {
                Data::List(items.into_iter().map(|item| item.moved_to(span)).collect())
            }
            Data::Mapping(fields) => {
                Data::Mapping(fields.into_iter().map(|field| field.moved_to(span)).collect())
            }
        };
        Self { span: span.clone(), data }
    }
}

impl Field {
    fn moved_to(self, span: &Range<usize>) -> Self {
        Self { name_span: span.clone(), value: self.value.moved_to(span), ..self }
    }
}

impl Serialize for Node {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.data {
            Data::Scalar(value) => value.serialize(serializer),
            Data::List(items) => items.serialize(serializer),
            Data::Mapping(fields) => {
                serializer.collect_map(fields.iter().map(|field| (&field.name, &field.value)))
            }
        }
    }
}

/// One segment of a JSON pointer as the name it stands for.
pub(super) fn unescape(segment: &str) -> String {
    segment.replace("~1", "/").replace("~0", "~")
}

/// A name as one segment of a JSON pointer.
pub(in crate::experiment) fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
