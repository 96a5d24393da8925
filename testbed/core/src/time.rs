//! Time as core knows it: whole nanoseconds since the run began.
//!
//! Core never asks for the time, it is told. [`Time`] is a point, [`Nanos`] a length; all
//! arithmetic saturates, so no input can make it wrap or panic.

use std::fmt;

/// A point in time: nanoseconds since the run began.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(u64);

/// A length of time in nanoseconds; 0 to about 584 years.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Nanos(u64);

impl Time {
    /// The instant at which the run began.
    pub const ZERO: Self = Self(0);
    /// Later than everything that can happen.
    pub const NEVER: Self = Self(u64::MAX);

    /// The instant `ns` nanoseconds after the run began.
    pub const fn from_nanos(ns: u64) -> Self {
        Self(ns)
    }

    /// Nanoseconds since the run began.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds since the run began.
    pub fn as_secs_f64(self) -> f64 {
        Nanos(self.0).as_secs_f64()
    }

    /// How long after `earlier` this is; zero if it is not after it.
    pub const fn since(self, earlier: Self) -> Nanos {
        Nanos(self.0.saturating_sub(earlier.0))
    }

    /// The earliest of the instants that there are.
    pub fn earliest<const N: usize>(of: [Option<Self>; N]) -> Option<Self> {
        let first =
            of.into_iter().fold(Self::NEVER, |first, at| first.min(at.unwrap_or(Self::NEVER)));
        (first < Self::NEVER).then_some(first)
    }

    /// The instant `length` later, at most [`Time::NEVER`].
    pub const fn after(self, length: Nanos) -> Self {
        Self(self.0.saturating_add(length.0))
    }
}

impl Nanos {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// The longest length.
    pub const MAX: Self = Self(u64::MAX);

    /// A length of `ns` nanoseconds.
    pub const fn new(ns: u64) -> Self {
        Self(ns)
    }

    /// A length of `us` microseconds.
    pub const fn from_micros(us: u64) -> Self {
        Self(us.saturating_mul(1_000))
    }

    /// A length of `ms` milliseconds.
    pub const fn from_millis(ms: u64) -> Self {
        Self(ms.saturating_mul(1_000_000))
    }

    /// A length of `s` seconds.
    pub const fn from_secs(s: u64) -> Self {
        Self(s.saturating_mul(1_000_000_000))
    }

    /// A length of `s` seconds, rounded to the nearest nanosecond; negative and NaN give zero.
    pub fn from_secs_f64(s: f64) -> Self {
        Self(nearest(s * 1e9))
    }

    /// The length in nanoseconds.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The length in seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The length in milliseconds.
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// The sum, at most [`Nanos::MAX`].
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// The difference, at least zero.
    pub const fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// The length times `factor` (>= 0), rounded to the nearest nanosecond.
    pub fn scaled(self, factor: f64) -> Self {
        Self(nearest(self.0 as f64 * factor))
    }

    /// The length as [`std::time::Duration`], for calls into the standard library.
    pub const fn as_std(self) -> std::time::Duration {
        std::time::Duration::from_nanos(self.0)
    }
}

/// The nearest whole number from 0 up; NaN gives 0.
fn nearest(value: f64) -> u64 {
    (value + 0.5) as u64
}

impl fmt::Display for Nanos {
    /// The largest unit that keeps the number at 1 or above, with up to three decimals: `14.3ms`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, per_unit) = match self.0 {
            0 => return f.write_str("0s"),
            1_000_000_000.. => ("s", 1e9),
            1_000_000.. => ("ms", 1e6),
            1_000.. => ("us", 1e3),
            _ => ("ns", 1.0),
        };
        let number = format!("{:.3}", self.0 as f64 / per_unit);
        write!(f, "{}{unit}", number.trim_end_matches('0').trim_end_matches('.'))
    }
}

impl fmt::Debug for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Nanos(self.0), f)
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_print_in_their_largest_whole_unit() {
        for (ns, text) in [
            (0, "0s"),
            (7, "7ns"),
            (1_500, "1.5us"),
            (14_300_000, "14.3ms"),
            (40_000_000, "40ms"),
            (26_000_000_000, "26s"),
        ] {
            assert_eq!(Nanos::new(ns).to_string(), text);
        }
    }

    #[test]
    fn arithmetic_saturates_at_both_ends() {
        assert_eq!(Time::NEVER.after(Nanos::from_secs(1)), Time::NEVER);
        assert_eq!(Time::ZERO.since(Time::NEVER), Nanos::ZERO);
        assert_eq!(Nanos::MAX.plus(Nanos::MAX), Nanos::MAX);
        assert_eq!(Nanos::from_secs_f64(-1.0), Nanos::ZERO);
        assert_eq!(Nanos::from_secs_f64(f64::NAN), Nanos::ZERO);
        assert_eq!(Nanos::from_secs_f64(f64::INFINITY), Nanos::MAX);
    }
}
