//! Alternatives: which one was meant, and what is wrong with it.

use super::place::Place;
use super::words::{either, found, list};
use super::{Check, escape};
use crate::experiment::problem::{Problem, did_you_mean, short};
use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind as Kind;
use serde_json::Value;

/// What is wrong with a value by one alternative.
type Errors = Vec<ValidationError<'static>>;

/// The alternatives at one place with what each finds wrong; null is none.
struct Choice<'s, 'e> {
    branches: Vec<(Place<'s>, &'e Errors)>,
    /// Names to choose from: those of fields, and words.
    names: Vec<&'s str>,
}

impl Check<'_> {
    /// Words what is wrong with a value that fits no alternative.
    pub(super) fn choice(&self, error: &ValidationError<'_>, context: &[Errors]) -> Vec<Problem> {
        let branches = self.place(error).branches(error.kind().keyword());
        let branches: Vec<_> =
            branches.into_iter().zip(context).filter(|(branch, _)| !branch.is_null()).collect();
        if let [(_, errors)] = branches[..] {
            return self.problems(errors);
        }
        let names = branches.iter().flat_map(|(b, _)| b.tag().into_iter().chain(b.words()));
        let choice = Choice { names: names.collect(), branches };
        match error.instance().as_ref() {
            _ if choice.names.is_empty() => self.by_type(error, &choice),
            Value::Object(fields) => {
                let keys: Vec<&str> = fields.keys().map(String::as_str).collect();
                self.by_key(error, &choice, &keys)
            }
            Value::String(word) => vec![choice.by_word(error, word)],
            _ => vec![unknown_word(error, &choice.names, "kind")],
        }
    }

    /// An object names its alternative by its only key.
    fn by_key(
        &self,
        error: &ValidationError<'_>,
        choice: &Choice<'_, '_>,
        keys: &[&str],
    ) -> Vec<Problem> {
        let path = error.instance_path().as_str();
        let options = format!("choose one of: {}", list(&choice.names));
        let problem = match keys {
            [] => Problem::at_value(path, "no kind is chosen here").with_help(options),
            [key] => match choice.tagged(key) {
                Some((_, errors)) => return self.problems(errors),
                None => choice.unknown_key(path, key),
            },
            _ => Problem::at_value(path, format!("more than one kind: {}", list(keys)))
                .with_help(options),
        };
        vec![problem]
    }

    /// Alternatives without names: the one whose type fits and that got furthest.
    fn by_type(&self, error: &ValidationError<'_>, choice: &Choice<'_, '_>) -> Vec<Problem> {
        let path = error.instance_path().as_str();
        let fits = |errors: &Errors| {
            !errors.iter().any(|e| {
                matches!(e.kind(), Kind::Type { .. }) && e.instance_path().as_str() == path
            })
        };
        let depth = |e: &ValidationError<'_>| e.instance_path().as_str().matches('/').count();
        let fitting = choice.branches.iter().map(|(_, errors)| *errors).filter(|e| fits(e));
        let furthest = fitting.min_by_key(|errors| {
            let deepest = errors.iter().map(depth).max().unwrap_or(0);
            (std::cmp::Reverse(deepest), errors.len())
        });
        if let Some(errors) = furthest {
            return self.problems(errors);
        }
        let mut expected: Vec<_> = choice.branches.iter().map(|(b, _)| b.expected()).collect();
        expected.dedup();
        let message = format!("expected {}, found {}", either(&expected), found(error.instance()));
        let cures = choice.branches.iter().find_map(|(branch, _)| branch.description());
        vec![Problem { help: cures, ..Problem::at_value(path, message) }]
    }
}

impl<'s, 'e> Choice<'s, 'e> {
    fn tagged(&self, name: &str) -> Option<(Place<'s>, &'e Errors)> {
        self.branches.iter().find(|(branch, _)| branch.tag() == Some(name)).copied()
    }

    fn unknown_key(&self, path: &str, key: &str) -> Problem {
        let path = format!("{path}/{}", escape(key));
        if self.names.contains(&key) {
            let message = format!("`{key}` takes no fields");
            return Problem::at_key(path, message).with_help(format!("write `{key}` alone"));
        }
        let guess = did_you_mean(key, self.names.iter().copied());
        Problem::at_key(path, format!("unknown kind `{}`{guess}", short(key)))
            .with_help(format!("one of: {}", list(&self.names)))
    }

    fn by_word(&self, error: &ValidationError<'_>, word: &str) -> Problem {
        let Some((branch, _)) = self.tagged(word) else {
            let only_words = self.branches.iter().all(|(branch, _)| branch.tag().is_none());
            return unknown_word(error, &self.names, if only_words { "value" } else { "kind" });
        };
        let fields = branch.field(word).fields();
        Problem::at_value(error.instance_path().as_str(), format!("`{word}` needs fields"))
            .with_help(format!("write `{word}: {{ ... }}` with fields: {}", list(&fields)))
    }
}

/// A value that is none of the words to choose from.
pub(super) fn unknown_word(error: &ValidationError<'_>, words: &[&str], what: &str) -> Problem {
    let path = error.instance_path().as_str();
    let help = format!("one of: {}", list(words));
    let message = match error.instance().as_str() {
        Some(word) => {
            let guess = did_you_mean(word, words.iter().copied());
            format!("unknown {what} `{}`{guess}", short(word))
        }
        None => format!("expected a name, found {}", found(error.instance())),
    };
    Problem::at_value(path, message).with_help(help)
}
