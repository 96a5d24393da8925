//! Bytes: all of them, in order, and counted.

use crate::support::{connect, slow, toxic, upstream, with_bench};
use testbed_core::quantity::Share;
use testbed_core::time::Nanos;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

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
        assert_eq!((stats.upstream.received, stats.upstream.sent), (bytes, bytes));
        assert_eq!((stats.connections_open, stats.connections_total), (1, 1));
        // The last write is counted right after it, which the client may be faster than.
        assert_eq!(stats.downstream.received, bytes);
        assert!(stats.downstream.sent <= bytes);
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

/// The number of messages that Toxiproxy's own test for this sends.
const MESSAGES: u16 = u16::MAX;

/// Writes messages of two bytes, each its own number, one at a time.
async fn send_numbers(mut writer: OwnedWriteHalf) -> OwnedWriteHalf {
    for number in 1..=MESSAGES {
        writer.write_all(&number.to_be_bytes()).await.unwrap();
    }
    writer
}

async fn check_numbers(mut reader: OwnedReadHalf) {
    for number in 1..=MESSAGES {
        assert_eq!(reader.read_u16().await.unwrap(), number);
    }
}

#[test]
fn no_byte_is_lost_or_overtaken_while_toxics_come_and_go() {
    with_bench(async |bench| {
        let (reader, writer) = bench.connect().await.into_split();
        let sending = tokio::spawn(send_numbers(writer));
        let checking = tokio::spawn(check_numbers(reader));
        let coming = [
            slow(1),
            toxic("bandwidth", r#"{"rate":1000000}"#),
            toxic("slicer", r#"{"average_size":5,"size_variation":2}"#),
            upstream(toxic("bandwidth", r#"{"rate":0}"#)),
            upstream(slow(1)),
        ];
        for toxic in coming.iter().cycle() {
            if checking.is_finished() {
                break;
            }
            bench.proxy.add_toxic(toxic.clone()).unwrap();
            bench.sleep(Nanos::from_micros(300)).await;
            let half = Share::new(0.5).unwrap();
            bench.proxy.update_toxic(&toxic.name(), half, toxic.kind.clone()).unwrap();
            bench.sleep(Nanos::from_micros(300)).await;
            bench.proxy.remove_toxic(&toxic.name()).unwrap();
        }
        checking.await.unwrap();
        drop(sending.await.unwrap());
        bench.proxy.set_enabled(false).await.unwrap();
        let stats = bench.proxy.stats();
        for stream in [stats.upstream, stats.downstream] {
            let bytes = 2 * u64::from(MESSAGES);
            assert_eq!((stream.received, stream.sent, stream.dropped), (bytes, bytes, 0));
        }
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
        assert_eq!(stats.upstream.sent, CONNECTIONS * 100);
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
