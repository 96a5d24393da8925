//! The control API's HTTP.

use super::arms::{Arms, Refusal};
use super::lease;
use super::wire::{ErrorBody, FeedBody, TESTBED_HEADER, Wanted};
use crate::backend::server::BODY_LIMIT;
use axum::body::{Body, to_bytes};
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, put};
use axum::{Json, Router};
use serde::de::DeserializeOwned;
use std::sync::Arc;

const ARMS_CURE: &str =
    r#"send [{"name":"a","service":{"servers":64,"service":{"constant":"10ms"}},"seed":7}]"#;
const FAULTS_CURE: &str = "send what is wrong, such as {\"hold\":{\"latency\":\"30ms\"}}, with any \
    of hold, rules, slow_starts, servers and frozen; {} heals";
const NOT_YOURS: &str = "these backends are not this testbed's: it was not heard of for a lease, or \
    another has asked for backends; one run at a time can have them";
const FEED_CURE: &str = r#"send {"baseline":"40ms","overhead":"300us"}"#;

/// The API.
pub(super) fn routes(arms: Arc<Arms>) -> Router {
    Router::new()
        .route("/arms/{name}", get(view))
        .route("/arms/{name}/faults", put(set_faults))
        .route("/arms/{name}/feed", put(feed))
        .route("/arms", get(places).put(replace).delete(close))
        .layer(from_fn_with_state(Arc::clone(&arms), hear))
        .with_state(arms)
}

/// The testbed that asks, if it says who it is.
fn testbed(headers: &HeaderMap) -> Option<&str> {
    headers.get(TESTBED_HEADER)?.to_str().ok()
}

/// Renews the lease of the testbed that asks; refuses one that has none, unless it asks for one.
async fn hear(State(arms): State<Arc<Arms>>, request: Request, next: Next) -> Response {
    let begins = request.method() == Method::PUT && request.uri().path() == "/arms";
    match testbed(request.headers()) {
        Some(testbed) if !begins && !arms.lease.hear(testbed) => {
            Refused::from(Refusal::NotYours).into_response()
        }
        _ => next.run(request).await,
    }
}

async fn places(State(arms): State<Arc<Arms>>) -> Response {
    Json(arms.places().await).into_response()
}

async fn replace(
    State(arms): State<Arc<Arms>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refused> {
    let wanted: Vec<Wanted> = read(body, ARMS_CURE).await?;
    let testbed = testbed(&headers);
    let places = arms.replace(&wanted, testbed).await?;
    if let Some(testbed) = testbed {
        lease::watch(&arms, testbed.to_owned());
    }
    Ok(Json(places).into_response())
}

async fn close(State(arms): State<Arc<Arms>>) -> StatusCode {
    arms.close().await;
    StatusCode::NO_CONTENT
}

async fn view(
    State(arms): State<Arc<Arms>>,
    Path(name): Path<String>,
) -> Result<Response, Refused> {
    Ok(Json(arms.view(&name).await?).into_response())
}

async fn set_faults(
    State(arms): State<Arc<Arms>>,
    Path(name): Path<String>,
    body: Body,
) -> Result<Response, Refused> {
    let faults = read(body, FAULTS_CURE).await?;
    Ok(Json(arms.set_faults(&name, faults).await?).into_response())
}

async fn feed(
    State(arms): State<Arc<Arms>>,
    Path(name): Path<String>,
    body: Body,
) -> Result<StatusCode, Refused> {
    let feed: FeedBody = read(body, FEED_CURE).await?;
    arms.feed(&name, feed).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// An error as a client gets it.
struct Refused(StatusCode, String);

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Invalid(error) => Self(StatusCode::BAD_REQUEST, error),
            Refusal::Unknown(error) => Self(StatusCode::NOT_FOUND, error),
            Refusal::NotYours => Self(StatusCode::CONFLICT, NOT_YOURS.to_owned()),
            Refusal::Failed(error) => Self(StatusCode::CONFLICT, error.to_string()),
        }
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let Self(status, error) = self;
        (status, Json(ErrorBody { error })).into_response()
    }
}

async fn read<T: DeserializeOwned>(body: Body, cure: &str) -> Result<T, Refused> {
    let body = to_bytes(body, BODY_LIMIT).await;
    let body =
        body.map_err(|_| Refused(StatusCode::PAYLOAD_TOO_LARGE, format!("too long; {cure}")))?;
    serde_json::from_slice(&body).map_err(|error| {
        Refused(StatusCode::BAD_REQUEST, format!("not understood: {error}; {cure}"))
    })
}
