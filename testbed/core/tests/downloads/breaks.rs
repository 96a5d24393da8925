//! Broken connections: at any moment, with what is lost, and what belongs to an attempt that is
//! over.

use crate::loads::{NONE, fifo, load, ms, secs, single_chunks};
use crate::world::World;
use testbed_core::download::{Change, DownloadConfig, Progress, Reason, Retry, TransferId};
use testbed_core::limit::quantity::Bytes;
use testbed_core::time::Nanos;
use testbed_core::wait::WaitEnd;

fn lost(world: &World) -> Vec<u64> {
    let lost = |change: &Change| match change {
        Change::Aborted { reason: Reason::Broken, lost } => Some(*lost),
        _ => None,
    };
    world.ledger.changes.iter().filter_map(|(.., change)| lost(change)).collect()
}

#[test]
fn an_abort_goes_back_to_the_last_checkpoint_and_no_further() {
    for (grants, checkpoint, expected, last) in [
        (0, 16, 0, 20),
        (1, 1, 0, 20),
        (1, 16, 8, 28),
        (1, 40, 0, 20),
        (1, 64, 40, 20),
        (2, 64, 16, 36),
        (2, 100, 80, 20),
    ] {
        let checkpoint = Bytes::new(checkpoint);
        let mut world = World::new(&DownloadConfig { checkpoint, ..load(1, 2) }, &NONE);
        world.run(ms(grants));
        world.break_connection(1);
        world.run_to_the_end(secs(2));
        assert_eq!(lost(&world), [expected]);
        let again = world.opened[2];
        assert_eq!(again.id, TransferId { segment: 1, attempt: 1 });
        let position = 40 * grants - expected;
        assert_eq!((again.offset, again.length), (100 + position, Some(100 - position)));
        assert_eq!(world.reads.last().map(|read| read.2), Some(last), "{grants} {checkpoint}");
    }
}

#[test]
fn progress_of_an_earlier_attempt_is_ignored() {
    let retry = Retry { first: Nanos::from_millis(1), ..Retry::default() };
    let config = DownloadConfig { retry, ..load(1, 1) };
    let mut world = World::new(&config, &NONE).delayed(vec![Nanos::from_millis(10)]);
    let first = TransferId { segment: 0, attempt: 0 };
    world.run(ms(5));
    world.break_connection(0);
    world.tell(first, Progress::Broken);
    world.run(ms(12));
    world.tell(first, Progress::Broken);
    world.tell(TransferId { segment: 9, attempt: 0 }, Progress::Broken);
    assert_eq!(world.ledger.ended, [], "what the first attempt read came at 11 ms, to nobody");
    world.run_to_the_end(secs(1));
    assert_eq!(world.ledger.ended[0].at, ms(17), "opened at 6 ms, read at 7 ms");
    assert_eq!((lost(&world), world.opened.len()), (vec![0], 2));
    world.tell(TransferId { segment: 0, attempt: 1 }, Progress::Received(40));
}

#[test]
fn who_breaks_while_it_waits_gives_its_tokens_to_those_behind() {
    let mut world = World::new(&single_chunks(2, 1), &fifo(100));
    world.run(ms(500));
    world.break_connection(0);
    world.run_to_the_end(secs(3));
    let waits: Vec<_> = world.ledger.ended.iter().map(|ended| (ended.at, ended.end)).collect();
    let expected = [(500, WaitEnd::Cancelled), (1000, WaitEnd::Granted), (2000, WaitEnd::Granted)];
    assert_eq!(waits, expected.map(|(at, end)| (ms(at), end)));
    assert_eq!(world.opened[2].at, ms(1500));
}

#[test]
fn a_byte_makes_the_next_back_off_the_first_again() {
    let mut world = World::new(&load(1, 1), &NONE);
    let mut opened = Vec::new();
    for until in [0, 1000, 3001, 4001] {
        world.run(ms(until));
        opened.push(world.opened.last().map(|opened| opened.at));
        world.break_connection(0);
    }
    assert_eq!(opened, [0, 1000, 3000, 4001].map(|at| Some(ms(at))), "a chunk came at 3001 ms");
}

#[test]
fn without_retries_the_first_break_is_the_last() {
    let retry = Retry { times: Some(0), ..Retry::default() };
    let mut world = World::new(&DownloadConfig { retry, slots: Some(1), ..load(2, 1) }, &NONE);
    world.run(ms(1));
    world.break_connection(0);
    assert_eq!(world.ledger.when(|change| change == Change::Failed), [(ms(1), 0)]);
    assert_eq!(world.opened[1].at, ms(1), "the slot is free at once");
    world.run_to_the_end(secs(1));
    assert_eq!(world.ledger.makespan, None);
}
