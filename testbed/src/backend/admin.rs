//! `GET` and `PUT /hold`: how a client outside this process holds a standalone backend. [`faults`] has
//! `/faults`.

mod faults;

use super::engine::Engine;
use super::server::BODY_LIMIT;
use axum::body::{Body, to_bytes};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use testbed_core::hold::{Feed, Hold, HoldConfig};
use testbed_core::quantity::Share;
use testbed_core::service::BackendState;
use testbed_core::time::Nanos;

const CURE: &str = "send {\"gradient\":0.7,\"baseline\":\"40ms\"}, {\"latency\":\"14.3ms\"}, \
    {\"scale\":1.43} or {\"utilisation\":\"85%\"}, or null to lift the hold";
const NO_BASELINE: &str = "a gradient hold needs the baseline RTT of the client's controller: add \
    \"baseline\":\"40ms\", and push again when it moves";
const STRAY_BASELINE: &str = "baseline and overhead go with gradient only, as in \
    {\"gradient\":0.7,\"baseline\":\"40ms\"}";
const ZERO_BASELINE: &str = "baseline is above 0s, such as 40ms";

/// The admin's routes.
pub(super) fn routes() -> Router<Arc<Engine>> {
    Router::new()
        .route("/hold", get(show).put(push))
        .route("/faults", get(faults::show).put(faults::push))
}

/// What a client pushes: a hold, and what a gradient hold is to go by.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Push {
    gradient: Option<f64>,
    at_most: Option<Nanos>,
    latency: Option<Nanos>,
    scale: Option<f64>,
    utilisation: Option<Share>,
    tolerance: Option<Share>,
    /// The client's baseline RTT; if left out, the one pushed before.
    baseline: Option<Nanos>,
    /// See [`Feed::overhead`]; if left out, the one pushed before.
    overhead: Option<Nanos>,
}

/// What a client is shown.
#[derive(Serialize)]
struct View {
    hold: Option<HoldConfig>,
    baseline: Option<Nanos>,
    overhead: Nanos,
    state: StateView,
}

/// See [`BackendState`]; utilisation counts from the view before.
#[derive(Serialize)]
struct StateView {
    in_system: u32,
    queued: u32,
    utilisation: f64,
}

#[derive(Serialize)]
struct Refusal {
    error: String,
}

async fn show(State(engine): State<Arc<Engine>>) -> Json<View> {
    let (hold, Feed { baseline, overhead }) = engine.hold();
    let BackendState { in_system, queued, utilisation } = engine.look();
    Json(View {
        hold: hold.map(HoldConfig::from),
        baseline,
        overhead,
        state: StateView { in_system, queued, utilisation },
    })
}

async fn push(State(engine): State<Arc<Engine>>, body: Body) -> Response {
    let Ok(body) = to_bytes(body, BODY_LIMIT).await else {
        return refuse(StatusCode::PAYLOAD_TOO_LARGE, format!("too long for a hold; {CURE}"));
    };
    let (_, known) = engine.hold();
    match read(&body).and_then(|push| resolve(&push, known)) {
        Ok((hold, feed)) => {
            engine.push_hold(hold, feed);
            show(State(engine)).await.into_response()
        }
        Err(error) => refuse(StatusCode::BAD_REQUEST, error),
    }
}

fn refuse(status: StatusCode, error: String) -> Response {
    (status, Json(Refusal { error })).into_response()
}

/// The push in a body; `null` is an empty one.
fn read(body: &[u8]) -> Result<Push, String> {
    serde_json::from_slice::<Option<Push>>(body)
        .map(Option::unwrap_or_default)
        .map_err(|err| format!("this is not a hold: {err}; {CURE}"))
}

/// What a push means, given what was fed before. An empty one lifts the hold.
fn resolve(push: &Push, known: Feed) -> Result<(Option<Hold>, Feed), String> {
    if *push == Push::default() {
        return Ok((None, known));
    }
    let hold = Hold::try_from(&HoldConfig {
        gradient: push.gradient,
        at_most: push.at_most,
        latency: push.latency,
        scale: push.scale,
        utilisation: push.utilisation,
        tolerance: push.tolerance,
    })?;
    let feed = Feed {
        baseline: push.baseline.or(known.baseline),
        overhead: push.overhead.unwrap_or(known.overhead),
    };
    let is_gradient = matches!(hold, Hold::Gradient { .. });
    let mistake = match push.baseline {
        Some(Nanos::ZERO) => Some(ZERO_BASELINE),
        None if is_gradient && feed.baseline.is_none() => Some(NO_BASELINE),
        _ if !is_gradient && (push.baseline, push.overhead) != (None, None) => Some(STRAY_BASELINE),
        _ => None,
    };
    mistake.map_or(Ok((Some(hold), feed)), |mistake| Err(mistake.into()))
}

#[cfg(test)]
mod tests;
