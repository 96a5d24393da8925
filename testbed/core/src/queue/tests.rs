//! Who is next under each discipline, by tables.

use super::*;
use crate::codel::{Codel, CodelRule};
use crate::request::Class;

fn ms(ms: u64) -> Time {
    Time::ZERO.after(Nanos::from_millis(ms))
}

fn queue(discipline: QueueDiscipline, give_up: Option<GiveUp>, percents: &[u8]) -> Queue {
    let shares = percents.iter().map(|percent| Share::percent(*percent)).collect();
    Queue::of(&QueueConfig { max: 100, discipline, give_up, shares }, &Streams::new(1))
}

fn push(queue: &mut Queue, at_ms: u64, id: u64, class: u8) {
    let arrival = Arrival { class: Class(class), ..Arrival::new(id, 0, ms(at_ms)) };
    queue.push(ms(at_ms), arrival).expect("there is room");
}

/// The ids of those that go at `at_ms`, and of those that are turned away meanwhile.
fn drain(queue: &mut Queue, at_ms: u64, limit: u64) -> (Vec<u64>, Vec<u64>) {
    let (mut gone, mut away) = (Vec::new(), Vec::new());
    while let Some(turn) = queue.turn(ms(at_ms), limit) {
        match turn {
            Turn::Go(place) => gone.extend(queue.take(place).map(|arrival| arrival.id)),
            Turn::Away(arrival) => away.push(arrival.id),
        }
    }
    (gone, away)
}

#[test]
fn each_discipline_lets_them_go_in_its_own_order() {
    let codel = |rule| QueueDiscipline::Codel(Codel { rule, ..Codel::default() });
    let adaptive = QueueDiscipline::AdaptiveLifo(AdaptiveLifo::default());
    // When all go that came at 0 to 3 ms, and in which order.
    for (discipline, at, expected) in [
        (QueueDiscipline::Fifo, 500, [0, 1, 2, 3]),
        (QueueDiscipline::Lifo, 4, [3, 2, 1, 0]),
        (adaptive, 100, [0, 1, 2, 3]),
        (adaptive, 101, [3, 2, 1, 0]),
        (codel(CodelRule::Rfc8289), 500, [0, 1, 2, 3]),
        (codel(CodelRule::Folly), 500, [0, 1, 2, 3]),
    ] {
        let mut queue = queue(discipline, None, &[]);
        (0..4).for_each(|id| push(&mut queue, id, id, 0));
        assert_eq!(drain(&mut queue, at, 9).0, expected, "{discipline:?} at {at} ms");
    }
}

#[test]
fn a_queue_that_was_empty_is_first_come_first_served_again() {
    let mut queue = queue(QueueDiscipline::AdaptiveLifo(AdaptiveLifo::default()), None, &[]);
    push(&mut queue, 0, 0, 0);
    push(&mut queue, 1, 1, 0);
    assert_eq!(drain(&mut queue, 200, 9).0, [1, 0]);
    push(&mut queue, 201, 2, 0);
    push(&mut queue, 202, 3, 0);
    assert_eq!(drain(&mut queue, 203, 9).0, [2, 3]);
}

#[test]
fn in_a_race_everybody_looks_and_each_wins_alike() {
    let mut wins = [0; 4];
    let mut queue = queue(QueueDiscipline::Barging, None, &[]);
    for _ in 0..4000 {
        (0..4).for_each(|id| push(&mut queue, 0, id, 0));
        let (order, _) = drain(&mut queue, 0, 9);
        wins[order[0] as usize] += 1;
    }
    // 4 + 3 + 2 + 1 look until all have gone.
    assert_eq!(queue.looks(), 4000 * 10);
    // Binomial, 4000 draws of 1/4: 1000 +- 27.
    assert!(wins.iter().all(|wins| (860..=1140).contains(wins)), "{wins:?}");
}

#[test]
fn codel_turns_away_at_a_turn_and_judges_each_request_once() {
    let folly = Codel { rule: CodelRule::Folly, ..Codel::default() };
    let mut queue = queue(QueueDiscipline::Codel(folly), None, &[]);
    (0..4).for_each(|id| push(&mut queue, 0, id, 0));
    assert_eq!(queue.turn(ms(20), 9), Some(Turn::Go(0)));
    // The law holds it back, and its turn comes again: it is not looked at as a second, later one.
    assert_eq!(queue.turn(ms(120), 9), Some(Turn::Go(0)));
    assert_eq!(drain(&mut queue, 130, 9), (vec![0, 1], vec![2, 3]));
}

#[test]
fn who_has_waited_for_the_longest_wait_leaves() {
    let give_up = GiveUp::after(Nanos::from_millis(10));
    let mut queue = queue(QueueDiscipline::Lifo, Some(give_up), &[]);
    (0..3).for_each(|id| push(&mut queue, 5 * id, id, 0));
    assert_eq!(queue.next_wake(), Some(ms(10)));
    let mut left = |at| {
        let left = std::iter::from_fn(|| queue.leave(ms(at)));
        left.map(|arrival| arrival.id).collect::<Vec<_>>()
    };
    assert_eq!((left(9), left(10), left(19), left(20)), (vec![], vec![0], vec![1], vec![2]));
}

#[test]
fn who_parks_by_a_timer_of_0_waits_for_the_next_release() {
    let (granularity, zero) = (Nanos::from_millis(2), Zero::Never);
    let give_up = GiveUp { granularity, zero, ..GiveUp::after(Nanos::from_millis(10)) };
    let mut queue = queue(QueueDiscipline::Fifo, Some(give_up), &[]);
    let of = Arrival::new(9, 0, Time::ZERO);
    push(&mut queue, 0, 0, 0);
    push(&mut queue, 3, 1, 0);
    queue.released(ms(3), &of);
    // 7 ms are left of the first, so its timer is no longer right; the other has just come.
    assert_eq!(queue.next_wake(), Some(ms(13)));
    assert_eq!(queue.leave(ms(12)), None);
    assert_eq!(queue.leave(ms(13)).map(|arrival| arrival.id), Some(1));
    assert_eq!((queue.next_wake(), queue.oldest(ms(5000))), (None, Nanos::from_secs(5)));
    queue.released(ms(5000), &of);
    assert_eq!(queue.leave(ms(5000)).map(|arrival| arrival.id), Some(0));
}

#[test]
fn whose_part_is_not_used_up_is_next_and_the_rest_is_lent() {
    const GOLD: u8 = 0;
    const TIN: u8 = 1;
    const OTHER: u8 = 2;
    // A limit of 10 is 7 for gold and 3 for tin. Those that wait, by class; the classes in the order in
    // which they go.
    for (waiting, expected) in [
        // Within both parts: as they came.
        (vec![TIN, GOLD, TIN, GOLD], vec![TIN, GOLD, TIN, GOLD]),
        // Tin has used up its part after three: gold overtakes, and then it borrows.
        (vec![TIN, TIN, TIN, TIN, TIN, GOLD], vec![TIN, TIN, TIN, GOLD, TIN, TIN]),
        // A class without a share can only borrow.
        (vec![OTHER, OTHER, GOLD, TIN], vec![GOLD, TIN, OTHER, OTHER]),
    ] {
        let mut queue = queue(QueueDiscipline::Fifo, None, &[70, 30, 0]);
        (0..).zip(&waiting).for_each(|(id, class)| push(&mut queue, 0, id, *class));
        let ids = drain(&mut queue, 0, 10).0;
        let classes: Vec<_> = ids.iter().map(|id| waiting[*id as usize]).collect();
        assert_eq!(classes, expected, "{waiting:?}");
    }
}
