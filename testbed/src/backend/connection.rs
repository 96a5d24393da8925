//! One connection: HTTP by hyper, until an answer is to leave in another manner.
//!
//! hyper writes what is right. What is wrong on purpose is written by [`writer`] on the socket
//! itself, which hyper gives back for that, and takes again when the answer was well-formed.

mod resumed;
mod writer;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::header::CONNECTION;
use axum::http::{HeaderMap, Method, Version};
use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1::{self, Parts};
use hyper::service::{Service as _, service_fn};
use hyper_util::service::TowerToHyperService;
use resumed::Resumed;
use std::convert::Infallible;
use std::future::{self, Future};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use testbed_clock::Timer;
use testbed_core::service::Harm;
use tokio::net::TcpStream;
use tokio::sync::mpsc;

/// Bytes that a connection holds back from the network, about: what a download has been given and
/// its client does not take. The head of a request has room in it, too.
const BUFFER: usize = 64 * 1024;

/// An answer that is to leave in another manner.
struct Handed {
    response: Response,
    harm: Arc<Harm>,
    asked: Asked,
}

/// What of its request decides how an answer is written.
#[derive(Clone, Copy)]
struct Asked {
    /// For the head alone.
    head_only: bool,
    /// For another request behind it.
    keep_alive: bool,
}

/// A connection, to its end. How it ends is its client's business.
pub(super) async fn converse(stream: TcpStream, router: Router, timer: Timer) {
    let _ = stream.set_nodelay(true);
    let mut next = Some(Resumed::new(stream));
    while let Some(io) = next {
        next = match serve(io, &router).await {
            Some((io, handed)) => writer::write(io, handed, &timer).await,
            None => None,
        };
    }
}

/// Serves until an answer is handed over, or to the end.
async fn serve(io: Resumed, router: &Router) -> Option<(Resumed, Handed)> {
    let (hand_over, mut handed) = mpsc::channel(1);
    let stuck = io.stuck();
    let router = TowerToHyperService::new(router.clone());
    let service = service_fn(move |request: Request<Incoming>| {
        let asked = Asked::of(&request);
        respond(router.call(request), asked, hand_over.clone())
    });
    let mut connection = http1::Builder::new()
        .auto_date_header(false)
        .max_buf_size(BUFFER)
        .serve_connection(io, service);
    let handed = tokio::select! {
        biased;
        _ = &mut connection => return None,
        handed = handed.recv() => handed?,
    };
    // What hyper has not got rid of yet goes first; that takes a client that sends several requests
    // at a time and does not read.
    let flushed = future::poll_fn(|context| match Pin::new(&mut connection).poll(context) {
        Poll::Ready(_) => Poll::Ready(false),
        Poll::Pending if stuck.is_set() => Poll::Pending,
        Poll::Pending => Poll::Ready(true),
    });
    if !flushed.await {
        return None;
    }
    let Parts { io, read_buf, .. } = connection.into_parts();
    Some((io.behind(read_buf), handed))
}

/// The router's answer, unless a rule has another way for it. Then it is handed over, and hyper waits
/// for one that never comes.
async fn respond(
    answered: impl Future<Output = Result<Response<Body>, Infallible>>,
    asked: Asked,
    hand_over: mpsc::Sender<Handed>,
) -> Result<Response<Body>, Infallible> {
    let Ok(mut response) = answered.await;
    let Some(harm) = response.extensions_mut().remove::<Arc<Harm>>() else {
        return Ok(response);
    };
    // There is one request at a time on a connection, so there is room.
    let _ = hand_over.try_send(Handed { response, harm, asked });
    future::pending().await
}

impl Asked {
    fn of<B>(request: &Request<B>) -> Self {
        let head_only = request.method() == Method::HEAD;
        let keep_alive = request.version() == Version::HTTP_11 && !says_close(request.headers());
        Self { head_only, keep_alive }
    }
}

/// Whether the header `Connection` has the word `close`.
fn says_close(headers: &HeaderMap) -> bool {
    let lists = headers.get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok());
    lists.flat_map(|list| list.split(',')).any(|word| word.trim().eq_ignore_ascii_case("close"))
}

#[cfg(test)]
mod tests;
