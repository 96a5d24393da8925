//! Other upstreams, other addresses, and proxies that begin down.

use crate::support::{ANY_PORT, connect, echo_server, is_closed, proxy_to, slow, with_bench};
use faults::EmbeddedProxy;
use std::io::ErrorKind;
use testbed_core::rng::Streams;
use testbed_core::time::Nanos;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

#[test]
fn another_upstream_closes_connections_and_the_same_does_not() {
    with_bench(async |bench| {
        let mut client = bench.connect().await;
        bench.round_trip(&mut client, b"old").await;
        bench.proxy.set_upstream(&bench.upstream.to_string()).await;
        bench.round_trip(&mut client, b"not disturbed").await;
        let listener = TcpListener::bind(ANY_PORT).await.unwrap();
        let other = listener.local_addr().unwrap().to_string();
        bench.proxy.set_upstream(&other).await;
        assert!(is_closed(&mut client).await);
        assert_eq!(bench.proxy.upstream(), other);
        let mut client = bench.connect().await;
        let (mut server, _) = listener.accept().await.unwrap();
        server.write_all(b"new").await.unwrap();
        let mut answer = [0; 3];
        client.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"new");
    });
}

#[test]
fn an_upstream_is_a_name_that_is_looked_up_for_each_connection() {
    with_bench(async |bench| {
        let proxy = proxy_to("no-such-host.invalid:1", &bench.timer).await;
        let mut client = connect(proxy.listen_addr()).await;
        assert!(is_closed(&mut client).await);
        assert_eq!(proxy.stats().dials_failed, 1);
        let named = format!("localhost:{}", bench.upstream.port());
        proxy.set_upstream(&named).await;
        assert_eq!(proxy.upstream(), named);
        bench.round_trip(&mut connect(proxy.listen_addr()).await, b"hello").await;
    });
}

#[test]
fn another_address_moves_the_proxy_with_its_toxics() {
    with_bench(async |bench| {
        let mut client = bench.connect().await;
        bench.round_trip(&mut client, b"here").await;
        bench.proxy.add_toxic(slow(10)).unwrap();
        let (old, same) = (bench.proxy.listen_addr(), bench.proxy.listen());
        bench.proxy.set_listen(&same).await.unwrap();
        bench.proxy.set_listen(&format!("localhost:{}", old.port())).await.unwrap();
        bench.round_trip(&mut client, b"not disturbed").await;
        bench.proxy.set_listen("localhost:0").await.unwrap();
        assert!(is_closed(&mut client).await);
        let new = bench.proxy.listen_addr();
        assert!(new != old && bench.proxy.listen() == new.to_string());
        assert!(TcpStream::connect(old).await.is_err());
        let took = bench.round_trip(&mut connect(new).await, b"there").await;
        assert!(took >= Nanos::from_millis(10), "{took}");
    });
}

#[test]
fn a_failed_move_leaves_the_proxy_down_with_the_new_address() {
    with_bench(async |bench| {
        let taken = TcpListener::bind(ANY_PORT).await.unwrap();
        let address = taken.local_addr().unwrap().to_string();
        let old = bench.proxy.listen_addr();
        let error = bench.proxy.set_listen(&address).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AddrInUse);
        assert_eq!(bench.proxy.listen(), address);
        assert!(!bench.proxy.faults().enabled());
        assert!(TcpStream::connect(old).await.is_err());
        drop(taken);
        bench.proxy.set_enabled(true).await.unwrap();
        bench.round_trip(&mut bench.connect().await, b"at last").await;
    });
}

#[test]
fn a_move_while_down_takes_effect_when_the_proxy_comes_up() {
    with_bench(async |bench| {
        bench.proxy.set_enabled(false).await.unwrap();
        bench.proxy.set_listen("localhost:0").await.unwrap();
        assert_eq!(bench.proxy.listen(), "localhost:0");
        assert!(!bench.proxy.faults().enabled());
        bench.proxy.set_enabled(true).await.unwrap();
        bench.round_trip(&mut bench.connect().await, b"up").await;
    });
}

#[test]
fn a_proxy_can_begin_down() {
    with_bench(async |bench| {
        let (timer, streams) = (bench.timer.clone(), Streams::new(7));
        let proxy = EmbeddedProxy::down("localhost:0", bench.upstream, timer, streams, "later");
        assert_eq!((&*proxy.listen(), proxy.faults().enabled()), ("localhost:0", false));
        proxy.set_enabled(true).await.unwrap();
        bench.round_trip(&mut connect(proxy.listen_addr()).await, b"up").await;
    });
}

#[test]
fn an_upstream_that_hangs_holds_up_nobody_and_no_change() {
    with_bench(async |bench| {
        let hanging = Hanging::start().await;
        bench.proxy.set_upstream(&hanging.address).await;
        let mut waiting = bench.connect().await;
        while bench.proxy.stats().connections_open == 0 {
            bench.sleep(Nanos::from_millis(1)).await;
        }
        let (other, echo) = echo_server().await;
        bench.proxy.add_toxic(slow(1)).unwrap();
        bench.proxy.set_upstream(&other.to_string()).await;
        assert!(is_closed(&mut waiting).await);
        bench.round_trip(&mut bench.connect().await, b"served").await;
        echo.abort();
    });
}

/// An address that neither accepts nor refuses: its backlog is full.
struct Hanging {
    address: String,
    _listener: TcpListener,
    _backlog: Vec<tokio::task::JoinHandle<std::io::Result<TcpStream>>>,
}

impl Hanging {
    async fn start() -> Self {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.bind(ANY_PORT).unwrap();
        let listener = socket.listen(1).unwrap();
        let address = listener.local_addr().unwrap();
        let dial = |_| tokio::spawn(TcpStream::connect(address));
        Self {
            address: address.to_string(),
            _listener: listener,
            _backlog: (0..8).map(dial).collect(),
        }
    }
}
