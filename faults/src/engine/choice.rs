//! The choice of an engine, as people write it, and what it comes to.

use super::Engine;
use super::error::EngineError;
use super::url::ToxiproxyUrl;
use std::fmt;
use std::str::FromStr;

/// The environment variable that says where a Toxiproxy listens, the same that its own
/// command-line client reads.
pub const TOXIPROXY_URL: &str = "TOXIPROXY_URL";

/// Which engine a run is to have: `auto`, `embedded`, `none`, or `http://host:port`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum EngineChoice {
    /// The Toxiproxy that the environment names, if it answers; else the embedded proxies.
    #[default]
    Auto,
    /// The embedded proxies.
    Embedded,
    /// The Toxiproxy there, or no run.
    Toxiproxy(ToxiproxyUrl),
    /// No proxy: clients connect to the backend itself, and there are no faults.
    None,
}

/// What a choice comes to.
#[derive(Debug)]
pub struct Resolved {
    /// The engine; `None` if there is to be no proxy.
    pub engine: Option<Engine>,
    /// What the user has to be told, if the engine is not what the environment asks for.
    pub notice: Option<String>,
}

impl EngineChoice {
    /// The engine that is chosen. `variable` is what the environment has for [`TOXIPROXY_URL`];
    /// empty is as good as unset. Only `auto` looks at it. Takes some seconds where nothing answers.
    ///
    /// # Errors
    /// Only for a URL that was chosen: [`EngineError::NoAnswer`] or [`EngineError::NotBuilt`].
    pub fn resolve(&self, variable: Option<&str>) -> Result<Resolved, EngineError> {
        let (engine, notice) = match self {
            Self::Auto => automatic(variable.filter(|text| !text.is_empty())),
            Self::Embedded => (Some(Engine::embedded()), None),
            Self::Toxiproxy(url) => (Some(Engine::toxiproxy(url)?), None),
            Self::None => (None, None),
        };
        Ok(Resolved { engine, notice })
    }
}

fn automatic(variable: Option<&str>) -> (Option<Engine>, Option<String>) {
    match variable.map(toxiproxy_at) {
        None => (Some(Engine::embedded()), None),
        Some(Ok(engine)) => (Some(engine), None),
        Some(Err(error)) => {
            let notice = format!("{TOXIPROXY_URL} is set, but the faults are embedded: {error}");
            (Some(Engine::embedded()), Some(notice))
        }
    }
}

fn toxiproxy_at(text: &str) -> Result<Engine, EngineError> {
    Engine::toxiproxy(&text.parse().map_err(|why| not_a_url(text, why))?)
}

fn not_a_url(text: &str, why: &str) -> EngineError {
    EngineError::NoChoice { text: text.to_owned(), why: format!(": {why}") }
}

impl FromStr for EngineChoice {
    type Err = EngineError;

    /// Reads a choice.
    ///
    /// # Errors
    /// [`EngineError::NoChoice`], which says what can be written.
    fn from_str(text: &str) -> Result<Self, EngineError> {
        match text {
            "auto" => Ok(Self::Auto),
            "embedded" => Ok(Self::Embedded),
            "none" => Ok(Self::None),
            url if url.contains(':') => {
                url.parse().map(Self::Toxiproxy).map_err(|why| not_a_url(url, why))
            }
            other => Err(EngineError::NoChoice { text: other.to_owned(), why: String::new() }),
        }
    }
}

impl fmt::Display for EngineChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Embedded => f.write_str("embedded"),
            Self::Toxiproxy(url) => url.fmt(f),
            Self::None => f.write_str("none"),
        }
    }
}
