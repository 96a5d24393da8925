//! Every kind of HTTP fault, on the wire and to the clients that there are. Times are bounded from
//! below only.

mod clients;

use super::super::tests::{Bench, config};
use serde_json::json;
use std::io::ErrorKind;
use testbed_clock::unix_now;
use testbed_core::service::Rule;
use testbed_core::time::Nanos;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Longer than anything that is not stuck.
const LONG: Nanos = Nanos::from_secs(30);
/// How long nothing is to happen where nothing ever does.
const QUIET: Nanos = Nanos::from_millis(60);

const GET: &[u8] = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n";

/// A backend that is quick, with one fault of this kind on the path `/` or below `/f`.
async fn bench(kind: &str, settings: serde_json::Value) -> Bench {
    let bench = Bench::start(config(16, Nanos::from_millis(1), 100)).await;
    bench.backend.set_rules(rules(kind, settings));
    bench
}

fn rules(kind: &str, settings: serde_json::Value) -> Vec<Rule> {
    serde_json::from_value(json!([{"name": "f", kind: settings}])).unwrap()
}

/// How a connection ended.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Ended {
    Closed,
    Reset,
    /// It did not.
    Open,
}

impl Bench {
    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.backend.addr()).await.unwrap()
    }

    /// Reads until the connection ends, or is quiet where it is to stay open.
    async fn read_to_end(&self, stream: &mut TcpStream, expected: Ended) -> (String, Ended) {
        let mut bytes = Vec::new();
        let patience = if expected == Ended::Open { QUIET } else { LONG };
        let ended = loop {
            tokio::select! {
                read = stream.read_buf(&mut bytes) => match read {
                    Ok(0) => break Ended::Closed,
                    Ok(_) => {}
                    Err(error) if error.kind() == ErrorKind::ConnectionReset => break Ended::Reset,
                    Err(error) => panic!("{error}"),
                },
                () = self.timer.sleep_until(self.timer.clock().now().after(patience)) => {
                    break Ended::Open;
                }
            }
        };
        (String::from_utf8(bytes).unwrap(), ended)
    }

    /// Waits until so many requests are under the fault.
    async fn active(&self, wanted: u32) {
        let give_up = self.timer.clock().now().after(LONG);
        while self.backend.injected().iter().map(|(_, counts)| counts.active).sum::<u32>() != wanted
        {
            let now = self.timer.clock().now();
            assert!(now < give_up, "never {wanted} active: {:?}", self.backend.injected());
            self.timer.sleep_until(now.after(Nanos::from_millis(1))).await;
        }
    }
}

/// One whole answer: its head in small letters, and its body.
async fn answer(stream: &mut TcpStream) -> (String, String) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    let head = String::from_utf8(head).unwrap().to_ascii_lowercase();
    let length = head.split("content-length: ").nth(1).unwrap().split("\r\n").next().unwrap();
    let mut body = vec![0; length.parse().unwrap()];
    stream.read_exact(&mut body).await.unwrap();
    (head, String::from_utf8(body).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_is_exactly_what_was_asked_for() {
    use Ended::{Closed, Open, Reset};
    for (kind, settings, declared, body, ended) in [
        ("truncate", json!({"after": "1B"}), 3, "o", Closed),
        ("truncate", json!({"after": "0B"}), 3, "", Closed),
        ("truncate", json!({"after": "3B"}), 3, "ok\n", Closed),
        ("truncate", json!({"after": "1kB"}), 3, "ok\n", Closed),
        ("wrong_length", json!({"declared": "1000B"}), 1000, "ok\n", Open),
        ("wrong_length", json!({"declared": "1B"}), 1, "ok\n", Closed),
        ("wrong_length", json!({"declared": "0B"}), 0, "ok\n", Closed),
        ("wrong_length", json!({"declared": "3B"}), 3, "ok\n", Open),
        ("reset", json!({"after": "1B"}), 3, "o", Reset),
        ("reset", json!({"after": "0B"}), 3, "", Reset),
        ("reset", json!({"after": "9B"}), 3, "ok\n", Reset),
    ] {
        let bench = bench(kind, settings.clone()).await;
        let mut stream = bench.connect().await;
        stream.write_all(GET).await.unwrap();
        let (text, ends) = bench.read_to_end(&mut stream, ended).await;
        let (head, sent) = text.split_once("\r\n\r\n").unwrap();
        let told = format!("{kind} {settings}: {text:?}");
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{told}");
        assert!(head.contains("\r\nx-windtunnel-age-ns: "), "{told}");
        assert_eq!((sent, ends), (body, ended), "{told}");
        assert_eq!(head.matches("content-length").count(), 1, "{told}");
        assert!(head.contains(&format!("\r\ncontent-length: {declared}")), "{told}");
        assert_eq!(head.contains("\r\nconnection: close"), ended != Open, "{told}");
        drop(stream);
        bench.active(0).await;
        assert_eq!(bench.backend.injected()[0].1.injected, 1, "{told}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn well_formed_answers_take_their_time_and_keep_their_connection() {
    for (kind, settings, least_ms) in [
        ("slow_headers", json!({"delay": "30ms"}), 30),
        ("drip", json!({"bytes": "1B", "pause": "15ms"}), 30),
        ("drip", json!({"bytes": "2B", "pause": "30ms"}), 30),
    ] {
        let bench = bench(kind, settings).await;
        let mut stream = bench.connect().await;
        for _ in 0..3 {
            let begin = bench.timer.clock().now();
            stream.write_all(GET).await.unwrap();
            let (head, body) = answer(&mut stream).await;
            assert!(
                bench.timer.clock().now().since(begin) >= Nanos::from_millis(least_ms),
                "{kind}"
            );
            assert!(head.starts_with("http/1.1 200 ok") && !head.contains("connection:"), "{head}");
            assert_eq!(body, "ok\n");
        }
        bench.backend.set_rules(Vec::new());
        stream.write_all(GET).await.unwrap();
        assert_eq!(answer(&mut stream).await.1, "ok\n", "hyper again, on the same connection");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_answer_is_none_until_the_client_closes() {
    let bench = bench("no_answer", json!({})).await;
    let mut stream = bench.connect().await;
    stream.write_all(&GET.repeat(2)).await.unwrap();
    assert_eq!(bench.read_to_end(&mut stream, Ended::Open).await, (String::new(), Ended::Open));
    bench.active(1).await;
    assert_eq!(bench.backend.look().in_system, 0, "the work is done");
    drop(stream);
    bench.active(0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_that_were_sent_ahead_are_answered_in_their_turn() {
    let bench = bench("drip", json!({"bytes": "1B", "pause": "1ms", "path": "/slow"})).await;
    let mut stream = bench.connect().await;
    let get = |path: &str| format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n");
    let many = ["/slow", "/", "/slow", "/slow", "/"].map(get).concat();
    // Cut where it hurts: the second part comes while the first answer leaves.
    let (first, rest) = many.as_bytes().split_at(50);
    stream.write_all(first).await.unwrap();
    bench.active(1).await;
    stream.write_all(rest).await.unwrap();
    for _ in 0..5 {
        assert_eq!(answer(&mut stream).await.1, "ok\n");
    }
    assert_eq!(bench.backend.injected()[0].1.injected, 3);
}

/// Downloads so much and asks for a dripped answer at once. Whether the second request was begun
/// while bytes of the first answer were still on their way; all of them have to come first.
async fn begins_before_all_is_sent(bench: &Bench, length: usize) -> bool {
    let begun = || bench.backend.injected()[0].1.injected;
    let before = begun();
    let mut stream = bench.connect().await;
    let last = length - 1;
    let file = format!("GET /file HTTP/1.1\r\nhost: x\r\nrange: bytes=0-{last}\r\n\r\n");
    stream.write_all(&[file.as_bytes(), GET].concat()).await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    // Taken in small portions until the second request is begun, while hyper still has bytes.
    let mut body = vec![0; length];
    let mut taken = 0;
    while begun() == before && taken < length {
        taken += stream.read(&mut body[taken..(taken + 16_384).min(length)]).await.unwrap();
        bench.timer.sleep_until(bench.timer.clock().now().after(Nanos::from_micros(50))).await;
    }
    let early = taken < length;
    bench.timer.sleep_until(bench.timer.clock().now().after(Nanos::from_millis(20))).await;
    stream.read_exact(&mut body[taken..]).await.unwrap();
    assert!(body == super::super::pattern::bytes(0, length));
    assert_eq!(answer(&mut stream).await.1, "ok\n");
    early
}

#[tokio::test(flavor = "multi_thread")]
async fn what_hyper_has_not_sent_yet_goes_first() {
    let bench = bench("drip", json!({"bytes": "1B", "pause": "1ms", "path": "/"})).await;
    // Who is first is a race, on a busy machine more than elsewhere.
    for _ in 0..100 {
        if begins_before_all_is_sent(&bench, 8 << 20).await {
            return;
        }
    }
    panic!("the socket's buffers never held anything");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_to_head_has_no_body_and_one_that_was_to_be_the_last_is() {
    let drip = json!({"bytes": "1B", "pause": "1ms"});
    for (request, body, ended) in [
        ("HEAD / HTTP/1.1\r\nhost: x\r\n\r\n", "", Ended::Open),
        ("HEAD / HTTP/1.1\r\nhost: x\r\nconnection: a, Close\r\n\r\n", "", Ended::Closed),
        ("GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n", "ok\n", Ended::Closed),
        ("GET / HTTP/1.0\r\nhost: x\r\nconnection: keep-alive\r\n\r\n", "ok\n", Ended::Closed),
        ("GET / HTTP/1.1\r\nhost: x\r\n\r\n", "ok\n", Ended::Open),
    ] {
        let bench = bench("drip", drip.clone()).await;
        let mut stream = bench.connect().await;
        stream.write_all(request.as_bytes()).await.unwrap();
        let (text, ends) = bench.read_to_end(&mut stream, ended).await;
        let (head, sent) = text.split_once("\r\n\r\n").unwrap();
        assert_eq!((sent, ends), (body, ended), "{request}");
        assert!(head.contains("content-length: 3"), "{request}: {head}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rejection_says_when_to_come_back() {
    let seconds = |nanos: Nanos| nanos.get().div_ceil(1_000_000_000);
    for (retry_after, expected) in [
        (json!(null), None),
        (json!({"seconds": 2}), Some("2")),
        (json!({"text": "soon"}), Some("soon")),
        (json!({"date": "2s"}), Some("")),
        (json!({"past": "5s"}), Some("")),
    ] {
        let settings = json!({"status": 429, "after": "0s", "retry_after": retry_after});
        let bench = bench("reject", settings).await;
        let before = unix_now();
        let mut stream = bench.connect().await;
        stream.write_all(GET).await.unwrap();
        let head = {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await.unwrap());
            }
            String::from_utf8(head).unwrap()
        };
        let after = unix_now();
        assert!(head.starts_with("HTTP/1.1 429 Too Many Requests"), "{head}");
        let said = head.lines().find_map(|line| line.strip_prefix("retry-after: "));
        if expected != Some("") {
            assert_eq!(said, expected, "{head}");
            continue;
        }
        let date = httpdate::parse_http_date(said.unwrap()).unwrap();
        let date = date.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
        if retry_after.get("date").is_some() {
            let bounds = [before, after].map(|now| seconds(now.plus(Nanos::from_secs(2))));
            assert!((bounds[0]..=bounds[1]).contains(&date), "{date} in {bounds:?}");
        } else {
            let bounds =
                [before, after].map(|now| now.minus(Nanos::from_secs(5)).get() / 1_000_000_000);
            assert!((bounds[0]..=bounds[1]).contains(&date), "{date} in {bounds:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_know_a_request_by_its_path_and_class() {
    let bench = bench("reject", json!({"status": 500, "path": "/api/*", "class": "gold"})).await;
    for (path, class, status) in [
        ("/api/a?b=c", "x-windtunnel-class: gold\r\n", 500),
        ("/api/a", "X-Windtunnel-Class: gold\r\n", 500),
        ("/api/a", "x-windtunnel-class: tin\r\n", 200),
        ("/api/a", "", 200),
        ("/other?q=/api/", "x-windtunnel-class: gold\r\n", 200),
    ] {
        let head = "host: x\r\nconnection: close\r\n";
        let request = format!("GET {path} HTTP/1.1\r\n{head}{class}\r\n");
        assert_eq!(bench.raw(request.as_bytes()).await.0, status, "{path} {class}");
    }
}
