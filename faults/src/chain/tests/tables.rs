//! Tables of (time, input, expected).

use super::*;

const NOOP: ToxicKind = ToxicKind::Noop(Noop {});

#[test]
fn a_plain_chain_passes_at_once() {
    let mut link = Link::new(1);
    assert!(link.chain.is_plain());
    link.push(3, 1);
    assert!(!link.chain.is_plain());
    assert_eq!(link.chain.next_wake(), Some(Time::from_nanos(3)));
    assert_eq!(link.pop(3), Some(data(1)));
    assert!(link.chain.is_plain());
    assert_eq!(link.chain.next_wake(), None);
}

#[test]
fn each_chunk_leaves_latency_after_it_came() {
    let mut link = Link::with(&[named("a", latency(10, 0))]);
    link.push(0, 1);
    link.push(4, 2);
    for (now, expected, wake) in [
        (4, None, Some(10)),
        (9, None, Some(10)),
        (10, Some(data(1)), Some(14)),
        (13, None, Some(14)),
        (15, Some(data(2)), None),
    ] {
        assert_eq!(link.pop(now), expected, "at {now}");
        assert_eq!(link.chain.next_wake().map(Time::as_nanos), wake, "at {now}");
    }
}

#[test]
fn eof_waits_for_what_is_before_it_and_no_longer() {
    let mut link = Link::with(&[named("a", latency(10, 0))]);
    link.push(0, 1);
    link.chain.push(Time::from_nanos(2), Item::Eof);
    assert_eq!(link.run(), [(10, data(1)), (10, Item::Eof)]);

    let mut idle = Link::with(&[named("a", latency(10, 0))]);
    idle.chain.push(Time::from_nanos(2), Item::Eof);
    assert_eq!(idle.run(), [(2, Item::Eof)]);
}

#[test]
fn two_latencies_add_up_however_late_the_chain_is_woken() {
    let toxics = [named("a", latency(10, 0)), named("b", latency(7, 0))];
    let mut punctual = Link::with(&toxics);
    punctual.push(5, 1);
    assert_eq!(punctual.run(), [(22, data(1))]);

    let mut late = Link::with(&toxics);
    late.push(5, 1);
    assert_eq!(late.pop(20), None);
    assert_eq!(late.run(), [(22, data(1))]);
}

#[test]
fn a_toxic_acts_on_its_own_direction_only() {
    let upstream = Toxic { stream: Stream::Upstream, ..named("a", latency(10, 0)) };
    let link = Link::with(&[upstream]);
    assert!(link.chain.is_plain());
}

#[test]
fn a_change_never_releases_early_what_is_held() {
    // (what becomes of a latency of 10 at time 5, when a chunk of time 6 leaves)
    type Change = fn(&mut ProxyFaults);
    let changes: [(&str, Change, u64); 5] = [
        ("nothing", |_| {}, 16),
        ("the same", |faults| faults.update("a", Share::ALL, latency(10, 0)).unwrap(), 16),
        ("shorter", |faults| faults.update("a", Share::ALL, latency(1, 0)).unwrap(), 10),
        ("longer", |faults| faults.update("a", Share::ALL, latency(50, 0)).unwrap(), 56),
        ("removed", |faults| drop(faults.remove("a").unwrap()), 10),
    ];
    for (name, change, second) in changes {
        let mut link = Link::with(&[named("a", latency(10, 0))]);
        link.push(0, 1);
        link.change(5, change);
        link.push(6, 2);
        assert_eq!(link.run(), [(10, data(1)), (second, data(2))], "{name}");
    }
}

#[test]
fn a_removed_toxic_is_gone_once_it_holds_nothing() {
    let mut link = Link::with(&[named("a", latency(10, 0))]);
    link.push(0, 1);
    link.change(1, ProxyFaults::reset);
    assert!(!link.chain.is_plain());
    assert_eq!(link.pop(10), Some(data(1)));
    assert!(link.chain.is_plain());
}

#[test]
fn what_left_before_a_toxic_was_added_is_not_delayed_by_it() {
    let mut link = Link::with(&[named("a", latency(10, 0))]);
    link.push(0, 1);
    link.push(1, 2);
    link.add(10, named("b", latency(100, 0)));
    assert_eq!(link.run(), [(10, data(1)), (111, data(2))]);
}

#[test]
fn a_removed_toxic_in_the_middle_keeps_the_order() {
    let mut link = Link::with(&[named("a", latency(10, 0)), named("b", latency(10, 0))]);
    link.push(0, 1);
    link.push(15, 2);
    assert_eq!(link.pop(15), None);
    link.change(16, |faults| drop(faults.remove("b").unwrap()));
    link.change(16, |faults| faults.update("a", Share::ALL, NOOP).unwrap());
    link.push(17, 3);
    assert_eq!(link.run(), [(20, data(1)), (25, data(2)), (25, data(3))]);
}

#[test]
fn latency_holds_as_many_chunks_as_toxiproxy_and_others_few() {
    for (kind, capacity) in [(latency(10, 0), 1024), (bandwidth(1_000_000_000), 4), (NOOP, 1)] {
        let mut link = Link::with(&[named("a", kind)]);
        for held in 0..capacity {
            assert!(link.chain.can_accept(), "{held}");
            link.push(0, 1);
        }
        assert!(!link.chain.can_accept());
        let _ = link.pop(10);
        assert!(link.chain.can_accept());
    }
}

#[test]
fn a_chain_blocked_further_on_asks_to_be_woken_for_that() {
    // The noop's one chunk cannot go on while the latency behind it is full.
    let mut link = Link::with(&[named("a", NOOP), named("b", latency(10, 0))]);
    for _ in 0..1025 {
        link.push(0, 1);
        assert_eq!(link.pop(0), None);
    }
    assert!(!link.chain.can_accept());
    assert_eq!(link.chain.next_wake(), Some(Time::from_nanos(10)));
    assert_eq!(link.run().len(), 1025);
}

#[test]
fn toxicity_strikes_its_share_of_links_and_is_drawn_again_on_update() {
    let share = Share::new(0.25).unwrap();
    let toxic = Toxic { toxicity: share, ..named("a", latency(10, 0)) };
    let struck = |link: &mut Link| {
        link.push(0, 1);
        link.run()[0].0 == 10
    };
    let (mut first, mut changed, mut both) = (0, 0, 0);
    for seed in 0..2000 {
        let mut link = Link::new(seed);
        link.add(0, toxic.clone());
        let before = struck(&mut link);
        link.change(0, |faults| faults.update("a", share, latency(10, 0)).unwrap());
        let after = struck(&mut link);
        first += u32::from(before);
        changed += u32::from(after);
        both += u32::from(before && after);
    }
    // Five standard deviations around 500, 500 and 125.
    assert!((404..=596).contains(&first), "{first}");
    assert!((404..=596).contains(&changed), "{changed}");
    assert!((70..=180).contains(&both), "{both}");
}

#[test]
fn a_toxicity_of_nothing_never_strikes() {
    let never = Toxic { toxicity: Share::new(0.0).unwrap(), ..named("a", latency(10, 0)) };
    for seed in 0..100 {
        let mut link = Link::new(seed);
        link.add(0, never.clone());
        link.push(0, 1);
        assert_eq!(link.run(), [(0, data(1))]);
    }
}

#[test]
fn a_toxic_added_beside_another_does_not_change_what_that_draws() {
    let times = |toxics: &[Toxic]| {
        let mut link = Link::with(toxics);
        (0..100).for_each(|_| link.push(0, 1));
        link.run().into_iter().map(|(at, _)| at).collect::<Vec<_>>()
    };
    let jittery = named("a", latency(1000, 500));
    assert_eq!(times(std::slice::from_ref(&jittery)), times(&[jittery, named("b", latency(0, 0))]));
}
