//! Who of those that wait for a server is next, and what is not begun any more.

use proptest::prelude::*;
use std::collections::BTreeMap;
use testbed_core::distribution::Distribution;
use testbed_core::rng::Streams;
use testbed_core::service::{
    By, Discipline, Expired, Fair, Request, Service, ServiceConfig, Start,
};
use testbed_core::time::{Nanos, Time};
use testbed_core::trace::{Rows, Trace};

fn ms(ms: u64) -> Time {
    Time::ZERO.after(Nanos::from_millis(ms))
}

fn backend(service: Distribution, queue: Discipline, expired: Expired) -> Service<u32> {
    let config = ServiceConfig { queue, expired, ..ServiceConfig::new(1, service, 1000) };
    Service::new(&config, &Streams::new(1))
}

/// Lets the model go on until `end`: when which job came out, in milliseconds.
fn run(service: &mut Service<u32>, end: Time) -> Vec<(u64, u32)> {
    let mut out = Vec::new();
    while let Some(at) = service.next_wake().filter(|at| *at <= end) {
        while let Some(released) = service.release(at) {
            assert_eq!(released.status, 200);
            out.push((at.as_nanos() / 1_000_000, released.job));
        }
    }
    out
}

/// In which order one server that takes 10 ms serves four requests of a flow and two of another that
/// came just behind them.
fn order(queue: Discipline, call: impl Fn(&'static str) -> Request<'static>) -> Vec<u32> {
    let service = Distribution::Constant(Nanos::from_millis(10));
    let mut service = backend(service, queue, Expired::Serve);
    for (job, flow) in [(0, "a"), (1, "a"), (2, "a"), (3, "a"), (10, "b"), (11, "b")] {
        service.arrive(ms(0), call(flow), job);
    }
    run(&mut service, Time::NEVER).into_iter().map(|(_, job)| job).collect()
}

#[test]
fn fair_queueing_serves_flows_in_turn_and_each_in_order() {
    let arm = |arm| Request { arm: Some(arm), ..Request::CALL };
    let class = |class| Request { class: Some(class), ..Request::CALL };
    let fair = |by, start| Discipline::Fair(Fair { by, start, ..Fair::default() });
    let (in_turn, as_they_came) = ([0, 10, 1, 11, 2, 3], [0, 1, 2, 3, 10, 11]);
    for start in [Start::NotBehind, Start::MayLag] {
        assert_eq!(order(fair(By::Arm, start), arm), in_turn, "{start:?}");
        assert_eq!(order(fair(By::Class, start), class), in_turn, "{start:?}");
        assert_eq!(order(fair(By::Class, start), arm), as_they_came, "one flow: {start:?}");
    }
    assert_eq!(order(Discipline::Fifo, arm), as_they_came);
}

#[test]
fn what_a_flow_costs_is_the_time_that_its_requests_take_and_not_their_number() {
    // Drawn for each call in turn, so those of a flow take 10 ms and those of the other 30 ms.
    let services = (0..120).map(|n| Nanos::from_millis(if n % 2 == 0 { 10 } else { 30 })).collect();
    let rows = Rows::default().with_services(services);
    let (file, arm, sha256, classes) = ("t.csv".to_owned(), None, None, Vec::new());
    let recorded = Distribution::Trace(Trace { file, arm, sha256, rows: rows.into(), classes });
    let mut service = backend(recorded, Discipline::Fair(Fair::default()), Expired::Serve);
    for job in 0..120 {
        let arm = Some(if job % 2 == 0 { "short" } else { "long" });
        service.arrive(ms(0), Request { arm, ..Request::CALL }, job);
    }
    let served = run(&mut service, ms(600));
    let long = served.iter().filter(|(_, job)| job % 2 == 1).count();
    assert_eq!((served.len() - long, long), (30, 10), "half of 600 ms each");
}

proptest! {
    #[test]
    fn what_waited_and_was_begun_ends_in_the_time_of_its_client(
        arrivals in prop::collection::vec((0u64..30, 1u64..100), 1..100),
        queue in prop::sample::select(vec![
            Discipline::Fifo, Discipline::Lifo, Discipline::Fair(Fair::default()),
        ]),
    ) {
        let service = Distribution::Exponential(Nanos::from_millis(20));
        let mut service = backend(service, queue, Expired::DropHopeless);
        let (mut at, mut until, mut out) = (0, BTreeMap::new(), Vec::new());
        for (job, (gap_ms, patience_ms)) in (0u32..).zip(&arrivals) {
            at += gap_ms;
            out.extend(run(&mut service, ms(at)));
            let waits = service.look(ms(at)).in_system > 0;
            let patience = Some(Nanos::from_millis(*patience_ms));
            service.arrive(ms(at), Request { patience, ..Request::CALL }, job);
            // Who finds a free server does not wait, and is begun in any case.
            until.insert(job, if waits { at + patience_ms } else { u64::MAX });
        }
        out.extend(run(&mut service, Time::NEVER));
        for (ended_ms, job) in out {
            prop_assert!(ended_ms <= until[&job], "{job} ended at {ended_ms} ms");
        }
        prop_assert_eq!(service.look(Time::NEVER).in_system, 0, "nothing is left behind");
    }
}
