//! Why backends elsewhere did not do what they were asked to.

use super::url::BackendUrl;
use thiserror::Error;

/// Why backends elsewhere did not do what they were asked to. The text is for people.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum BackendError {
    /// Nothing answers where they are to be made.
    #[error(
        "no backend answers at {url}: {why}; start one there with `windtunnel backend --control \
         ADDRESS`, or correct --backend"
    )]
    NoAnswer {
        /// Where.
        url: BackendUrl,
        /// What came instead of an answer.
        why: String,
    },
    /// A call failed, or was refused.
    #[error("the backend at {url} failed: {call}: {why}")]
    Failed {
        /// Where.
        url: BackendUrl,
        /// The call.
        call: String,
        /// What came of it.
        why: String,
    },
}
