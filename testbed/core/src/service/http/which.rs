//! Which requests a rule is for.

use crate::control::Invalid;
use crate::quantity::Share;
use crate::time::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a rule goes by when a request arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// The path of its target, without a query: `/file`.
    pub path: &'a str,
    /// The class of its client, if it has one.
    pub class: Option<&'a str>,
    /// How long its client will wait for the answer; it has not said, if none. No rule goes by it.
    pub patience: Option<Nanos>,
    /// The arm that it is of, if it says so. No rule goes by it.
    pub arm: Option<&'a str>,
}

impl Request<'static> {
    /// A call of a client without a class, who has not said how long it will wait.
    pub const CALL: Self = Self { path: "/", class: None, patience: None, arm: None };
}

/// Which requests a fault is for: those that meet every condition that is written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Which {
    /// How many of the requests that meet the other conditions, drawn for each.
    #[serde(default = "all")]
    pub share: Share,
    /// Which calls of the arm, by number from 0; all, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<Calls>,
    /// Every so manieth of the requests that meet `calls`, `path` and `class`, 1 or more: 10 is the
    /// 10th, the 20th and so on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub every: Option<u64>,
    /// The path of the request, `/file`, or how it begins, `/api/*`; any, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The class of the client; any, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// Requests that it may have at a time, 1 or more; any number, if left out. What would be one
    /// more passes unharmed and is counted as overflow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max_active: Option<u32>,
}

/// A range of calls, by number from 0.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Calls {
    /// The first call of the range.
    pub from: u64,
    /// The first call after the range.
    pub until: u64,
}

const fn all() -> Share {
    Share::ALL
}

impl Which {
    /// Every request.
    pub const ALL: Self = Self {
        share: Share::ALL,
        calls: None,
        every: None,
        path: None,
        class: None,
        max_active: None,
    };

    /// Whether a request meets the conditions that need neither memory nor chance; `call` is its
    /// number.
    pub(super) fn meets(&self, call: u64, request: Request<'_>) -> bool {
        let in_range = |calls: &Calls| (calls.from..calls.until).contains(&call);
        self.calls.as_ref().is_none_or(in_range)
            && self.path.as_ref().is_none_or(|path| leads_to(path, request.path))
            && self.class.as_ref().is_none_or(|class| request.class == Some(class))
    }

    /// What no request can ever meet, by field.
    pub(super) fn invalid(&self) -> Vec<Invalid> {
        let calls = self.calls.as_ref().filter(|calls| calls.from >= calls.until).map(|calls| {
            let none = format!("calls from {} until {} are none at all", calls.from, calls.until);
            (
                "calls",
                none + "; `until` is the first call after the range, so it is the greater one",
            )
        });
        let every = (self.every == Some(0))
            .then(|| ("every", "every 0th call is none; write 1 or more".to_owned()));
        let path = self.path.as_ref().filter(|path| !path.starts_with('/')).map(|path| {
            (
                "path",
                format!("`{path}` is no path of a request; one begins with `/`, as in `/file`"),
            )
        });
        let class = (self.class.as_deref() == Some(""))
            .then(|| ("class", "a class has a name; leave it out for every client".to_owned()));
        let max_active = (self.max_active == Some(0))
            .then(|| ("max_active", "0 requests at a time are none; write 1 or more".to_owned()));
        let found = [calls, every, path, class, max_active].into_iter().flatten();
        found.map(|(field, message)| Invalid { field, message }).collect()
    }
}

/// Whether a pattern, exact or ending in `*`, covers a path.
fn leads_to(pattern: &str, path: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == path, |begin| path.starts_with(begin))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_exact_or_a_beginning() {
        for (pattern, path, covers) in [
            ("/file", "/file", true),
            ("/file", "/files", false),
            ("/file", "/", false),
            ("/api/*", "/api/", true),
            ("/api/*", "/api/a/b", true),
            ("/api/*", "/api", false),
            ("/*", "/", true),
            ("/a*b", "/a*b", true),
            ("/a*b", "/axb", false),
        ] {
            assert_eq!(leads_to(pattern, path), covers, "{pattern} {path}");
        }
    }

    #[test]
    fn every_condition_that_is_written_must_be_met() {
        let which = Which {
            calls: Some(Calls { from: 3, until: 5 }),
            path: Some("/a".into()),
            class: Some("gold".into()),
            ..Which::ALL
        };
        let gold = Some("gold");
        for (call, path, class, meets) in [
            (3, "/a", gold, true),
            (4, "/a", gold, true),
            (2, "/a", gold, false),
            (5, "/a", gold, false),
            (3, "/b", gold, false),
            (3, "/a", Some("tin"), false),
            (3, "/a", None, false),
        ] {
            assert_eq!(
                which.meets(call, Request { path, class, ..Request::CALL }),
                meets,
                "{call} {path} {class:?}"
            );
        }
        assert!(Which::ALL.meets(0, Request::CALL));
    }
}
