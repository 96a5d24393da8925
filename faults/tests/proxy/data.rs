//! Bytes: all of them, in order, and counted.

use crate::support::{connect, latency, slow, with_bench};
use testbed_core::quantity::Share;
use testbed_core::time::Nanos;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

#[test]
fn messages_of_all_sizes_come_back_and_are_counted() {
    with_bench(async |bench| {
        let mut client = bench.connect().await;
        let sizes = [1, 2, 64, 8_191, 8_192, 32_768, 32_769, 300_000];
        for size in sizes {
            let message: Vec<u8> = (0..size).map(|n| (n % 251) as u8).collect();
            bench.round_trip(&mut client, &message).await;
        }
        let bytes = sizes.iter().sum::<usize>() as u64;
        let stats = bench.proxy.stats();
        assert_eq!(stats.bytes_upstream, bytes);
        assert_eq!((stats.connections_open, stats.connections_total), (1, 1));
        // The last write is counted right after it, which the client may be faster than.
        assert!(stats.bytes_downstream <= bytes);
    });
}

/// Sends `total` numbered bytes in pieces of `piece` and checks what comes back.
async fn send_and_check(client: TcpStream, total: usize, piece: usize) {
    let expected: Vec<u8> = (0..total).map(|n| (n % 251) as u8).collect();
    let (mut reader, mut writer) = client.into_split();
    let sent = expected.clone();
    let sending = tokio::spawn(async move {
        for chunk in sent.chunks(piece) {
            writer.write_all(chunk).await.unwrap();
        }
        writer
    });
    let mut received = vec![0; total];
    reader.read_exact(&mut received).await.unwrap();
    assert!(received == expected, "bytes were lost or out of order");
    sending.await.unwrap();
}

#[test]
fn bulk_data_passes_a_latency_unchanged() {
    with_bench(async |bench| {
        bench.proxy.add_toxic(slow(10)).unwrap();
        send_and_check(bench.connect().await, 8_000_000, 100_000).await;
    });
}

#[test]
fn no_byte_is_lost_or_overtaken_while_toxics_come_and_go() {
    with_bench(async |bench| {
        let client = bench.connect().await;
        let sending = tokio::spawn(send_and_check(client, 60_000, 2));
        while !sending.is_finished() {
            bench.proxy.add_toxic(slow(3)).unwrap();
            bench.sleep(Nanos::from_micros(300)).await;
            bench.proxy.update_toxic("slow", Share::new(0.5).unwrap(), latency(1)).unwrap();
            bench.sleep(Nanos::from_micros(300)).await;
            bench.proxy.remove_toxic("slow").unwrap();
            bench.sleep(Nanos::from_micros(300)).await;
        }
        sending.await.unwrap();
    });
}

#[test]
fn many_connections_are_served_at_once() {
    with_bench(async |bench| {
        const CONNECTIONS: u64 = 200;
        bench.proxy.add_toxic(slow(1)).unwrap();
        let address = bench.proxy.listen_addr();
        let clients: Vec<_> = (0..CONNECTIONS)
            .map(|_| tokio::spawn(async move { echo_ten_times(connect(address).await).await }))
            .collect();
        let mut open = Vec::new();
        for client in clients {
            open.push(client.await.unwrap());
        }
        let stats = bench.proxy.stats();
        assert_eq!(stats.connections_open, CONNECTIONS);
        assert_eq!(stats.connections_total, CONNECTIONS);
        assert_eq!(stats.bytes_upstream, CONNECTIONS * 100);
        drop(open);
        while bench.proxy.stats().connections_open > 0 {
            bench.sleep(Nanos::from_millis(1)).await;
        }
        assert_eq!(bench.proxy.stats().connections_total, CONNECTIONS);
    });
}

async fn echo_ten_times(mut client: TcpStream) -> TcpStream {
    for n in 0..10 {
        let message = [n; 10];
        client.write_all(&message).await.unwrap();
        let mut answer = [0; 10];
        client.read_exact(&mut answer).await.unwrap();
        assert_eq!(answer, message);
    }
    client
}
