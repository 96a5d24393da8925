//! Chunk sizes: what a transfer asks the limiter for at a time.

use super::config::MAX_FILE;
use crate::control::Invalid;
use crate::limit::quantity::Bytes;
use crate::quantity::Share;
use crate::rng::Rng;
use rand::RngExt as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How large chunks are. The last one of a segment is what is left.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChunkConfig {
    /// All alike. curl hands out 16 KiB at most (`CURL_MAX_WRITE_SIZE`), and nearly always that.
    Fixed(Bytes),
    /// Each drawn anew, every size from the least to the most alike.
    Uniform(Sizes),
    /// Each drawn anew from one of several kinds. Shares add up to 100%.
    Mixed(Vec<Kind>),
    /// All alike but for some tasks.
    ByTask(ByTask),
}

/// Sizes from the least to the most, both included; 1 byte or more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sizes {
    /// The least.
    pub min: Bytes,
    /// The most.
    pub max: Bytes,
}

/// One kind of chunk in a mix.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Kind {
    /// How many of all chunks are of this kind.
    pub share: Share,
    /// The least.
    pub min: Bytes,
    /// The most.
    pub max: Bytes,
}

/// Some tasks have other chunks than the rest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ByTask {
    /// The chunk of these tasks.
    pub chunk: Bytes,
    /// Their numbers, from 0; at most 1000.
    #[schemars(length(max = 1000))]
    pub tasks: Vec<u32>,
    /// The chunk of all others.
    pub others: Bytes,
}

impl ChunkConfig {
    /// The size of the next chunk of a task.
    pub fn draw(&self, task: u32, rng: &mut Rng) -> u64 {
        match self {
            Self::Fixed(chunk) => chunk.get(),
            Self::Uniform(Sizes { min, max }) => between(*min, *max, rng),
            Self::Mixed(kinds) => {
                let (mut left, mut chosen) = (rng.random::<f64>(), kinds.last());
                for kind in kinds {
                    if left < kind.share.get() {
                        chosen = Some(kind);
                        break;
                    }
                    left -= kind.share.get();
                }
                chosen.map_or(1, |kind| between(kind.min, kind.max, rng))
            }
            Self::ByTask(by) => self.size_for(by, task),
        }
    }

    fn size_for(&self, by: &ByTask, task: u32) -> u64 {
        if by.tasks.contains(&task) { by.chunk.get() } else { by.others.get() }
    }

    /// The largest chunk of a task.
    pub fn largest(&self, task: u32) -> u64 {
        match self {
            Self::Fixed(chunk) => chunk.get(),
            Self::Uniform(sizes) => sizes.max.get(),
            Self::Mixed(kinds) => kinds.iter().map(|kind| kind.max.get()).max().unwrap_or(1),
            Self::ByTask(by) => self.size_for(by, task),
        }
    }

    /// Settings that an experiment file should not contain, for this many tasks.
    pub fn invalid(&self, tasks: u32) -> Vec<Invalid> {
        let mut messages = Vec::new();
        let mut sizes = |min: Bytes, max: Bytes| {
            if min.get() == 0 {
                messages.push("a chunk of 0B never ends; write 1B or more".to_owned());
            }
            if max > MAX_FILE {
                messages.push("a chunk has 1TiB at most".to_owned());
            }
            if min > max {
                messages.push(format!("chunks from {min} to {max}: write the smaller one first"));
            }
        };
        match self {
            Self::Fixed(chunk) => sizes(*chunk, *chunk),
            Self::Uniform(Sizes { min, max }) => sizes(*min, *max),
            Self::Mixed(kinds) => {
                kinds.iter().for_each(|kind| sizes(kind.min, kind.max));
                let sum: f64 = kinds.iter().map(|kind| kind.share.get()).sum();
                if (sum - 1.0).abs() > 1e-9 {
                    messages.push(format!("shares add up to {}%; make it 100%", sum * 100.0));
                }
            }
            Self::ByTask(by) => {
                sizes(by.chunk, by.chunk);
                sizes(by.others, by.others);
                if let Some(task) = by.tasks.iter().find(|task| **task >= tasks) {
                    let last = tasks.saturating_sub(1);
                    messages.push(format!("there is no task {task}; they count from 0 to {last}"));
                }
            }
        }
        messages.into_iter().map(|message| Invalid { field: "chunk", message }).collect()
    }
}

fn between(min: Bytes, max: Bytes, rng: &mut Rng) -> u64 {
    if min >= max { min.get().max(1) } else { rng.random_range(min.get()..=max.get()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Streams;

    fn kind(share: f64, min: u64, max: u64) -> Kind {
        let share = Share::new(share).unwrap();
        Kind { share, min: Bytes::new(min), max: Bytes::new(max) }
    }

    #[test]
    fn a_mix_has_its_shares_and_stays_within_its_sizes() {
        let mix = ChunkConfig::Mixed(vec![kind(0.9, 100, 100), kind(0.1, 1, 99)]);
        let mut rng = Streams::new(1).stream("chunks");
        let drawn: Vec<_> = (0..10_000).map(|_| mix.draw(0, &mut rng)).collect();
        let large = drawn.iter().filter(|size| **size == 100).count();
        assert!((8_800..9_200).contains(&large), "{large}");
        assert!(drawn.iter().all(|size| (1..=100).contains(size)));
        assert_eq!(mix.largest(0), 100);
    }

    #[test]
    fn some_tasks_have_other_chunks() {
        let (chunk, others) = (Bytes::new(64), Bytes::new(16));
        let by_task = ChunkConfig::ByTask(ByTask { chunk, tasks: vec![3], others });
        let mut rng = Streams::new(1).stream("chunks");
        assert_eq!([2, 3].map(|task| by_task.draw(task, &mut rng)), [16, 64]);
        assert_eq!(by_task.invalid(4), []);
        assert!(by_task.invalid(3)[0].message.contains("no task 3"));
    }

    #[test]
    fn mistakes_are_named() {
        let sizes = |min, max| Sizes { min: Bytes::new(min), max: Bytes::new(max) };
        for (config, part) in [
            (ChunkConfig::Fixed(Bytes::new(0)), "0B"),
            (ChunkConfig::Uniform(sizes(9, 8)), "smaller one first"),
            (ChunkConfig::Mixed(vec![kind(0.5, 1, 1)]), "50%"),
            (ChunkConfig::Mixed(vec![]), "0%"),
        ] {
            let invalid = config.invalid(1);
            assert!(invalid.len() == 1 && invalid[0].message.contains(part), "{config:?}");
        }
    }
}
