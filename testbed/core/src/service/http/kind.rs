//! The kinds of HTTP fault, as a file writes them.

use super::manner::Manner;
use super::retry_after::RetryAfter;
use super::which::Which;
use crate::control::Invalid;
use crate::limit::quantity::Bytes;
use crate::quantity::Rate;
use crate::service::TURNED_AWAY_AFTER;
use crate::time::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A fault of single requests: which, and what becomes of their answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HttpFault {
    /// It turns requests away.
    Reject(Reject),
    /// Its answers begin late.
    SlowHeaders(SlowHeaders),
    /// Its answers come in drops.
    Drip(Drip),
    /// Its answers break off.
    Truncate(Truncate),
    /// Its answers have another length than they say.
    WrongLength(WrongLength),
    /// Its connections are reset within an answer.
    Reset(Reset),
    /// It works, and does not answer.
    NoAnswer(NoAnswer),
}

/// Rejections: requests are turned away before service.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reject {
    /// The HTTP status of the answer.
    #[schemars(range(min = 400, max = 599))]
    pub status: u16,
    /// Age of the rejecting answer. Even a cheap answer takes a moment; at 0s a client that retries
    /// at once would spin.
    #[serde(default = "rejected_after")]
    pub after: Nanos,
    /// What the header `Retry-After` says; there is none, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<RetryAfter>,
    /// Only what comes in beyond this rate; everything, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub above: Option<Rate>,
    /// Requests that may come in at once before that, 1 or more; 1, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub burst: Option<u32>,
    /// Which requests.
    #[serde(flatten)]
    pub which: Which,
}

/// Answers begin late: the work is done, and then it takes a while until the first byte.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SlowHeaders {
    /// From the end of the work to the first byte, above 0s.
    pub delay: Nanos,
    /// Which requests.
    #[serde(flatten)]
    pub which: Which,
}

/// Bodies come in drops, the first of them with the head.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Drip {
    /// Bytes of a drop, 1B or more.
    pub bytes: Bytes,
    /// From one drop to the next, above 0s.
    pub pause: Nanos,
    /// Which requests.
    #[serde(flatten)]
    pub which: Which,
}

/// Bodies break off: the connection is closed, and the rest never comes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Truncate {
    /// Bytes of the body that are sent. A body that is not longer is whole, and the connection is
    /// closed behind it.
    pub after: Bytes,
    /// Which requests.
    #[serde(flatten)]
    pub which: Which,
}

/// Heads tell this length, whatever the body has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WrongLength {
    /// The length that is told. More than there is: the client waits for the rest and the connection
    /// stays open. Less: the client takes so much, and the connection is closed.
    pub declared: Bytes,
    /// Which requests.
    #[serde(flatten)]
    pub which: Which,
}

/// The connection is reset within the body. What the system has not delivered by then is lost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reset {
    /// Bytes of the body that are sent before.
    pub after: Bytes,
    /// Which requests.
    #[serde(flatten)]
    pub which: Which,
}

/// The work is done and the answer never comes. The connection stays until its client closes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoAnswer {
    /// Which requests.
    #[serde(flatten)]
    pub which: Which,
}

const fn rejected_after() -> Nanos {
    TURNED_AWAY_AFTER
}

impl Reject {
    /// A rejection of every request with this status, at the usual age and without `Retry-After`.
    pub const fn all(status: u16) -> Self {
        let (after, which) = (TURNED_AWAY_AFTER, Which::ALL);
        Self { status, after, retry_after: None, above: None, burst: None, which }
    }
}

impl HttpFault {
    /// The kind's name, as files write it.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Reject(_) => "reject",
            Self::SlowHeaders(_) => "slow_headers",
            Self::Drip(_) => "drip",
            Self::Truncate(_) => "truncate",
            Self::WrongLength(_) => "wrong_length",
            Self::Reset(_) => "reset",
            Self::NoAnswer(_) => "no_answer",
        }
    }

    /// Which requests it is for.
    pub const fn which(&self) -> &Which {
        match self {
            Self::Reject(Reject { which, .. })
            | Self::SlowHeaders(SlowHeaders { which, .. })
            | Self::Drip(Drip { which, .. })
            | Self::Truncate(Truncate { which, .. })
            | Self::WrongLength(WrongLength { which, .. })
            | Self::Reset(Reset { which, .. })
            | Self::NoAnswer(NoAnswer { which }) => which,
        }
    }

    /// The manner in which its answers leave.
    pub const fn manner(&self) -> Manner {
        match self {
            Self::Reject(_) => Manner::Plain,
            Self::SlowHeaders(SlowHeaders { delay, .. }) => Manner::Late(*delay),
            Self::Drip(Drip { bytes, pause, .. }) => {
                Manner::Pieces { bytes: bytes.get(), pause: *pause }
            }
            Self::Truncate(Truncate { after, .. }) => {
                Manner::Cut { after: after.get(), reset: false }
            }
            Self::WrongLength(WrongLength { declared, .. }) => Manner::Declared(declared.get()),
            Self::Reset(Reset { after, .. }) => Manner::Cut { after: after.get(), reset: true },
            Self::NoAnswer(_) => Manner::Silent,
        }
    }

    /// Every setting that cannot work, by field. Empty if it can be carried out.
    pub fn invalid(&self) -> Vec<Invalid> {
        let own = match self {
            Self::Reject(reject) => reject.invalid(),
            Self::SlowHeaders(SlowHeaders { delay: Nanos::ZERO, .. }) => {
                Some(("delay", "a delay of 0s is none; write how late, such as 200ms".to_owned()))
            }
            Self::Drip(Drip { bytes, .. }) if bytes.get() == 0 => {
                Some(("bytes", "drops of 0 bytes fill nothing; write 1B or more".to_owned()))
            }
            Self::Drip(Drip { pause: Nanos::ZERO, .. }) => {
                let cure = "drops without a pause are no drops; write one, such as 10ms";
                Some(("pause", cure.to_owned()))
            }
            _ => None,
        };
        let own = own.map(|(field, message)| Invalid { field, message });
        own.into_iter().chain(self.which().invalid()).collect()
    }
}

impl Reject {
    fn invalid(&self) -> Option<(&'static str, String)> {
        if !(400..=599).contains(&self.status) {
            let message = format!("status {} turns nobody away; write 400 to 599", self.status);
            return Some(("status", message));
        }
        if self.burst == Some(0) {
            return Some(("burst", "a burst of 0 lets nothing in; write 1 or more".to_owned()));
        }
        if self.burst.is_some() && self.above.is_none() {
            let message = "there is a burst only of a rate; write `above: 300/s` or so".to_owned();
            return Some(("burst", message));
        }
        Some(("retry_after", self.retry_after.as_ref()?.invalid()?))
    }
}
