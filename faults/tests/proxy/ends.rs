//! Toxics that end connections: how, when, and that nothing is left behind.

use crate::support::{Bench, connect, is_closed, rest, slow, toxic, upstream, with_bench};
use std::io::ErrorKind;
use testbed_core::quantity::Share;
use testbed_core::time::Nanos;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

const RESET: Option<ErrorKind> = Some(ErrorKind::ConnectionReset);
const HOUR: &str = r#"{"timeout":3600000}"#;

/// Waits for something that happens soon after what a client has seen.
async fn until(bench: &Bench, condition: impl Fn() -> bool) {
    while !condition() {
        bench.sleep(Nanos::from_millis(1)).await;
    }
}

#[test]
fn reset_peer_is_a_reset_on_live_connections_too() {
    with_bench(async |bench| {
        for reset in [toxic("reset_peer", "{}"), upstream(toxic("reset_peer", "{}"))] {
            let mut live = bench.connect().await;
            bench.round_trip(&mut live, b"plain").await;
            bench.proxy.add_toxic(reset.clone()).unwrap();
            let mut new = bench.connect().await;
            for client in [&mut live, &mut new] {
                client.write_all(b"data").await.unwrap();
                assert_eq!(rest(client).await, (0, RESET));
            }
            bench.proxy.remove_toxic(&reset.name()).unwrap();
        }
        let stats = bench.proxy.stats();
        assert_eq!((stats.upstream.resets, stats.downstream.resets), (2, 2));
        assert_eq!((stats.upstream.dropped, stats.downstream.dropped), (8, 8));
    });
}

#[test]
fn reset_peer_leaves_an_idle_connection_alone_and_waits_its_timeout() {
    with_bench(async |bench| {
        let mut idle = bench.connect().await;
        bench.round_trip(&mut idle, b"plain").await;
        bench.proxy.add_toxic(toxic("reset_peer", r#"{"timeout":20}"#)).unwrap();
        let mut client = bench.connect().await;
        let sent = bench.now();
        client.write_all(b"data").await.unwrap();
        assert_eq!(rest(&mut client).await, (0, RESET));
        assert!(bench.now().since(sent) >= Nanos::from_millis(20));
        bench.proxy.remove_toxic("reset_peer_downstream").unwrap();
        bench.round_trip(&mut idle, b"still there").await;
    });
}

#[test]
fn reset_peer_with_a_toxicity_of_nothing_never_acts() {
    with_bench(async |bench| {
        let toxicity = Share::new(0.0).unwrap();
        let reset = faults::Toxic { toxicity, ..toxic("reset_peer", "{}") };
        bench.proxy.add_toxic(reset).unwrap();
        for _ in 0..20 {
            let mut client = bench.connect().await;
            bench.round_trip(&mut client, &[7; 200_000]).await;
        }
        let stats = bench.proxy.stats();
        assert_eq!((stats.downstream.resets, stats.downstream.links_hit), (0, 0));
        assert_eq!(stats.downstream.links, 20);
    });
}

#[test]
fn a_reset_reaches_the_upstream_as_well() {
    with_bench(async |bench| {
        let listener = tokio::net::TcpListener::bind(crate::support::ANY_PORT).await.unwrap();
        bench.proxy.set_upstream(&listener.local_addr().unwrap().to_string()).await;
        let mut client = bench.connect().await;
        let (mut server, _) = listener.accept().await.unwrap();
        client.write_all(b"hello").await.unwrap();
        server.read_exact(&mut [0; 5]).await.unwrap();
        bench.proxy.add_toxic(toxic("reset_peer", "{}")).unwrap();
        server.write_all(b"answer").await.unwrap();
        assert_eq!(rest(&mut client).await, (0, RESET));
        assert_eq!(rest(&mut server).await, (0, RESET));
    });
}

#[test]
fn limit_data_passes_exactly_its_bytes_and_closes() {
    with_bench(async |bench| {
        for (limit, passes) in [(333, 333), (1000, 1000), (0, 0)] {
            let attributes = format!(r#"{{"bytes":{limit}}}"#);
            bench.proxy.add_toxic(toxic("limit_data", &attributes)).unwrap();
            let mut client = bench.connect().await;
            client.write_all(&[1; 1000]).await.unwrap();
            assert_eq!(rest(&mut client).await, (passes, None), "{limit}");
            bench.proxy.remove_toxic("limit_data_downstream").unwrap();
        }
        until(bench, || bench.proxy.stats().connections_open == 0).await;
        let stats = bench.proxy.stats().downstream;
        assert_eq!((stats.aborts, stats.sent), (3, 1333));
        assert_eq!(stats.dropped, stats.received - stats.sent);
    });
}

#[test]
fn limit_data_counts_from_its_addition_and_a_lower_limit_closes_at_the_next_byte() {
    with_bench(async |bench| {
        let mut client = bench.connect().await;
        bench.round_trip(&mut client, &[1; 50]).await;
        bench.proxy.add_toxic(toxic("limit_data", r#"{"bytes":100}"#)).unwrap();
        bench.round_trip(&mut client, &[1; 90]).await;
        let lower = toxic("limit_data", r#"{"bytes":50}"#).kind;
        bench.proxy.update_toxic("limit_data_downstream", Share::ALL, lower).unwrap();
        client.write_all(&[1; 5]).await.unwrap();
        assert_eq!(rest(&mut client).await, (0, None));
    });
}

#[test]
fn a_timeout_closes_a_silent_connection_and_no_sooner() {
    with_bench(async |bench| {
        bench.proxy.add_toxic(toxic("timeout", r#"{"timeout":30}"#)).unwrap();
        let began = bench.now();
        let mut client = bench.connect().await;
        assert!(is_closed(&mut client).await);
        assert!(bench.now().since(began) >= Nanos::from_millis(30));
    });
}

#[test]
fn a_timeout_drops_all_and_its_removal_or_a_reset_closes() {
    with_bench(async |bench| {
        for attributes in ["{}", HOUR] {
            for by_reset in [false, true] {
                let before = bench.proxy.stats().downstream.dropped;
                bench.proxy.add_toxic(toxic("timeout", attributes)).unwrap();
                let mut client = bench.connect().await;
                client.write_all(b"into the void").await.unwrap();
                until(bench, || bench.proxy.stats().downstream.dropped == before + 13).await;
                if by_reset {
                    bench.proxy.reset().await.unwrap();
                } else {
                    bench.proxy.remove_toxic("timeout_downstream").unwrap();
                }
                assert_eq!(rest(&mut client).await, (0, None), "{attributes}");
            }
        }
        bench.round_trip(&mut bench.connect().await, b"healed").await;
    });
}

#[test]
fn slow_close_holds_the_end_of_a_connection_back() {
    with_bench(async |bench| {
        bench.proxy.add_toxic(toxic("limit_data", r#"{"bytes":4}"#)).unwrap();
        bench.proxy.add_toxic(toxic("slow_close", r#"{"delay":30}"#)).unwrap();
        let mut client = bench.connect().await;
        let sent = bench.now();
        client.write_all(b"data").await.unwrap();
        assert_eq!(rest(&mut client).await, (4, None));
        assert!(bench.now().since(sent) >= Nanos::from_millis(30));
    });
}

#[test]
fn a_bandwidth_is_never_exceeded() {
    with_bench(async |bench| {
        bench.proxy.add_toxic(toxic("bandwidth", r#"{"rate":1000}"#)).unwrap();
        let took = bench.round_trip(&mut bench.connect().await, &[1; 100_000]).await;
        assert!(took >= Nanos::from_millis(100), "{took}");
    });
}

/// Waits until a proxy is stuck amid a write, because nobody reads.
async fn until_stuck(bench: &Bench, proxy: &faults::EmbeddedProxy) {
    let moved = || {
        let stats = proxy.stats().downstream;
        (stats.received, stats.sent)
    };
    let mut before = (0, 0);
    while before.0 <= before.1 || before != moved() {
        before = moved();
        bench.sleep(Nanos::from_millis(30)).await;
    }
}

#[test]
fn what_is_on_its_way_when_a_connection_ends_is_counted_as_dropped() {
    with_bench(async |bench| {
        for (piece, delayed) in [(1_000, false), (65_536, false), (65_536, true)] {
            let listener = tokio::net::TcpListener::bind(crate::support::ANY_PORT).await.unwrap();
            let upstream = listener.local_addr().unwrap();
            let proxy = crate::support::proxy_to(upstream, &bench.timer).await;
            if delayed {
                proxy.add_toxic(slow(1)).unwrap();
            }
            let client = connect(proxy.listen_addr()).await;
            let (mut server, _) = listener.accept().await.unwrap();
            let send = async move { while server.write_all(&vec![0; piece]).await.is_ok() {} };
            let sending = tokio::spawn(send);
            until_stuck(bench, &proxy).await;
            drop(client);
            until(bench, || proxy.stats().connections_open == 0).await;
            let stats = proxy.stats().downstream;
            assert!(stats.dropped > 0, "{stats:?}");
            assert_eq!(stats.received, stats.sent + stats.dropped);
            sending.await.unwrap();
        }
    });
}

#[test]
fn cut_connections_leave_nothing_behind() {
    with_bench(async |bench| {
        const EACH: u64 = 50;
        let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
        let (timers, tasks_before) = (bench.timer.pending(), tasks());
        for cut in [
            toxic("limit_data", r#"{"bytes":3}"#),
            toxic("timeout", r#"{"timeout":1}"#),
            toxic("reset_peer", "{}"),
        ] {
            bench.proxy.add_toxic(cut.clone()).unwrap();
            bench.proxy.add_toxic(slow(1)).unwrap();
            for _ in 0..EACH {
                let mut client = connect(bench.proxy.listen_addr()).await;
                client.write_all(b"data").await.unwrap();
                assert!(is_closed_after_any(&mut client).await);
            }
            bench.proxy.reset().await.unwrap();
        }
        until(bench, || bench.proxy.stats().connections_open == 0).await;
        until(bench, || tasks() == tasks_before).await;
        until(bench, || bench.timer.pending() <= timers + 1).await;
        assert_eq!(bench.proxy.stats().connections_total, 3 * EACH);
    });
}

/// Reads on to the end, whatever comes before.
async fn is_closed_after_any(client: &mut tokio::net::TcpStream) -> bool {
    rest(client).await;
    is_closed(client).await
}
