//! What the crate `toxiproxy_rust` is called for, seen on the wire.

use crate::relay::Relay;
use crate::support::{Bench, Served, add, change, kind_of, named, toxic};
use faults::remote::Remote;
use faults::{FaultControl as _, ProxyFaults, Toxic};
use testbed_core::quantity::Share;

/// The calls that the crate made: it speaks HTTP/1.1, and we HTTP/1.0.
fn of_the_crate(relay: &Relay) -> Vec<String> {
    let calls = relay.calls().into_iter();
    calls.filter_map(|call| call.strip_suffix(" HTTP/1.1").map(str::to_owned)).collect()
}

/// A proxy over a relay, and what the crate called to make it.
fn proxied(test: impl FnOnce(&Relay, faults::remote::RemoteControl, Vec<String>)) {
    let bench = Bench::new();
    let server = Served::start(&bench);
    let relay = Relay::to(server.address);
    let remote = Remote::connect(&relay.url()).unwrap();
    let control = remote.proxy("a", &crate::api::echo_server().to_string()).unwrap();
    let made = of_the_crate(&relay);
    test(&relay, control, made);
}

#[test]
fn a_proxy_is_found_made_switched_and_deleted_by_the_crate() {
    proxied(|relay, mut control, made| {
        // `version`, `populate`, and `find_and_reset_proxy`, which are three.
        let (find, reset) = ("GET /proxies/windtunnel-a", "POST /proxies/windtunnel-a");
        let toxics = "GET /proxies/windtunnel-a/toxics";
        assert_eq!(made, ["GET /version", "POST /populate", find, toxics, reset]);
        let mut faults = ProxyFaults::default();
        for enabled in [false, true] {
            change(&mut control, &mut faults, |faults| faults.set_enabled(enabled));
            assert_eq!(of_the_crate(relay), [reset], "{enabled}");
        }
        Box::new(control).close().unwrap();
        assert_eq!(of_the_crate(relay), ["DELETE /proxies/windtunnel-a"]);
    });
}

#[test]
fn the_crate_adds_the_toxics_that_it_knows_and_we_the_others() {
    proxied(|relay, mut control, _| {
        let mut faults = ProxyFaults::default();
        for (toxic, by_the_crate) in [
            (toxic("latency", r#"{"latency":2,"jitter":1}"#), true),
            (toxic("bandwidth", r#"{"rate":9}"#), true),
            (toxic("slow_close", r#"{"delay":1}"#), true),
            (toxic("timeout", r#"{"timeout":1}"#), true),
            (toxic("slicer", r#"{"average_size":4,"size_variation":2,"delay":1}"#), true),
            (toxic("limit_data", r#"{"bytes":5}"#), true),
            (toxic("reset_peer", "{}"), false),
            (toxic("noop", "{}"), false),
            (named("mine", toxic("latency", "{}")), false),
            (named("large", toxic("limit_data", r#"{"bytes":4294967296}"#)), false),
        ] {
            let told = format!("{toxic:?}");
            add(&mut control, &mut faults, toxic);
            let add = "POST /proxies/windtunnel-a/toxics".to_owned();
            let expected = by_the_crate.then_some(add).into_iter().collect::<Vec<_>>();
            assert_eq!(of_the_crate(relay), expected, "{told}");
        }
    });
}

#[test]
fn we_update_and_remove_one_toxic_for_the_crate_cannot() {
    proxied(|relay, mut control, _| {
        let mut faults = ProxyFaults::default();
        let latency = || Toxic::new(kind_of("latency", r#"{"latency":1}"#));
        add(&mut control, &mut faults, latency());
        relay.calls();
        let kind = kind_of("latency", r#"{"latency":2}"#);
        change(&mut control, &mut faults, |faults| {
            faults.update("latency_downstream", Share::ALL, kind).unwrap();
        });
        change(&mut control, &mut faults, ProxyFaults::clear);
        let calls = relay.calls();
        let writes: Vec<_> = calls.iter().filter(|call| !call.starts_with("GET ")).collect();
        let toxic = "/proxies/windtunnel-a/toxics/latency_downstream HTTP/1.0";
        assert_eq!(writes, [&format!("POST {toxic}"), &format!("DELETE {toxic}")]);
        // Every write is read back.
        let reads = calls.iter().filter(|call| *call == "GET /proxies/windtunnel-a HTTP/1.0");
        assert!(reads.count() >= 4, "{calls:?}");
    });
}
