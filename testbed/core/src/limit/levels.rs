//! The three levels of a limit: the waiter's task, its queue, and everything.
//!
//! Each level may have a limit. The global one is one bucket; the others have one bucket a task or
//! queue, all alike, which comes into being at the first ask that concerns it.

use super::quantity::ByteRate;
use super::{Invalid, Waiter};
use crate::bucket::{Bucket, BucketConfig, Ledger, Refill};
use crate::rng::Streams;
use crate::time::{Nanos, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A timer's least length: each firing is a draw.
const EVERY_MIN: Nanos = Nanos::from_millis(1);

/// A level, in the order in which a waiter meets them.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// The waiter's task.
    Task,
    /// The queue of its task.
    Queue,
    /// All together.
    Global,
}

impl Level {
    /// Every level, in the order in which a waiter meets them.
    pub const ALL: [Self; 3] = [Self::Task, Self::Queue, Self::Global];

    /// The level's name, as files write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Task => "task",
            Self::Queue => "queue",
            Self::Global => "global",
        }
    }

    /// Which of the level's buckets a waiter draws from.
    pub const fn key(self, waiter: Waiter) -> u32 {
        match self {
            Self::Task => waiter.task,
            Self::Queue => waiter.queue,
            Self::Global => 0,
        }
    }
}

/// The limits as a file writes them. At least one level has one.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LevelsConfig {
    /// One bucket for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub global: Option<BucketConfig>,
    /// A bucket for each queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<BucketConfig>,
    /// A bucket for each task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<BucketConfig>,
}

impl LevelsConfig {
    /// One global bucket and no other limit.
    pub const fn global(bucket: BucketConfig) -> Self {
        Self { global: Some(bucket), queue: None, task: None }
    }

    /// The bucket of a level, if it has a limit.
    pub const fn bucket(&self, level: Level) -> Option<&BucketConfig> {
        match level {
            Level::Task => self.task.as_ref(),
            Level::Queue => self.queue.as_ref(),
            Level::Global => self.global.as_ref(),
        }
    }

    fn buckets(&self) -> impl Iterator<Item = (Level, &BucketConfig)> {
        Level::ALL.into_iter().filter_map(|level| Some((level, self.bucket(level)?)))
    }

    /// Whether exactly one level has a limit.
    pub fn is_single(&self) -> bool {
        self.buckets().count() == 1
    }

    /// Whether every nanosecond counts in every bucket.
    pub fn is_exact(&self) -> bool {
        self.buckets().all(|(_, bucket)| bucket.refill == Refill::Exact)
    }

    /// These limits as a policy with one exact bucket has them: the widest of them, for all together.
    pub fn as_one(&self) -> Self {
        let widest = self.buckets().last().map(|(_, bucket)| bucket.clone());
        let global = widest.map(|bucket| BucketConfig { refill: Refill::Exact, ..bucket });
        Self { global, queue: None, task: None }
    }

    /// What such a policy, that of `whose`, cannot follow.
    pub fn invalid_as_one(&self, whose: &str) -> Vec<Invalid> {
        let mut invalid = Vec::new();
        let own = self.queue.is_some() || self.task.is_some();
        if own || self.global.is_none() {
            let message = format!("{whose} has one bucket; give `global` and no other level");
            invalid.push(Invalid { field: "levels", message });
        }
        if !self.is_exact() {
            let message = format!("{whose} refills in its own way; leave `refill` out");
            invalid.push(Invalid { field: "refill", message });
        }
        invalid
    }

    /// The first level whose capacity is below `cost` bytes.
    pub fn too_small_for(&self, cost: u64) -> Option<Level> {
        self.buckets().find(|(_, bucket)| bucket.capacity() < cost).map(|(level, _)| level)
    }

    /// Settings that an experiment file should not contain.
    pub fn invalid(&self) -> Vec<Invalid> {
        let mut invalid = Vec::new();
        let mut refuse = |wrong: bool, field, message: String| {
            if wrong {
                invalid.push(Invalid { field, message });
            }
        };
        let limited = self.buckets().next().is_some();
        let cure = "no level has a limit; give one, such as global: { rate: 4MiB/s }";
        refuse(!limited, "levels", cure.to_owned());
        for (level, bucket) in self.buckets() {
            let (name, capacity) = (level.name(), bucket.capacity());
            let cure = "holds no token and grants nothing; write 1B or more";
            refuse(capacity == 0, "capacity", format!("a {name} capacity of 0B {cure}"));
            let initial = bucket.initial.map_or(0, super::quantity::Bytes::get);
            let over = format!("a {name} bucket of {capacity} B cannot begin with {initial} B");
            refuse(initial > capacity, "initial", over);
            let still = bucket.refill == Refill::Tick(Nanos::ZERO);
            refuse(still, "refill", format!("the {name} tick of 0s never comes; write 1ms or so"));
            let fast = matches!(bucket.refill, Refill::Timer(timer) if timer.every < EVERY_MIN);
            refuse(
                fast,
                "refill",
                format!("the {name} timer is too fast; write every: 1ms or more"),
            );
        }
        invalid
    }
}

/// The tokens of a level, all its buckets together, as of the last refill of each.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stock {
    /// Where they came from and went.
    pub ledger: Ledger,
    /// What is there in billionths of a byte, negative in debt: equal to [`Ledger::balance`].
    pub available: i128,
}

/// The buckets of one level.
#[derive(Debug)]
struct Tier {
    level: Level,
    config: BucketConfig,
    streams: Streams,
    buckets: Vec<Option<Bucket>>,
}

impl Tier {
    fn bucket(&mut self, now: Time, key: u32) -> &mut Bucket {
        let index = key as usize;
        if index >= self.buckets.len() {
            self.buckets.resize(index + 1, None);
        }
        let (level, streams) = (self.level.name(), self.streams);
        let chance = || streams.stream(&format!("refill.{level}.{key}"));
        self.buckets[index].get_or_insert_with(|| Bucket::new(&self.config, now, chance))
    }

    fn existing(&self) -> impl Iterator<Item = &Bucket> {
        self.buckets.iter().flatten()
    }
}

/// The running buckets.
#[derive(Debug, Default)]
pub struct Levels {
    tiers: [Option<Tier>; 3],
}

impl Levels {
    /// Fresh buckets. The global one exists from the beginning of the run. Chance comes from the
    /// streams `refill.<level>.<key>`, one a bucket.
    pub fn new(config: &LevelsConfig, streams: &Streams) -> Self {
        let tier = |level| {
            let config = config.bucket(level)?.clone();
            let mut tier = Tier { level, config, streams: *streams, buckets: Vec::new() };
            if level == Level::Global {
                tier.bucket(Time::ZERO, 0);
            }
            Some(tier)
        };
        Self { tiers: Level::ALL.map(tier) }
    }

    /// Whether a level has a limit.
    pub const fn limits(&self, level: Level) -> bool {
        self.tiers[level as usize].is_some()
    }

    /// The bucket that a waiter draws from at a level, if it has a limit.
    pub fn bucket(&mut self, now: Time, level: Level, waiter: Waiter) -> Option<&mut Bucket> {
        let tier = self.tiers[level as usize].as_mut()?;
        Some(tier.bucket(now, level.key(waiter)))
    }

    /// The first instant from `now` on at which every level has `cost` bytes if nobody takes any;
    /// `None` if one of them cannot hold so many.
    pub fn ready_at(&mut self, now: Time, waiter: Waiter, cost: u64) -> Option<Time> {
        Level::ALL.into_iter().try_fold(now, |latest, level| {
            Some(latest.max(self.level_ready_at(now, level, waiter, cost)?))
        })
    }

    /// The same for one level; `now` if it has no limit.
    pub fn level_ready_at(
        &mut self,
        now: Time,
        level: Level,
        waiter: Waiter,
        cost: u64,
    ) -> Option<Time> {
        self.bucket(now, level, waiter).map_or(Some(now), |bucket| bucket.ready_at(now, cost))
    }

    /// Takes `cost` bytes if every level has them, else nothing. When they are there otherwise is
    /// the error: as [`Levels::ready_at`].
    ///
    /// # Errors
    /// The instant to wait for, or `None` for never.
    pub fn take_or_wait(
        &mut self,
        now: Time,
        waiter: Waiter,
        cost: u64,
    ) -> Result<(), Option<Time>> {
        match self.ready_at(now, waiter, cost) {
            Some(at) if at <= now => {
                self.take(now, waiter, cost);
                Ok(())
            }
            ready_at => Err(ready_at),
        }
    }

    /// Takes `cost` bytes at every level, into debt if they are not there.
    pub fn take(&mut self, now: Time, waiter: Waiter, cost: u64) {
        for level in Level::ALL {
            if let Some(bucket) = self.bucket(now, level, waiter) {
                bucket.take(now, cost);
            }
        }
    }

    /// Gives `cost` bytes back at every level.
    pub fn give_back(&mut self, now: Time, waiter: Waiter, cost: u64) {
        for level in Level::ALL {
            if let Some(bucket) = self.bucket(now, level, waiter) {
                bucket.give_back(now, cost);
            }
        }
    }

    /// Another rate for every bucket of a level, those to come included. Gives the old rate; `None`
    /// if the level has no limit.
    pub fn set_rate(&mut self, now: Time, level: Level, rate: ByteRate) -> Option<ByteRate> {
        let tier = self.tiers[level as usize].as_mut()?;
        // What a capacity left out stood for is fixed by the first rate.
        let first = tier.config.capacity();
        tier.config.capacity = Some(super::quantity::Bytes::new(first));
        tier.buckets.iter_mut().flatten().for_each(|bucket| bucket.set_rate(now, rate));
        Some(std::mem::replace(&mut tier.config.rate, rate))
    }

    /// The most bytes that a bucket of a level holds; `None` if it has no limit.
    pub fn capacity(&self, level: Level) -> Option<u64> {
        self.tiers[level as usize].as_ref().map(|tier| tier.config.capacity())
    }

    /// Tokens of a level in bytes, all its buckets together, as of their last refill.
    pub fn tokens(&self, level: Level) -> Option<f64> {
        let tier = self.tiers[level as usize].as_ref()?;
        Some(tier.existing().map(Bucket::tokens).sum())
    }

    /// Where a level's tokens came from and went, all its buckets together.
    pub fn ledger(&self, level: Level) -> Option<Ledger> {
        let tier = self.tiers[level as usize].as_ref()?;
        let add = |sum: Ledger, bucket: &Bucket| sum.plus(&bucket.ledger());
        Some(tier.existing().fold(Ledger::default(), add))
    }

    /// The tokens of each level in the order of [`Level::ALL`]; `None` where it has no limit.
    pub fn stocks(&self) -> [Option<Stock>; 3] {
        Level::ALL.map(|level| {
            let (ledger, available) = (self.ledger(level)?, self.level_units(level)?);
            Some(Stock { ledger, available })
        })
    }

    /// Tokens of a level in billionths of a byte, equal to [`Ledger::balance`].
    pub fn level_units(&self, level: Level) -> Option<i128> {
        let tier = self.tiers[level as usize].as_ref()?;
        Some(tier.existing().map(Bucket::level).sum())
    }
}
