//! The low-speed abort: 1 kB/s for 30 s, looked at once a second. A transfer without a byte ends
//! 31 s after it began.

use crate::loads::{NONE, fifo, load, low_speed, ms, secs};
use crate::world::World;
use testbed_core::download::chunk::ChunkConfig;
use testbed_core::download::speed::Paused::{Counts, Exempt};
use testbed_core::download::{Change, DownloadConfig, Progress, Reason, Retry};
use testbed_core::limit::quantity::Bytes;
use testbed_core::time::{Nanos, Time};
use testbed_core::wait::WaitEnd;

/// Chunks of 1000 B, three for each segment.
fn thousands(tasks: u32) -> DownloadConfig {
    DownloadConfig {
        chunk: ChunkConfig::Fixed(Bytes::new(1000)),
        segment: Some(Bytes::new(3000)),
        ..load(tasks, 1)
    }
}

fn aborts(world: &World) -> Vec<Time> {
    let slow = |change| matches!(change, Change::Aborted { reason: Reason::LowSpeed, .. });
    world.ledger.when(slow).into_iter().map(|(at, _)| at).collect()
}

fn opened(world: &World) -> Vec<Time> {
    world.opened.iter().map(|opened| opened.at).collect()
}

#[test]
fn a_wait_of_fifty_seconds_is_too_slow_where_waits_count() {
    let config = DownloadConfig { low_speed: low_speed(Counts), ..thousands(1) };
    let mut world = World::new(&config, &fifo(20));
    world.run(ms(31_500));
    assert_eq!(aborts(&world), [secs(31)]);
    let ended = world.ledger.ended[0];
    assert_eq!((ended.at, ended.end), (secs(31), WaitEnd::Cancelled));
    assert_eq!((world.ledger.waiting(), world.ledger.cancels), (0, 1.0), "in either book");
    world.run(ms(50_500));
    let granted: Vec<_> = world.ledger.granted().map(|ended| ended.at).collect();
    assert_eq!(granted, [secs(50)], "what came meanwhile is there for its next ask");
}

/// A chunk of 20 B at 20 s is a byte, but 4 B/s.
#[test]
fn a_little_in_between_does_not_stop_the_clock_where_waits_count() {
    let chunk = ChunkConfig::Fixed(Bytes::new(20));
    let config = DownloadConfig { low_speed: low_speed(Counts), chunk, ..load(1, 1) };
    let mut world = World::new(&config, &fifo(1));
    world.run(ms(31_500));
    assert_eq!((world.ledger.granted().count(), aborts(&world)), (1, vec![secs(31)]));
}

#[test]
fn no_wait_is_too_slow_where_waits_are_exempt() {
    let config = DownloadConfig { low_speed: low_speed(Exempt), ..thousands(1) };
    let mut world = World::new(&config, &fifo(20));
    world.run_to_the_end(secs(150));
    assert_eq!(world.ledger.makespan, Some(Nanos::from_secs(150)));
    assert_eq!(aborts(&world), []);
}

#[test]
fn an_exempt_transfer_is_aborted_for_what_the_limiter_is_not_to_blame_for() {
    let low_speed = low_speed(Exempt);
    let config = DownloadConfig { low_speed, ..thousands(1) };
    let slow = vec![Nanos::from_secs(100)];
    let mut world = World::new(&config, &NONE).delayed(slow);
    world.run(ms(31_500));
    assert_eq!(aborts(&world), [secs(31)]);
}

/// The grant at 50 s is all that the new records know: 1000 B/s at 51 s, 500 B/s at 52 s.
#[test]
fn the_records_of_an_exempt_transfer_begin_anew_when_it_goes_on() {
    let config = DownloadConfig { low_speed: low_speed(Exempt), ..thousands(1) };
    let delays = vec![Nanos::ZERO, Nanos::from_secs(100)];
    let mut world = World::new(&config, &fifo(20)).delayed(delays);
    world.run(secs(90));
    assert_eq!(aborts(&world), [secs(82)]);
}

#[test]
fn back_offs_double_while_no_byte_comes_and_the_slot_is_kept() {
    let low_speed = low_speed(Counts);
    let config = DownloadConfig { low_speed, slots: Some(1), ..thousands(2) };
    let mut world = World::new(&config, &fifo(1));
    world.run(secs(150));
    assert_eq!(aborts(&world), [31, 63, 96, 131].map(secs));
    assert_eq!(opened(&world), [0, 32, 65, 100, 139].map(secs));
    assert!(world.opened.iter().all(|opened| opened.id.segment == 0));
}

#[test]
fn a_segment_fails_after_so_many_retries_without_a_byte_and_frees_its_slot() {
    let retry = Retry { times: Some(2), ..Retry::default() };
    let config =
        DownloadConfig { low_speed: low_speed(Counts), slots: Some(1), retry, ..thousands(2) };
    let mut world = World::new(&config, &fifo(1));
    world.run_to_the_end(secs(200));
    let failed = world.ledger.when(|change| change == Change::Failed);
    assert_eq!(failed, [(secs(96), 0), (secs(192), 1)]);
    assert_eq!(opened(&world), [0, 32, 65, 96, 128, 161].map(secs));
    assert_eq!(world.ledger.makespan, None, "what failed is not whole");
}

#[test]
fn a_byte_in_time_resets_the_clock() {
    let config = DownloadConfig { low_speed: low_speed(Counts), ..thousands(1) };
    let mut world = World::new(&config, &fifo(1));
    world.run(secs(30));
    let id = world.opened[0].id;
    world.break_connection(0);
    world.run(secs(31));
    assert_eq!(opened(&world), [secs(0), secs(31)], "broken, and begun again");
    world.tell(id, Progress::Received(1000));
    world.run(secs(61));
    assert_eq!(aborts(&world), [], "the clock begins with the attempt");
    world.run(secs(62));
    assert_eq!(aborts(&world), [secs(62)]);
}
