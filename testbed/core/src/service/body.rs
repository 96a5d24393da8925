//! How long the body of an answer is.

use crate::control::Invalid;
use crate::limit::quantity::Bytes;
use crate::trace::Trace;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The longest body: 1 MiB, which is what a client reads.
pub const MAX_BODY: Bytes = Bytes::new(1 << 20);
/// The body of an answer that turns a request away, and of any other unless the file says so, in bytes.
const SHORT: u64 = 3;

/// The body of an answer that is a success. All others have 3 B.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BodySize {
    /// Always the same size, 1MiB at most.
    Constant(Bytes),
    /// The column body_bytes of a recorded trace: its rows in order, one a call, and then again from the first.
    Trace(Trace),
}

impl Default for BodySize {
    fn default() -> Self {
        Self::Constant(Bytes::new(SHORT))
    }
}

impl BodySize {
    /// Whether it is what a file says that leaves it out.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// The bytes in the body of the answer with this status to the n-th call from 0.
    pub fn nth(&self, n: u64, status: u16) -> u64 {
        match self {
            _ if status != 200 => SHORT,
            Self::Constant(size) => size.get(),
            Self::Trace(trace) => trace.body(n),
        }
    }

    /// The trace that it is, if it is one.
    pub const fn trace_mut(&mut self) -> Option<&mut Trace> {
        match self {
            Self::Trace(trace) => Some(trace),
            Self::Constant(_) => None,
        }
    }

    /// A size that an experiment file should not contain.
    pub fn invalid(&self) -> Option<Invalid> {
        let Self::Constant(size) = self else { return None };
        let message = format!("a client reads bodies of {MAX_BODY} at most; write a smaller one");
        (*size > MAX_BODY).then_some(Invalid { field: "constant", message })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::Rows;
    use std::sync::Arc;

    #[test]
    fn a_success_has_its_size_and_a_refusal_a_short_one() {
        let mut rows = Rows::default();
        rows.bodies.extend([7, 0, 900]);
        let (file, arm, sha256, classes) = ("t.csv".to_owned(), None, None, Vec::new());
        let trace = Trace { file, arm, sha256, rows: Arc::new(rows), classes };
        for (size, bodies) in [
            (BodySize::default(), [3, 3, 3, 3]),
            (BodySize::Constant(Bytes::new(2048)), [2048; 4]),
            (BodySize::Trace(trace), [7, 0, 900, 7]),
        ] {
            assert_eq!([0, 1, 2, 3].map(|n| size.nth(n, 200)), bodies);
            assert_eq!(size.nth(2, 503), 3);
        }
    }

    #[test]
    fn a_body_that_no_client_would_read_is_refused() {
        for (bytes, refused) in [(0, false), (1 << 20, false), ((1 << 20) + 1, true)] {
            assert_eq!(BodySize::Constant(Bytes::new(bytes)).invalid().is_some(), refused);
        }
    }
}
