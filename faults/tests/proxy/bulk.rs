//! Bulk data, which takes a way of its own while there is no toxic: the same rules hold there.

use crate::support::{ANY_PORT, Bench, rest, slow, toxic, upstream, with_bench};
use std::io::ErrorKind;
use testbed_core::time::Nanos;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

const BULK: usize = 20_000_000;

/// Sends numbered bytes and checks what comes back.
async fn bulk_round_trip(client: &mut TcpStream, total: usize) {
    let expected: Vec<u8> = (0..total).map(|n| (n % 251) as u8).collect();
    let mut received = vec![0; total];
    let (mut reader, mut writer) = client.split();
    let sending = writer.write_all(&expected);
    let (sent, read) = tokio::join!(sending, reader.read_exact(&mut received));
    sent.unwrap();
    read.unwrap();
    assert!(received == expected, "bytes were lost or out of order");
}

#[test]
fn bulk_data_comes_back_unchanged_and_every_byte_is_counted() {
    with_bench(async |bench| {
        bulk_round_trip(&mut bench.connect().await, BULK).await;
        bench.proxy.set_enabled(false).await.unwrap();
        let stats = bench.proxy.stats();
        for stream in [stats.upstream, stats.downstream] {
            let bytes = BULK as u64;
            assert_eq!((stream.received, stream.sent, stream.dropped), (bytes, bytes, 0));
        }
    });
}

#[test]
fn a_toxic_meets_the_first_byte_that_comes_after_bulk_data() {
    with_bench(async |bench| {
        let mut client = bench.connect().await;
        for _ in 0..10 {
            bulk_round_trip(&mut client, 1_000_000).await;
            bench.proxy.add_toxic(slow(10)).unwrap();
            let sent = bench.now();
            bulk_round_trip(&mut client, 100_000).await;
            assert!(bench.now().since(sent) >= Nanos::from_millis(10));
            bench.proxy.remove_toxic("slow").unwrap();
        }
    });
}

#[test]
fn no_byte_of_bulk_data_is_lost_or_overtaken_while_toxics_come_and_go() {
    with_bench(async |bench| {
        let flapping = async {
            loop {
                for toxic in [slow(1), toxic("noop", "{}"), upstream(toxic("noop", "{}"))] {
                    bench.proxy.add_toxic(toxic.clone()).unwrap();
                    bench.sleep(Nanos::from_micros(500)).await;
                    bench.proxy.remove_toxic(&toxic.name()).unwrap();
                    bench.sleep(Nanos::from_micros(500)).await;
                }
            }
        };
        let mut client = bench.connect().await;
        tokio::select! {
            () = flapping => {}
            () = bulk_round_trip(&mut client, BULK) => {}
        }
    });
}

/// A client whose server sends without end, amid the stream.
async fn amid_bulk(bench: &Bench) -> TcpStream {
    let listener = TcpListener::bind(ANY_PORT).await.unwrap();
    bench.proxy.set_upstream(&listener.local_addr().unwrap().to_string()).await;
    let mut client = bench.connect().await;
    let (mut server, _) = listener.accept().await.unwrap();
    tokio::spawn(async move { while server.write_all(&[7; 65_536]).await.is_ok() {} });
    client.read_exact(&mut vec![0; 4_000_000]).await.unwrap();
    client
}

#[test]
fn toxics_end_a_bulk_transfer_as_they_end_any() {
    with_bench(async |bench| {
        for (cut, end) in [
            (toxic("reset_peer", "{}"), Some(ErrorKind::ConnectionReset)),
            (toxic("limit_data", r#"{"bytes":1000}"#), None),
            (toxic("timeout", "{}"), None),
        ] {
            let mut client = amid_bulk(bench).await;
            bench.proxy.add_toxic(cut.clone()).unwrap();
            if cut.name() == "timeout_downstream" {
                // What it lets in it drops, and its removal closes.
                while bench.proxy.stats().downstream.dropped < 1_000_000 {
                    let _ = client.read(&mut [0; 65_536]).await.unwrap();
                }
                bench.proxy.remove_toxic("timeout_downstream").unwrap();
            }
            assert_eq!(rest(&mut client).await.1, end, "{}", cut.name());
            bench.proxy.reset().await.unwrap();
        }
    });
}

#[test]
fn a_client_that_leaves_amid_bulk_data_ends_its_connection() {
    with_bench(async |bench| {
        drop(amid_bulk(bench).await);
        while bench.proxy.stats().connections_open > 0 {
            bench.sleep(Nanos::from_millis(1)).await;
        }
    });
}

#[test]
fn a_proxy_that_goes_down_closes_a_bulk_transfer_that_nobody_reads() {
    with_bench(async |bench| {
        let mut client = amid_bulk(bench).await;
        bench.proxy.set_enabled(false).await.unwrap();
        assert_eq!(bench.proxy.stats().connections_open, 0);
        rest(&mut client).await;
    });
}
