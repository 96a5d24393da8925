//! Go's limiter, to the nanosecond.
//!
//! Source: `rate/rate.go` of `golang.org/x/time`, after golang/go#34861. Tokens are a float that may
//! go below zero, lengths are truncated to whole nanoseconds, and both roundings show: where the
//! exact wait is 366,075 ns, the float can give 366,074. So this is a port of the floating-point
//! arithmetic, not of the law.

use crate::bucket::BucketConfig;
use crate::limit::quantity::ByteRate;
use crate::time::Time;

/// A reservation that was given out.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Reserved {
    /// `timeToAct`, in nanoseconds.
    act_ns: i64,
    tokens: f64,
    /// The limit at that time.
    limit: f64,
}

impl Reserved {
    /// When its holder may go.
    pub const fn due(&self) -> Time {
        Time::from_nanos(if self.act_ns < 0 { 0 } else { self.act_ns as u64 })
    }
}

/// The state of a `rate.Limiter`.
#[derive(Clone, Debug)]
pub struct GoBucket {
    limit: f64,
    burst: f64,
    tokens: f64,
    last_ns: i64,
    last_event_ns: i64,
}

impl GoBucket {
    /// `NewLimiter`, with a beginning of its own if the file gives one. Go's is full.
    pub fn new(config: &BucketConfig) -> Self {
        Self {
            limit: config.rate.get() as f64,
            burst: config.capacity() as f64,
            tokens: config.initial() as f64,
            last_ns: 0,
            last_event_ns: 0,
        }
    }

    /// `reserveN`; `None` if it is not OK: `n` is beyond the burst, or the wait beyond `at_most_ns`.
    pub fn reserve(&mut self, now: Time, n: u64, at_most_ns: i64) -> Option<Reserved> {
        let now_ns = go_time(now);
        let tokens = self.advanced(now_ns) - n as f64;
        let wait_ns = if tokens < 0.0 { duration(-tokens, self.limit) } else { 0 };
        if n as f64 > self.burst || wait_ns > at_most_ns {
            return None;
        }
        self.last_ns = now_ns;
        self.tokens = tokens;
        self.last_event_ns = now_ns.saturating_add(wait_ns);
        Some(Reserved { act_ns: self.last_event_ns, tokens: n as f64, limit: self.limit })
    }

    /// `CancelAt`. What was reserved after this reservation is not restored: the library takes the
    /// length from this reservation to the last for it (golang/go#56924).
    pub fn cancel(&mut self, now: Time, reserved: &Reserved) {
        let now_ns = go_time(now);
        let after_ns = self.last_event_ns.saturating_sub(reserved.act_ns);
        let restored = reserved.tokens - tokens(after_ns, reserved.limit);
        if reserved.tokens == 0.0 || reserved.act_ns < now_ns || restored <= 0.0 {
            return;
        }
        self.tokens = (self.advanced(now_ns) + restored).min(self.burst);
        self.last_ns = now_ns;
        if reserved.act_ns == self.last_event_ns {
            let previous_ns = reserved.act_ns - duration(reserved.tokens, reserved.limit);
            if previous_ns >= now_ns {
                self.last_event_ns = previous_ns;
            }
        }
    }

    /// `TokensAt`, in bytes: below 0 in debt.
    pub fn tokens(&self, now: Time) -> f64 {
        self.advanced(go_time(now))
    }

    /// `SetLimitAt`: those who have reserved keep their instants.
    pub fn set_rate(&mut self, now: Time, rate: ByteRate) {
        let now_ns = go_time(now);
        self.tokens = self.advanced(now_ns);
        self.last_ns = now_ns;
        self.limit = rate.get() as f64;
    }

    /// `advance`: the tokens at `now`. An earlier instant than the last adds none.
    fn advanced(&self, now_ns: i64) -> f64 {
        let elapsed_ns = (now_ns - self.last_ns).max(0);
        (self.tokens + tokens(elapsed_ns, self.limit)).min(self.burst)
    }
}

/// `time.Duration` is signed.
fn go_time(time: Time) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}

/// `durationFromTokens`: truncated to whole nanoseconds.
fn duration(tokens: f64, limit: f64) -> i64 {
    (tokens / limit * 1e9) as i64
}

/// `tokensFromDuration`: `d.Seconds() * limit`, whose whole and fractional seconds are added apart.
fn tokens(ns: i64, limit: f64) -> f64 {
    const NANOS: i64 = 1_000_000_000;
    ((ns / NANOS) as f64 + (ns % NANOS) as f64 / 1e9) * limit
}
