//! A place in a JSON Schema and what it says about the values there.

use super::words::{either, noun, of_type, plain};
use serde_json::{Map, Value};

/// References and wrappers followed before a schema counts as a loop.
const MAX_HOPS: usize = 16;

/// A subschema within its schema.
#[derive(Clone, Copy)]
pub(super) struct Place<'s> {
    root: &'s Value,
    node: &'s Value,
    /// The name under which the root defines this subschema, if it does.
    definition: Option<&'s str>,
}

impl<'s> Place<'s> {
    /// The subschema that holds the keyword at a JSON pointer.
    pub(super) fn of_keyword(root: &'s Value, pointer: &str) -> Self {
        let holder = pointer.rsplit_once('/').map_or("", |(holder, _)| holder);
        Self::at(root, holder)
    }

    fn at(root: &'s Value, pointer: &str) -> Self {
        let node = root.pointer(pointer).unwrap_or(&Value::Null);
        let mut segments = pointer.split('/').skip(1);
        let definition = match (segments.next(), segments.next(), segments.next()) {
            (Some(list @ ("$defs" | "definitions")), Some(name), None) => {
                let definitions = root.get(list).and_then(Value::as_object);
                definitions.and_then(|all| all.get_key_value(name)).map(|(name, _)| name.as_str())
            }
            _ => None,
        };
        Self { root, node, definition }
    }

    fn inside(&self, node: &'s Value) -> Self {
        Self { root: self.root, node, definition: None }.resolved()
    }

    /// Follows references, and the `allOf` of one with which schemars wraps them in draft 7.
    fn resolved(mut self) -> Self {
        for _ in 0..MAX_HOPS {
            if let Some(target) = self.text("$ref").and_then(|target| target.strip_prefix('#')) {
                self = Self::at(self.root, target);
            } else if let Some([only]) = self.items("allOf") {
                self.node = only;
            } else {
                break;
            }
        }
        self
    }

    fn text(&self, keyword: &str) -> Option<&'s str> {
        self.node.get(keyword)?.as_str()
    }

    fn items(&self, keyword: &str) -> Option<&'s [Value]> {
        self.node.get(keyword)?.as_array().map(Vec::as_slice)
    }

    fn properties(&self) -> Option<&'s Map<String, Value>> {
        self.node.get("properties")?.as_object()
    }

    /// Whether the keyword stands here.
    pub(super) fn has(&self, keyword: &str) -> bool {
        self.node.get(keyword).is_some()
    }

    /// Names that fields of an object here may have, those that are joined in included.
    pub(super) fn fields(&self) -> Vec<&'s str> {
        let mut names: Vec<&str> =
            self.properties().into_iter().flat_map(Map::keys).map(String::as_str).collect();
        let reference = self.has("$ref").then(|| self.inside(self.node));
        let joined = self.items("allOf").into_iter().flatten().map(|part| self.inside(part));
        for part in reference.into_iter().chain(joined) {
            names.extend(part.properties().into_iter().flat_map(Map::keys).map(String::as_str));
        }
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The schema of a field; an empty place if there is none.
    pub(super) fn field(&self, name: &str) -> Self {
        let node = self.properties().and_then(|all| all.get(name)).unwrap_or(&Value::Null);
        Self { node, definition: None, ..*self }
    }

    /// Whether exactly one of the fields is to be chosen.
    pub(super) fn is_choice(&self) -> bool {
        self.node.get("maxProperties").and_then(Value::as_u64) == Some(1)
    }

    /// First paragraph of the description, which tells what belongs here: this place's own
    /// description, or that of what it refers to.
    pub(super) fn description(&self) -> Option<String> {
        let own = self.text("description");
        let text = own.or_else(|| self.resolved().text("description"))?;
        let lines: Vec<&str> = text.lines().take_while(|line| !line.trim().is_empty()).collect();
        Some(lines.join(" "))
    }

    /// What numbers are allowed, if there is a bound on both sides: `Allowed: 400 to 599.`
    pub(super) fn range(&self) -> Option<String> {
        let (least, greatest) = (self.node.get("minimum")?, self.node.get("maximum")?);
        Some(format!("Allowed: {} to {}.", plain(least), plain(greatest)))
    }

    /// What texts of a fixed form are called here: `a duration`. `None` for any other schema.
    pub(super) fn quantity(&self) -> Option<String> {
        let name = self.definition.or_else(|| self.text("title"));
        self.has("pattern").then(|| name.map_or_else(|| "valid here".into(), noun))
    }

    /// What values are expected here: `a whole number`, `a duration`, `text or a list`.
    pub(super) fn expected(&self) -> String {
        if let (Some(quantity), Some(_)) = (self.quantity(), self.definition) {
            return quantity;
        }
        let names: Vec<&str> = match self.node.get("type") {
            Some(Value::String(name)) => vec![name],
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        let wanted = names.into_iter().filter(|name| *name != "null").map(of_type);
        either(&wanted.map(str::to_owned).collect::<Vec<_>>())
    }

    /// The texts that `enum` or `const` allow.
    pub(super) fn words(&self) -> Vec<&'s str> {
        let listed = self.items("enum").into_iter().flatten();
        listed.chain(self.node.get("const")).filter_map(Value::as_str).collect()
    }

    /// The name of the field by which objects of this alternative are recognised: the only one
    /// that is required, and the only one there is.
    pub(super) fn tag(&self) -> Option<&'s str> {
        let [required] = self.items("required")? else {
            return None;
        };
        let properties = self.properties()?;
        let name = required.as_str().filter(|name| properties.contains_key(*name));
        name.filter(|_| properties.len() == 1)
    }

    /// Whether only null is valid here.
    pub(super) fn is_null(&self) -> bool {
        self.text("type") == Some("null")
    }

    /// The alternatives that `oneOf` or `anyOf` offer.
    pub(super) fn branches(&self, keyword: &str) -> Vec<Self> {
        self.items(keyword).into_iter().flatten().map(|branch| self.inside(branch)).collect()
    }
}
