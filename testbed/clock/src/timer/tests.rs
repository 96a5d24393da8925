//! Bounds from below are exact; those from above are what a busy machine still keeps.

use super::*;
use std::pin::pin;
use std::sync::Weak;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;
use testbed_core::time::Nanos;

const LONG: Duration = Duration::from_secs(60);

/// Reports (label, time of the call).
struct Report(Mutex<Sender<(usize, Time)>>, usize);

impl Alarm for Report {
    fn fire(&self, now: Time) {
        let _ = self.0.lock().unwrap().send((self.1, now));
    }
}

/// Keeps the timer's thread busy until its channel closes, so that a test can set its alarms at
/// leisure.
struct Gate(Mutex<Receiver<()>>);

impl Alarm for Gate {
    fn fire(&self, _now: Time) {
        let _ = self.0.lock().unwrap().recv();
    }
}

/// Reports that it was woken.
struct Woken(Mutex<Sender<()>>);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        let _ = self.0.lock().unwrap().send(());
    }
}

fn timer() -> Timer {
    Timer::start(LiveClock::start())
}

fn in_micros(timer: &Timer, us: u64) -> Time {
    timer.clock().now().after(Nanos::from_micros(us))
}

fn reports(timer: &Timer, deadlines: &[Time]) -> (Receiver<(usize, Time)>, Vec<AlarmId>) {
    let (sender, receiver) = channel();
    let set = |(label, at): (usize, &Time)| {
        timer.alarm(*at, Arc::new(Report(Mutex::new(sender.clone()), label)))
    };
    let ids = deadlines.iter().enumerate().map(set).collect();
    (receiver, ids)
}

fn block_on(mut future: std::pin::Pin<&mut Sleep>) {
    let (sender, woken) = channel();
    let waker = Waker::from(Arc::new(Woken(Mutex::new(sender))));
    while future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
        woken.recv_timeout(LONG).unwrap();
    }
}

#[test]
fn alarms_fire_in_order_of_deadline_then_of_setting_and_never_early() {
    let timer = timer();
    let (open_gate, gate) = channel();
    timer.alarm(Time::ZERO, Arc::new(Gate(Mutex::new(gate))));
    let base = timer.clock().now();
    let deadlines = [3_000, 1_000, 2_000, 1_000].map(|us| base.after(Nanos::from_micros(us)));
    let (receiver, _) = reports(&timer, &deadlines);
    drop(open_gate);
    for expected in [1, 3, 2, 0] {
        let (label, at) = receiver.recv_timeout(LONG).unwrap();
        assert_eq!(label, expected);
        assert!(at >= deadlines[label], "{at} is before {}", deadlines[label]);
    }
}

#[test]
fn an_earlier_alarm_overtakes_one_that_is_waited_for() {
    let timer = timer();
    let (receiver, _) = reports(&timer, &[Time::NEVER, in_micros(&timer, 1_000)]);
    assert_eq!(receiver.recv_timeout(LONG).unwrap().0, 1);
}

#[test]
fn an_alarm_taken_back_does_not_fire() {
    let timer = timer();
    let (open_gate, gate) = channel();
    timer.alarm(Time::ZERO, Arc::new(Gate(Mutex::new(gate))));
    let (receiver, ids) = reports(&timer, &[Time::ZERO, Time::ZERO]);
    assert!(timer.cancel(ids[0]));
    assert!(!timer.cancel(ids[0]));
    drop(open_gate);
    assert_eq!(receiver.recv_timeout(LONG).unwrap().0, 1);
    assert!(!timer.cancel(ids[1]));
    drop(timer);
    assert!(receiver.recv_timeout(LONG).is_err());
}

#[test]
fn an_alarm_may_set_alarms() {
    struct Again(Timer, Mutex<Sender<(usize, Time)>>);
    impl Alarm for Again {
        fn fire(&self, now: Time) {
            let sender = self.1.lock().unwrap().clone();
            self.0.alarm(now, Arc::new(Report(Mutex::new(sender), 7)));
        }
    }
    let timer = timer();
    let (sender, receiver) = channel();
    timer.alarm(Time::ZERO, Arc::new(Again(timer.clone(), Mutex::new(sender))));
    assert_eq!(receiver.recv_timeout(LONG).unwrap().0, 7);
}

#[test]
fn a_sleep_ends_at_its_deadline_and_not_before() {
    let timer = timer();
    for us in [0, 100, 1_500] {
        let at = in_micros(&timer, us);
        block_on(pin!(timer.sleep_until(at)));
        assert!(timer.clock().now() >= at);
    }
}

#[test]
fn a_sleep_beaten_to_its_deadline_is_ready() {
    let timer = timer();
    let mut sleep = pin!(timer.sleep_until(in_micros(&timer, 1_000)));
    let mut context = Context::from_waker(Waker::noop());
    let _ = sleep.as_mut().poll(&mut context);
    thread::sleep(Duration::from_millis(5));
    assert_eq!(sleep.as_mut().poll(&mut context), Poll::Ready(()));
}

#[test]
fn a_sleep_wakes_the_task_that_polled_it_last() {
    let timer = timer();
    let mut sleep = pin!(timer.sleep_until(in_micros(&timer, 20_000)));
    let _ = sleep.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    block_on(sleep);
}

#[test]
fn dropped_sleeps_leave_nothing_behind() {
    let timer = timer();
    for _ in 0..1000 {
        let mut sleep = pin!(timer.sleep_until(Time::NEVER));
        let _ = sleep.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert_eq!(timer.pending(), 1);
    }
    assert_eq!(timer.pending(), 0);
}

#[test]
fn the_thread_ends_with_the_last_handle() {
    let timer = timer();
    let shared: Weak<Shared> = Arc::downgrade(&timer.handle.shared);
    let (receiver, _) = reports(&timer, &[Time::NEVER]);
    drop(timer.clone());
    assert!(shared.upgrade().is_some());
    drop(timer);
    // The alarm that never came owns the sender: it goes with the thread.
    assert!(receiver.recv_timeout(LONG).is_err());
    assert_eq!(shared.strong_count(), 0);
}
