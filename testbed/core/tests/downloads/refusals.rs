//! What Go's arithmetic does to downloads: it refuses a chunk beyond its burst, and a grant of it
//! could be cancelled at its own instant.

use crate::loads::{bucket, load, ms, secs, single_chunks};
use crate::world::World;
use testbed_core::download::chunk::{ByTask, ChunkConfig};
use testbed_core::download::{Change, DownloadConfig, Retry};
use testbed_core::limit::quantity::Bytes;
use testbed_core::limit::reservation::{Arithmetic, Config};
use testbed_core::limit::{LevelsConfig, LimiterConfig, Policy};
use testbed_core::time::Nanos;
use testbed_core::wait::WaitEnd;

fn go(initial: u64) -> LimiterConfig {
    let levels = LevelsConfig::global(bucket(100, 100, initial));
    LimiterConfig::Reservation(Config { arithmetic: Arithmetic::Go, ..Config::over(&levels) })
}

#[test]
fn a_refused_chunk_fails_its_segment_which_is_closed_and_leaves_its_slot() {
    let chunk = ByTask { chunk: Bytes::new(101), tasks: vec![0], others: Bytes::new(50) };
    let config = DownloadConfig {
        chunk: ChunkConfig::ByTask(chunk),
        segment: Some(Bytes::new(150)),
        slots: Some(1),
        ..load(2, 1)
    };
    let mut world = World::new(&config, &go(100));
    world.run_to_the_end(secs(2));
    assert_eq!(world.ledger.when(|change| change == Change::Failed), [(ms(1), 0)]);
    assert_eq!(world.ledger.ended[0].end, WaitEnd::Cancelled);
    assert_eq!(world.opened[1].at, ms(1));
    let waits: Vec<_> = world.ledger.granted().map(|ended| ended.wait.fifo_wait()).collect();
    assert_eq!(waits[..2], [Nanos::ZERO; 2], "what is refused stands in no queue");
}

/// Closing a transfer that is done used to cancel the grant of its last chunk.
#[test]
fn a_last_chunk_is_paid_for() {
    let config = DownloadConfig { slots: Some(1), ..single_chunks(3, 1) };
    let mut world = World::new(&config, &go(0));
    world.run_to_the_end(secs(4));
    let granted: Vec<_> = world.ledger.granted().map(|ended| ended.at).collect();
    assert_eq!(granted, [1, 2, 3].map(secs));
}

#[test]
fn a_grant_is_paid_for_though_its_connection_breaks_at_the_same_instant() {
    let retry = Retry { first: Nanos::from_millis(1), ..Retry::default() };
    let mut world = World::new(&DownloadConfig { retry, ..load(1, 1) }, &go(40));
    world.run(ms(1));
    world.break_connection(0);
    world.run_to_the_end(secs(3));
    let makespan = world.ledger.makespan.unwrap();
    assert!(makespan > Nanos::from_millis(599), "40 B of 100 B at once: {makespan}");
}
