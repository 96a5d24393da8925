//! Controllers: how many requests may be in flight.
//!
//! A controller is a plain state machine. It is told what came back, and it answers with its
//! limit and a decision that is data. It knows no clock, no queue and no metric.
//!
//! To add one: write `control/<name>.rs` with a `Config` that implements [`Law`], and add one line
//! to the registry below. `CONTRIBUTING.md` walks through it.

use crate::quantity::Coefficient;
use crate::request::{Arrival, Sample};
use crate::rng::Streams;
use crate::time::{Nanos, Time};
use crate::vitals::{VitalInfo, Vitals};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Debug;

/// A running law.
pub trait Controller: Debug + Send {
    /// The law's own value: what it computes with, in requests.
    fn window(&self) -> f64;

    /// How many requests it admits, at least 1; [`UNBOUNDED`] of a law that has no window.
    fn limit(&self) -> u64;

    /// Whether a request that arrives at `now` is taken in, or turned away unheard. Asked once for each
    /// attempt; a law that sheds by chance answers by chance.
    fn accepts(&mut self, _now: Time, _arrival: &Arrival) -> bool {
        true
    }

    /// Whether the request that is next may go at `now`. Asked while the window has room, and a yes
    /// is used at once. A law with a rate takes a token, or wants to be woken when there is one.
    fn releases(&mut self, _now: Time, _arrival: &Arrival) -> bool {
        true
    }

    /// A request ended at `now`.
    fn on_sample(&mut self, now: Time, sample: &Sample) -> Decision;

    /// The instant asked for by [`Controller::next_wake`] has come. A call at another instant is
    /// harmless.
    fn on_wake(&mut self, _now: Time) -> Decision {
        Decision::Waiting
    }

    /// When the law wants to be woken, if it has a clock. Asked again after every call.
    fn next_wake(&self) -> Option<Time> {
        None
    }

    /// The RTT that the law takes for an uncongested one, if it has such a notion and a value.
    fn baseline_rtt(&self) -> Option<Nanos> {
        None
    }

    /// The baseline with what the law tolerates on top: its gradient is this over the RTT that it observes.
    /// There is one when there is a baseline. A backend that is held at a gradient follows it.
    fn tolerated_rtt(&self) -> Option<Nanos> {
        self.baseline_rtt()
    }

    /// The law's inner numbers, the inputs of its last update among them.
    fn vitals(&self, vitals: &mut Vitals);
}

/// What a law made of an input.
#[derive(Clone, Copy, PartialEq, Debug)]
#[must_use]
pub enum Decision {
    /// It took the input in and has not recomputed anything.
    Waiting,
    /// It recomputed its window.
    Updated(Update),
}

impl Decision {
    /// The window went from `old` to `new`, 1 or more, and the law admits its whole part.
    pub const fn moved(old: f64, new: f64, reason: &'static str) -> Self {
        Self::Updated(Update { old, new, limit: new as u64, reason })
    }
}

/// A recomputation of the window, whether or not the value changed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Update {
    /// The law's value before.
    pub old: f64,
    /// The law's value after.
    pub new: f64,
    /// What it admits after.
    pub limit: u64,
    /// Why, in one word of the law's own choosing; it becomes a metric label.
    pub reason: &'static str,
}

impl Update {
    /// The law's value before; `None` of a law that has no window.
    pub fn old_window(&self) -> Option<f64> {
        self.has_window().then_some(self.old)
    }

    /// The law's value after; `None` of a law that has no window.
    pub fn window(&self) -> Option<f64> {
        self.has_window().then_some(self.new)
    }

    /// What it admits after, if it has a window: [`bounded`].
    pub fn bound(&self) -> Option<u64> {
        bounded(self.limit)
    }

    const fn has_window(&self) -> bool {
        bounded(self.limit).is_some()
    }

    /// `up`, `down` or `hold`.
    pub fn direction(&self) -> &'static str {
        match self.new.total_cmp(&self.old) {
            std::cmp::Ordering::Greater => "up",
            std::cmp::Ordering::Less => "down",
            std::cmp::Ordering::Equal => "hold",
        }
    }
}

/// A setting that cannot work, found before a run starts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Invalid {
    /// The field at fault.
    pub field: &'static str,
    /// What is wrong and what would be right.
    pub message: String,
}

/// The settings of a law, and how to build it from them.
pub trait Law: Default {
    /// The running law.
    type Controller: Controller;
    /// One line for people who choose a law: what it does and where it is from.
    const ABOUT: &'static str;
    /// The inner numbers that the law shows.
    const VITALS: &'static [VitalInfo] = &[];

    /// [`Law::VITALS`], and those of a law inside of this one.
    fn vitals(&self) -> Vec<VitalInfo> {
        Self::VITALS.to_vec()
    }

    /// A fresh controller. Settings that are out of range are clamped as the original clamps them.
    /// Chance comes from the stream `controller`.
    fn build(&self, streams: &Streams) -> Self::Controller;

    /// Whether it has a window. A law without one admits by other means, and its limit is always
    /// [`UNBOUNDED`].
    fn has_window(&self) -> bool {
        true
    }

    /// The most that the window can be; `None` if it has no bound. That a law does not climb any
    /// further at its ceiling is no stall.
    fn ceiling(&self) -> Option<f64> {
        None
    }

    /// Whether it turns requests away until time has passed: a client that asks again at once would ask for ever.
    fn refuses_at_once(&self) -> bool {
        false
    }

    /// Settings that an experiment file should not contain.
    fn invalid(&self) -> Vec<Invalid> {
        Vec::new()
    }
}

/// The limit of a law that has no window. No gate reaches it: it counts what is in flight in 32 bits.
pub const UNBOUNDED: u64 = u32::MAX as u64;

/// A limit, unless it is none at all.
pub const fn bounded(limit: u64) -> Option<u64> {
    if limit < UNBOUNDED { Some(limit) } else { None }
}

/// The step of Vegas and its relatives: 1 below 100 requests, 2 below 1000, and so on.
fn log10(window: f64) -> f64 {
    // Almost every decision of these laws passes here, and most windows are small.
    if window < 100.0 { 1.0 } else { f64::from((window as u64).ilog10()) }
}

/// What is wrong with a law's first window, floor and ceiling.
fn wrong_range(initial: u32, min: u32, max: u32) -> Vec<Invalid> {
    let mut invalid = Vec::new();
    let mut refuse = |wrong: bool, field, message: String| {
        if wrong {
            invalid.push(Invalid { field, message });
        }
    };
    refuse(min == 0, "min", "a floor of 0 admits nothing; write 1 or more".to_owned());
    refuse(min > max, "min", format!("min {min} is above max {max}; swap them"));
    let outside = min <= max && !(min..=max).contains(&initial);
    refuse(outside, "initial", format!("initial {initial} is outside min {min} to max {max}"));
    invalid
}

/// The complaint about a `backoff` that takes nothing away.
fn wrong_backoff(backoff: Coefficient) -> Option<Invalid> {
    wrong(backoff.get() >= 1.0, "backoff", "a drop must leave less than all; write 0.9 or so")
}

/// The complaint about a setting, if it is `wrong`.
fn wrong(wrong: bool, field: &'static str, message: &str) -> Option<Invalid> {
    wrong.then(|| Invalid { field, message: message.to_owned() })
}

/// Makes the modules, the enum that experiment files hold, and the lists that the command line,
/// the conformance suite and the benches walk over.
macro_rules! laws {
    ($($Name:ident => $module:ident,)+) => {
        $(pub mod $module;)+

        /// A law and its settings, as an experiment file names them: `{ velox: { max: 64 } }`.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum ControllerConfig {
            $(#[doc = concat!("The law `", stringify!($module), "`.")] $Name($module::Config),)+
        }

        impl ControllerConfig {
            /// Every registered law with its default settings, in the order of the registry.
            pub fn all() -> Vec<Self> {
                vec![$(Self::$Name($module::Config::default())),+]
            }

            /// The law's name, as files write it.
            pub const fn name(&self) -> &'static str {
                match self { $(Self::$Name(_) => stringify!($module),)+ }
            }

            /// One line on what the law does and where it is from.
            pub const fn about(&self) -> &'static str {
                match self { $(Self::$Name(_) => <$module::Config as Law>::ABOUT,)+ }
            }

            /// The inner numbers that the law shows.
            pub fn vitals(&self) -> Vec<VitalInfo> {
                match self { $(Self::$Name(config) => config.vitals(),)+ }
            }

            /// Whether the law has a window.
            pub fn has_window(&self) -> bool {
                match self { $(Self::$Name(config) => config.has_window(),)+ }
            }

            /// The most that the window can be, if the law has a ceiling.
            pub fn ceiling(&self) -> Option<f64> {
                match self { $(Self::$Name(config) => config.ceiling(),)+ }
            }

            /// Whether it turns requests away until time has passed.
            pub fn refuses_at_once(&self) -> bool {
                match self { $(Self::$Name(config) => config.refuses_at_once(),)+ }
            }

            /// A fresh controller. Chance comes from the stream `controller`.
            pub fn build(&self, streams: &Streams) -> Box<dyn Controller> {
                match self { $(Self::$Name(config) => Box::new(config.build(streams)),)+ }
            }

            /// Settings that an experiment file should not contain.
            pub fn invalid(&self) -> Vec<Invalid> {
                match self { $(Self::$Name(config) => config.invalid(),)+ }
            }
        }
    };
}

laws! {
    Fixed => fixed,
    Velox => velox,
    Aimd => aimd,
    Gradient2 => gradient2,
    Gradient => gradient,
    Vegas => vegas,
    Windowed => windowed,
    Unlimited => unlimited,
    Ciad => ciad,
    Envoy => envoy,
    VectorArc => vector_arc,
    BrpcAuto => brpc_auto,
    Failsafe => failsafe,
    VeloxCap => velox_cap,
    AwsCubic => aws_cubic,
    SreThrottle => sre_throttle,
    Cubic => cubic,
    RateLimit => rate_limit,
}
