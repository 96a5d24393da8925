//! A collector of OTLP over HTTP, good or bad.

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1 as otlp;
use prost::Message as _;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};

/// How it behaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Manner {
    /// As it should.
    Takes,
    /// There is none.
    Down,
    /// It answers that it cannot.
    Refuses,
    /// It accepts connections and says nothing.
    Hangs,
}

/// A span as it came.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Span {
    pub(super) trace: u128,
    pub(super) id: u64,
    pub(super) parent: u64,
    pub(super) name: String,
    /// In Unix nanoseconds.
    pub(super) from: u64,
    pub(super) to: u64,
    /// The names of its events.
    pub(super) events: Vec<String>,
    /// The traces that it leads to.
    pub(super) links: Vec<u128>,
    attributes: BTreeMap<String, Value>,
}

type Spans = Arc<Mutex<Vec<Span>>>;

/// A collector, gone with the test.
pub(super) struct Collector {
    addr: SocketAddr,
    spans: Spans,
    _runtime: Runtime,
}

impl Collector {
    pub(super) fn start(manner: Manner) -> Self {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_io().build().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let (addr, spans) = (listener.local_addr().unwrap(), Spans::default());
        match manner {
            Manner::Takes => drop(runtime.spawn(serve(listener, Some(Arc::clone(&spans))))),
            Manner::Refuses => drop(runtime.spawn(serve(listener, None))),
            Manner::Hangs => drop(runtime.spawn(hang(listener))),
            Manner::Down => drop(listener),
        }
        Self { addr, spans, _runtime: runtime }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// What it got so far.
    pub(super) fn spans(&self) -> Vec<Span> {
        self.spans.lock().unwrap().clone()
    }
}

async fn hang(listener: TcpListener) {
    let mut kept = Vec::new();
    while let Ok((stream, _)) = listener.accept().await {
        kept.push(stream);
    }
}

async fn serve(listener: TcpListener, spans: Option<Spans>) {
    let routes = Router::new().route("/v1/traces", post(take)).layer(DefaultBodyLimit::disable());
    axum::serve(listener, routes.with_state(spans)).await.unwrap();
}

async fn take(
    State(spans): State<Option<Spans>>,
    headers: HeaderMap,
    body: Bytes,
) -> (StatusCode, [(&'static str, &'static str); 1], Vec<u8>) {
    let protobuf = [("content-type", "application/x-protobuf")];
    let Some(spans) = spans else {
        return (StatusCode::SERVICE_UNAVAILABLE, protobuf, Vec::new());
    };
    assert_eq!(headers[CONTENT_TYPE], protobuf[0].1);
    let request = ExportTraceServiceRequest::decode(body).unwrap();
    let scopes = request.resource_spans.into_iter().flat_map(|of| of.scope_spans);
    let came = scopes.flat_map(|scope| scope.spans).map(Span::from);
    spans.lock().unwrap().extend(came);
    (StatusCode::OK, protobuf, ExportTraceServiceResponse::default().encode_to_vec())
}

impl From<otlp::Span> for Span {
    fn from(span: otlp::Span) -> Self {
        let trace = |id: Vec<u8>| u128::from_be_bytes(id.try_into().unwrap());
        let id = |id: Vec<u8>| id.try_into().map_or(0, u64::from_be_bytes);
        let attribute =
            |of: opentelemetry_proto::tonic::common::v1::KeyValue| Some((of.key, of.value?.value?));
        Self {
            trace: trace(span.trace_id),
            id: id(span.span_id),
            parent: id(span.parent_span_id),
            name: span.name,
            from: span.start_time_unix_nano,
            to: span.end_time_unix_nano,
            events: span.events.into_iter().map(|event| event.name).collect(),
            links: span.links.into_iter().map(|link| trace(link.trace_id)).collect(),
            attributes: span.attributes.into_iter().filter_map(attribute).collect(),
        }
    }
}

impl Span {
    pub(super) fn text(&self, key: &str) -> &str {
        match self.attributes.get(key) {
            Some(Value::StringValue(text)) => text,
            other => panic!("{key} is {other:?} in {self:?}"),
        }
    }

    pub(super) fn number(&self, key: &str) -> i64 {
        match self.attributes.get(key) {
            Some(Value::IntValue(number)) => *number,
            other => panic!("{key} is {other:?} in {self:?}"),
        }
    }
}
