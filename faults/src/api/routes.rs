//! The calls of the API as a table, and the way of a request to its answer.

use super::calls::{Call, Names};
use super::error::{ApiError, plain};
use super::registry::Registry;
use Call::{
    AddToxic, CreateProxy, DeleteProxy, ListProxies, ListToxics, Metrics, Populate, RemoveToxic,
    Reset, ShowProxy, ShowToxic, UpdateProxy, UpdateToxic, Version,
};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request, State};
use axum::http::header::{CONTENT_TYPE, HeaderName, HeaderValue, USER_AGENT};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::map_response_with_state;
use axum::response::{IntoResponse as _, Response};
use axum::routing::any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Bytes of a body; beyond it, 413. A thousand proxies take a tenth of it.
pub const BODY_LIMIT: usize = 1 << 20;

/// What the real server answers to a call that takes too long.
const TIMED_OUT: &str =
    "<html><head><title>Timeout</title></head><body><h1>Timeout</h1></body></html>";

/// Browsers, whose pages are not to reach the API.
const BROWSER: &[u8] = b"Mozilla/";

/// Every answer has one of its own.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-toxiproxy-request-id");

/// What can be asked of one path.
type Calls = &'static [(Method, Call)];

/// The names in a path, if they are text.
type PathNames = Result<Path<Names>, PathRejection>;

/// Every path with its calls; any other method is a 405.
const ROUTES: [(&str, Calls); 8] = [
    ("/version", &[(Method::GET, Version)]),
    ("/metrics", &[(Method::GET, Metrics)]),
    ("/reset", &[(Method::POST, Reset)]),
    ("/populate", &[(Method::POST, Populate)]),
    ("/proxies", &[(Method::GET, ListProxies), (Method::POST, CreateProxy)]),
    (
        "/proxies/{proxy}",
        &[
            (Method::GET, ShowProxy),
            (Method::POST, UpdateProxy),
            (Method::PATCH, UpdateProxy),
            (Method::DELETE, DeleteProxy),
        ],
    ),
    ("/proxies/{proxy}/toxics", &[(Method::GET, ListToxics), (Method::POST, AddToxic)]),
    (
        "/proxies/{proxy}/toxics/{toxic}",
        &[
            (Method::GET, ShowToxic),
            (Method::POST, UpdateToxic),
            (Method::PATCH, UpdateToxic),
            (Method::DELETE, RemoveToxic),
        ],
    ),
];

/// The API of these proxies without a server, for who has a server of their own. Calls are made on the
/// current tokio runtime.
pub fn router(registry: Arc<Registry>) -> Router {
    let mut router = Router::new();
    for (path, calls) in ROUTES {
        let answer = move |state: State<Arc<Registry>>, names: PathNames, request: Request| {
            answer(state.0, calls, names, request)
        };
        router = router.route(path, any(answer));
    }
    let ids = Arc::new(AtomicU64::new(0));
    router.fallback(not_found).layer(map_response_with_state(ids, identify)).with_state(registry)
}

async fn not_found() -> Response {
    plain(StatusCode::NOT_FOUND, "404 page not found")
}

async fn identify(State(ids): State<Arc<AtomicU64>>, mut response: Response) -> Response {
    let id = HeaderValue::from(ids.fetch_add(1, Relaxed));
    response.headers_mut().insert(REQUEST_ID, id);
    response
}

async fn answer(
    registry: Arc<Registry>,
    calls: Calls,
    names: PathNames,
    request: Request,
) -> Response {
    let (head, body) = request.into_parts();
    let Some((_, call)) = calls.iter().find(|(method, _)| *method == head.method) else {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    };
    if is_browser(&head.headers) {
        return plain(StatusCode::FORBIDDEN, "User agent not allowed");
    }
    // Names that are no text are nobody's.
    let names = names.map(|Path(names)| names).unwrap_or_default();
    let (timer, limit) = (registry.timer().clone(), registry.call_limit());
    tokio::select! {
        biased;
        response = perform(registry, *call, names, body) => response,
        () = timer.sleep_until(timer.clock().now().after(limit)) => timed_out(),
    }
}

fn is_browser(headers: &HeaderMap) -> bool {
    headers.get(USER_AGENT).is_some_and(|agent| agent.as_bytes().starts_with(BROWSER))
}

fn timed_out() -> Response {
    let html = HeaderValue::from_static("text/html; charset=utf-8");
    (StatusCode::SERVICE_UNAVAILABLE, [(CONTENT_TYPE, html)], TIMED_OUT).into_response()
}

/// Makes the call in a task of its own: a client that goes away must not leave it half done.
async fn perform(registry: Arc<Registry>, call: Call, names: Names, body: Body) -> Response {
    let Ok(body) = to_bytes(body, BODY_LIMIT).await else {
        return ApiError::LongBody(BODY_LIMIT).into_response();
    };
    let made = tokio::spawn(async move { call.make(&registry, &names, &body).await });
    let answer = made.await.unwrap_or(Err(ApiError::Internal));
    answer.unwrap_or_else(ApiError::into_response)
}
