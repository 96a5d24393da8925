//! `cubic`: after a drop the window comes back along a cubic curve of time: fast at first, flat where it was
//! cut, then faster and faster.
//!
//! Source: RFC 9438 (CUBIC, August 2023), in requests instead of segments. The epoch begins when recovery
//! does, and idle time moves both, as in the QUIC library quiche (Cloudflare, May 2026).
//!
//! ```text
//! drop of a request sent after `start`:                      start: when recovery began
//!     W_max  = window, or window * (1 + beta) / 2 if that is below the last W_max     (fast convergence)
//!     start  = now;  window = threshold = max(min, beta * window);  K = cbrt((W_max - window) / scale)
//! answer to one sent at `start` or before, or with in flight < window / 2:  as it is
//! success, window < threshold:  window + 1                                        (slow start)
//! success, else:
//!     W(t)   = scale * (t - K)^3 + W_max                                          t: seconds since start
//!     reno   + alpha / window        from the window after the cut; alpha = 3 (1 - beta) / (1 + beta),
//!                                    1 once it is back at the window before the cut
//!     W(t) < reno:  window = max(window, reno)
//!     else          window + (clamp(W(t + rtt), window, 1.5 window) - window) / window
//! a request is sent while nothing is in flight:
//!     idle: since_sent      start + (now - the last sending)                      (before the fix)
//!     idle: since_answer    start + (now - the last answer), at most now          (the fix)
//!     idle: never           start as it is
//! ```
//!
//! Worked numbers: a cut at 10 is to 7 and back after K = cbrt(3 / 0.4) = 1.957 s, one at 100 after 4.217 s. A
//! client that is idle from then on without `start` being moved finds W(60 s) = 0.4 * 58.04^3 + 10 = 78,227.
//!
//! Known failures: with `since_sent` and a window of one each answer leaves nothing in flight, so each
//! sending moves `start` by a round trip, it stays ahead of every request, and the window never grows
//! again. With `never` a pause is a licence to send (FreeBSD, review D25065).

use super::{Controller, Decision, Invalid, Law, UNBOUNDED, wrong, wrong_range};
use crate::quantity::Coefficient;
use crate::request::{Arrival, Outcome, Sample};
use crate::rng::Streams;
use crate::time::{Nanos, Time};
use crate::vitals::{Unit, VitalInfo, Vitals};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How many times the window the curve may ask for, a round trip ahead.
const AHEAD: f64 = 1.5;

/// By how much an idle time moves the start of recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Idle {
    /// By the time since the last request was sent, though most of that is its round trip (before the
    /// fix).
    SinceSent,
    /// By the time since the last answer, and never beyond now.
    SinceAnswer,
    /// Not at all: the curve goes on while nothing is sent.
    Never,
}

/// Settings of `cubic`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The first window, within `min` to `max`.
    pub initial: u32,
    /// The floor, 1 or more.
    pub min: u32,
    /// The ceiling.
    pub max: u32,
    /// What a drop leaves of the window, below 1.
    pub beta: Coefficient,
    /// How steep the curve is, above 0, in requests per second cubed.
    pub scale: f64,
    /// By how much an idle time moves the start of recovery.
    pub idle: Idle,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            initial: 10,
            min: 2,
            max: 1000,
            beta: Coefficient::percent(70),
            scale: 0.4,
            idle: Idle::SinceAnswer,
        }
    }
}

const VITALS: &[VitalInfo] = &[
    VitalInfo { name: "curve", unit: Unit::Requests, about: "W(t), where the cubic curve is" },
    VitalInfo {
        name: "flips",
        unit: Unit::Count,
        about: "how often recovery began or ended, as seen when a request is sent or ends",
    },
];

impl Law for Config {
    type Controller = Cubic;
    const ABOUT: &'static str =
        "a window that is cut by drops and recovers by a cubic of time (RFC 9438)";
    const VITALS: &'static [VitalInfo] = VITALS;

    fn build(&self, _: &Streams) -> Cubic {
        let max = f64::from(self.max.max(1));
        let min = f64::from(self.min.max(1)).min(max);
        let steep = self.scale.is_finite() && self.scale > 0.0;
        Cubic {
            min,
            max,
            beta: self.beta.get(),
            scale: if steep { self.scale } else { Self::default().scale },
            idle: self.idle,
            window: f64::from(self.initial).clamp(min, max),
            threshold: f64::INFINITY,
            epoch: None,
            curve: None,
            is_idle: true,
            last_sent: Time::ZERO,
            last_answer: Time::ZERO,
            is_recovering: false,
            flips: 0,
        }
    }

    fn ceiling(&self) -> Option<f64> {
        Some(self.max.max(1).into())
    }

    fn invalid(&self) -> Vec<Invalid> {
        let mut invalid = wrong_range(self.initial, self.min, self.max);
        let steep = self.scale.is_finite() && self.scale > 0.0;
        let all = self.beta.get() >= 1.0;
        invalid.extend(wrong(all, "beta", "a drop must leave less than all; write 0.7 or so"));
        invalid.extend(wrong(!steep, "scale", "write a number above 0, such as 0.4"));
        invalid
    }
}

/// What has been since the last cut.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    /// When recovery began, and t is 0.
    start: Time,
    /// The window at which the curve is flat.
    w_max: f64,
    /// When the curve is there, in seconds after `start`.
    k: f64,
    /// The window before the cut.
    before: f64,
    /// The window that Reno would have by now.
    reno: f64,
}

impl Epoch {
    fn curve(&self, scale: f64, at: Time) -> f64 {
        let after_k = at.since(self.start).as_secs_f64() - self.k;
        (scale * after_k * after_k * after_k + self.w_max).min(UNBOUNDED as f64)
    }

    /// Counts a success in for Reno.
    fn grow_reno(&mut self, beta: f64, window: f64) {
        let alpha = 3.0 * (1.0 - beta) / (1.0 + beta);
        self.reno += if self.reno < self.before { alpha } else { 1.0 } / window;
    }
}

/// The running law.
#[derive(Debug)]
pub struct Cubic {
    min: f64,
    max: f64,
    beta: f64,
    scale: f64,
    idle: Idle,
    window: f64,
    /// Below it the window grows by slow start.
    threshold: f64,
    /// `None` until the first cut.
    epoch: Option<Epoch>,
    curve: Option<f64>,
    /// Nothing has been in flight since the last request ended.
    is_idle: bool,
    last_sent: Time,
    last_answer: Time,
    is_recovering: bool,
    flips: u64,
}

impl Cubic {
    /// Whether a request that was sent at `sent` belongs to the time before the cut.
    fn is_old(&self, sent: Time) -> bool {
        self.epoch.is_some_and(|epoch| sent <= epoch.start)
    }

    fn count_flip(&mut self, now: Time) {
        let is_recovering = self.is_old(now);
        self.flips += u64::from(is_recovering != self.is_recovering);
        self.is_recovering = is_recovering;
    }

    /// A request goes at `now`, the first after an idle time.
    fn resume(&mut self, now: Time) {
        let Some(epoch) = &mut self.epoch else { return };
        epoch.start = match self.idle {
            Idle::SinceSent => epoch.start.after(now.since(self.last_sent)),
            Idle::SinceAnswer => epoch.start.after(now.since(self.last_answer)).min(now),
            Idle::Never => epoch.start,
        };
    }

    fn replace(&mut self, raw: f64, reason: &'static str) -> Decision {
        let old = self.window;
        self.window = raw.clamp(self.min, self.max);
        Decision::moved(old, self.window, reason)
    }

    fn cut(&mut self, now: Time) -> Decision {
        let before = self.window;
        let converges = self.epoch.is_some_and(|epoch| before < epoch.w_max);
        let w_max = if converges { before * (1.0 + self.beta) / 2.0 } else { before };
        let decision = self.replace(before * self.beta, "drop");
        let k = libm::cbrt((w_max - self.window).max(0.0) / self.scale);
        self.threshold = self.window;
        self.epoch = Some(Epoch { start: now, w_max, k, before, reno: self.window });
        self.count_flip(now);
        decision
    }

    fn grow(&mut self, now: Time, rtt: Nanos) -> Decision {
        let window = self.window;
        let Some(epoch) = self.epoch.as_mut().filter(|_| window >= self.threshold) else {
            return self.replace(window + 1.0, "slow_start");
        };
        epoch.grow_reno(self.beta, window);
        let curve = epoch.curve(self.scale, now);
        self.curve = Some(curve);
        if curve < epoch.reno {
            let reno = epoch.reno.max(window);
            return self.replace(reno, "reno");
        }
        let target = epoch.curve(self.scale, now.after(rtt)).clamp(window, AHEAD * window);
        self.replace(window + (target - window) / window, "cubic")
    }
}

impl Controller for Cubic {
    fn window(&self) -> f64 {
        self.window
    }

    fn limit(&self) -> u64 {
        self.window as u64
    }

    /// Holds nothing back: this is where the law learns that a request goes.
    fn releases(&mut self, now: Time, _: &Arrival) -> bool {
        if std::mem::replace(&mut self.is_idle, false) {
            self.resume(now);
        }
        self.last_sent = now;
        self.count_flip(now);
        true
    }

    /// Samples that do not count are updates too, so that the flips show.
    fn on_sample(&mut self, now: Time, sample: &Sample) -> Decision {
        // What is heard of late, in a drain, may have been followed by a request already.
        self.is_idle = sample.in_flight_at_end <= 1 && self.last_sent < sample.end;
        self.count_flip(now);
        if !matches!(sample.outcome, Outcome::Timeout | Outcome::Cancelled) {
            self.last_answer = now;
        }
        let is_unused = f64::from(sample.in_flight_at_start) * 2.0 < self.window;
        match sample.outcome.dropped() {
            None => Decision::Waiting,
            Some(_) if self.is_old(sample.start) => self.replace(self.window, "recovery"),
            Some(true) => self.cut(now),
            Some(false) if is_unused => Decision::Waiting,
            Some(false) => self.grow(now, sample.rtt()),
        }
    }

    fn vitals(&self, vitals: &mut Vitals) {
        if let Some(curve) = self.curve {
            vitals.push("curve", curve);
        }
        vitals.push("flips", self.flips as f64);
    }
}

#[cfg(test)]
mod tests;
