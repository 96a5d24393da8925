//! The header `Retry-After`, right and wrong (RFC 9110, section 10.2.3).

use crate::time::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Nanoseconds of a second, the finest that an HTTP-date can say.
const SECOND: u64 = 1_000_000_000;
/// The longest text, in characters.
const TEXT_MAX: usize = 64;
/// The furthest that a date is from now: no year of an HTTP-date has five digits before it.
const FURTHEST: Nanos = Nanos::from_secs(100 * 365 * 24 * 3600);

/// When a rejected client is told to come back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RetryAfter {
    /// After so many seconds.
    Seconds(u64),
    /// At a date this far from now, rounded up to a whole second: that is what a date can say.
    Date(Nanos),
    /// At a date that has passed for this long, rounded down.
    Past(Nanos),
    /// A text that is no valid value, of 1 to 64 printable ASCII characters.
    Text(String),
}

/// What the header says, at a given time of the wall clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said<'a> {
    /// Seconds from now.
    Seconds(u64),
    /// A date, in whole seconds of the wall clock.
    Date(u64),
    /// A text that says nothing.
    Text(&'a str),
}

impl Said<'_> {
    /// How long a client is to wait that reads it when the wall clock shows `now`; no time at all for
    /// a date that has passed. `None` if it says nothing that makes sense.
    pub fn wait(self, now: Nanos) -> Option<Nanos> {
        match self {
            Self::Seconds(seconds) => Some(Nanos::from_secs(seconds)),
            Self::Date(at) => Some(Nanos::from_secs(at).minus(now)),
            Self::Text(_) => None,
        }
    }
}

impl RetryAfter {
    /// What it says when the wall clock shows `now`. The clock's zero is at a whole second.
    pub fn said(&self, now: Nanos) -> Said<'_> {
        match self {
            Self::Seconds(seconds) => Said::Seconds(*seconds),
            Self::Date(ahead) => Said::Date(now.plus(*ahead).get().div_ceil(SECOND)),
            Self::Past(ago) => Said::Date(now.minus(*ago).get() / SECOND),
            Self::Text(text) => Said::Text(text),
        }
    }

    /// What is wrong with it and what would be right, if it cannot be said.
    pub(super) fn invalid(&self) -> Option<String> {
        match self {
            Self::Date(length) | Self::Past(length) if *length > FURTHEST => {
                Some(format!("a date {length} from now cannot be written; 100 years are the most"))
            }
            Self::Text(text) => unspeakable(text),
            _ => None,
        }
    }
}

/// Why a text cannot be the value of a header, if it cannot.
fn unspeakable(text: &str) -> Option<String> {
    let printable = text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    let whole = !text.is_empty() && text.len() <= TEXT_MAX && text.trim() == text;
    let cure = "write 1 to 64 printable ASCII characters without spaces around them, such as soon";
    (!printable || !whole).then(|| format!("this text cannot be the value of a header; {cure}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_waits_from_when_it_reads() {
        let (now, ms) = (Nanos::from_millis(2500), Nanos::from_millis);
        for (said, wait) in [
            (Said::Seconds(2), Some(ms(2000))),
            (Said::Date(5), Some(ms(2500))),
            (Said::Date(2), Some(Nanos::ZERO)),
            (Said::Text("soon"), None),
        ] {
            assert_eq!(said.wait(now), wait, "{said:?}");
        }
    }

    #[test]
    fn dates_are_whole_seconds_never_too_early_and_never_still_to_come() {
        let ms = Nanos::from_millis;
        for (retry, now, said) in [
            (RetryAfter::Seconds(2), ms(1500), Said::Seconds(2)),
            (RetryAfter::Date(ms(2000)), ms(1000), Said::Date(3)),
            (RetryAfter::Date(ms(2000)), ms(1001), Said::Date(4)),
            (RetryAfter::Date(ms(0)), ms(1999), Said::Date(2)),
            (RetryAfter::Past(ms(5000)), ms(9999), Said::Date(4)),
            (RetryAfter::Past(ms(5000)), ms(3000), Said::Date(0)),
            (RetryAfter::Text("soon".into()), ms(0), Said::Text("soon")),
        ] {
            assert_eq!(retry.said(now), said, "{retry:?} at {now}");
        }
    }

    #[test]
    fn what_a_header_cannot_hold_is_refused() {
        for (text, fine) in [
            ("soon", true),
            ("-1", true),
            ("a, b; c=\"d\"", true),
            (&"x".repeat(64), true),
            (&"x".repeat(65), false),
            ("", false),
            (" soon", false),
            ("so\r\non: 1", false),
            ("bient\u{f4}t", false),
        ] {
            assert_eq!(RetryAfter::Text(text.into()).invalid().is_none(), fine, "{text:?}");
        }
        assert!(RetryAfter::Date(Nanos::MAX).invalid().is_some());
    }
}
