//! Limiters: when a waiter may go, at a rate in bytes per second.
//!
//! A limiter is a plain state machine that owns its waiters. It is asked for tokens, says go or
//! wait, and names the instant at which it wants to be woken. Policies differ in who is told to
//! wake when, and in whether another can take what a waiter was promised. They share one exact
//! [bucket](crate::bucket) and its three [`levels`]: task, queue, global. Those of a library with an
//! account of its own have one bucket, the global one.
//!
//! To add one: write `limit/<name>.rs` with a `Config` that implements [`Policy`], and add one line
//! to the registry below.

pub mod lateness;
pub mod levels;
pub mod line;
pub mod quantity;
pub mod sleepers;
pub mod turns;
pub mod waiting;

pub use crate::control::Invalid;
pub use levels::{Level, Levels, LevelsConfig};

use crate::rng::Streams;
use crate::time::Time;
use crate::vitals::{Unit, VitalInfo, Vitals};
use quantity::ByteRate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Debug;

/// Who asks. The numbers are dense and count from 0: tables are indexed by them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Waiter {
    /// The waiter itself, unique in its limiter. It asks again only after a grant or a cancel.
    pub id: u32,
    /// The task that it belongs to: a download, whose segments are the waiters.
    pub task: u32,
    /// The queue that its task belongs to.
    pub queue: u32,
    /// Which of its task's segments it is: a name for people, no policy looks at it.
    pub segment: u32,
}

/// The answer to an ask.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum Ask {
    /// Go now; the tokens are taken.
    Granted,
    /// It waits in the limiter now.
    Waiting {
        /// The instant that the policy tells the waiter; `None` if it cannot tell, or if that
        /// instant never comes.
        quoted: Option<Time>,
    },
    /// It does not wait and never will be granted: the policy turns such a cost away.
    Refused,
}

/// A waiter may go; its tokens are taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Grant {
    /// Who.
    pub waiter: Waiter,
    /// What it asked for, in bytes.
    pub cost: u64,
    /// When it asked.
    pub asked_at: Time,
    /// What it was told then.
    pub quoted: Option<Time>,
}

/// What a limiter has done since the beginning.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Asks.
    pub asks: u64,
    /// Grants, at once or after a wait.
    pub grants: u64,
    /// Looks at the bucket on behalf of somebody who waits: wake-ups.
    pub wakes: u64,
    /// Waits that were given up.
    pub cancels: u64,
}

/// What a policy keeps to, with its present settings, while no rate falls, every cost fits and the
/// caller wakes it on time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Guarantees {
    /// No grant is later than quoted.
    pub quotes: bool,
    /// Grants come in the order of the asks.
    pub order: bool,
    /// At no level are more bytes granted than it began with and came in since.
    pub rate: bool,
}

/// A running limiter.
///
/// After every call, and at each [`Limiter::next_wake`], call [`Limiter::on_wake`] until it has no
/// more, **letting the waiter react in between**: who asks again at once is part of the regime.
pub trait Limiter: Debug + Send {
    /// `waiter` wants `cost` bytes at `now`.
    ///
    /// # Panics
    /// When it waits already.
    fn ask(&mut self, now: Time, waiter: Waiter, cost: u64) -> Ask;

    /// `cost` bytes now or not at all; whether they were granted.
    fn try_ask(&mut self, now: Time, waiter: Waiter, cost: u64) -> bool {
        match self.ask(now, waiter, cost) {
            Ask::Granted => true,
            Ask::Refused => false,
            Ask::Waiting { .. } => {
                self.cancel(now, waiter.id);
                false
            }
        }
    }

    /// When the limiter wants to be woken. Asked again after every call.
    fn next_wake(&self) -> Option<Time>;

    /// The next waiter who may go at `now`. A call at another instant than the one asked for is
    /// harmless.
    fn on_wake(&mut self, now: Time) -> Option<Grant>;

    /// The waiter with this id gives up; whether it was waiting.
    fn cancel(&mut self, now: Time, id: u32) -> bool;

    /// Another rate for every bucket of a level, from `now` on. A level without a limit stays so.
    fn set_rate(&mut self, now: Time, level: Level, rate: ByteRate);

    /// How many wait.
    fn waiting(&self) -> usize;

    /// What it has done.
    fn counters(&self) -> Counters;

    /// Its buckets.
    fn levels(&self) -> &Levels;

    /// Tokens for all together in bytes, below 0 in debt; `None` without such a limit, and from a
    /// library that does not tell. What has come in since somebody last looked may be missing.
    fn tokens(&self, _now: Time) -> Option<f64> {
        self.levels().tokens(Level::Global)
    }

    /// Its inner numbers: those of [`VITALS`].
    fn vitals(&self, vitals: &mut Vitals) {
        let counters = self.counters();
        vitals.push("waiting", self.waiting() as f64);
        vitals.push("asks", counters.asks as f64);
        vitals.push("grants", counters.grants as f64);
        vitals.push("wakes", counters.wakes as f64);
        vitals.push("cancels", counters.cancels as f64);
    }
}

/// The inner numbers that every limiter shows.
pub const VITALS: &[VitalInfo] = &[
    vital("waiting", Unit::Requests, "asks that wait"),
    vital("asks", Unit::Count, "asks"),
    vital("grants", Unit::Count, "grants, at once or after a wait"),
    vital("wakes", Unit::Count, "looks at the bucket on behalf of somebody who waits"),
    vital("cancels", Unit::Count, "waits that were given up"),
];

const fn vital(name: &'static str, unit: Unit, about: &'static str) -> VitalInfo {
    VitalInfo { name, unit, about }
}

/// The settings of a policy, and how to build it from them.
pub trait Policy: Sized {
    /// The running limiter.
    type Limiter: Limiter;
    /// One line for people who choose a policy: what it does and where it is from.
    const ABOUT: &'static str;

    /// The policy's default settings over these levels.
    fn over(levels: &LevelsConfig) -> Self;

    /// Its levels; `None` if it has none.
    fn levels(&self) -> Option<&LevelsConfig>;

    /// A fresh limiter. Chance comes from the stream `limiter`.
    fn build(&self, streams: &Streams) -> Self::Limiter;

    /// What it keeps to.
    fn guarantees(&self) -> Guarantees;

    /// The level that a cost of this many bytes can never pass, if there is one: a waiter with such
    /// a cost hangs.
    fn hangs(&self, cost: u64) -> Option<Level> {
        self.levels().and_then(|levels| levels.too_small_for(cost))
    }

    /// The most bytes that come in at once. A bucket that was full until shortly before has all of them
    /// and not only what came in since, so its waiters are ahead of a steady one's by so much.
    fn lump(&self) -> u64 {
        0
    }

    /// Whether those who wait race for the tokens: who asks again in time can go before them for ever.
    fn is_race(&self) -> bool {
        false
    }

    /// Settings that an experiment file should not contain, beside those of the levels.
    fn invalid(&self) -> Vec<Invalid> {
        Vec::new()
    }
}

/// Makes the modules, the enum that experiment files hold, and the lists that the command line,
/// the conformance suite and the benches walk over.
macro_rules! policies {
    ($($Name:ident => $module:ident,)+) => {
        $(pub mod $module;)+

        /// A policy and its settings, as an experiment file names them:
        /// `{ fifo: { levels: { global: { rate: 4MiB/s } } } }`.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum LimiterConfig {
            $(#[doc = concat!("The policy `", stringify!($module), "`.")] $Name($module::Config),)+
        }

        impl LimiterConfig {
            /// Name and one line of every registered policy, in the order of the registry.
            pub const LIST: &'static [(&'static str, &'static str)] =
                &[$((stringify!($module), <$module::Config as Policy>::ABOUT)),+];

            /// Every registered policy with its default settings over these levels.
            pub fn all(levels: &LevelsConfig) -> Vec<Self> {
                vec![$(Self::$Name(<$module::Config as Policy>::over(levels))),+]
            }

            /// The policy's name, as files write it.
            pub const fn name(&self) -> &'static str {
                match self { $(Self::$Name(_) => stringify!($module),)+ }
            }

            /// One line on what the policy does and where it is from.
            pub const fn about(&self) -> &'static str {
                match self { $(Self::$Name(_) => <$module::Config as Policy>::ABOUT,)+ }
            }

            /// Its levels; `None` if it has none.
            pub fn levels(&self) -> Option<&LevelsConfig> {
                match self { $(Self::$Name(config) => config.levels(),)+ }
            }

            /// A fresh limiter. Chance comes from the stream `limiter`.
            pub fn build(&self, streams: &Streams) -> Box<dyn Limiter> {
                match self { $(Self::$Name(config) => Box::new(config.build(streams)),)+ }
            }

            /// What it keeps to.
            pub fn guarantees(&self) -> Guarantees {
                match self { $(Self::$Name(config) => config.guarantees(),)+ }
            }

            /// The level that a cost of this many bytes can never pass, if there is one.
            pub fn hangs(&self, cost: u64) -> Option<Level> {
                match self { $(Self::$Name(config) => config.hangs(cost),)+ }
            }

            /// The most bytes that come in at once.
            pub fn lump(&self) -> u64 {
                match self { $(Self::$Name(config) => config.lump(),)+ }
            }

            /// Whether those who wait race for the tokens.
            pub fn is_race(&self) -> bool {
                match self { $(Self::$Name(config) => config.is_race(),)+ }
            }

            /// Settings that an experiment file should not contain.
            pub fn invalid(&self) -> Vec<Invalid> {
                let mut invalid = self.levels().map_or_else(Vec::new, LevelsConfig::invalid);
                invalid.extend(match self { $(Self::$Name(config) => config.invalid(),)+ });
                invalid
            }
        }
    };
}

policies! {
    None => none,
    Fifo => fifo,
    Reservation => reservation,
    Peek => peek,
    WakeHeap => wake_heap,
    Drr => drr,
    Governor => governor,
    Guava => guava,
    LeakyBucket => leaky_bucket,
    Pacer => pacer,
    Htb => htb,
}
