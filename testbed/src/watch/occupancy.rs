//! How full the gate of an arm is, and for how long. Pure.

use testbed_core::event::Event;
use testbed_core::time::{Nanos, Time};

/// The gate and the queue of one arm, followed event by event.
#[derive(Debug, Default)]
pub(super) struct Occupancy {
    in_flight: u32,
    waiting: u32,
    limit: u64,
    /// Up to here `so_far` counts.
    since: Time,
    so_far: Occupied,
}

/// What happened at a gate within some time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Occupied {
    /// With no free slot: in flight at or above the limit.
    pub(super) full: Nanos,
    /// With no free slot while somebody waited for one.
    pub(super) pressed: Nanos,
    /// The most requests in flight at one time.
    pub(super) peak: u32,
}

impl Occupancy {
    /// Takes in an event of this arm. One that is not about its gate changes nothing.
    pub(super) fn follow(&mut self, now: Time, event: &Event<'_>) {
        self.settle(now);
        match *event {
            Event::Arrived { .. } => self.waiting += 1,
            Event::Rejected { .. } | Event::Abandoned { .. } => {
                self.waiting = self.waiting.saturating_sub(1);
            }
            Event::Admitted { in_flight, waiting, limit, .. } => {
                (self.in_flight, self.waiting, self.limit) = (in_flight, waiting, limit);
            }
            Event::Finished { in_flight, .. } => self.in_flight = in_flight,
            Event::Updated { ref update, .. } => self.limit = update.limit,
            _ => {}
        }
        self.so_far.peak = self.so_far.peak.max(self.in_flight);
    }

    /// What happened since the last call.
    pub(super) fn take(&mut self, now: Time) -> Occupied {
        self.settle(now);
        std::mem::replace(
            &mut self.so_far,
            Occupied { peak: self.in_flight, ..Occupied::default() },
        )
    }

    /// Before the first update there is no limit to be at.
    fn settle(&mut self, now: Time) {
        let elapsed = now.since(self.since).get();
        self.since = now;
        if self.limit > 0 && u64::from(self.in_flight) >= self.limit {
            add(&mut self.so_far.full, elapsed);
            add(&mut self.so_far.pressed, if self.waiting > 0 { elapsed } else { 0 });
        }
    }
}

fn add(sum: &mut Nanos, elapsed: u64) {
    *sum = Nanos::new(sum.get().saturating_add(elapsed));
}

#[cfg(test)]
mod tests {
    use super::*;
    use testbed_core::control::Update;
    use testbed_core::request::{Arm, Arrival, Outcome, Sample};
    use testbed_core::vitals::Vitals;

    const ARM: Arm = Arm(0);
    const ARRIVAL: Arrival = Arrival::new(0, 0, Time::ZERO);

    fn at(ms: u64) -> Time {
        Time::ZERO.after(Nanos::from_millis(ms))
    }

    fn limit(limit: u64, vitals: &Vitals) -> Event<'_> {
        let window = limit as f64;
        let update = Update { old: window, new: window, limit, reason: "test" };
        Event::Updated { arm: ARM, update, vitals }
    }

    fn admitted(in_flight: u32, waiting: u32) -> Event<'static> {
        let (wait, gated) = (Nanos::ZERO, true);
        Event::Admitted { arm: ARM, arrival: ARRIVAL, wait, in_flight, waiting, limit: 2, gated }
    }

    fn finished(in_flight: u32) -> Event<'static> {
        let sample = Sample {
            start: Time::ZERO,
            sent: Time::ZERO,
            end: Time::ZERO,
            in_flight_at_start: 1,
            in_flight_at_end: 1,
            limit_at_start: 2,
            outcome: Outcome::Success,
            bytes: 0,
        };
        let (served, hit, again) = (None, None, None);
        Event::Finished { arm: ARM, arrival: ARRIVAL, sample, served, hit, again, in_flight }
    }

    #[test]
    fn time_without_a_free_slot_is_counted_and_time_with_one_is_not() {
        let vitals = Vitals::new();
        let arrived = Event::Arrived { arm: ARM, arrival: ARRIVAL, lag: Nanos::ZERO };
        let mut occupancy = Occupancy::default();
        let mut expect = |events: &[(u64, Event<'_>)], until, full, pressed, peak| {
            events.iter().for_each(|(ms, event)| occupancy.follow(at(*ms), event));
            let (full, pressed) = (Nanos::from_millis(full), Nanos::from_millis(pressed));
            assert_eq!(occupancy.take(at(until)), Occupied { full, pressed, peak }, "to {until}");
        };
        expect(&[(0, limit(2, &vitals))], 100, 0, 0, 0);
        expect(&[(110, admitted(1, 0)), (120, admitted(2, 0)), (150, arrived)], 200, 80, 50, 2);
        // A slot that is taken again at once was never free.
        expect(&[(250, finished(1)), (250, admitted(2, 0))], 300, 100, 50, 2);
        expect(&[(310, finished(1)), (350, finished(0))], 400, 10, 0, 2);
        expect(&[], 500, 0, 0, 0);
        // A window that shrinks below what is in flight leaves no slot free.
        expect(&[(500, admitted(1, 3)), (550, limit(1, &vitals))], 600, 50, 50, 1);
    }
}
