//! When a run is said to have been: recorded instants as times of day.

use std::time::{Duration, SystemTime, UNIX_EPOCH};
use testbed_clock::unix_now;
use testbed_core::time::Time;

/// Where a run is put in time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Placing {
    /// Where it was: at the start that its manifest tells, to the second.
    Recorded,
    /// Its start is put there.
    Start(Moment),
    /// Its last recorded instant is put there.
    End(Moment),
}

/// A time of day: milliseconds since 1970 began.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Moment(u64);

impl Moment {
    /// Reads `2026-01-31T10:22:07Z`, seconds since 1970, or `now`.
    ///
    /// # Errors
    /// What would have been right.
    pub fn parse(text: &str) -> Result<Self, String> {
        let cure = "write a time such as 2026-01-31T10:22:07Z, seconds since 1970, or `now`";
        let since_1970 = match text.parse::<f64>() {
            _ if text == "now" => Some(unix_now().as_std()),
            Ok(seconds) => Duration::try_from_secs_f64(seconds).ok(),
            Err(_) => Self::of_rfc3339(text),
        };
        let millis = since_1970.map(|length| length.as_millis());
        // Later years than 9999 have no name.
        let named = millis.filter(|millis| *millis < 253_402_300_800_000);
        named.and_then(|millis| u64::try_from(millis).ok()).map(Self).ok_or_else(|| cure.to_owned())
    }

    fn of_rfc3339(text: &str) -> Option<Duration> {
        let at: SystemTime = humantime::parse_rfc3339_weak(text).ok()?;
        at.duration_since(UNIX_EPOCH).ok()
    }

    /// The moment at which a run began that has come as far as `last` by now.
    pub(super) const fn before(self, last: Time) -> Self {
        Self(self.0.saturating_sub(last.as_nanos() / 1_000_000))
    }

    /// The moment, in milliseconds since 1970, of an instant of a run that began at this one. Stores keep
    /// no finer time.
    pub(super) const fn millis_at(self, at: Time) -> u64 {
        self.0.saturating_add(at.as_nanos() / 1_000_000)
    }

    /// Seconds since 1970.
    pub(super) const fn seconds(self) -> f64 {
        self.0 as f64 / 1e3
    }

    /// As text, in whole seconds.
    pub(super) fn text(self) -> String {
        humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_millis(self.0)).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_day_are_read_in_two_ways_and_anything_else_gets_a_cure() {
        let moment = Moment(1_769_854_927_000);
        for text in ["2026-01-31T10:22:07Z", "2026-01-31 10:22:07", "1769854927"] {
            assert_eq!(Moment::parse(text), Ok(moment), "{text}");
        }
        assert_eq!(Moment::parse("1.5"), Ok(Moment(1500)));
        assert_eq!(moment.text(), "2026-01-31T10:22:07Z");
        for text in ["", "noon", "-1", "NaN", "1e300", "1960-01-01T00:00:00Z", "999999999999"] {
            assert!(Moment::parse(text).unwrap_err().contains("2026-01-31"), "{text}");
        }
    }

    #[test]
    fn a_run_is_put_so_that_its_last_instant_is_where_it_is_asked_for() {
        let last = Time::from_nanos(2_500_000_000);
        let start = Moment(10_000).before(last);
        assert_eq!(start, Moment(7_500));
        assert_eq!(start.millis_at(last), 10_000);
    }
}
