//! What each call of the API does.

use super::error::{ApiError, ErrorView};
use super::metrics;
use super::registry::Registry;
use super::spec::{ProxyFields, ProxySpec, ToxicChange, ToxicSpec};
use super::view::ProxyView;
use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, HeaderValue};
use axum::response::{IntoResponse as _, Response};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What `/version` says. Clients take the first numbers for the API that they can count on (since
/// 2.6.0 an update is a PATCH), so these are the release whose API this is. Builds of the real
/// server have such a tail, too; this one names the program.
pub const VERSION: &str = concat!("2.12.0-windtunnel-", env!("CARGO_PKG_VERSION"));

/// One thing that can be asked of the API.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Call {
    Version,
    Metrics,
    Reset,
    Populate,
    ListProxies,
    CreateProxy,
    ShowProxy,
    UpdateProxy,
    DeleteProxy,
    ListToxics,
    AddToxic,
    ShowToxic,
    UpdateToxic,
    RemoveToxic,
}

/// The names in a path; empty, and so nobody's, where it has none.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Names {
    proxy: String,
    toxic: String,
}

/// The answer of `/populate`.
#[derive(Serialize)]
struct Populated {
    #[serde(flatten)]
    error: Option<ErrorView>,
    /// The real server says `null` for none.
    proxies: Option<Vec<ProxyView>>,
}

impl Call {
    /// Makes the call.
    ///
    /// # Errors
    /// What the client is to be told instead of an answer.
    pub(super) async fn make(
        self,
        registry: &Registry,
        Names { proxy, toxic }: &Names,
        body: &[u8],
    ) -> Result<Response, ApiError> {
        let find = || registry.find(proxy);
        match self {
            Self::Version => Ok(version()),
            Self::Metrics => Ok(metrics(registry)),
            Self::Reset => registry.reset().await.map(done),
            Self::Populate => Ok(populate(registry, body).await),
            Self::ListProxies => Ok(list_proxies(registry)),
            Self::CreateProxy => create_proxy(registry, body).await,
            Self::ShowProxy => Ok(shown(&find()?.view())),
            Self::UpdateProxy => {
                let entry = find()?;
                entry.update(ProxyFields::parse(body)?).await?;
                Ok(shown(&entry.view()))
            }
            Self::DeleteProxy => registry.delete(proxy).await.map(done),
            Self::ListToxics => Ok(shown(&find()?.view().toxics)),
            Self::AddToxic => {
                let entry = find()?;
                Ok(shown(&entry.add_toxic(ToxicSpec::parse(body)?)?))
            }
            Self::ShowToxic => Ok(shown(&find()?.toxic(toxic)?)),
            Self::UpdateToxic => {
                let entry = find()?;
                // A toxic that is not there goes before a body that is none.
                entry.toxic(toxic)?;
                Ok(shown(&entry.update_toxic(toxic, ToxicChange::parse(body)?)?))
            }
            Self::RemoveToxic => find()?.remove_toxic(toxic).map(done),
        }
    }
}

fn version() -> Response {
    // With a space behind the colon, as the real server has it.
    let body = format!("{{\"version\": \"{VERSION}\"}}\n");
    labelled("application/json;charset=utf-8", StatusCode::OK, body)
}

fn metrics(registry: &Registry) -> Response {
    labelled(metrics::CONTENT_TYPE, StatusCode::OK, metrics::render(registry))
}

async fn populate(registry: &Registry, body: &[u8]) -> Response {
    let (made, error) = match ProxySpec::parse_all(body) {
        Ok(specs) => registry.populate(specs).await,
        Err(error) => (Vec::new(), Some(error)),
    };
    let status = error.as_ref().map_or(StatusCode::CREATED, ApiError::status);
    let proxies: Vec<ProxyView> = made.iter().map(|entry| entry.view()).collect();
    let proxies = Some(proxies).filter(|proxies| !proxies.is_empty());
    json(status, &Populated { error: error.as_ref().map(ApiError::view), proxies })
}

fn list_proxies(registry: &Registry) -> Response {
    let views = registry.all().into_iter().map(|entry| entry.view());
    let by_name = views.map(|view| (view.name.clone(), view));
    shown(&by_name.collect::<BTreeMap<_, _>>())
}

async fn create_proxy(registry: &Registry, body: &[u8]) -> Result<Response, ApiError> {
    let spec = ProxySpec::new(ProxyFields::parse(body)?, "")?;
    let entry = registry.create(spec).await?;
    Ok(json(StatusCode::CREATED, &entry.view()))
}

fn done((): ()) -> Response {
    StatusCode::NO_CONTENT.into_response()
}

fn shown(what: &impl Serialize) -> Response {
    json(StatusCode::OK, what)
}

fn json(status: StatusCode, what: &impl Serialize) -> Response {
    let text = serde_json::to_string(what).expect("a view has names for keys");
    labelled("application/json", status, text)
}

fn labelled(content_type: &'static str, status: StatusCode, body: String) -> Response {
    let content_type = HeaderValue::from_static(content_type);
    (status, [(CONTENT_TYPE, content_type)], body).into_response()
}
