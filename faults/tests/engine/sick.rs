//! A Toxiproxy that hangs, cuts or talks nonsense: an error in time, with a text, and no panic.

use crate::relay::{Health, Relay, UNAVAILABLE, Whose};
use crate::remote::{LIMITS, failure, proxy};
use crate::support::{Bench, Served, set, toxic};
use faults::remote::{Remote, RemoteControl};
use faults::{EngineError, FaultControl as _, ProxyFaults};
use testbed_clock::LiveClock;
use testbed_core::time::{Nanos, Time};

const GARBAGE: Health = Health::Says("SSH-2.0-OpenSSH_9.2\r\n\r\n");
const NO_JSON: Health = Health::Says("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello");
const OTHER_JSON: Health = Health::Says("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}");

/// The error of a call, which has to come within the limit. A machine that is busy may need some
/// time more, but not as long as Toxiproxy or the crate would hang.
fn in_time<T: std::fmt::Debug>(call: impl FnOnce() -> Result<T, EngineError>) -> String {
    let clock = LiveClock::start();
    let error = call().unwrap_err().to_string();
    let took = clock.now().since(Time::ZERO);
    assert!(took < LIMITS.call.plus(Nanos::from_secs(5)), "{took}: {error}");
    error
}

fn with_relay(test: impl FnOnce(&Relay)) {
    let bench = Bench::new();
    let server = Served::start(&bench);
    test(&Relay::to(server.address));
}

/// One latency, which is added by the crate.
fn slow() -> ProxyFaults {
    let mut faults = ProxyFaults::default();
    faults.add(Time::ZERO, toxic("latency", r#"{"latency":1}"#)).unwrap();
    faults
}

#[test]
fn what_does_not_answer_as_a_toxiproxy_is_none() {
    with_relay(|relay| {
        for (health, says) in [
            (Health::Hangs, "no answer within the time limit"),
            (Health::Cuts, "the answer is cut off"),
            (GARBAGE, r#"this is no HTTP: "SSH-2.0-OpenSSH_9.2""#),
            (UNAVAILABLE, r#"status 503: "<html><head><title>Timeout"#),
            (NO_JSON, r#"expected value at line 1 column 1: "hello""#),
            (OTHER_JSON, "missing field `version`"),
        ] {
            relay.becomes(health, Whose::Everyones);
            let error = in_time(|| Remote::connect_within(&relay.url(), LIMITS));
            let begin = format!("no Toxiproxy answers at {}: ", relay.url());
            assert!(error.starts_with(&begin) && error.contains(says), "{health:?}: {error}");
        }
    });
}

#[test]
fn one_that_falls_ill_is_found_and_every_call_fails_in_time() {
    with_relay(|relay| {
        let remote = Remote::connect_within(&relay.url(), LIMITS).unwrap();
        for (health, says) in [
            (Health::Hangs, "no answer within the time limit"),
            (Health::Cuts, "the answer is cut off"),
            (GARBAGE, "this is no HTTP"),
            (UNAVAILABLE, "status 503"),
            (NO_JSON, "expected value"),
        ] {
            let mut control = proxy(&remote, "a");
            relay.becomes(health, Whose::Everyones);
            let error = in_time(|| control.read_back());
            assert!(!error.is_empty());
            let found = failure(&control).to_string();
            assert!(found.contains(says), "{health:?}: {found}");
            in_time(|| control.set(&slow()));
            in_time(|| Box::new(control).close());
            relay.becomes(Health::Well, Whose::Everyones);
        }
    });
}

/// Sets a latency while only the crate's calls fall ill, so that ours find out.
fn crate_falls_ill(relay: &Relay, control: &mut RemoteControl, health: Health) -> String {
    relay.becomes(health, Whose::TheCrates);
    let error = in_time(|| control.set(&slow()));
    relay.becomes(Health::Well, Whose::TheCrates);
    error
}

#[test]
fn the_crate_can_panic_and_lie_and_the_next_call_goes_well() {
    with_relay(|relay| {
        let remote = Remote::connect_within(&relay.url(), LIMITS).unwrap();
        let missing = "is not as it was set: toxic `latency_downstream` is missing";
        for (health, says) in [
            (Health::Cuts, "toxiproxy_rust with_<toxic>: panicked: <proxies>.<toxics> creation"),
            (GARBAGE, "panicked"),
            // It never looks at a status.
            (UNAVAILABLE, missing),
            (OTHER_JSON, missing),
        ] {
            let mut control = proxy(&remote, "a");
            let error = crate_falls_ill(relay, &mut control, health);
            assert!(error.contains(says), "{health:?}: {error}");
            set(&mut control, &slow());
            assert_eq!(control.failure(), None);
        }
    });
}

#[test]
fn a_switch_that_the_crate_only_says_it_made_is_found() {
    with_relay(|relay| {
        let remote = Remote::connect_within(&relay.url(), LIMITS).unwrap();
        let mut control = proxy(&remote, "a");
        relay.becomes(UNAVAILABLE, Whose::TheCrates);
        let mut faults = ProxyFaults::default();
        faults.set_enabled(false);
        let error = in_time(|| control.set(&faults));
        assert!(error.ends_with("is not as it was set: it is up, not down"), "{error}");
        let error = in_time(|| remote.proxy("b", "127.0.0.1:1"));
        assert!(error.starts_with("toxiproxy_rust populate: json deserialize failed"), "{error}");
        let error = in_time(|| Box::new(control).close());
        assert!(error.ends_with("it stays"), "{error}");
    });
}

#[test]
fn a_crate_that_hangs_holds_up_nobody_for_longer_than_the_limit() {
    with_relay(|relay| {
        let remote = Remote::connect_within(&relay.url(), LIMITS).unwrap();
        let mut control = proxy(&remote, "a");
        relay.becomes(Health::Hangs, Whose::TheCrates);
        let error = in_time(|| control.set(&slow()));
        assert!(error.starts_with("set `windtunnel-a`: not done within 3"), "{error}");
        // The thread is still held up.
        in_time(|| control.read_back());
        relay.becomes(Health::Well, Whose::TheCrates);
    });
}
