//! The control API's HTTP.

use super::arms::{Arms, FeedBody, Refusal, Wanted};
use crate::backend::server::BODY_LIMIT;
use axum::body::{Body, to_bytes};
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, put};
use axum::{Json, Router};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::Arc;

const ARMS_CURE: &str =
    r#"send [{"name":"a","service":{"servers":64,"service":{"constant":"10ms"}},"seed":7}]"#;
const FAULTS_CURE: &str = "send what is wrong, such as {\"hold\":{\"latency\":\"30ms\"}}, with any \
    of hold, rules, slow_starts, servers and frozen; {} heals";
const FEED_CURE: &str = r#"send {"baseline":"40ms","overhead":"300us"}"#;

/// The API's routes.
pub(super) fn routes() -> Router<Arc<Arms>> {
    Router::new()
        .route("/arms", get(places).put(replace).delete(close))
        .route("/arms/{name}", get(view))
        .route("/arms/{name}/faults", put(set_faults))
        .route("/arms/{name}/feed", put(feed))
}

async fn places(State(arms): State<Arc<Arms>>) -> Response {
    Json(arms.places().await).into_response()
}

async fn replace(State(arms): State<Arc<Arms>>, body: Body) -> Result<Response, Refused> {
    let wanted: Vec<Wanted> = read(body, ARMS_CURE).await?;
    let places = arms.replace(&wanted).await?;
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
) -> Result<StatusCode, Refused> {
    let faults = read(body, FAULTS_CURE).await?;
    arms.set_faults(&name, faults).await?;
    Ok(StatusCode::NO_CONTENT)
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

#[derive(Serialize)]
struct ErrorBody {
    error: String,
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Invalid(error) => Self(StatusCode::BAD_REQUEST, error),
            Refusal::Unknown(error) => Self(StatusCode::NOT_FOUND, error),
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
