//! The typed stage, by serde_yaml.

use super::node::{Data, Node, escape};
use crate::experiment::problem::Problem;
use serde::de::DeserializeOwned;
use serde_yaml::with::singleton_map_recursive;

/// Reads a tree into a type.
///
/// # Errors
/// The first value that the type refuses.
pub(super) fn deserialize<T: DeserializeOwned>(root: &Node) -> Result<T, Problem> {
    serde_yaml::to_value(root)
        .and_then(singleton_map_recursive::deserialize)
        .map_err(|error| explain::<T>(root, &error))
}

/// serde_yaml knows the path of an error only when it reads text, so this writes the tree as text
/// and fails again.
fn explain<T: DeserializeOwned>(root: &Node, error: &serde_yaml::Error) -> Problem {
    let again = serde_yaml::to_string(root).and_then(|text| {
        singleton_map_recursive::deserialize::<T, _>(serde_yaml::Deserializer::from_str(&text))
    });
    let error = again.as_ref().err().unwrap_or(error);
    let message = without_location(error);
    let mut pointer = String::new();
    let reason = follow(root, &message, &mut pointer);
    Problem::at_value(pointer, reason.strip_prefix(": ").unwrap_or(reason))
}

/// The message; its line and column would be those of our own text.
fn without_location(error: &serde_yaml::Error) -> String {
    let message = error.to_string();
    let place = error.location().map_or_else(String::new, |location| {
        format!(" at line {} column {}", location.line(), location.column())
    });
    message.strip_suffix(&place).unwrap_or(&message).to_owned()
}

/// Follows the path that a message begins with, as in `phases[0].for: reason`, and returns what is
/// behind it.
fn follow<'m>(node: &Node, message: &'m str, pointer: &mut String) -> &'m str {
    let step = match &node.data {
        Data::Scalar(_) => None,
        Data::List(items) => items.iter().enumerate().find_map(|(index, item)| {
            let rest = message.strip_prefix(&format!("[{index}]"))?;
            Some((item, index.to_string(), rest))
        }),
        Data::Mapping(fields) => fields.iter().find_map(|field| {
            let rest = message.strip_prefix(&field.name)?;
            rest.starts_with(['.', '[', ':']).then(|| (&field.value, escape(&field.name), rest))
        }),
    };
    let Some((child, segment, rest)) = step else {
        return message;
    };
    *pointer += "/";
    *pointer += &segment;
    follow(child, rest.strip_prefix('.').unwrap_or(rest), pointer)
}

#[cfg(test)]
mod tests {
    use crate::experiment::document::Document;
    use serde::Deserialize;
    use std::collections::BTreeMap;
    use testbed_core::quantity::Rate;

    #[derive(Deserialize, PartialEq, Debug)]
    #[serde(rename_all = "snake_case")]
    enum Load {
        Open { rate: Rate },
        Closed { clients: u32 },
        Idle,
    }

    #[derive(Deserialize, PartialEq, Debug)]
    struct Arms {
        arms: BTreeMap<String, Vec<Load>>,
    }

    fn read(load: &str) -> Result<Arms, (String, String)> {
        let document = Document::parse("a.yaml", &format!("arms:\n  x.y:\n  - {load}\n")).unwrap();
        document.deserialize().map_err(|problem| (problem.path, problem.message))
    }

    #[test]
    fn enums_are_maps_of_one_field_or_words() {
        for (text, load) in [
            ("{ closed: { clients: 3 } }", Load::Closed { clients: 3 }),
            ("{ open: { rate: 5/s } }", Load::Open { rate: Rate::per_second(5.0).unwrap() }),
            ("idle", Load::Idle),
        ] {
            assert_eq!(read(text), Ok(Arms { arms: [("x.y".into(), vec![load])].into() }));
        }
    }

    #[test]
    fn what_a_type_refuses_has_a_path() {
        for (text, path, message) in [
            ("{ open: { rate: 0/s } }", "/arms/x.y/0/open/rate", "`0/s` is not a rate; write a"),
            ("{ closed: { clients: 5000000000 } }", "/arms/x.y/0/closed/clients", "invalid value"),
            ("{ closed: {} }", "/arms/x.y/0/closed", "missing field `clients`"),
            ("{ opn: {} }", "/arms/x.y/0", "unknown variant `opn`"),
        ] {
            let (found, reason) = read(text).unwrap_err();
            assert_eq!(found, path);
            assert!(reason.starts_with(message) && !reason.contains(" at line "), "{reason}");
        }
    }
}
