//! Sockets and HTTP: from a request to a job, and from its release to an answer.

use super::connection::converse;
use super::engine::Engine;
use super::file;
use axum::Router;
use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::http::header::RETRY_AFTER;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use std::future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};
use testbed_clock::{Timer, unix_now};
use testbed_core::request::Served;
use testbed_core::service::{self, Manner, Released, RetryAfter, Said};
use testbed_core::time::Nanos;
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinSet;

/// Response header: nanoseconds from the request's arrival to the release of its answer, decimal.
pub const AGE_HEADER: &str = "x-windtunnel-age-ns";
/// Response header: nanoseconds by which the release was later than planned, decimal.
pub const LATENESS_HEADER: &str = "x-windtunnel-lateness-ns";

/// Request header, and the same in the answer: the context of the call's trace (W3C Trace Context).
/// Every request of a traced run has it, so that its name is made once and not for each.
pub static TRACE_HEADER: HeaderName = HeaderName::from_static("traceparent");

/// Request header: the class of the client, which rules go by.
pub const CLASS_HEADER: &str = "x-windtunnel-class";

/// Request header: how many nanoseconds its client will wait for the answer, decimal; absent if as long
/// as it takes. gRPC has `grpc-timeout` for it.
pub const PATIENCE_HEADER: &str = "x-windtunnel-patience-ns";

/// Request header: the arm that the request is of, whose flow it is where queueing is fair by arm.
pub const ARM_HEADER: &str = "x-windtunnel-arm";

/// Bytes of request body that are read and dropped; beyond it, 413.
pub(super) const BODY_LIMIT: usize = 64 * 1024;

/// The path of the file that ranges are taken from.
pub const FILE_PATH: &str = "/file";

/// Connections that may wait to be accepted. A load that starts with a burst would otherwise lose
/// handshakes, and the kernel tries them again after a whole second.
const ACCEPT_BACKLOG: u32 = 4096;

/// The system's buffer for what was written and has not left. What a client of the file does not read
/// piles up there, and of loopback's own accord that would be 2.6 MB a transfer.
const UNSENT: u32 = 64 * 1024;

/// Pause after a failed accept, most likely for want of file descriptors.
const ACCEPT_AGAIN: Nanos = Nanos::from_millis(10);

/// Listens on `addr`.
pub(super) fn bind(addr: SocketAddr) -> io::Result<TcpListener> {
    let listen = || {
        let socket = if addr.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        socket.set_reuseaddr(true)?;
        // Connections that are accepted inherit it.
        socket.set_send_buffer_size(UNSENT)?;
        socket.bind(addr)?;
        socket.listen(ACCEPT_BACKLOG)
    };
    listen().map_err(|err| {
        let cure = match err.kind() {
            io::ErrorKind::AddrInUse => "stop what listens there, or choose another port",
            io::ErrorKind::PermissionDenied => "choose a port above 1023",
            io::ErrorKind::AddrNotAvailable => "choose an address of this machine, or 0.0.0.0",
            _ => "choose another address",
        };
        io::Error::new(err.kind(), format!("cannot listen on {addr}: {err}; {cure}"))
    })
}

/// The admin's routes, the file, and service for everything else.
pub(super) fn routes(admin: Router<Arc<Engine>>) -> Router<Arc<Engine>> {
    admin.route(FILE_PATH, get(serve_file).fallback(serve)).fallback(serve)
}

/// Accepts connections until `stopped` changes or is abandoned, then cuts them all. `stopped` is
/// dropped last, which tells whoever waits for it that every socket is closed.
pub(super) async fn run(
    mut stopped: watch::Receiver<()>,
    listener: TcpListener,
    router: Router,
    timer: Timer,
) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => { connections.spawn(converse(stream, router.clone(), timer.clone())); }
                Err(_) => timer.sleep_until(timer.clock().now().after(ACCEPT_AGAIN)).await,
            },
            Some(_) = connections.join_next() => {}
            _ = stopped.changed() => break,
        }
    }
    drop(listener);
    connections.shutdown().await;
}

/// One request for service.
async fn serve(State(engine): State<Arc<Engine>>, request: Request) -> Response {
    answer(&engine, request, |_, bytes| file::body(bytes).into_response()).await
}

/// One request for a range of the file: a job like any other, until it is released.
async fn serve_file(State(engine): State<Arc<Engine>>, request: Request) -> Response {
    answer(&engine, request, |headers, _| file::respond(headers)).await
}

/// Makes a request a job and waits for its release. `succeed` is given the request's headers and the bytes of the
/// answer's body by the model, and says what a success is.
async fn answer(
    engine: &Engine,
    request: Request,
    succeed: impl FnOnce(&HeaderMap, u64) -> Response,
) -> Response {
    let (head, body) = request.into_parts();
    if to_bytes(body, BODY_LIMIT).await.is_err() {
        return (StatusCode::PAYLOAD_TOO_LARGE, "a body is 64 KiB at most\n").into_response();
    }
    let (responder, released) = oneshot::channel();
    engine.arrive(described(&head), responder);
    let Ok(Released { status, body, served, harm, .. }) = released.await else {
        // The backend is closing and about to cut this connection: an answer would be a lie.
        return future::pending().await;
    };
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = if status.is_success() {
        (account(served), succeed(&head.headers, body)).into_response()
    } else {
        (status, account(served), "no\n").into_response()
    };
    // So that a client sees that its context has come through.
    if let Some(context) = head.headers.get(&TRACE_HEADER) {
        response.headers_mut().insert(&TRACE_HEADER, context.clone());
    }
    if let Some(harm) = harm {
        if let Some(retry) = harm.retry_after.as_ref().and_then(retry_after) {
            response.headers_mut().insert(RETRY_AFTER, retry);
        }
        if harm.manner != Manner::Plain {
            // For the connection to carry out. Extensions are to be copied, and its place is one.
            response.extensions_mut().insert(Arc::new(*harm));
        }
    }
    response
}

/// What rules go by.
fn described(head: &Parts) -> service::Request<'_> {
    let text = |name| head.headers.get(name).and_then(|value| value.to_str().ok());
    let patience = text(PATIENCE_HEADER).and_then(|ns| ns.parse().ok()).map(Nanos::new);
    let (class, arm) = (text(CLASS_HEADER), text(ARM_HEADER));
    service::Request { path: head.uri.path(), class, patience, arm }
}

/// The value of the header; `None` if it cannot be written, which the check of rules excludes.
fn retry_after(retry: &RetryAfter) -> Option<HeaderValue> {
    match retry.said(unix_now()) {
        Said::Seconds(seconds) => Some(seconds.into()),
        Said::Date(seconds) => {
            let date = UNIX_EPOCH.checked_add(Duration::from_secs(seconds))?;
            HeaderValue::try_from(httpdate::fmt_http_date(date)).ok()
        }
        Said::Text(text) => HeaderValue::from_str(text).ok(),
    }
}

fn account(served: Served) -> [(&'static str, HeaderValue); 2] {
    [(AGE_HEADER, served.age), (LATENESS_HEADER, served.lateness)]
        .map(|(name, length)| (name, HeaderValue::from(length.get())))
}
