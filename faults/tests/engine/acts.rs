//! Each toxic does what it says, through whichever engine; times have lower bounds only, for a busy
//! machine is late.

use crate::api::connect;
use crate::client::{echo_takes, round_trip, until_the_end};
use crate::support::{add, change, on_every_proxy, toxic, upstream};
use faults::{FaultControl, ProxyFaults, Toxic};
use std::io::ErrorKind;
use std::net::SocketAddr;
use testbed_core::time::{Nanos, Time};

/// Tries a proxy with this toxic and no other.
fn with(control: &mut dyn FaultControl, toxic: Toxic, try_it: impl FnOnce(SocketAddr)) {
    let mut faults = ProxyFaults::default();
    // Ids are told apart over the life of a proxy, so that these begin with a clean one.
    control.set(&faults).unwrap();
    add(control, &mut faults, toxic);
    try_it(control.address());
    change(control, &mut faults, ProxyFaults::clear);
    round_trip(&mut connect(control.address()), 10);
}

#[track_caller]
fn assert_takes(took: Nanos, least_ms: u64) {
    assert!(took >= Nanos::from_millis(least_ms), "{took} is less than {least_ms} ms");
}

#[test]
fn toxics_that_slow_down_take_their_time_and_lose_nothing() {
    on_every_proxy(|_, control| {
        for (kind, attributes, bytes, least_ms) in [
            ("latency", r#"{"latency":60}"#, 10, 60),
            ("latency", r#"{"latency":60,"jitter":20}"#, 10, 40),
            ("bandwidth", r#"{"rate":1000}"#, 100_000, 100),
            // Three cuts in halves make eight pieces of 128 bytes, and seven pauses.
            ("slicer", r#"{"average_size":128,"delay":10000}"#, 1024, 70),
            ("noop", "{}", 100_000, 0),
        ] {
            for toxic in [toxic(kind, attributes), upstream(toxic(kind, attributes))] {
                with(control, toxic, |proxy| assert_takes(echo_takes(proxy, bytes), least_ms));
            }
        }
    });
}

#[test]
fn toxics_that_end_connections_do_it_their_way() {
    const RESET: Option<ErrorKind> = Some(ErrorKind::ConnectionReset);
    on_every_proxy(|_, control| {
        for (kind, attributes, passed, end, least_ms) in [
            ("reset_peer", "{}", 0, RESET, 0),
            ("reset_peer", r#"{"timeout":40}"#, 0, RESET, 40),
            ("timeout", r#"{"timeout":40}"#, 0, None, 40),
            ("limit_data", r#"{"bytes":333}"#, 333, None, 0),
        ] {
            with(control, toxic(kind, attributes), |proxy| {
                let (bytes, error, took) = until_the_end(proxy, 1000);
                assert_eq!((bytes, error), (passed, end), "{kind} {attributes}");
                assert_takes(took, least_ms);
            });
        }
    });
}

#[test]
fn slow_close_holds_the_end_back_and_nothing_else() {
    on_every_proxy(|_, control| {
        let mut faults = ProxyFaults::default();
        change(control, &mut faults, |faults| {
            faults.add(Time::ZERO, toxic("limit_data", r#"{"bytes":100}"#)).unwrap();
            faults.add(Time::ZERO, toxic("slow_close", r#"{"delay":60}"#)).unwrap();
        });
        let (bytes, error, took) = until_the_end(control.address(), 100);
        assert_eq!((bytes, error), (100, None));
        assert_takes(took, 60);
    });
}

#[test]
fn a_change_acts_on_connections_that_are_there() {
    on_every_proxy(|bench, control| {
        let mut faults = ProxyFaults::default();
        let mut live = connect(control.address());
        round_trip(&mut live, 10);
        let takes = |live: &mut _, least_ms| {
            let sent = bench.clock.now();
            round_trip(live, 10);
            assert_takes(bench.clock.now().since(sent), least_ms);
        };
        let latency = |ms: u64| toxic("latency", &format!(r#"{{"latency":{ms}}}"#));
        add(control, &mut faults, latency(30));
        takes(&mut live, 30);
        let Toxic { toxicity, kind, .. } = latency(70);
        change(control, &mut faults, |f| f.update("latency_downstream", toxicity, kind).unwrap());
        takes(&mut live, 70);
        change(control, &mut faults, |faults| drop(faults.remove("latency_downstream").unwrap()));
        // Two hundred would take 14 s if it were still there.
        let began = bench.clock.now();
        (0..200).for_each(|_| round_trip(&mut live, 10));
        assert!(bench.clock.now().since(began) < Nanos::from_secs(14));
    });
}
