//! HTTP faults: rules about single requests, which a proxy of bytes cannot make.
//!
//! A [`Rule`] says which requests it is for and what becomes of their answers. Rules stand in order;
//! the first that matches a request decides about it, and no other is asked.

mod allowed;
mod kind;
mod manner;
mod retry_after;
mod rules;
mod which;

pub use kind::{Drip, HttpFault, NoAnswer, Reject, Reset, SlowHeaders, Truncate, WrongLength};
pub use manner::{End, Leaving, Manner, Schedule};
pub use retry_after::{RetryAfter, Said};
pub use rules::{Active, Counts, Harm};
pub(super) use rules::{Decided, Rules};
pub use which::{Calls, Request, Which};

use serde::{Deserialize, Serialize};

/// A fault of single requests, with its name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Its name; what is counted is counted under it.
    pub name: String,
    /// Which requests, and what becomes of them.
    #[serde(flatten)]
    pub fault: HttpFault,
}
