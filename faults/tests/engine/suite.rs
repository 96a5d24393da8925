//! What an engine holds, whichever it is.

use crate::api::connect;
use crate::client::{echo_takes, is_refused, round_trip};
use crate::support::{
    add, change, half, kind_of, named, on_every_engine, on_every_proxy, set, toxic, upstream,
};
use faults::engine::check_toxiproxy;
use faults::toxic::Slicer;
use faults::{EngineError, ProxyFaults, Toxic, ToxicKind};
use serde_json::Value;
use std::collections::BTreeMap;
use testbed_core::limit::quantity::Bytes;
use testbed_core::quantity::Share;
use testbed_core::time::{Nanos, Time};

/// Every kind, with an attribute and its number.
const KINDS: [(&str, &str, i64); 8] = [
    ("latency", "latency", 7),
    ("bandwidth", "rate", 500),
    ("slow_close", "delay", 8),
    ("timeout", "timeout", 9),
    ("reset_peer", "timeout", 10),
    ("slicer", "average_size", 11),
    // More than the 32 bits that `toxiproxy_rust` has.
    ("limit_data", "bytes", 1 << 40),
    ("noop", "", 0),
];

fn one(kind: &str, attribute: &str, number: i64) -> Toxic {
    toxic(kind, &format!(r#"{{"{attribute}":{number}}}"#))
}

#[test]
fn each_kind_of_toxic_is_set_and_read_back_on_either_stream() {
    on_every_proxy(|_, control| {
        let mut faults = ProxyFaults::default();
        let known = |kind: &ToxicKind| check_toxiproxy(&Toxic::new(kind.clone())).is_ok();
        assert_eq!(KINDS.len(), ToxicKind::all().iter().filter(|kind| known(kind)).count());
        for (kind, attribute, number) in KINDS {
            for toxic in [one(kind, attribute, number), upstream(one(kind, attribute, number))] {
                let (name, stream) = (toxic.name().into_owned(), toxic.stream);
                add(control, &mut faults, half(toxic));
                let state = control.read_back().unwrap();
                let seen = state.toxic(&name).unwrap();
                assert_eq!((&*seen.kind, seen.stream, seen.toxicity), (kind, stream, 0.5));
                let value = seen.attributes.get(attribute).and_then(Value::as_i64);
                assert_eq!(value.unwrap_or(0), number, "{kind}");
                change(control, &mut faults, |faults| drop(faults.remove(&name).unwrap()));
                assert!(control.read_back().unwrap().toxics.is_empty());
            }
        }
    });
}

#[test]
fn many_toxics_at_once_have_their_order() {
    on_every_proxy(|_, control| {
        let mut faults = ProxyFaults::default();
        let set_all = |faults: &mut ProxyFaults| {
            for (kind, attribute, number) in KINDS {
                faults.add(Time::ZERO, one(kind, attribute, number)).unwrap();
                faults.add(Time::ZERO, upstream(one(kind, attribute, number))).unwrap();
            }
        };
        change(control, &mut faults, set_all);
        let state = control.read_back().unwrap();
        let kinds = state.toxics.iter().map(|toxic| &*toxic.kind);
        let expected = KINDS.iter().chain(&KINDS).map(|(kind, _, _)| *kind);
        assert!(kinds.eq(expected), "{state:?}");
        change(control, &mut faults, |faults| {
            faults.remove("timeout_upstream").unwrap();
            let (share, kind) = (Share::new(0.25).unwrap(), kind_of("bandwidth", r#"{"rate":3}"#));
            faults.update("bandwidth_downstream", share, kind).unwrap();
            faults.add(Time::ZERO, named("last", one("latency", "jitter", 3))).unwrap();
            faults.set_enabled(false);
        });
        change(control, &mut faults, ProxyFaults::reset);
        round_trip(&mut connect(control.address()), 1000);
    });
}

#[test]
fn odd_names_are_names() {
    on_every_proxy(|_, control| {
        let mut faults = ProxyFaults::default();
        for name in ["two words", "a%2Fb", "?x=1#y", "été ☂", "\"\\'", "+&=;:@", "..."] {
            let add = |faults: &mut ProxyFaults| {
                faults.add(Time::ZERO, named(name, one("latency", "latency", 1))).unwrap();
            };
            change(control, &mut faults, add);
            let kind = kind_of("latency", r#"{"latency":2}"#);
            change(control, &mut faults, |f| f.update(name, Share::ALL, kind).unwrap());
            assert!(control.read_back().unwrap().toxic(name).is_some());
        }
        change(control, &mut faults, ProxyFaults::clear);
    });
}

#[test]
fn a_toxic_is_told_by_its_id_and_not_by_its_name() {
    on_every_proxy(|_, control| {
        let mut faults = ProxyFaults::default();
        change(control, &mut faults, |faults| {
            faults.add(Time::ZERO, named("a", one("latency", "latency", 1))).unwrap();
            faults.add(Time::ZERO, named("b", one("noop", "", 0))).unwrap();
        });
        change(control, &mut faults, |faults| {
            faults.remove("a").unwrap();
            faults.add(Time::ZERO, named("a", upstream(one("timeout", "timeout", 1)))).unwrap();
        });
        change(control, &mut faults, |faults| {
            faults.update("b", Share::ALL, kind_of("bandwidth", r#"{"rate":9}"#)).unwrap();
        });
        let state = control.read_back().unwrap();
        let kinds: Vec<_> = state.toxics.iter().map(|t| (&*t.name, &*t.kind)).collect();
        assert_eq!(kinds, [("a", "timeout"), ("b", "bandwidth")]);
    });
}

#[test]
fn down_refuses_and_cuts_and_up_is_at_the_same_address_with_the_toxics_kept() {
    on_every_proxy(|_, control| {
        let mut faults = ProxyFaults::default();
        faults.add(Time::ZERO, one("latency", "latency", 40)).unwrap();
        set(control, &faults);
        let address = control.address();
        let mut live = connect(address);
        round_trip(&mut live, 10);
        change(control, &mut faults, |faults| faults.set_enabled(false));
        assert!(!control.read_back().unwrap().enabled && is_refused(address));
        assert_eq!(std::io::Read::read(&mut live, &mut [0]).unwrap_or(0), 0);
        assert_eq!(control.address(), address);
        change(control, &mut faults, |faults| faults.set_enabled(true));
        assert!(echo_takes(address, 10) >= Nanos::from_millis(40));
    });
}

#[test]
fn what_is_impossible_is_refused_before_and_changes_nothing() {
    on_every_proxy(|_, control| {
        let good = ProxyFaults::default();
        set(control, &good);
        let mut bad = good.clone();
        let size = Bytes::new(0);
        let slicer = ToxicKind::Slicer(Slicer { average_size: size, ..Slicer::default() });
        bad.add(Time::ZERO, Toxic::new(slicer)).unwrap();
        let refused = control.check(&bad).unwrap_err();
        assert!(refused.to_string().contains("`average_size` must be 1 byte or more"), "{refused}");
        assert_eq!(control.set(&bad), Err(refused));
        control.verify(&good).unwrap();
    });
}

#[test]
fn a_difference_from_what_was_set_is_found() {
    on_every_proxy(|_, control| {
        let mut faults = ProxyFaults::default();
        faults.add(Time::ZERO, one("latency", "latency", 40)).unwrap();
        set(control, &faults);
        let kind = kind_of("latency", r#"{"latency":41}"#);
        faults.update("latency_downstream", Share::ALL, kind).unwrap();
        let difference = control.verify(&faults).unwrap_err();
        assert!(matches!(difference, EngineError::Differs { .. }), "{difference}");
    });
}

#[test]
fn arms_have_proxies_of_their_own_until_they_are_closed() {
    on_every_engine(|bench, engine| {
        let arms = ["a", "a b", "a/b", "ü"];
        let mut controls: BTreeMap<_, _> =
            arms.map(|arm| (arm, bench.proxy(engine, arm))).into_iter().collect();
        let mut faults = ProxyFaults::default();
        faults.set_enabled(false);
        controls.get_mut("a b").unwrap().set(&faults).unwrap();
        for (arm, control) in controls {
            let address = control.address();
            assert_eq!(is_refused(address), arm == "a b", "{arm}");
            assert_eq!(control.info(), engine.info());
            assert_eq!(control.failure(), None);
            control.close().unwrap();
            assert!(is_refused(address), "{arm}");
        }
        bench.proxy(engine, "a").close().unwrap();
    });
}
