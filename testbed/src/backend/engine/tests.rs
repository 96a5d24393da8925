//! Without sockets: what is done to the timer, and what an open loop does.

use super::*;
use testbed_clock::LiveClock;
use testbed_core::distribution::Distribution;
use testbed_core::hold::PATIENCE;
use testbed_core::time::Nanos;

const HOUR: Nanos = Nanos::from_secs(3600);
const JOBS: u32 = 2000;

fn engine(service: Nanos) -> Arc<Engine> {
    let service = Distribution::Constant(service);
    let config = ServiceConfig::new(JOBS, service, 0);
    Engine::new(&config, &Streams::new(7), Timer::start(LiveClock::start()))
}

fn arrive(engine: &Engine) -> oneshot::Receiver<Released<()>> {
    let (responder, answer) = oneshot::channel();
    engine.arrive(Request::CALL, responder);
    answer
}

#[test]
fn one_alarm_is_set_however_often_the_next_wake_moves() {
    let engine = engine(Nanos::ZERO);
    engine.set_hold(Some(Hold::Latency(HOUR)));
    let answer = arrive(&engine);
    for minutes in [50, 40, 55, 30, 10, 20] {
        engine.set_hold(Some(Hold::Latency(Nanos::from_secs(60 * minutes))));
        assert!(engine.timer.pending() <= 1);
    }
    engine.set_hold(None);
    assert_eq!(answer.blocking_recv().unwrap().status, 200);
    assert_eq!(engine.timer.pending(), 0);
}

#[test]
fn a_pushed_hold_waits_for_no_feed() {
    let engine = engine(Nanos::ZERO);
    let hold = Some(Hold::Gradient { gradient: 0.5, at_most: HOUR });
    let baseline = Some(Nanos::from_millis(10));
    engine.push_hold(hold, Feed { baseline, overhead: Nanos::ZERO });
    let answers: Vec<_> = (0..JOBS).map(|_| arrive(&engine)).collect();
    let ages = answers.into_iter().map(|answer| answer.blocking_recv().unwrap().served.age);
    let ages: Vec<_> = ages.collect();
    assert!(ages.iter().all(|age| *age >= Nanos::from_millis(20)));
    // One after the other, each after the patience with the one before, would take 4 s.
    assert!(ages.iter().all(|age| *age < PATIENCE.scaled(f64::from(JOBS))));
}

#[test]
fn draining_leaves_jobs_unanswered_and_no_alarm() {
    let engine = engine(HOUR);
    let answer = arrive(&engine);
    assert_eq!(engine.timer.pending(), 1);
    engine.drain();
    assert!(answer.blocking_recv().is_err());
    assert_eq!((engine.timer.pending(), engine.look().in_system), (0, 0));
}
