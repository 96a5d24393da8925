//! Why an engine did not do what it was asked to.

use super::url::ToxiproxyUrl;
use thiserror::Error;

/// Why an engine did not do what it was asked to. The text is for people.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum EngineError {
    /// A text that chooses no engine.
    #[error(
        "`{text}` is no fault engine{why}; write auto, embedded, none, or where a Toxiproxy \
         listens, such as http://127.0.0.1:8474"
    )]
    NoChoice {
        /// The text.
        text: String,
        /// What is wrong with it if it is meant for a URL, with a colon in front; else nothing.
        why: String,
    },
    /// A Toxiproxy is asked for, and this build has no client for it.
    #[error(
        "faults through the Toxiproxy at {url} need a program that is built with `--features \
         toxiproxy`; build that, or choose the engine `embedded`"
    )]
    NotBuilt {
        /// Where it is asked for.
        url: ToxiproxyUrl,
    },
    /// Nothing answers as a Toxiproxy where one is asked for.
    #[error(
        "no Toxiproxy answers at {url}: {why}; start one there (`docker run --rm --network host \
         ghcr.io/shopify/toxiproxy`), or choose the engine `embedded`"
    )]
    NoAnswer {
        /// Where it is asked for.
        url: ToxiproxyUrl,
        /// What came instead of an answer.
        why: String,
    },
    /// The engine cannot do a toxic as it is written.
    #[error("toxic `{toxic}`: {reason}; choose the engine `embedded`, or change the toxic")]
    Unable {
        /// The toxic's name.
        toxic: String,
        /// What of it the engine cannot do.
        reason: String,
    },
    /// The engine failed at something.
    #[error("{call}: {why}")]
    Failed {
        /// What it was to do.
        call: String,
        /// What came of it: the engine's own words where it has some.
        why: String,
    },
    /// A proxy is not as it was set.
    #[error("proxy `{proxy}` is not as it was set: {difference}")]
    Differs {
        /// The proxy's name.
        proxy: String,
        /// The first difference.
        difference: String,
    },
}

impl EngineError {
    /// The failure of a call.
    pub(crate) fn failed(call: impl Into<String>, why: impl ToString) -> Self {
        Self::Failed { call: call.into(), why: why.to_string() }
    }
}
