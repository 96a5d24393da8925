//! Who is opened and read when.

use crate::loads::{NONE, fifo, load, ms, rate, secs, single_chunks};
use crate::world::{Opened, World};
use testbed_core::download::{Change, DownloadConfig, Order, TransferId};
use testbed_core::time::{Nanos, Time};

fn run(config: &DownloadConfig) -> World {
    let mut world = World::new(config, &NONE);
    world.run_to_the_end(secs(60));
    world
}

#[test]
fn slots_go_round_the_tasks_or_task_by_task() {
    for (order, expected) in [
        (Order::RoundRobin, [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (1, 2)]),
        (Order::TaskByTask, [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]),
    ] {
        let world = run(&DownloadConfig { order, slots: Some(2), ..single_chunks(2, 3) });
        let opened = world.ledger.changes.iter().filter_map(|(at, waiter, change)| match change {
            Change::Opened { attempt: 0 } => Some((*at, (waiter.task, waiter.segment))),
            _ => None,
        });
        let (at, who): (Vec<_>, Vec<_>) = opened.unzip();
        assert_eq!(who, expected);
        assert_eq!(at, [0, 0, 1, 1, 2, 2].map(ms), "a slot is free after one chunk");
    }
}

#[test]
fn a_segment_is_a_range_of_its_file_in_chunks_of_which_the_last_is_what_is_left() {
    let world = run(&load(1, 3));
    let range = |segment: u32| {
        let id = TransferId { segment, attempt: 0 };
        Opened { at: ms(0), id, offset: u64::from(segment) * 100, length: Some(100) }
    };
    assert_eq!(world.opened, [0, 1, 2].map(range));
    let last: Vec<_> = world.reads.iter().filter(|(_, segment, _)| *segment == 2).collect();
    assert_eq!(last, [&(ms(1), 2, 40), &(ms(2), 2, 40), &(ms(3), 2, 20)]);
}

#[test]
fn turnaround_and_delay_add_up_before_each_grant() {
    let mut world = World::new(&load(1, 1), &NONE).delayed(vec![Nanos::from_millis(5)]);
    world.run_to_the_end(secs(1));
    let granted: Vec<_> = world.ledger.granted().map(|ended| ended.at).collect();
    assert_eq!(granted, [6, 12, 18].map(ms));
    assert_eq!(world.ledger.makespan, Some(Nanos::from_millis(18)));
}

#[test]
fn a_trickle_takes_its_time_for_each_chunk_where_that_is_longer_than_the_turnaround() {
    for (turnaround, expected) in [(1, [40, 80, 100]), (30, [40, 80, 110]), (50, [50, 100, 150])] {
        let turnaround = Nanos::from_millis(turnaround);
        let world = run(&DownloadConfig { turnaround, trickle: Some(rate(1000)), ..load(1, 1) });
        let read: Vec<_> = world.reads.iter().map(|(at, ..)| *at).collect();
        assert_eq!(read, expected.map(ms), "{turnaround}");
    }
}

#[test]
fn without_a_turnaround_all_is_read_at_once() {
    let world = run(&DownloadConfig { turnaround: Nanos::ZERO, ..load(2, 2) });
    assert_eq!(world.reads.len(), 12);
    assert_eq!(world.ledger.makespan, Some(Nanos::ZERO));
}

#[test]
fn a_slot_that_comes_free_goes_to_the_next_segment_at_that_instant() {
    for (slots, expected) in [(1, [0, 3, 6, 9]), (2, [0, 0, 3, 3]), (9, [0, 0, 0, 0])] {
        let world = run(&DownloadConfig { slots: Some(slots), ..load(4, 1) });
        let opened: Vec<_> = world.opened.iter().map(|opened| opened.at).collect();
        assert_eq!(opened, expected.map(ms), "{slots} slots, three chunks each");
    }
}

#[test]
fn tasks_are_spread_over_the_queues_in_turn() {
    let world = run(&DownloadConfig { queues: 3, ..single_chunks(5, 2) });
    for ended in &world.ledger.ended {
        assert_eq!(ended.wait.waiter.queue, ended.wait.waiter.task % 3);
    }
    assert_eq!(world.ledger.ended.len(), 10);
}

#[test]
fn a_task_is_done_by_its_last_segment_and_the_input_by_the_last_task() {
    let mut world = World::new(&single_chunks(2, 2), &fifo(100));
    world.run_to_the_end(secs(10));
    let done = world.ledger.when(|change| change == Change::Done { task_done: true });
    assert_eq!(done, [(secs(3), 1), (secs(4), 3)], "asked in the order 0, 2, 1, 3");
    assert_eq!(world.ledger.makespan, Some(Nanos::from_secs(4)));
    world.run(Time::NEVER);
    assert_eq!(world.ledger.makespan, Some(Nanos::from_secs(4)), "and no second time");
}

#[test]
fn an_endless_segment_goes_on_and_its_waits_end_with_the_run() {
    let mut world = World::new(&DownloadConfig { segment: None, ..load(2, 1) }, &fifo(40));
    world.run(ms(20_500));
    assert_eq!(world.ledger.granted().count(), 20);
    assert!(!world.downloads.is_over());
    assert_eq!((world.opened[1].offset, world.opened[1].length), (0, None));
    let waiting = world.ledger.waiting();
    world.downloads.cut_off(world.now, &mut world.ledger);
    assert_eq!((waiting, world.ledger.waiting()), (2, 0));
    assert_eq!(world.ledger.makespan, None);
}
