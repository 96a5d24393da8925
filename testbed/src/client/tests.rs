//! Against servers that misbehave; against the real one see the backend's tests.

use super::*;
use testbed_core::request::Attempt;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// A server that plays `answers` on one connection after the other, the whole of an inner list on
/// the same, and returns the requests it was sent.
async fn server(answers: Vec<Vec<String>>) -> (Client, tokio::task::JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = Client::new(listener.local_addr().unwrap());
    let played = tokio::spawn(async move {
        let mut requests = Vec::new();
        for answers in answers {
            let (mut stream, _) = listener.accept().await.unwrap();
            for answer in answers {
                requests.push(request(&mut stream).await);
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
        }
        requests
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

fn answer(headers: &str, length: usize, body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\n{headers}content-length: {length}\r\n\r\n{body}")
}

/// That no status came, `bytes` of a body did, and the error says `why`.
fn assert_broken(reply: &Reply, bytes: u64, why: &str) {
    assert_eq!((reply.status, reply.bytes, reply.served), (None, bytes, None), "{reply:?}");
    assert!(reply.error.as_ref().unwrap().contains(why), "{reply:?}");
}

#[tokio::test]
async fn calls_carry_their_number_and_share_a_connection() {
    let account = "x-windtunnel-age-ns: 5000000\r\nx-windtunnel-lateness-ns: 17\r\n";
    let whole = answer(account, 3, "ok\n");
    let (client, played) = server(vec![vec![whole.clone(), whole]]).await;
    let served = Served { age: Nanos::from_millis(5), lateness: Nanos::new(17) };
    for id in [7, u64::MAX] {
        let reply = client.call(id).await;
        let served = Some(served);
        let expected = Reply { status: Some(200), bytes: 3, served, ..Reply::default() };
        assert_eq!(reply, expected);
    }
    let requests = played.await.unwrap();
    assert!(requests[0].starts_with("GET / HTTP/1.1\r\n"), "{requests:?}");
    assert!(requests[0].contains(&format!("host: {}\r\n", client.pool.addr())));
    assert!(requests[0].contains("x-windtunnel-request: 7\r\n"));
    assert!(requests[1].contains("x-windtunnel-request: 18446744073709551615\r\n"));
}

#[tokio::test]
async fn a_traced_call_carries_the_context_of_its_attempt() {
    let whole = || vec![answer("", 0, "")];
    let (mut client, played) = server(vec![whole(), whole(), whole()]).await;
    client.call(7).await;
    let (ids, arm) = (TraceIds::new("held", 3), Arm(1));
    client.trace(ids, arm);
    for number in [0, 1] {
        let arrival = Arrival { attempt: number, ..Arrival::new(7, 0, Time::ZERO) };
        client.attempt(&arrival, Time::ZERO, &Local::new()).await;
    }
    let requests = played.await.unwrap();
    assert!(!requests[0].contains("traceparent"), "{}", requests[0]);
    for (number, request) in (0..).zip(&requests[1..]) {
        let of = ids.attempt(arm, Attempt { request: 7, number });
        let context = of.traceparent(of.span(CALL_SPAN));
        let context = std::str::from_utf8(&context).unwrap();
        assert!(request.contains(&format!("traceparent: {context}\r\n")), "{request}");
    }
}

#[tokio::test]
async fn an_answer_without_the_whole_account_has_none() {
    for headers in [
        "",
        "x-windtunnel-age-ns: 5\r\n",
        "x-windtunnel-age-ns: 5\r\nx-windtunnel-lateness-ns: soon\r\n",
    ] {
        let (client, _played) = server(vec![vec![answer(headers, 0, "")]]).await;
        let reply = client.call(0).await;
        assert_eq!((reply.status, reply.served), (Some(200), None), "{headers}");
    }
}

#[tokio::test]
async fn a_closed_port_gives_no_status() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    drop(listener);
    assert_broken(&Client::new(addr).call(0).await, 0, &format!("cannot connect to {addr}"));
}

#[tokio::test]
async fn broken_answers_give_no_status() {
    for (broken, bytes, why) in [
        (answer("", 10, "four"), 4, "broken answer"),
        (String::new(), 0, "no answer"),
        ("HTTP/1.1 200".into(), 0, "no answer"),
        ("SSH-2.0-OpenSSH\r\n\r\n".into(), 0, "no answer"),
    ] {
        let (client, _played) = server(vec![vec![broken]]).await;
        assert_broken(&client.call(0).await, bytes, why);
    }
}

#[tokio::test]
async fn an_endless_answer_is_given_up() {
    let length = 2 * BODY_LIMIT as usize;
    let (client, _played) = server(vec![vec![answer("", length, &"x".repeat(length))]]).await;
    let reply = client.call(0).await;
    assert!(reply.bytes > BODY_LIMIT);
    assert_broken(&reply, reply.bytes, "more than 1 MiB");
}

#[tokio::test]
async fn a_call_that_is_dropped_closes_its_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = Client::new(listener.local_addr().unwrap());
    let call = tokio::spawn(async move { client.call(0).await });
    let (mut stream, _) = listener.accept().await.unwrap();
    request(&mut stream).await;
    call.abort();
    assert!(matches!(stream.read(&mut [0]).await, Ok(0) | Err(_)));
}
