//! What the timer's thread does next: pure, so that it can be asked at any time.

use super::queue::{AlarmId, Queue};
use std::fmt;
use testbed_core::time::{Nanos, Time};

/// A processor that has rested takes this long to come back: on a virtual machine a sleep of 10 ms
/// ended 96 to 109 us late at the median, and whom it wakes is as late again. So an alarm that comes
/// after [`SPARSE`] rouses its task this much before its time.
const AWAKE: Nanos = Nanos::from_micros(150);

/// Nothing fired for so long that the processor has rested. Alarms nearer to each other than this
/// rouse nobody, so that waiting awake costs at most a twentieth of a processor.
const SPARSE: Nanos = Nanos::from_millis(3);

/// Alarms to come, and what was done about the first of them.
pub(super) struct Agenda<T> {
    pub(super) alarms: Queue<T>,
    /// The alarm that was roused last.
    roused: Option<AlarmId>,
    /// When an alarm fired last.
    fired: Time,
}

/// What to do with the first alarm.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum Step<T> {
    /// Nothing, for at most so long; without an alarm, until there is one.
    Wait(Option<Nanos>),
    /// Tell it that its time is near.
    Rouse(T),
    /// Its time has come.
    Fire(T),
}

impl<T: Clone> Agenda<T> {
    /// The step of this moment, which is taken for done.
    pub(super) fn step(&mut self, now: Time) -> Step<T> {
        let Some((id, alarm)) = self.alarms.first() else { return Step::Wait(None) };
        let (at, left) = (id.deadline(), id.deadline().since(now));
        if left == Nanos::ZERO {
            let alarm = alarm.clone();
            self.alarms.remove(id);
            self.fired = now;
            return Step::Fire(alarm);
        }
        if at.since(self.fired) < SPARSE || self.roused == Some(id) {
            return Step::Wait(Some(left));
        }
        if left > AWAKE {
            return Step::Wait(Some(left.minus(AWAKE)));
        }
        let alarm = alarm.clone();
        self.roused = Some(id);
        Step::Rouse(alarm)
    }
}

impl<T> Default for Agenda<T> {
    fn default() -> Self {
        Self { alarms: Queue::default(), roused: None, fired: Time::ZERO }
    }
}

impl<T> fmt::Debug for Agenda<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.alarms.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::Step::{Fire, Rouse, Wait};
    use super::*;

    fn us(us: u64) -> Time {
        Time::ZERO.after(Nanos::from_micros(us))
    }

    /// An alarm at each of `deadlines`, named by it, and the steps at these times, all in us.
    fn walk(deadlines: &[u64], steps: &[(u64, Step<u64>)]) {
        let mut agenda = Agenda::default();
        for deadline in deadlines {
            agenda.alarms.insert(us(*deadline), *deadline);
        }
        for (now, expected) in steps {
            assert_eq!(&agenda.step(us(*now)), expected, "at {now} us of {deadlines:?}");
        }
    }

    fn wait(us: u64) -> Step<u64> {
        Wait(Some(Nanos::from_micros(us)))
    }

    #[test]
    fn an_alarm_after_a_rest_rouses_once_and_fires_at_its_time() {
        let steps = [
            (0, wait(9_850)),
            (9_850, Rouse(10_000)),
            (9_851, wait(149)),
            (9_999, wait(1)),
            (10_000, Fire(10_000)),
            (10_001, Wait(None)),
        ];
        walk(&[10_000], &steps);
    }

    #[test]
    fn an_alarm_soon_after_another_rouses_nobody() {
        let steps = [
            (9_900, Rouse(10_000)),
            (10_010, Fire(10_000)),
            (10_020, wait(2_880)),
            (12_899, wait(1)),
            (12_900, Fire(12_900)),
            (12_900, wait(2_950)),
            (15_850, Rouse(16_000)),
        ];
        walk(&[10_000, 12_900, 16_000], &steps);
    }

    #[test]
    fn an_alarm_that_is_late_already_fires_at_once() {
        walk(&[10_000, 10_000], &[(10_001, Fire(10_000)), (10_002, Fire(10_000))]);
    }

    #[test]
    fn one_that_comes_before_a_roused_one_has_its_turn() {
        let mut agenda = Agenda::default();
        agenda.alarms.insert(us(10_000), 10_000);
        assert_eq!(agenda.step(us(9_900)), Rouse(10_000));
        agenda.alarms.insert(us(9_950), 9_950);
        assert_eq!(agenda.step(us(9_910)), Rouse(9_950));
        assert_eq!(agenda.step(us(9_950)), Fire(9_950));
        assert_eq!(agenda.step(us(9_951)), wait(49));
    }
}
