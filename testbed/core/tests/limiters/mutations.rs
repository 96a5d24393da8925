//! What does break completion: settings under which bandwidth or waiters are lost.

use crate::race::{CHUNK, KIB, Load, MIB, Patience, RATE, Race, bucket, empty, race};
use testbed_core::bucket::{BucketConfig, Refill};
use testbed_core::limit::lateness::Lateness;
use testbed_core::limit::sleepers::RaceConfig;
use testbed_core::limit::{Level, LevelsConfig, LimiterConfig, Policy, fifo, peek, reservation};
use testbed_core::time::Nanos;

fn peeking(levels: LevelsConfig, lateness: Lateness) -> LimiterConfig {
    LimiterConfig::Peek(peek::Config {
        levels,
        race: RaceConfig { lateness, ..Default::default() },
    })
}

#[test]
fn a_chunk_beyond_the_capacity_is_refused_or_hangs_where_the_policy_says_so() {
    for config in LimiterConfig::all(&empty(RATE, CHUNK - 1)) {
        if config.levels().is_some() {
            let race = race(&config, &Load::standing(60));
            let hangs = config.hangs(CHUNK).is_some();
            assert!([0, 32].contains(&race.refused) && !(hangs && race.refused > 0), "{race:?}");
            let none = hangs || race.refused == 32;
            assert_eq!(race.starved() == 32, none, "{}: {race:?}", config.name());
        }
    }
}

#[test]
fn two_of_twenty_hang_if_only_they_ask_for_more_than_the_capacity() {
    let larger = |id| if id % 10 == 3 { 64 * KIB } else { CHUNK };
    let load = Load { cost: larger, ..Load::twenty_mib(20) };
    let config = peeking(empty(RATE, 64 * KIB - 1), Lateness::None);
    assert_eq!((config.hangs(CHUNK), config.hangs(64 * KIB)), (None, Some(Level::Global)));
    let race = race(&config, &load);
    assert_eq!(race.starved(), 2);
    assert_eq!(race.grants.iter().filter(|grants| **grants == 64).count(), 18);
    assert!((4.4..4.6).contains(&race.last_grant.as_secs_f64()), "{}", race.last_grant);
}

#[test]
fn a_refill_cut_to_milliseconds_loses_more_the_more_often_one_looks() {
    let cut = || {
        LevelsConfig::global(BucketConfig { refill: Refill::Milliseconds, ..bucket(RATE, RATE, 0) })
    };
    let jitter = || Lateness::Jitter(Nanos::from_millis(4));
    let seconds = |config: &LimiterConfig, waiters| {
        race(config, &Load::twenty_mib(waiters)).last_grant.as_secs_f64()
    };
    let peek = peeking(cut(), jitter());
    let taken = [1, 4, 8].map(|waiters| seconds(&peek, waiters));
    assert!((5.5..6.5).contains(&taken[0]), "{taken:?}");
    assert!((7.5..10.5).contains(&taken[1]) && (18.0..27.0).contains(&taken[2]), "{taken:?}");
    let fifo = fifo::Config { lateness: jitter(), ..fifo::Config::over(&cut()) };
    let tickets = seconds(&LimiterConfig::Fifo(fifo), 32);
    assert!((5.5..6.5).contains(&tickets), "one who looks: {tickets}");
}

#[test]
fn a_tick_wastes_what_the_bucket_cannot_hold_between_two() {
    let tick = || Lateness::Tick(Nanos::from_millis(50));
    for (capacity, seconds) in [(16 * KIB, 64.0), (32 * KIB, 32.0), (64 * KIB, 16.0), (MIB, 5.0)] {
        let race = race(&peeking(empty(RATE, capacity), tick()), &Load::twenty_mib(32));
        let taken = race.last_grant.as_secs_f64();
        assert!((taken / seconds - 1.0).abs() < 0.02, "{capacity} B: {taken} s, not {seconds}");
    }
}

/// 32 waiters of 16 KiB for half an hour, and the low-speed limit of libcurl.
fn impatient() -> Load {
    Load { patience: Patience::LOW_SPEED, ..Load::standing(1800) }
}

fn slow(rate: u64) -> LevelsConfig {
    empty(rate, rate.max(CHUNK))
}

fn utilisation(race: &Race, rate: u64) -> f64 {
    race.bytes as f64 / (rate * 1800) as f64
}

#[test]
fn waits_that_are_cancelled_without_refund_use_the_rate_up() {
    let rate = 12 * KIB;
    let used = [true, false].map(|refund| {
        let config = reservation::Config { refund, ..reservation::Config::over(&slow(rate)) };
        utilisation(&race(&LimiterConfig::Reservation(config), &impatient()), rate)
    });
    assert!(used[0] > 0.95 && used[1] < 0.3, "with and without refund: {used:?}");
}

/// Whose last ask was granted waits up to 36 s, so a round of 24 at 12 KiB/s (32 s) holds. Who has
/// given up comes in behind those 24, and would have to be served within 31 s.
#[test]
fn a_fair_queue_strands_those_who_give_up_unless_their_ticket_is_kept() {
    use fifo::OnCancel::{DropTicket, KeepTicket};
    for (rate, dropped) in [(12 * KIB, 8), (14 * KIB, 4), (15 * KIB, 2), (17 * KIB, 0)] {
        for (on_cancel, stranded) in [(DropTicket, dropped), (KeepTicket, 0)] {
            let config = fifo::Config { on_cancel, ..fifo::Config::over(&slow(rate)) };
            let race = race(&LimiterConfig::Fifo(config), &impatient());
            assert_eq!(race.starved(), stranded, "{rate} B/s, {on_cancel:?}: {race:?}");
            assert!(utilisation(&race, rate) > 0.99, "the totals look healthy");
        }
    }
}
