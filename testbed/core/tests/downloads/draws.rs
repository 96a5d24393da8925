//! How large chunks are.

use crate::loads::{NONE, load, secs};
use crate::world::World;
use testbed_core::download::DownloadConfig;
use testbed_core::download::chunk::{ByTask, ChunkConfig, Kind, Sizes};
use testbed_core::limit::quantity::Bytes;
use testbed_core::quantity::Share;

/// The sizes of all reads but the last one of each segment, by segment.
fn drawn(chunk: ChunkConfig) -> Vec<Vec<u64>> {
    let config = DownloadConfig { chunk, segment: Some(Bytes::from_kib(1)), ..load(2, 2) };
    let mut world = World::new(&config, &NONE);
    world.run_to_the_end(secs(60));
    let of = |segment| world.reads.iter().filter(move |read| read.1 == segment);
    let all = (0..4).map(|segment| of(segment).map(|read| read.2).collect::<Vec<_>>());
    all.map(|mut sizes| {
        assert_eq!(sizes.iter().sum::<u64>(), 1024);
        sizes.pop();
        sizes
    })
    .collect()
}

fn sizes(min: u64, max: u64) -> Sizes {
    Sizes { min: Bytes::new(min), max: Bytes::new(max) }
}

#[test]
fn uniform_chunks_are_drawn_anew_within_their_sizes() {
    let all = drawn(ChunkConfig::Uniform(sizes(1, 8))).concat();
    assert!((1..=8).all(|size| all.contains(&size)));
    assert!(all.iter().all(|size| (1..=8).contains(size)));
    let again = drawn(ChunkConfig::Uniform(sizes(1, 8))).concat();
    assert_eq!(all, again, "chance comes from the seed");
}

#[test]
fn mixed_chunks_are_of_one_of_their_kinds() {
    let share = Share::new(0.5).unwrap();
    let kind = |size| Kind { share, min: Bytes::new(size), max: Bytes::new(size) };
    let all = drawn(ChunkConfig::Mixed(vec![kind(3), kind(17)])).concat();
    assert!([3, 17].iter().all(|size| all.contains(size)));
    assert!(all.iter().all(|size| [3, 17].contains(size)));
}

#[test]
fn some_tasks_have_chunks_of_their_own() {
    let (chunk, others) = (Bytes::new(7), Bytes::new(100));
    let all = drawn(ChunkConfig::ByTask(ByTask { chunk, tasks: vec![1], others }));
    for (segment, sizes) in all.iter().enumerate() {
        let expected = if segment / 2 == 1 { 7 } else { 100 };
        assert!(sizes.iter().all(|size| *size == expected), "segment {segment}");
    }
}

#[test]
fn a_chunk_beyond_the_segment_is_the_segment() {
    let config = DownloadConfig { chunk: ChunkConfig::Fixed(Bytes::new(u64::MAX)), ..load(1, 1) };
    let mut world = World::new(&config, &NONE);
    world.run_to_the_end(secs(1));
    assert_eq!(world.reads.iter().map(|read| read.2).collect::<Vec<_>>(), [100]);
}
