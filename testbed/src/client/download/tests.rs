//! Against the real backend, and against servers that misbehave.

use super::*;
use crate::backend::Backend;
use crate::backend::pattern::bytes;
use testbed_clock::{LiveClock, Timer};
use testbed_core::distribution::Distribution;
use testbed_core::rng::Streams;
use testbed_core::service::ServiceConfig;
use testbed_core::time::Nanos;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

async fn backend() -> Backend {
    let service = Distribution::Constant(Nanos::ZERO);
    let config = ServiceConfig::new(8, service, 8);
    let timer = Timer::start(LiveClock::start());
    let any_port = "127.0.0.1:0".parse().unwrap();
    Backend::start(any_port, &config, &Streams::new(7), timer).await.unwrap()
}

/// A server that answers one request with this and closes. It returns the request.
async fn server(answer: Vec<u8>) -> (Client, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = Client::new(listener.local_addr().unwrap());
    let played = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let request = request(&mut stream).await;
        stream.write_all(&answer).await.unwrap();
        request
    });
    (client, played)
}

async fn request(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8(head).unwrap()
}

/// An answer with the bytes from 100 to 199, of which only `sent` are sent.
fn part(sent: &[u8]) -> Vec<u8> {
    let head = "HTTP/1.1 206 Partial Content\r\ncontent-length: 100\r\n\
                content-range: bytes 100-199/1099511627776\r\n\r\n";
    [head.as_bytes(), sent].concat()
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_of_any_size_come_to_the_whole_range_and_not_a_byte_more() {
    let backend = backend().await;
    let client = Client::new(backend.addr());
    let mut download = client.download(12_345, Some(300_000)).await.unwrap();
    for bytes in [1, 99_999, 0, 65_536, 100_000, 34_464] {
        download.read(bytes).await.unwrap();
    }
    let beyond = download.read(1).await.unwrap_err();
    assert!(beyond.contains("the range ended at 312345"), "{beyond}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_length_it_goes_on() {
    let backend = backend().await;
    let mut download = Client::new(backend.addr()).download(7, None).await.unwrap();
    for _ in 0..10 {
        download.read(1_000_000).await.unwrap();
    }
}

#[tokio::test]
async fn a_right_range_is_asked_for_and_taken() {
    let (client, played) = server(part(&bytes(100, 100))).await;
    client.download(100, Some(100)).await.unwrap().read(100).await.unwrap();
    let request = played.await.unwrap();
    assert!(request.starts_with("GET /file HTTP/1.1\r\n"), "{request}");
    assert!(request.contains("range: bytes=100-199\r\n"), "{request}");
}

#[tokio::test]
async fn what_is_not_the_range_is_refused() {
    let moved =
        |what: &str, by: &str| String::from_utf8(part(b"")).unwrap().replace(what, by).into_bytes();
    for (answer, why) in [
        (moved("206 Partial Content", "200 OK"), "status 200, not 206"),
        (moved("206 Partial Content", "503 Busy"), "status 503, not 206"),
        (moved("content-range", "x"), "no content-range, not `bytes 100-199/1099511627776`"),
        (moved("100-199", "0-99"), "content-range `bytes 0-99/1099511627776`, not"),
        (moved("100-199", "100-198"), "content-range `bytes 100-198/1099511627776`, not"),
        (Vec::new(), "no answer from"),
    ] {
        let (client, _played) = server(answer).await;
        let error = client.download(100, Some(100)).await.err().unwrap();
        assert!(error.contains(why), "{error}");
    }
}

#[tokio::test]
async fn a_broken_body_breaks_the_download() {
    let right = bytes(100, 100);
    let wrong = |place: usize| {
        let mut data = right.to_vec();
        data[place] ^= 0x10;
        part(&data)
    };
    for (answer, why) in [
        (wrong(0), "a wrong byte at 100"),
        (wrong(99), "a wrong byte at 199"),
        (part(&bytes(108, 100)), "a wrong byte at 100"),
        (part(&right[..99]), "broken download from"),
    ] {
        let (client, _played) = server(answer).await;
        let mut download = client.download(100, Some(100)).await.unwrap();
        let error = download.read(100).await.unwrap_err();
        assert!(error.contains(why), "{error}");
    }
}

#[tokio::test]
async fn a_closed_port_is_told() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    drop(listener);
    let error = Client::new(addr).download(0, None).await.err().unwrap();
    assert!(error.contains(&format!("cannot connect to {addr}")), "{error}");
}

/// More than the system's buffers hold of one connection.
const BUFFERED: u64 = 32 << 20;

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_read_is_not_sent_and_a_drop_closes() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = Client::new(listener.local_addr().unwrap());
    let played = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        request(&mut stream).await;
        let head = "HTTP/1.1 206 Partial Content\r\ncontent-length: 1099511627776\r\n\
                    content-range: bytes 0-1099511627775/1099511627776\r\n\r\n";
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut sent = 0;
        while sent < BUFFERED && stream.write_all(&bytes(sent, 1 << 16)).await.is_ok() {
            sent += 1 << 16;
        }
        sent
    });
    let mut download = client.download(0, None).await.unwrap();
    download.read(1 << 20).await.unwrap();
    let timer = Timer::start(LiveClock::start());
    timer.sleep_until(timer.clock().now().after(Nanos::from_millis(200))).await;
    drop(download);
    let sent = played.await.unwrap();
    println!("{sent} bytes were sent, and 1 MiB was read");
    assert!((1 << 20..BUFFERED).contains(&sent), "{sent} bytes were sent, and 1 MiB was read");
}
