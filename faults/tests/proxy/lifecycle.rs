//! Up, down, up again, and gone.

use crate::support::{ANY_PORT, is_closed, proxy_to, slow, with_bench};
use faults::EmbeddedProxy;
use std::io::ErrorKind;
use std::net::SocketAddr;
use testbed_core::rng::Streams;
use testbed_core::time::Nanos;
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};

async fn is_refused(address: SocketAddr) -> bool {
    let attempt = TcpStream::connect(address).await;
    attempt.is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused)
}

#[test]
fn down_closes_and_refuses_and_up_again_keeps_port_and_toxics() {
    with_bench(async |bench| {
        let address = bench.proxy.listen_addr();
        bench.proxy.add_toxic(slow(10)).unwrap();
        for _ in 0..3 {
            let mut client = bench.connect().await;
            bench.round_trip(&mut client, b"up").await;
            bench.proxy.set_enabled(false).await.unwrap();
            assert!(!bench.proxy.faults().enabled());
            assert!(is_closed(&mut client).await);
            assert!(is_refused(address).await);
            assert_eq!(bench.proxy.stats().connections_open, 0);
            bench.proxy.set_enabled(true).await.unwrap();
            assert_eq!(bench.proxy.listen_addr(), address);
            let took = bench.round_trip(&mut bench.connect().await, b"up again").await;
            assert!(took >= Nanos::from_millis(10), "{took}");
        }
    });
}

#[test]
fn up_twice_and_down_twice_are_as_once() {
    with_bench(async |bench| {
        let mut client = bench.connect().await;
        bench.proxy.set_enabled(true).await.unwrap();
        bench.round_trip(&mut client, b"not disturbed").await;
        bench.proxy.set_enabled(false).await.unwrap();
        bench.proxy.set_enabled(false).await.unwrap();
        assert!(is_refused(bench.proxy.listen_addr()).await);
    });
}

#[test]
fn a_reset_brings_a_downed_proxy_up_without_toxics() {
    with_bench(async |bench| {
        bench.proxy.add_toxic(slow(3_600_000)).unwrap();
        bench.proxy.set_enabled(false).await.unwrap();
        bench.proxy.reset().await.unwrap();
        bench.round_trip(&mut bench.connect().await, b"healed").await;
    });
}

#[test]
fn a_connection_whose_answer_is_held_back_closes_with_the_proxy() {
    with_bench(async |bench| {
        bench.proxy.add_toxic(slow(3_600_000)).unwrap();
        let mut client = bench.connect().await;
        let others = bench.timer.pending();
        client.write_all(b"held").await.unwrap();
        while bench.timer.pending() == others {
            bench.sleep(Nanos::from_millis(1)).await;
        }
        bench.proxy.set_enabled(false).await.unwrap();
        assert!(is_closed(&mut client).await);
        assert_eq!(bench.timer.pending(), others);
    });
}

#[test]
fn after_close_nothing_listens_and_nothing_is_open() {
    with_bench(async |bench| {
        let proxy = proxy_to(bench.upstream, &bench.timer).await;
        let address = proxy.listen_addr();
        let mut client = TcpStream::connect(address).await.unwrap();
        proxy.close().await;
        assert!(is_closed(&mut client).await);
        assert!(is_refused(address).await);
    });
}

#[test]
fn a_dropped_proxy_closes_by_itself() {
    with_bench(async |bench| {
        let proxy = proxy_to(bench.upstream, &bench.timer).await;
        let address = proxy.listen_addr();
        let mut client = TcpStream::connect(address).await.unwrap();
        drop(proxy);
        assert!(is_closed(&mut client).await);
        while !is_refused(address).await {
            tokio::task::yield_now().await;
        }
    });
}

#[test]
fn an_upstream_that_refuses_gives_the_client_an_end() {
    with_bench(async |bench| {
        let listener = TcpListener::bind(ANY_PORT).await.unwrap();
        let nobody = listener.local_addr().unwrap();
        drop(listener);
        let proxy = proxy_to(nobody, &bench.timer).await;
        let mut client = TcpStream::connect(proxy.listen_addr()).await.unwrap();
        assert!(is_closed(&mut client).await);
        assert_eq!(proxy.stats().dials_failed, 1);
    });
}

#[test]
fn an_address_in_use_is_named() {
    with_bench(async |bench| {
        let taken = TcpListener::bind(ANY_PORT).await.unwrap();
        let address = taken.local_addr().unwrap();
        let timer = bench.timer.clone();
        let started =
            EmbeddedProxy::start(address, address, timer, Streams::new(7), "second").await;
        let error = started.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AddrInUse);
        assert!(error.to_string().contains(&address.to_string()), "{error}");
    });
}

#[test]
fn a_proxy_that_cannot_listen_again_stays_down_and_can_be_tried_again() {
    with_bench(async |bench| {
        let address = bench.proxy.listen_addr();
        bench.proxy.set_enabled(false).await.unwrap();
        let taken = TcpListener::bind(address).await.unwrap();
        assert!(bench.proxy.set_enabled(true).await.is_err());
        assert!(!bench.proxy.faults().enabled());
        drop(taken);
        bench.proxy.set_enabled(true).await.unwrap();
        bench.round_trip(&mut bench.connect().await, b"up").await;
    });
}
