//! Clients: how long they wait for an answer, whether they try again, and which class they are of.

mod allowance;
mod class;
mod patience;
mod retry;

pub use allowance::{ActiveBudget, Budget, Counted, Quota, RecentBudget, Throttle};
pub use class::Classes;
pub use patience::Patience;
pub use retry::{Retries, RetryAfterUse, RetryConfig};

use crate::control::Invalid;
use crate::time::Nanos;
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The most classes of an arm's requests.
const MAX_CLASSES: usize = 16;

/// What the clients of an arm do, as a file writes it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ClientConfig {
    /// From a request's admission until its client gives it up; never, if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Nanos>,
    /// From a request's first planned arrival until its client gives it up, over all attempts; never,
    /// if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Nanos>,
    /// What becomes of a connection after an answer.
    pub connections: Connections,
    /// Whether and when a client tries again what failed; never, if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry: Option<RetryConfig>,
    /// Classes of requests and their weights; each request is of one, drawn by weight.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub classes: IndexMap<String, u32>,
}

/// What becomes of a connection after an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Connections {
    /// It is kept for the next request.
    #[default]
    KeepAlive,
    /// It is closed: one connection a request.
    PerRequest,
}

impl ClientConfig {
    /// How long its clients wait.
    pub const fn patience(&self) -> Patience {
        Patience { timeout: self.timeout, deadline: self.deadline }
    }

    /// Settings that an experiment file should not contain.
    pub fn invalid(&self) -> Vec<Invalid> {
        let mut invalid = self.retry.as_ref().map(RetryConfig::invalid).unwrap_or_default();
        let mut refuse = |wrong: bool, field, message: String| {
            if wrong {
                invalid.push(Invalid { field, message });
            }
        };
        let cure = "a timeout of 0s gives up every request; write 1s or so";
        refuse(self.timeout == Some(Nanos::ZERO), "timeout", cure.to_owned());
        let cure = "a deadline of 0s gives up every request; write 2s or so";
        refuse(self.deadline == Some(Nanos::ZERO), "deadline", cure.to_owned());
        let many = self.classes.len();
        let message = format!("{many} classes are too many; there may be {MAX_CLASSES}");
        refuse(many > MAX_CLASSES, "classes", message);
        let weightless = many > 0 && self.classes.values().all(|weight| *weight == 0);
        let cure = "no request can be of a class of weight 0; give one of them 1 or more";
        refuse(weightless, "classes", cure.to_owned());
        let plain = |name: &String| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
        };
        let odd = self.classes.keys().find(|name| !plain(name));
        let message = format!(
            "`{}` cannot name a class; use letters, digits, dots, dashes and underscores",
            odd.map_or("", String::as_str)
        );
        refuse(odd.is_some(), "classes", message);
        invalid
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn invalid(yaml: &str) -> Vec<&'static str> {
        let config: ClientConfig = serde_yaml::from_str(yaml).unwrap();
        config.invalid().into_iter().map(|invalid| invalid.field).collect()
    }

    #[test]
    fn what_cannot_work_is_refused() {
        for (json, fields) in [
            (r"{}", &[][..]),
            (r#"{ "timeout": "0s" }"#, &["timeout"]),
            (r#"{ "deadline": "0s" }"#, &["deadline"]),
            (r#"{ "classes": { "gold": 0 } }"#, &["classes"]),
            (r#"{ "classes": { "gold": 0, "tin": 1 } }"#, &[]),
            (r#"{ "classes": { "a b": 1 } }"#, &["classes"]),
            (r#"{ "retry": { "times": 3, "first": "0s" } }"#, &["retry/first"]),
            (
                r#"{ "retry": { "times": 3, "budget": { "ratio": "20%", "over": "0s" } } }"#,
                &["retry/budget/over"],
            ),
            (r#"{ "retry": { "times": 3, "budget": { "active": "20%" } } }"#, &[]),
            (r#"{ "retry": { "times": 3, "first": "2s", "at_most": "1s" } }"#, &["retry/at_most"]),
        ] {
            assert_eq!(invalid(json), fields, "{json}");
        }
    }
}
