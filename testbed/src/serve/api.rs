//! The routes: from a request to an answer. `docs/serve.md` describes them.

use super::catalogue::Catalogue;
use super::events::Events;
use super::health;
use super::host::{Hosts, own_clients};
use super::refusal::Refusal;
use super::runs::{Run, Runs};
use super::wire::{Order, RunInfo};
use crate::experiment::Overrides;
use crate::page::{self, Stage};
use crate::watch::current::Current;
use crate::watch::serve::metrics_route;
use crate::watch::server::ServerMetrics;
use axum::Json;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::rejection::PathRejection;
use axum::extract::{MatchedPath, Path, Request, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, LOCATION};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde::Serialize;
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;

/// Bytes that a body may have: a page of overrides.
pub(super) const BODY_LIMIT: usize = 64 * 1024;

/// What `/` answers to whoever is no browser.
const INDEX: &str = "windtunnel serve

GET    /                        in a browser, the page of the run under way, or of the last one
GET    /metrics                 the run under way, or the last one, for Prometheus
GET    /healthz                 whether the server is alive
GET    /readyz                  whether it can start runs
GET    /api/experiments         what can be run
GET    /api/experiments/NAME    the text of an experiment
POST   /api/runs                start a run: {\"experiment\": NAME}
GET    /api/runs                the runs of this server, newest first
GET    /api/runs/ID             how far a run is, and its verdict
DELETE /api/runs/ID             stop a run
GET    /api/runs/ID/events      a run as server-sent events
";

/// What all requests share.
#[derive(Clone, Debug)]
pub(super) struct Shared {
    pub(super) catalogue: Catalogue,
    pub(super) out: PathBuf,
    pub(super) runs: Runs,
    pub(super) metrics: ServerMetrics,
}

type Answered = Result<Response, Refusal>;
type Server = State<Arc<Shared>>;
type Named = Result<Path<String>, PathRejection>;

/// All routes. The API itself is for `hosts` only.
pub(super) fn routes(
    shared: Arc<Shared>,
    (current, stage): (Current, Stage),
    hosts: Hosts,
) -> Router {
    let metrics = shared.metrics.clone();
    let api = Router::new()
        .route("/api/experiments", get(experiments))
        .route("/api/experiments/{*name}", get(experiment))
        .route("/api/runs", get(runs).post(start))
        .route("/api/runs/{id}", get(run).delete(stop))
        .route("/api/runs/{id}/events", get(events))
        .layer(from_fn_with_state(hosts.clone(), own_clients));
    Router::new()
        .route("/healthz", get(async || "ok\n"))
        .route("/readyz", get(ready))
        .merge(api)
        .fallback(unknown)
        .method_not_allowed_fallback(not_allowed)
        .with_state(shared)
        .merge(metrics_route(current))
        .merge(page::routes(stage, hosts, INDEX))
        .layer(from_fn_with_state(metrics, counted))
}

/// Counts what is answered, refusals too. Paths are as the routes have them, so they are few.
async fn counted(State(metrics): State<ServerMetrics>, request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>().cloned();
    let response = next.run(request).await;
    let route = route.as_ref().map_or("other", MatchedPath::as_str);
    metrics.request(route, response.status().as_u16());
    response
}

async fn unknown(uri: Uri) -> Refusal {
    let error = format!("there is nothing at {}; GET / lists what there is", uri.path());
    Refusal::new(StatusCode::NOT_FOUND, error)
}

async fn not_allowed(method: Method, uri: Uri) -> Refusal {
    let error = format!("{method} is not for {}; GET / lists what there is", uri.path());
    Refusal::new(StatusCode::METHOD_NOT_ALLOWED, error)
}

async fn ready(State(shared): Server) -> Answered {
    blocking(move || health::ready(&shared)).await??;
    Ok("ready\n".into_response())
}

async fn experiments(State(shared): Server) -> Answered {
    let listed = blocking(move || shared.catalogue.list()).await?;
    let unread = |error| format!("cannot read the folder of experiments: {error}");
    let listed =
        listed.map_err(|error| Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, unread(error)))?;
    Ok(Json(json!({ "experiments": listed })).into_response())
}

async fn experiment(State(shared): Server, name: Named) -> Answered {
    let name = named(name)?;
    let found = blocking(move || shared.catalogue.find(&name)).await??;
    Ok(([(CONTENT_TYPE, "application/yaml; charset=utf-8")], found.text).into_response())
}

async fn runs(State(shared): Server) -> Json<All> {
    Json(All { runs: shared.runs.list() })
}

async fn start(State(shared): Server, request: Request) -> Answered {
    let metrics = shared.metrics.clone();
    let started = started(shared, request).await;
    if started.is_err() {
        metrics.run_refused();
    }
    let info = started?.info();
    let path = format!("/api/runs/{}", info.id);
    let body = Started { events: format!("{path}/events"), path: path.clone(), info };
    Ok((StatusCode::CREATED, [(LOCATION, path)], Json(body)).into_response())
}

async fn started(shared: Arc<Shared>, request: Request) -> Result<Run, Refusal> {
    let order = order(request).await?;
    blocking(move || shared.start(&order)).await?
}

async fn run(State(shared): Server, id: Named) -> Answered {
    Ok(Json(shared.run(id)?.info()).into_response())
}

async fn stop(State(shared): Server, id: Named) -> Answered {
    let run = shared.run(id)?;
    let info = run.info();
    run.stop();
    // It goes on until it has healed its faults.
    let status = if info.is_over() { StatusCode::OK } else { StatusCode::ACCEPTED };
    Ok((status, Json(info)).into_response())
}

async fn events(State(shared): Server, id: Named) -> Answered {
    let Some(reader) = shared.run(id)?.reader() else {
        let error = "the run has as many readers as it may; close one of them";
        return Err(Refusal::new(StatusCode::SERVICE_UNAVAILABLE, error));
    };
    let headers = [(CONTENT_TYPE, "text/event-stream"), (CACHE_CONTROL, "no-store")];
    Ok((headers, Body::new(Events::from(reader))).into_response())
}

/// All runs that are remembered.
#[derive(Serialize)]
struct All {
    runs: Vec<RunInfo>,
}

/// The answer to a run that was started.
#[derive(Serialize)]
struct Started {
    #[serde(flatten)]
    info: RunInfo,
    path: String,
    events: String,
}

impl Shared {
    pub(super) fn start(&self, order: &Order) -> Result<Run, Refusal> {
        let found = self.catalogue.find(&order.experiment)?;
        let plan = found.plan(&overrides(order)?).map_err(|report| Refusal::from(&report))?;
        Ok(self.runs.start(&found.name, &found.text, plan)?)
    }

    fn run(&self, id: Named) -> Result<Run, Refusal> {
        let id = named(id)?;
        self.runs.find(&id).ok_or_else(|| {
            let error = "there is no such run; GET /api/runs lists the last 100 of this server";
            Refusal::new(StatusCode::NOT_FOUND, error)
        })
    }
}

fn overrides(order: &Order) -> Result<Overrides, Refusal> {
    let pair = |set: &String| {
        let (path, value) = set.split_once('=')?;
        Some((path.trim().to_owned(), value.trim().to_owned()))
    };
    let set = order.set.iter().map(pair).collect::<Option<_>>().ok_or_else(|| {
        let error = "each of `set` must be PATH=VALUE, such as run.seed=8";
        Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, error)
    })?;
    Ok(Overrides { mode: order.mode, seed: order.seed, set, ..Overrides::default() })
}

/// Reads the body of a request to start a run.
async fn order(request: Request) -> Result<Order, Refusal> {
    // A page of another origin cannot send this type without asking first, and is not answered.
    if !is_json(request.headers()) {
        let error = "the body must be JSON; send it with -H 'content-type: application/json'";
        return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, error));
    }
    let body = to_bytes(request.into_body(), BODY_LIMIT).await.map_err(|_| {
        let error = format!("the body is broken or has more than {BODY_LIMIT} bytes; send less");
        Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, error)
    })?;
    serde_json::from_slice(&body).map_err(|error| {
        let example = r#"{"experiment": "stall/overload-recovery", "mode": "virtual", "seed": 7}"#;
        let error = format!("the body is no order for a run: {error}; write {example}");
        Refusal::new(StatusCode::BAD_REQUEST, error)
    })
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let essence = kind.split(';').next().unwrap_or_default();
    essence.trim().eq_ignore_ascii_case("application/json")
}

fn named(name: Named) -> Result<String, Refusal> {
    let Path(name) = name.map_err(|_| {
        Refusal::new(
            StatusCode::BAD_REQUEST,
            "the path is not UTF-8 text; write it in plain letters",
        )
    })?;
    Ok(name)
}

/// Does what reads or writes files where it does not hold up other requests.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Refusal> {
    tokio::task::spawn_blocking(work).await.map_err(|error| {
        Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, format!("{error}; please report this"))
    })
}

#[cfg(test)]
mod tests;
