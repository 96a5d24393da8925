use super::*;
use crate::bucket::BucketConfig;
use crate::limit::quantity::{ByteRate, Bytes};
use crate::limit::{Ask, Limiter, Waiter};
use crate::time::Time;

const MS: u64 = 1_000_000;

/// 1000 B/s, empty at the beginning: a byte each millisecond.
fn bucket(capacity: u64) -> BucketConfig {
    BucketConfig {
        capacity: Some(Bytes::new(capacity)),
        initial: Some(Bytes::new(0)),
        ..BucketConfig::new(ByteRate::per_second(1000).unwrap())
    }
}

fn config(capacity: u64) -> Config {
    Config::over(&LevelsConfig::global(bucket(capacity)))
}

fn build(config: &Config) -> Fifo {
    config.build(&Streams::new(1))
}

fn ms(ms: u64) -> Time {
    Time::from_nanos(ms * MS)
}

fn waiter(id: u32, task: u32) -> Waiter {
    Waiter { id, task, queue: 0, segment: 0 }
}

fn quoted(ask: Ask) -> Option<Time> {
    let Ask::Waiting { quoted } = ask else { panic!("{ask:?}") };
    quoted
}

/// (milliseconds, id) of all grants until nobody has a timer.
fn drain(fifo: &mut Fifo) -> Vec<(u64, u32)> {
    let mut grants = Vec::new();
    while let Some(now) = fifo.next_wake() {
        while let Some(grant) = fifo.on_wake(now) {
            grants.push((now.as_nanos() / MS, grant.waiter.id));
        }
    }
    grants
}

#[test]
fn tickets_are_served_in_order_at_the_quoted_instants() {
    let mut fifo = build(&config(100));
    for (id, cost, at) in [(0, 100, 100), (1, 1, 101), (2, 50, 151)] {
        assert_eq!(quoted(fifo.ask(ms(0), waiter(id, 0), cost)), Some(ms(at)));
    }
    assert_eq!(drain(&mut fifo), [(100, 0), (101, 1), (151, 2)]);
    assert_eq!(fifo.counters().wakes, 3, "one look a grant");
}

#[test]
fn nobody_bypasses_a_line_whose_head_sleeps_on() {
    let lateness = Lateness::Constant(crate::time::Nanos::from_millis(10));
    let mut fifo = build(&Config { lateness, ..config(100) });
    assert_eq!(quoted(fifo.ask(ms(0), waiter(0, 0), 10)), Some(ms(10)));
    assert!(matches!(fifo.ask(ms(15), waiter(1, 0), 1), Ask::Waiting { .. }));
    let _ = fifo.ask(ms(15), waiter(2, 0), 1);
    assert!(fifo.cancel(ms(16), 2), "who stood behind it leaves it asleep");
    assert_eq!(drain(&mut fifo), [(20, 0), (20, 1)], "the head is late and wakes the next");
}

#[test]
fn a_head_held_back_by_its_own_task_blocks_nobody_else() {
    let levels = LevelsConfig { task: Some(bucket(100)), ..LevelsConfig::global(bucket(100)) };
    let mut fifo = build(&Config::over(&levels));
    let _ = fifo.ask(ms(0), waiter(0, 0), 50);
    let _ = fifo.ask(ms(0), waiter(1, 0), 50);
    fifo.set_rate(ms(0), Level::Global, ByteRate::per_second(1_000_000).unwrap());
    let _ = fifo.ask(ms(0), waiter(2, 1), 50);
    assert_eq!(drain(&mut fifo), [(50, 0), (50, 2), (100, 1)]);
}

#[test]
fn a_cost_beyond_the_capacity_hangs_or_pays_in_instalments() {
    let mut fifo = build(&config(10));
    assert_eq!(quoted(fifo.ask(ms(0), waiter(0, 0), 11)), None);
    let _ = fifo.ask(ms(0), waiter(1, 0), 1);
    assert_eq!(fifo.next_wake(), None);
    assert!(fifo.cancel(ms(5), 0));
    assert_eq!(drain(&mut fifo), [(5, 1)]);

    let mut fifo = build(&Config { oversize: Oversize::Instalments, ..config(10) });
    assert_eq!(quoted(fifo.ask(ms(0), waiter(0, 0), 25)), Some(ms(25)));
    let _ = fifo.ask(ms(0), waiter(1, 0), 1);
    assert_eq!(drain(&mut fifo), [(25, 0), (26, 1)]);
}

#[test]
fn who_gives_up_half_paid_gets_it_back() {
    let mut fifo = build(&Config { oversize: Oversize::Instalments, ..config(10) });
    let _ = fifo.ask(ms(0), waiter(0, 0), 25);
    let _ = fifo.ask(ms(0), waiter(1, 0), 10);
    assert_eq!(fifo.on_wake(ms(10)), None, "the first instalment");
    assert!(fifo.cancel(ms(10), 0));
    assert_eq!(drain(&mut fifo), [(10, 1)]);
}

#[test]
fn a_ticket_is_dropped_or_kept_over_an_abort() {
    for (on_cancel, order) in [(OnCancel::DropTicket, [1, 0]), (OnCancel::KeepTicket, [0, 1])] {
        let mut fifo = build(&Config { on_cancel, ..config(10) });
        let _ = fifo.ask(ms(0), waiter(0, 0), 10);
        let _ = fifo.ask(ms(0), waiter(1, 0), 10);
        assert!(fifo.cancel(ms(5), 0));
        let _ = fifo.ask(ms(5), waiter(0, 0), 10);
        assert_eq!(drain(&mut fifo).iter().map(|(_, id)| *id).collect::<Vec<_>>(), order);
    }
}
