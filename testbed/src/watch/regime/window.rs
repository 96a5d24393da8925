//! Which way a window goes: whether it swings, and whether it climbs away from its lowest.

use std::collections::VecDeque;
use testbed_core::time::{Nanos, Time};

/// A turn counts if the window has moved by this share of the mean of both ends.
const SWING: f64 = 0.25;
/// And by so many requests: at a window of 3, one request more or less is no swing.
const SWING_REQUESTS: f64 = 2.0;
/// So many turns within [`WITHIN`] are an oscillation.
const TURNS: usize = 4;
/// See [`TURNS`].
const WITHIN: Nanos = Nanos::from_secs(5);
/// Whoever has grown by so many requests has climbed.
const CLIMBED: f64 = 1.0;

/// The turns of a window, up to down or down to up.
#[derive(Debug, Default)]
pub(super) struct Swings {
    going: Going,
    /// The lowest and the highest since the last turn.
    low: f64,
    high: f64,
    turns: VecDeque<Time>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Going {
    /// Nothing seen yet.
    #[default]
    Unseen,
    /// It has not moved far enough to tell.
    Nowhere,
    Up,
    Down,
}

impl Swings {
    /// The window is now `window`.
    pub(super) fn moved(&mut self, now: Time, window: f64) {
        if self.going == Going::Unseen {
            (self.going, self.low, self.high) = (Going::Nowhere, window, window);
        }
        (self.low, self.high) = (self.low.min(window), self.high.max(window));
        let fell = self.going != Going::Down && far(self.high, window);
        let rose = self.going != Going::Up && far(window, self.low);
        if fell {
            self.turn(now, Going::Down, window);
        } else if rose {
            self.turn(now, Going::Up, window);
        }
    }

    fn turn(&mut self, now: Time, to: Going, window: f64) {
        if self.going != Going::Nowhere {
            self.turns.push_back(now);
        }
        if self.turns.len() > TURNS {
            self.turns.pop_front();
        }
        (self.going, self.low, self.high) = (to, window, window);
    }

    /// Whether it has turned so often of late that it swings.
    pub(super) fn swings(&self, now: Time) -> bool {
        let first = self.turns.front().filter(|_| self.turns.len() == TURNS);
        first.is_some_and(|first| now.since(*first) <= WITHIN)
    }
}

fn far(high: f64, low: f64) -> bool {
    let (move_, mean) = (high - low, (high + low) / 2.0);
    move_ >= SWING * mean && move_ >= SWING_REQUESTS
}

/// The lowest window since it was last cut: by half or more of its highest since the cut before.
#[derive(Debug, Default)]
pub(super) struct Trough {
    low: Option<(f64, Time)>,
    /// The highest since then.
    high: f64,
    window: f64,
}

impl Trough {
    /// The window is now `window`.
    pub(super) fn moved(&mut self, now: Time, window: f64) {
        self.window = window;
        self.high = self.high.max(window);
        let lower = self.low.is_none_or(|(low, _)| window < low);
        if lower || window <= self.high / 2.0 {
            (self.low, self.high) = (Some((window, now)), window);
        }
    }

    /// For how long the window has been at its lowest, less than a request above it.
    pub(super) fn stuck_for(&self, now: Time) -> Nanos {
        let stuck = self.low.filter(|(low, _)| self.window < low + CLIMBED);
        stuck.map_or(Nanos::ZERO, |(_, since)| now.since(since))
    }

    /// Whether a window below this ceiling has room to climb by a request.
    pub(super) fn has_room(&self, ceiling: Option<f64>) -> bool {
        ceiling.is_none_or(|ceiling| self.window + CLIMBED <= ceiling)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO.after(Nanos::from_millis(ms))
    }

    #[test]
    fn four_turns_of_a_quarter_within_five_seconds_are_an_oscillation() {
        for (about, windows, every_ms, expected) in [
            ("a saw", &[10.0, 20.0, 10.0, 20.0, 10.0, 20.0][..], 1000, true),
            ("one turn too few", &[10.0, 20.0, 10.0, 20.0, 10.0], 1000, false),
            ("too slow", &[10.0, 20.0, 10.0, 20.0, 10.0, 20.0], 1700, false),
            ("too flat", &[10.0, 12.5, 10.0, 12.5, 10.0, 12.5, 10.0], 100, false),
            ("too few requests", &[1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0], 100, false),
            (
                "in small steps",
                &[8.0, 9.0, 11.0, 9.0, 8.0, 9.0, 11.0, 9.0, 8.0, 11.0, 8.0],
                400,
                true,
            ),
            ("one way", &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0], 100, false),
            ("halvings", &[64.0, 32.0, 16.0, 8.0, 4.0, 2.0, 1.0], 100, false),
        ] {
            let mut swings = Swings::default();
            let instants = (0u64..).map(|index| at(index * every_ms));
            instants.clone().zip(windows).for_each(|(now, window)| swings.moved(now, *window));
            let last = at((windows.len() as u64 - 1) * every_ms);
            assert_eq!(swings.swings(last), expected, "{about}");
            assert!(!swings.swings(last.after(Nanos::from_secs(6))), "{about}: it is forgotten");
        }
    }

    #[test]
    fn a_window_is_stuck_until_it_has_climbed_by_one_from_its_lowest() {
        // Window by second, and for how many seconds it is stuck at the end.
        for (windows, expected) in [
            (&[2.0, 2.0, 2.0, 2.0][..], 3),
            (&[2.0, 2.9, 2.9, 2.5], 3),
            (&[2.0, 3.0, 3.0, 3.0], 0),
            (&[2.0, 64.0, 32.0, 32.5, 32.5], 2),
            (&[2.0, 64.0, 33.0, 33.0], 0),
            (&[2.0, 64.0, 32.0, 16.0, 2.0, 2.0], 1),
            (&[64.0, 2.0, 8.0, 11.0, 11.1, 11.0], 0),
            (&[4.0, 3.0, 2.0, 2.0, 2.0], 2),
        ] {
            let mut trough = Trough::default();
            for (second, window) in (0..).zip(windows) {
                trough.moved(at(second * 1000), *window);
            }
            let last = at((windows.len() as u64 - 1) * 1000);
            assert_eq!(trough.stuck_for(last), Nanos::from_secs(expected), "{windows:?}");
        }
    }

    #[test]
    fn at_its_ceiling_a_window_has_no_room() {
        let mut trough = Trough::default();
        trough.moved(at(0), 63.5);
        for (ceiling, expected) in [(None, true), (Some(64.5), true), (Some(64.0), false)] {
            assert_eq!(trough.has_room(ceiling), expected, "{ceiling:?}");
        }
    }
}
