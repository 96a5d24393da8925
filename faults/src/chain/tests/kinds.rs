//! Each kind of toxic over a table: what goes in when, and what comes out when. Times are in ms.

use super::*;
use crate::toxic::{ResetPeer, SlowClose, Timeout};

/// What happens to a link.
enum Do {
    /// So many bytes go in.
    Bytes(usize),
    /// The source ends.
    End,
    /// The toxic `a` becomes this.
    Update(ToxicKind),
    /// The toxic `a` is taken away.
    Remove,
}

use Do::{Bytes as In, End, Remove, Update};

type Out = Vec<(u64, String)>;

struct Table {
    link: Link,
    out: Out,
}

/// What comes out of a link with the toxic `a`, as (time, bytes or end).
fn play(kind: ToxicKind, script: Vec<(u64, Do)>) -> Out {
    play_through(vec![named("a", kind)], script).out
}

fn play_through(toxics: Vec<Toxic>, script: Vec<(u64, Do)>) -> Table {
    let mut table = Table { link: Link::with(&toxics), out: Vec::new() };
    for (at, what) in script {
        table.drain(ms(at));
        table.take(ms(at).as_nanos(), what);
        table.drain(ms(at));
    }
    table.drain(Time::NEVER);
    table
}

impl Table {
    fn take(&mut self, now: u64, what: Do) {
        match what {
            In(bytes) => {
                let chunk = Item::Data(Bytes::from(vec![0; bytes]));
                self.link.chain.push(Time::from_nanos(now), chunk);
            }
            End => self.link.chain.push(Time::from_nanos(now), Item::Eof),
            Update(kind) => {
                self.link.change(now, |faults| faults.update("a", Share::ALL, kind).unwrap());
            }
            Remove => self.link.change(now, |faults| drop(faults.remove("a").unwrap())),
        }
    }

    /// Pops at every wake up to `until`.
    fn drain(&mut self, until: Time) {
        while let Some(now) = self.link.chain.next_wake().filter(|wake| *wake <= until) {
            while let Some(item) = self.link.chain.pop(now) {
                self.out.push((now.as_nanos() / 1_000_000, text(&item)));
            }
        }
    }
}

fn text(item: &Item<Bytes>) -> String {
    match item {
        Item::Data(chunk) => chunk.len().to_string(),
        Item::Eof => "end".to_owned(),
        Item::Reset => "reset".to_owned(),
    }
}

fn ms(ms: u64) -> Time {
    Time::ZERO.after(Nanos::from_millis(ms))
}

fn out<const N: usize>(expected: [(u64, &str); N]) -> Out {
    expected.map(|(at, what)| (at, what.to_owned())).to_vec()
}

fn timeout(ms: u64) -> ToxicKind {
    ToxicKind::Timeout(Timeout { timeout: Nanos::from_millis(ms) })
}

fn reset_peer(ms: u64) -> ToxicKind {
    ToxicKind::ResetPeer(ResetPeer { timeout: Nanos::from_millis(ms) })
}

fn slow_close(ms: u64) -> ToxicKind {
    ToxicKind::SlowClose(SlowClose { delay: Nanos::from_millis(ms) })
}

fn slow(ms: u64) -> ToxicKind {
    latency(Nanos::from_millis(ms).get(), 0)
}

#[test]
fn bandwidth_paces_bytes_and_cuts_what_takes_longer_than_100_ms() {
    let rate = bandwidth(10_000);
    for (script, expected) in [
        (vec![(0, In(500)), (0, End)], out([(50, "500"), (50, "end")])),
        (vec![(0, In(2_500))], out([(100, "1000"), (200, "1000"), (250, "500")])),
        (vec![(0, In(500)), (10, In(500))], out([(50, "500"), (100, "500")])),
        (vec![(0, In(500)), (70, In(500))], out([(50, "500"), (120, "500")])),
        (vec![(3, End)], out([(3, "end")])),
    ] {
        assert_eq!(play(rate.clone(), script), expected);
    }
}

#[test]
fn a_change_of_bandwidth_keeps_what_is_scheduled() {
    let faster = || Update(bandwidth(100_000));
    let script = vec![(0, In(1_500)), (20, faster()), (30, In(1_000))];
    assert_eq!(play(bandwidth(10_000), script), out([(100, "1000"), (150, "500"), (160, "1000")]));
    let script = vec![(0, In(1_500)), (20, Remove), (30, In(7))];
    assert_eq!(play(bandwidth(10_000), script), out([(100, "1000"), (150, "500"), (150, "7")]));
}

#[test]
fn a_bandwidth_of_zero_stalls_until_it_is_another_or_gone() {
    for (script, expected) in [
        (vec![(0, In(5)), (1, End)], out([])),
        (vec![(0, In(5)), (1, End), (80, Remove)], out([(80, "5"), (80, "end")])),
        (vec![(0, In(5)), (1, End), (80, Update(bandwidth(1_000)))], out([(85, "5"), (85, "end")])),
        (vec![(0, In(5)), (9, Update(bandwidth(0))), (80, Remove)], out([(80, "5")])),
    ] {
        assert_eq!(play(bandwidth(0), script), expected);
    }
}

fn saw(low: u64, high: u64, period: u64) -> ToxicKind {
    let ns = |ms| Nanos::from_millis(ms).get();
    wave(Shape::Sawtooth, ns(low), ns(high), ns(period))
}

#[test]
fn a_wave_delays_by_the_instant_at_which_a_chunk_comes() {
    for (kind, script, expected) in [
        // Up by 1 ms in 2 ms.
        (saw(10, 110, 200), vec![(0, In(1)), (100, In(2))], out([(10, "1"), (160, "2")])),
        (saw(10, 110, 200), vec![(400, In(1)), (400, End)], out([(410, "1"), (410, "end")])),
        (saw(10, 110, 200), vec![(100, End)], out([(100, "end")])),
        // It falls from 109 to 10 at 200 ms; order is kept.
        (saw(10, 110, 200), vec![(198, In(1)), (200, In(2))], out([(307, "1"), (307, "2")])),
    ] {
        assert_eq!(play(kind, script), expected);
    }
}

#[test]
fn a_change_of_a_wave_keeps_its_beginning_and_what_is_held() {
    let higher = || Update(saw(20, 220, 200));
    let script = vec![(100, In(1)), (110, higher()), (120, In(2)), (240, In(3))];
    assert_eq!(play(saw(10, 110, 200), script), out([(160, "1"), (260, "2"), (300, "3")]));
    let script = vec![(100, In(1)), (110, Remove), (120, In(2))];
    assert_eq!(play(saw(10, 110, 200), script), out([(160, "1"), (160, "2")]));
    let script = vec![(50, Update(saw(10, 110, 200))), (100, In(1))];
    assert_eq!(play(slow(1), script), out([(160, "1")]));
}

#[test]
fn a_wave_began_when_the_toxic_was_added_and_not_with_the_link() {
    let mut faults = ProxyFaults::default();
    faults.add(ms(1000), named("a", saw(10, 110, 200))).unwrap();
    for (opened, sent, left) in [(1000, 1100, 1160), (1150, 1150, 1235), (1199, 1300, 1360)] {
        let mut link = Link::<Bytes>::new(1);
        link.faults.clone_from(&faults);
        link.chain.apply(ms(opened), &faults);
        link.chain.push(ms(sent), data(1));
        assert_eq!(link.run(), [(ms(left).as_nanos(), data(1))], "{opened}");
    }
}

#[test]
fn slow_close_holds_the_end_and_nothing_else() {
    for (script, expected) in [
        (vec![(0, In(5)), (10, In(6)), (20, End)], out([(0, "5"), (10, "6"), (420, "end")])),
        (vec![(20, End), (30, Remove)], out([(420, "end")])),
        (vec![(20, End), (30, Update(slow_close(1)))], out([(420, "end")])),
        (vec![(20, Update(slow_close(1))), (30, End)], out([(31, "end")])),
    ] {
        assert_eq!(play(slow_close(400), script), expected);
    }
}

#[test]
fn timeout_drops_data_and_closes_after_silence() {
    for (script, expected) in [
        (vec![], out([(300, "end")])),
        (vec![(100, In(5)), (390, In(5))], out([(690, "end")])),
        (vec![(100, In(5)), (120, End)], out([(120, "end")])),
        (vec![(100, Update(timeout(50)))], out([(150, "end")])),
        (vec![(100, Update(timeout(0)))], out([])),
        (vec![(300, In(5))], out([(300, "end")])),
    ] {
        assert_eq!(play(timeout(300), script), expected);
    }
}

#[test]
fn a_timeout_of_zero_is_a_black_hole_whose_removal_closes() {
    for (script, expected) in [
        (vec![(0, In(5)), (1_000_000, In(5))], out([])),
        (vec![(0, In(5)), (500, Remove), (501, In(5))], out([(500, "end")])),
        (vec![(0, In(5)), (500, Update(timeout(200)))], out([(700, "end")])),
        (vec![(0, In(5)), (500, Update(slow(10)))], out([(500, "end")])),
    ] {
        assert_eq!(play(timeout(0), script), expected);
    }
}

#[test]
fn a_timeout_that_strikes_no_link_closes_none() {
    let never = Toxic { toxicity: Share::new(0.0).unwrap(), ..named("a", timeout(5)) };
    let table = play_through(vec![never], vec![(0, In(5)), (10, Remove), (11, In(6))]);
    assert_eq!(table.out, out([(0, "5"), (11, "6")]));
}

#[test]
fn a_late_wake_does_not_close_what_was_in_time() {
    // Both chunks were there in time for a toxic that waits 10 ms; only the wake is late.
    let toxics = [named("l", slow(5)), named("a", timeout(10))];
    let mut link = Link::with(&toxics);
    link.chain.push(ms(0), data(1));
    link.chain.push(ms(8), data(2));
    assert_eq!(link.chain.pop(ms(20)), None);
    assert_eq!(link.chain.next_wake(), Some(ms(23)));
    assert_eq!(link.chain.pop(ms(23)), Some(Item::Eof));
}

#[test]
fn reset_peer_waits_for_data_and_then_its_timeout() {
    for (script, expected) in [
        (vec![], out([])),
        (vec![(100, In(5)), (200, In(5))], out([(400, "reset")])),
        (vec![(100, In(5)), (200, End)], out([(400, "reset")])),
        (vec![(100, End)], out([(400, "reset")])),
        (vec![(100, Remove), (200, In(5))], out([(200, "5")])),
        (vec![(100, In(5)), (200, Update(reset_peer(1)))], out([(400, "reset")])),
        (vec![(100, Update(reset_peer(1))), (200, In(5))], out([(201, "reset")])),
        (vec![(100, In(5)), (200, Remove)], out([(400, "reset")])),
    ] {
        assert_eq!(play(reset_peer(300), script), expected);
    }
}

#[test]
fn a_slicer_without_variation_cuts_in_halves_and_pauses_after_each() {
    let slices = slicer(100, 0, Nanos::from_millis(20));
    for (script, expected) in [
        (vec![(0, In(100)), (1, End)], out([(0, "100"), (20, "end")])),
        (vec![(0, In(300))], out([(0, "75"), (20, "75"), (40, "75"), (60, "75")])),
        (vec![(0, In(101)), (1, In(7))], out([(0, "50"), (20, "51"), (40, "7")])),
        (vec![(0, In(101)), (1, Remove), (2, In(7))], out([(0, "50"), (20, "51"), (20, "7")])),
    ] {
        assert_eq!(play(slices.clone(), script), expected);
    }
}

#[test]
fn slices_stay_below_average_plus_variation() {
    let pieces = play(slicer(100, 20, Nanos::ZERO), vec![(0, In(10_000))]);
    let sizes: Vec<usize> = pieces.iter().map(|(_, size)| size.parse().unwrap()).collect();
    assert_eq!(sizes.iter().sum::<usize>(), 10_000);
    assert!(sizes.iter().all(|size| (1..=120).contains(size)), "{sizes:?}");
    assert!(sizes.len() > 100 && sizes.iter().any(|size| *size != sizes[0]), "{sizes:?}");
}

#[test]
fn limit_data_passes_exactly_its_bytes_and_then_closes() {
    for (limit, script, expected) in [
        (10, vec![(0, In(9))], out([(0, "9")])),
        (10, vec![(0, In(10))], out([(0, "10"), (0, "end")])),
        (10, vec![(0, In(11))], out([(0, "10"), (0, "end")])),
        (10, vec![(0, In(4)), (1, In(9)), (2, In(1))], out([(0, "4"), (1, "6"), (1, "end")])),
        (0, vec![(5, In(1))], out([(5, "end")])),
        (0, vec![], out([])),
        (10, vec![(5, End)], out([(5, "end")])),
        (10, vec![(0, In(9)), (1, Update(limit_data(5))), (2, In(3))], out([(0, "9"), (2, "end")])),
        (
            10,
            vec![(0, In(9)), (1, Update(limit_data(12))), (2, In(9))],
            out([(0, "9"), (2, "3"), (2, "end")]),
        ),
        (10, vec![(0, In(9)), (1, Remove), (2, In(9))], out([(0, "9"), (2, "9")])),
    ] {
        assert_eq!(play(limit_data(limit), script), expected, "{limit}");
    }
}

#[test]
fn an_end_that_a_toxic_makes_waits_for_what_it_follows() {
    let toxics = vec![named("a", limit_data(3)), named("b", slow(50)), named("c", slow_close(7))];
    let table = play_through(toxics, vec![(0, In(5))]);
    assert_eq!(table.out, out([(50, "3"), (57, "end")]));
}

#[test]
fn what_toxics_drop_and_end_is_counted() {
    let tally = |dropped, aborts, resets| Tally { dropped, links_hit: 1, aborts, resets };
    for (kind, script, expected) in [
        (slow(10), vec![(0, In(5)), (1, End)], tally(0, 0, 0)),
        (timeout(0), vec![(0, In(5)), (1, In(6))], tally(11, 0, 0)),
        (timeout(0), vec![(0, In(5)), (1, End)], tally(5, 0, 0)),
        (timeout(9), vec![(0, In(5))], tally(5, 1, 0)),
        (timeout(0), vec![(0, In(5)), (1, Remove)], tally(5, 1, 0)),
        (limit_data(7), vec![(0, In(5)), (1, In(6)), (2, In(1))], tally(5, 1, 0)),
        (reset_peer(9), vec![(0, In(5)), (1, In(6))], tally(11, 0, 1)),
    ] {
        let mut table = play_through(vec![named("a", kind.clone())], script);
        assert_eq!(table.link.chain.take_tally(), expected, "{kind:?}");
        assert_eq!(table.link.chain.take_tally(), Tally::NOTHING);
    }
}

#[test]
fn what_is_held_when_a_link_ends_is_dropped_and_counted() {
    let toxics = vec![named("b", slow(50)), named("a", timeout(0))];
    let mut table = play_through(toxics, vec![(0, In(5)), (1, Remove), (2, In(6))]);
    assert_eq!(table.out, out([(1, "end")]));
    assert_eq!(table.link.chain.take_tally().dropped, 11);
    assert!(!table.link.chain.can_accept() && !table.link.chain.is_plain());
    assert_eq!(table.link.chain.next_wake(), None);
}

#[test]
fn a_link_that_no_toxic_strikes_is_not_hit() {
    let never = Toxic { toxicity: Share::new(0.0).unwrap(), ..named("a", slow(10)) };
    let mut table = play_through(vec![never], vec![(0, In(5))]);
    assert_eq!(table.link.chain.take_tally(), Tally::NOTHING);
    assert!(!table.link.chain.is_struck());
    table.take(0, Update(slow(1)));
    table.take(0, Update(slow(2)));
    assert_eq!(table.link.chain.take_tally().links_hit, 1);
    assert!(table.link.chain.is_struck());
    table.take(0, Remove);
    assert!(!table.link.chain.is_struck());
}
