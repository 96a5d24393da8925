//! Over real loopback sockets. Bounds from below are exact; those from above are what a busy
//! machine still keeps.

use super::*;
use crate::client::{Client, Reply};
use std::time::Duration;
use testbed_clock::LiveClock;
use testbed_core::distribution::Distribution;
use testbed_core::limit::quantity::Bytes;
use testbed_core::service::{BodySize, Discipline, Fair, HttpFault, Reject};
use testbed_core::time::{Nanos, Time};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::{JoinHandle, JoinSet};

const HOUR: Nanos = Nanos::from_secs(3600);
/// Longer than anything that is not stuck.
const LONG: Nanos = Nanos::from_secs(30);

/// A backend and a client of it.
pub(super) struct Bench {
    pub(super) backend: Backend,
    pub(super) client: Client,
    pub(super) timer: Timer,
}

pub(super) fn config(servers: u32, service: Nanos, backlog: u32) -> ServiceConfig {
    let service = Distribution::Constant(service);
    ServiceConfig::new(servers, service, backlog)
}

impl Bench {
    /// With admin, so that every test shows that the admin is not in the way.
    pub(super) async fn start(config: ServiceConfig) -> Self {
        let timer = Timer::start(LiveClock::start());
        let any_port = "127.0.0.1:0".parse().unwrap();
        let streams = Streams::new(7);
        let backend = Backend::start_with_admin(any_port, &config, &streams, timer.clone());
        let backend = backend.await.unwrap();
        let client = Client::new(backend.addr());
        Self { backend, client, timer }
    }

    fn now(&self) -> Time {
        self.timer.clock().now()
    }

    /// A call under way.
    fn call(&self) -> JoinHandle<Reply> {
        let client = self.client.clone();
        tokio::spawn(async move { client.call(0).await })
    }

    /// Waits until this many jobs are inside.
    async fn inside(&self, jobs: u32) {
        let give_up = self.now().after(LONG);
        while self.backend.look().in_system != jobs {
            assert!(self.now() < give_up, "never {jobs} inside");
            self.timer.sleep_until(self.now().after(Nanos::from_millis(1))).await;
        }
    }

    /// Sends `request` as it is on a connection of its own; the status and what follows the head.
    pub(super) async fn raw(&self, request: &[u8]) -> (u16, String) {
        let mut stream = TcpStream::connect(self.backend.addr()).await.unwrap();
        stream.write_all(request).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.into())
    }
}

/// A rule of that rejection.
pub(super) fn storm(reject: Reject) -> Rule {
    Rule { name: "storm".into(), fault: HttpFault::Reject(reject) }
}

fn age(reply: &Reply) -> Nanos {
    assert_eq!(reply.status, Some(200), "{reply:?}");
    reply.served.expect("an answer of the service has its account").age
}

#[tokio::test(flavor = "multi_thread")]
async fn a_constant_service_time_is_never_cut_short() {
    let service = Nanos::from_millis(20);
    let bench = Bench::start(config(10, service, 0)).await;
    for id in 0..10 {
        let sent = bench.now();
        let reply = bench.client.call(id).await;
        let rtt = bench.now().since(sent);
        assert!(age(&reply) >= service);
        assert!(rtt >= age(&reply));
        assert_eq!(reply.served.unwrap().lateness, age(&reply).minus(service));
        assert_eq!(reply.bytes, 3);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_success_has_as_many_bytes_as_it_is_to_have_and_a_refusal_a_word() {
    for bytes in [0, 1, 200_000, 1 << 20] {
        let body = BodySize::Constant(Bytes::new(bytes));
        let config = ServiceConfig { body, ..config(1, Nanos::from_millis(1), 0) };
        let bench = Bench::start(config).await;
        assert_eq!(bench.client.call(0).await.bytes, bytes);
        let reject: Reject = serde_yaml::from_str("{ status: 429 }").unwrap();
        bench.backend.set_rules(vec![storm(reject)]);
        assert_eq!(bench.client.call(1).await.bytes, 3);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_server_takes_one_after_the_other() {
    let bench = Bench::start(config(1, Nanos::from_millis(20), 100)).await;
    let begin = bench.now();
    for call in [bench.call(), bench.call(), bench.call()] {
        age(&call.await.unwrap());
    }
    assert!(bench.now().since(begin) >= Nanos::from_millis(60));
}

#[tokio::test(flavor = "multi_thread")]
async fn fair_queueing_knows_arms_by_what_their_requests_say() {
    let queue = Discipline::Fair(Fair::default());
    let config = ServiceConfig { queue, ..config(1, Nanos::from_millis(300), 100) };
    let bench = Bench::start(config).await;
    let mut calls = Vec::new();
    for (inside, arm) in (1..).zip(["crowd", "crowd", "crowd", "other"]) {
        let mut client = bench.client.clone();
        client.name(arm);
        calls.push(tokio::spawn(async move { client.call(0).await }));
        bench.inside(inside).await;
    }
    let mut ages = Vec::new();
    for call in calls {
        ages.push(age(&call.await.unwrap()));
    }
    assert!(ages[3] < ages[1], "the other came last and waits for none but the first: {ages:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn rejects_while_told_to() {
    let bench = Bench::start(config(1, Nanos::from_millis(1), 100)).await;
    let after = Nanos::from_millis(5);
    bench.backend.set_rules(vec![storm(Reject { after, ..Reject::all(429) })]);
    let reply = bench.client.call(0).await;
    assert_eq!(reply.status, Some(429));
    assert!(reply.served.unwrap().age >= after);
    bench.backend.set_rules(vec![]);
    age(&bench.client.call(1).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_backlog_overflows() {
    let bench = Bench::start(config(1, HOUR, 1)).await;
    let calls = [bench.call(), bench.call()];
    bench.inside(2).await;
    assert_eq!(bench.backend.look().queued, 1);
    assert_eq!(bench.client.call(0).await.status, Some(503));
    assert!(calls.iter().all(|call| !call.is_finished()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_latency_hold_ages_answers_until_lifted() {
    let bench = Bench::start(config(10, Nanos::from_millis(1), 100)).await;
    let latency = Nanos::from_millis(30);
    bench.backend.set_hold(Some(Hold::Latency(latency)));
    assert!(age(&bench.client.call(0).await) >= latency);
    bench.backend.set_hold(Some(Hold::Latency(HOUR)));
    let call = bench.call();
    bench.inside(1).await;
    bench.backend.set_hold(None);
    assert!(age(&call.await.unwrap()) < HOUR);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gradient_hold_follows_its_feed() {
    let bench = Bench::start(config(10, Nanos::from_millis(1), 100)).await;
    bench.backend.set_hold(Some(Hold::Gradient { gradient: 0.5, at_most: HOUR }));
    let feed = |baseline, overhead| {
        bench.backend.feed(Feed { baseline: Some(baseline), overhead });
    };
    feed(Nanos::from_millis(20), Nanos::from_millis(4));
    assert!(age(&bench.client.call(0).await) >= Nanos::from_millis(36));
    feed(HOUR, Nanos::ZERO);
    let call = bench.call();
    bench.inside(1).await;
    feed(Nanos::from_millis(30), Nanos::ZERO);
    let held = age(&call.await.unwrap());
    assert!(held >= Nanos::from_millis(60) && held < HOUR, "{held}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_goes_away_does_not_cancel_its_job() {
    let service = Nanos::from_millis(100);
    let bench = Bench::start(config(1, service, 100)).await;
    let begin = bench.now();
    let gone = bench.call();
    bench.inside(1).await;
    gone.abort();
    age(&bench.client.call(1).await);
    assert!(bench.now().since(begin) >= service.plus(service));
}

#[tokio::test(flavor = "multi_thread")]
async fn any_request_with_a_bounded_body_is_served() {
    let bench = Bench::start(config(10, Nanos::ZERO, 100)).await;
    for (method, path, length, status) in [
        ("POST", "/", 65_536, 200),
        ("DELETE", "/a/b?c=d", 0, 200),
        ("PUT", "/holding", 1, 200),
        ("POST", "/", 65_537, 413),
    ] {
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n"
        );
        let request = [head.into_bytes(), vec![b'x'; length]].concat();
        assert_eq!(bench.raw(&request).await.0, status, "{method} {path} {length}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_at_once() {
    let service = Nanos::from_millis(20);
    let bench = Bench::start(config(200, service, 0)).await;
    let mut calls = JoinSet::new();
    for id in 0..200 {
        let client = bench.client.clone();
        calls.spawn(async move { client.call(id).await });
    }
    let replies = calls.join_all().await;
    assert_eq!(replies.len(), 200);
    assert!(replies.iter().all(|reply| age(reply) >= service));
    assert_eq!(bench.backend.look().in_system, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_cuts_everything_and_leaves_nothing() {
    let bench = Bench::start(config(10, HOUR, 100)).await;
    let mut idle = TcpStream::connect(bench.backend.addr()).await.unwrap();
    let mut half_sent = TcpStream::connect(bench.backend.addr()).await.unwrap();
    half_sent.write_all(b"POST / HTTP/1.1\r\ncontent-length: 9\r\n\r\nx").await.unwrap();
    let calls = [bench.call(), bench.call()];
    bench.inside(2).await;
    let begin = bench.now();
    bench.backend.close().await;
    assert!(bench.now().since(begin) < Nanos::from_secs(5));
    bench.backend.close().await;
    for call in calls {
        let reply = call.await.unwrap();
        assert!(reply.status.is_none() && reply.error.is_some(), "{reply:?}");
    }
    assert!(matches!(idle.read(&mut [0]).await, Ok(0) | Err(_)));
    assert!(matches!(half_sent.read(&mut [0]).await, Ok(0) | Err(_)));
    assert!(
        std::net::TcpStream::connect_timeout(&bench.backend.addr(), Duration::from_secs(5))
            .is_err()
    );
    assert_eq!(bench.timer.pending(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn dropping_closes_too() {
    let bench = Bench::start(config(10, HOUR, 100)).await;
    let call = bench.call();
    bench.inside(1).await;
    drop(bench.backend);
    assert_eq!(call.await.unwrap().status, None);
    assert_eq!(bench.timer.pending(), 0);
}

#[tokio::test]
async fn no_servers_are_refused() {
    let timer = Timer::start(LiveClock::start());
    let any_port = "127.0.0.1:0".parse().unwrap();
    let none = config(0, HOUR, 0);
    let refused = Backend::start(any_port, &none, &Streams::new(7), timer).await.err().unwrap();
    assert_eq!(refused.kind(), io::ErrorKind::InvalidInput);
}

#[tokio::test]
async fn the_context_of_a_trace_comes_back_and_nothing_comes_without_one() {
    let bench = Bench::start(config(1, Nanos::from_millis(1), 0)).await;
    let context = "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\n";
    for sent in [context, ""] {
        let mut stream = TcpStream::connect(bench.backend.addr()).await.unwrap();
        let request = format!("GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{sent}\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        assert_eq!(answer.contains("traceparent"), !sent.is_empty(), "{answer}");
        assert!(answer.contains(sent), "{answer}");
    }
}
