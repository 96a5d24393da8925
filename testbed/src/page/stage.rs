//! What a server shows at `/`: the page of one run, which may go on.

use super::document::{SCRIPT, STYLE, UPLOT, served};
use super::read;
use super::{Page, ReportError};
use crate::serve::events::Events;
use crate::serve::history::History;
use crate::serve::host::{Hosts, own_clients};
use axum::extract::State;
use axum::http::header::{
    ACCEPT, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router, body::Body};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// A page runs no script, takes no style and asks for nothing but what this server has; nobody frames it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                      img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The run that is shown, if any. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Stage {
    shown: Arc<Mutex<Option<Shown>>>,
    lasting: bool,
}

#[derive(Clone, Debug)]
struct Shown {
    run_dir: PathBuf,
    /// What is told of it; none of a run that is read back.
    history: Option<History>,
}

impl Stage {
    /// The stage of a server that outlives its runs.
    pub(crate) fn lasting() -> Self {
        Self { lasting: true, ..Self::default() }
    }

    /// Shows a run that goes on, in place of what was shown before.
    pub(crate) fn show(&self, run_dir: PathBuf, history: History) {
        self.set(Shown { run_dir, history: Some(history) });
    }

    /// Shows a run that is over.
    pub(super) fn show_finished(&self, run_dir: PathBuf) {
        self.set(Shown { run_dir, history: None });
    }

    fn set(&self, shown: Shown) {
        *self.shown.lock().unwrap_or_else(PoisonError::into_inner) = Some(shown);
    }

    fn get(&self) -> Option<Shown> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Shown {
    /// A run that is over is read from its directory, which has more of it than was told.
    fn page(&self) -> Result<Page, ReportError> {
        match &self.history {
            Some(history) if !history.info().is_over() => {
                let mut page = read::head(&self.run_dir)?;
                history.past().fill(&mut page);
                Ok(page)
            }
            _ => read::page(&self.run_dir),
        }
    }
}

/// The page of what `stage` shows, and at `/`, for whoever asks for no HTML, `index`. What it says of a
/// run is for `hosts` only.
pub(crate) fn routes(stage: Stage, hosts: Hosts, index: &'static str) -> Router {
    let of_run = Router::new()
        .route("/page.json", get(data))
        .route("/page/events", get(events))
        .layer(from_fn_with_state(hosts, own_clients))
        .with_state(stage);
    let file = |kind, text: &'static str| get(async move || guarded(kind, text));
    Router::new()
        .route("/", get(async move |headers: HeaderMap| front(&headers, index)))
        .route("/page.css", file("text/css; charset=utf-8", STYLE))
        .route("/uplot.js", file("text/javascript; charset=utf-8", UPLOT))
        .route("/page.js", file("text/javascript; charset=utf-8", SCRIPT))
        .merge(of_run)
}

/// The page for browsers, text for everybody else.
fn front(headers: &HeaderMap, index: &'static str) -> Response {
    let accept = headers.get(ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    if accept.contains("text/html") {
        guarded("text/html; charset=utf-8", served())
    } else {
        index.into_response()
    }
}

fn guarded(kind: &'static str, content: impl IntoResponse) -> Response {
    let headers = [
        (CONTENT_TYPE, kind),
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (CACHE_CONTROL, "no-store"),
    ];
    // The type is ours, whatever the content would say of itself.
    let mut answer = content.into_response();
    headers.into_iter().for_each(|(name, value)| {
        answer.headers_mut().insert(name, HeaderValue::from_static(value));
    });
    answer
}

/// 204 while there is no run.
async fn data(State(stage): State<Stage>) -> Response {
    let Some(shown) = stage.get() else { return StatusCode::NO_CONTENT.into_response() };
    let read = tokio::task::spawn_blocking(move || shown.page()).await;
    match read {
        Ok(Ok(page)) => guarded("application/json", Json(Page { lasting: stage.lasting, ..page })),
        Ok(Err(error)) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

/// The messages of the run, as `GET /api/runs/ID/events` of `windtunnel serve` gives them.
async fn events(State(stage): State<Stage>) -> Response {
    let Some(history) = stage.get().and_then(|shown| shown.history) else {
        return (StatusCode::NOT_FOUND, "no run goes on\n").into_response();
    };
    match history.reader() {
        Some(reader) => guarded("text/event-stream", Body::new(Events::from(reader))),
        None => {
            let error = "the run has as many readers as it may; close one of them\n";
            (StatusCode::SERVICE_UNAVAILABLE, error).into_response()
        }
    }
}
