//! Taking parts out of a document and putting others in their place, so that the rest can be read.

use super::node::{Data, Field, Node, unescape};
use super::{Document, load};

impl Document {
    /// Whether the field at the JSON pointer is there.
    pub(in crate::experiment) fn has(&self, pointer: &str) -> bool {
        self.root.find(pointer).complete
    }

    /// Whether a mapping stands at the JSON pointer.
    pub(in crate::experiment) fn is_mapping(&self, pointer: &str) -> bool {
        let found = self.root.find(pointer);
        found.complete && matches!(found.node.data, Data::Mapping(_))
    }

    /// The names of the fields of the mapping at the JSON pointer; none if there is none.
    pub(in crate::experiment) fn names(&self, pointer: &str) -> Vec<String> {
        let found = self.root.find(pointer);
        match &found.node.data {
            Data::Mapping(fields) if found.complete => {
                fields.iter().map(|field| field.name.clone()).collect()
            }
            _ => Vec::new(),
        }
    }

    /// How many entries the list at the JSON pointer has; 0 if there is none.
    pub(in crate::experiment) fn entries(&self, pointer: &str) -> usize {
        let found = self.root.find(pointer);
        match &found.node.data {
            Data::List(items) if found.complete => items.len(),
            _ => 0,
        }
    }

    /// Takes a field out. An entry of a list becomes an empty mapping, so that those behind it keep
    /// their numbers.
    pub(in crate::experiment) fn take_out(&mut self, pointer: &str) {
        let Some((holder, name)) = holder(&mut self.root, pointer) else { return };
        match &mut holder.data {
            Data::Mapping(fields) => fields.retain(|field| field.name != name),
            Data::List(items) => {
                let item = name.parse().ok().and_then(|index: usize| items.get_mut(index));
                item.into_iter().for_each(|item| item.data = Data::Mapping(Vec::new()));
            }
            Data::Scalar(_) => {}
        }
    }

    /// Adds a field that is not there yet; nothing happens if what would hold it is no mapping.
    ///
    /// # Panics
    /// If `yaml` is no valid value.
    pub(in crate::experiment) fn fill_in(&mut self, pointer: &str, yaml: &str) {
        let value = load::load(yaml).ok().flatten().expect("a stand-in is valid YAML");
        let Some((holder, name)) = holder(&mut self.root, pointer) else { return };
        let name_span = holder.span.clone();
        if let Data::Mapping(fields) = &mut holder.data {
            fields.push(Field { name, value: value.moved_to(&name_span), name_span });
        }
    }
}

/// What holds the field at a pointer, and the field's name.
fn holder<'n>(root: &'n mut Node, pointer: &str) -> Option<(&'n mut Node, String)> {
    let (path, name) = pointer.rsplit_once('/')?;
    let mut node = root;
    for segment in path.split('/').skip(1) {
        let segment = unescape(segment);
        node = match &mut node.data {
            Data::Scalar(_) => return None,
            Data::List(items) => items.get_mut(segment.parse::<usize>().ok()?)?,
            Data::Mapping(fields) => {
                &mut fields.iter_mut().find(|field| field.name == segment)?.value
            }
        };
    }
    Some((node, unescape(name)))
}
