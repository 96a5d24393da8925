//! Toxics on live connections: never early, and at once.

use crate::support::{latency, slow, toxic, upstream, with_bench};
use faults::{FaultError, ProxyFaults, Stream, Toxic};
use testbed_core::quantity::Share;
use testbed_core::time::{Nanos, Time};

const HOUR: u64 = 3_600_000;

#[test]
fn no_answer_is_faster_than_the_latency() {
    with_bench(async |bench| {
        bench.proxy.add_toxic(slow(10)).unwrap();
        let mut client = bench.connect().await;
        for _ in 0..20 {
            let took = bench.round_trip(&mut client, b"hello").await;
            assert!(took >= Nanos::from_millis(10), "{took}");
        }
    });
}

#[test]
fn latencies_of_both_directions_add_up() {
    with_bench(async |bench| {
        bench.proxy.add_toxic(slow(10)).unwrap();
        let upstream = Toxic { stream: Stream::Upstream, ..Toxic::new(latency(5)) };
        bench.proxy.add_toxic(upstream).unwrap();
        let took = bench.round_trip(&mut bench.connect().await, b"hello").await;
        assert!(took >= Nanos::from_millis(15), "{took}");
    });
}

#[test]
fn a_change_acts_on_the_next_byte_of_a_live_connection() {
    with_bench(async |bench| {
        let mut client = bench.connect().await;
        bench.round_trip(&mut client, b"plain").await;
        for _ in 0..20 {
            bench.proxy.add_toxic(slow(10)).unwrap();
            let took = bench.round_trip(&mut client, b"slow").await;
            assert!(took >= Nanos::from_millis(10), "{took}");
            bench.proxy.update_toxic("slow", Share::ALL, latency(20)).unwrap();
            let took = bench.round_trip(&mut client, b"slower").await;
            assert!(took >= Nanos::from_millis(20), "{took}");
            bench.proxy.remove_toxic("slow").unwrap();
            bench.round_trip(&mut client, b"plain").await;
        }
    });
}

#[test]
fn a_wave_is_never_below_its_low_and_begins_when_it_is_added() {
    with_bench(async |bench| {
        let mut client = bench.connect().await;
        bench.round_trip(&mut client, b"plain").await;
        // It stays low for half an hour, however busy the machine is, and high for another.
        let attributes = r#"{"low":10,"high":3600000,"period":3600000,"shape":"square"}"#;
        let before = bench.now();
        bench.proxy.add_toxic(toxic("wave", attributes)).unwrap();
        let added = bench.proxy.faults().toxics()[0].added;
        assert!(before <= added && added <= bench.now());
        let took = bench.round_trip(&mut client, b"low").await;
        assert!(took >= Nanos::from_millis(10), "{took}");
    });
}

#[test]
fn faults_that_go_by_another_clock_are_added_by_the_proxys() {
    with_bench(async |bench| {
        let mut theirs = ProxyFaults::default();
        theirs.add(Time::from_nanos(u64::MAX / 2), toxic("noop", "{}")).unwrap();
        let before = bench.now();
        bench.proxy.set_faults(&theirs).await.unwrap();
        let added = bench.proxy.faults().toxics()[0].added;
        assert!(before <= added && added <= bench.now());
        bench.proxy.set_faults(&theirs).await.unwrap();
        assert_eq!(bench.proxy.faults().toxics()[0].added, added);
    });
}

#[test]
fn whether_a_toxic_acts_is_told_of_each_connection_by_its_clients_address() {
    with_bench(async |bench| {
        let (mut first, mut second) = (bench.connect().await, bench.connect().await);
        let addresses = [&first, &second].map(|client| client.local_addr().unwrap());
        let strikes = || addresses.map(|address| bench.proxy.strikes(address));
        bench.round_trip(&mut first, b"plain").await;
        bench.round_trip(&mut second, b"plain").await;
        assert_eq!(strikes(), [Some(false); 2]);
        for toxic in [slow(1), upstream(slow(1))] {
            bench.proxy.add_toxic(toxic).unwrap();
            bench.round_trip(&mut first, b"slow").await;
            assert_eq!(strikes()[0], Some(true));
            bench.proxy.update_toxic("slow", Share::new(0.0).unwrap(), latency(1)).unwrap();
            bench.round_trip(&mut first, b"no link is struck").await;
            assert_eq!(strikes()[0], Some(false));
            bench.proxy.update_toxic("slow", Share::ALL, latency(1)).unwrap();
            bench.round_trip(&mut second, b"slow").await;
            assert_eq!(strikes()[1], Some(true));
            bench.proxy.remove_toxic("slow").unwrap();
            bench.round_trip(&mut first, b"plain").await;
            bench.round_trip(&mut second, b"plain").await;
            assert_eq!(strikes(), [Some(false); 2]);
        }
        drop(first);
        while bench.proxy.stats().connections_open > 1 {
            bench.sleep(Nanos::from_millis(1)).await;
        }
        assert_eq!(strikes(), [Some(false); 2], "a closed one is remembered for a while");
        let nobody = bench.proxy.listen_addr();
        assert_eq!(bench.proxy.strikes(nobody), None);
    });
}

#[test]
fn toxicity_strikes_about_its_share_of_connections_and_says_which() {
    with_bench(async |bench| {
        let half = Share::new(0.5).unwrap();
        bench.proxy.add_toxic(Toxic { toxicity: half, ..slow(20) }).unwrap();
        let mut struck = 0;
        for _ in 0..100 {
            let mut client = bench.connect().await;
            let took = bench.round_trip(&mut client, b"hello").await;
            let hit = bench.proxy.strikes(client.local_addr().unwrap()).unwrap();
            assert!(!hit || took >= Nanos::from_millis(20), "{took}");
            struck += u64::from(hit);
        }
        assert_eq!(bench.proxy.stats().downstream.links_hit, struck);
        // Five standard deviations.
        assert!((25..=75).contains(&struck), "{struck}");
    });
}

#[test]
fn a_toxic_taken_away_or_set_to_nothing_delays_no_more() {
    with_bench(async |bench| {
        let mut client = bench.connect().await;
        bench.round_trip(&mut client, b"plain").await;
        bench.proxy.add_toxic(slow(HOUR)).unwrap();
        bench.proxy.remove_toxic("slow").unwrap();
        bench.round_trip(&mut client, b"removed").await;
        bench.proxy.add_toxic(slow(HOUR)).unwrap();
        bench.proxy.update_toxic("slow", Share::new(0.0).unwrap(), latency(HOUR)).unwrap();
        bench.round_trip(&mut client, b"toxicity 0").await;
        bench.proxy.reset().await.unwrap();
        bench.round_trip(&mut client, b"healed").await;
        assert!(bench.proxy.faults().toxics().is_empty());
    });
}

#[test]
fn setting_a_latency_again_releases_nothing_early() {
    with_bench(async |bench| {
        bench.proxy.add_toxic(slow(100)).unwrap();
        let round_trips = async {
            let mut client = bench.connect().await;
            for _ in 0..8 {
                let took = bench.round_trip(&mut client, b"hello").await;
                assert!(took >= Nanos::from_millis(100), "{took}");
            }
        };
        let updates = async {
            loop {
                bench.sleep(Nanos::from_millis(20)).await;
                bench.proxy.update_toxic("slow", Share::ALL, latency(100)).unwrap();
            }
        };
        tokio::select! { () = round_trips => {}, () = updates => {} }
    });
}

#[test]
fn a_refused_change_says_why_and_changes_nothing() {
    with_bench(async |bench| {
        bench.proxy.add_toxic(slow(0)).unwrap();
        let before = bench.proxy.faults();
        let again = bench.proxy.add_toxic(slow(HOUR));
        assert_eq!(again, Err(FaultError::Exists("slow".into())));
        let missing = bench.proxy.remove_toxic("fast");
        assert_eq!(missing, Err(FaultError::NotFound("fast".into())));
        assert_eq!(bench.proxy.faults(), before);
    });
}
