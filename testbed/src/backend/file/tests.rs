use super::super::pattern::{FILE_BYTES, bytes};
use super::super::tests::{Bench, config, storm};
use super::super::{AGE_HEADER, Backend, LATENESS_HEADER};
use testbed_clock::{LiveClock, Timer};
use testbed_core::rng::Streams;
use testbed_core::service::Reject;
use testbed_core::time::Nanos;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// The head, in small letters, and the body of the answer to a request with these header lines.
async fn ask(backend: &Backend, method: &str, lines: &str) -> (String, Vec<u8>) {
    let mut stream = TcpStream::connect(backend.addr()).await.unwrap();
    let head = format!("{method} /file HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{lines}\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    let end = answer.windows(4).position(|end| end == b"\r\n\r\n").unwrap();
    let head = String::from_utf8(answer[..end].to_vec()).unwrap().to_ascii_lowercase() + "\r\n";
    (head, answer[end + 4..].to_vec())
}

/// That a head has all of these lines, and the account of the service.
fn assert_head(head: &str, status: u16, lines: &[&str]) {
    assert!(head.starts_with(&format!("http/1.1 {status} ")), "{head}");
    for line in lines {
        assert!(head.contains(&format!("\r\n{line}\r\n")), "{line}: {head}");
    }
    for header in [AGE_HEADER, LATENESS_HEADER] {
        assert!(head.contains(&format!("\r\n{header}: ")), "{header}: {head}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_range_comes_whole_and_with_its_place() {
    let bench = Bench::start(config(10, Nanos::ZERO, 100)).await;
    for (range, first, length) in [
        ("0-0", 0, 1),
        ("5-104", 5, 100),
        ("3-300000", 3, 299_998),
        ("1099511627000-", FILE_BYTES - 776, 776),
        ("1099511627000-9999999999999", FILE_BYTES - 776, 776),
        ("-3", FILE_BYTES - 3, 3),
    ] {
        let (head, body) = ask(&bench.backend, "GET", &format!("range: bytes={range}\r\n")).await;
        let last = first + length - 1;
        let place = format!("content-range: bytes {first}-{last}/1099511627776");
        let size = format!("content-length: {length}");
        assert_head(&head, 206, &[&place, "accept-ranges: bytes", &size]);
        assert!(body == bytes(first, length as usize), "{range}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_range_is_a_job_too_and_told_the_cure() {
    let bench = Bench::start(config(10, Nanos::ZERO, 100)).await;
    let no_byte = "content-range: bytes */1099511627776";
    for (lines, status, has) in [
        ("", 400, None),
        ("range: bytes=1-0\r\n", 400, None),
        ("range: bytes=0-1,4-5\r\n", 400, None),
        ("range: bytes=0-1\r\nrange: bytes=4-5\r\n", 400, None),
        ("range: bytes=1099511627776-\r\n", 416, Some(no_byte)),
        ("range: bytes=-0\r\n", 416, Some(no_byte)),
    ] {
        let (head, body) = ask(&bench.backend, "GET", lines).await;
        assert_head(&head, status, has.as_slice());
        assert!(String::from_utf8(body).unwrap().contains("`Range: bytes=0-1048575`"), "{lines}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_download_waits_for_the_service_and_can_be_rejected() {
    let service = Nanos::from_millis(20);
    let bench = Bench::start(config(1, service, 100)).await;
    let begin = bench.timer.clock().now();
    let (head, _) = ask(&bench.backend, "GET", "range: bytes=0-0\r\n").await;
    assert_head(&head, 206, &[]);
    assert!(bench.timer.clock().now().since(begin) >= service);
    bench.backend.set_rules(vec![storm(Reject { after: Nanos::ZERO, ..Reject::all(503) })]);
    let (head, body) = ask(&bench.backend, "GET", "range: bytes=0-0\r\n").await;
    assert_head(&head, 503, &[]);
    assert_eq!(body, b"no\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn other_methods_on_the_path_are_jobs_like_any_other() {
    let timer = Timer::start(LiveClock::start());
    let any_port = "127.0.0.1:0".parse().unwrap();
    let service = config(2, Nanos::ZERO, 10);
    let backend = Backend::start(any_port, &service, &Streams::new(7), timer).await.unwrap();
    let (head, body) = ask(&backend, "DELETE", "range: bytes=0-0\r\n").await;
    assert_head(&head, 200, &[]);
    assert_eq!(body, b"ok\n");
}
