//! Mistakes in an experiment file, and how they are shown.
//!
//! A [`Problem`] names a field by its JSON pointer and says what is wrong and what would cure it.
//! A [`Report`] finds the fields in the text and shows all problems at once, in the file's order.

mod report;
mod source;
mod wording;

pub use report::Report;
pub use source::{Position, Source};
pub use wording::{closest, did_you_mean, short};

/// The part of a field that a problem points at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum At {
    /// The name of the field. For an item of a list, which has no name: the item.
    Key,
    /// What stands behind the name.
    Value,
}

/// One mistake in an experiment file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// The field, as a JSON pointer such as `/phases/1/for`. A pointer to what is not there means
    /// the nearest field around it; the empty pointer means the whole file.
    pub path: String,
    /// The part of the field to point at.
    pub at: At,
    /// What is wrong, in one line.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
}

impl Problem {
    /// A problem with the name of the field at `path`.
    pub fn at_key(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { path: path.into(), at: At::Key, message: message.into(), help: None }
    }

    /// A problem with the value of the field at `path`.
    pub fn at_value(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { path: path.into(), at: At::Value, message: message.into(), help: None }
    }

    /// The same problem with a cure.
    #[must_use]
    pub fn with_help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }
}
