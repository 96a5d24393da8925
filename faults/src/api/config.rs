//! A file of proxies, as `-config` of the real server takes it; here toxics may stand in it, too.

use super::body::Object;
use super::error::ApiError;
use super::registry::Registry;
use super::spec::{PROXY, ProxyFields, ProxySpec, TOXIC, ToxicSpec};
use serde_json::Value;
use std::collections::BTreeSet;
use thiserror::Error;

/// What may be said of a proxy; `Logger` is in what the API shows, so in files copied from it.
const PROXY_FIELDS: [&str; 6] = ["name", "listen", "upstream", "enabled", "toxics", "Logger"];
/// What may be said of a toxic.
const TOXIC_FIELDS: [&str; 5] = ["name", "type", "stream", "toxicity", "attributes"];

/// Proxies to start with, checked as far as that goes without a socket.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Config {
    proxies: Vec<(ProxySpec, Vec<ToxicSpec>)>,
}

/// Why a file is no configuration, or cannot be put into force; the text names the entry.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum ConfigError {
    /// It is not a list.
    #[error(
        "a configuration is a list of proxies: [{{name: redis, upstream: \"127.0.0.1:6379\"}}]"
    )]
    NoList,
    /// An entry is wrong.
    #[error("{place}: {reason}")]
    Entry {
        /// Which entry, such as "proxy 2 (`redis`), toxic 1".
        place: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A proxy cannot listen where it is to.
    #[error("{place}: {reason}")]
    Listen {
        /// Which entry.
        place: String,
        /// What the system says.
        reason: String,
    },
}

impl Config {
    /// Reads a file's content.
    ///
    /// # Errors
    /// At the first mistake. A field that does not exist is one: here a misspelt one shall not be
    /// passed over in silence.
    pub fn read(document: &Value) -> Result<Self, ConfigError> {
        let entries = document.as_array().ok_or(ConfigError::NoList)?;
        let (mut proxies, mut names) = (Vec::new(), BTreeSet::new());
        for (index, entry) in entries.iter().enumerate() {
            let (proxy, toxics) = read_proxy(entry, &place(index, entry))?;
            if !names.insert(proxy.name.clone()) {
                let reason = "there is another proxy of this name above".to_owned();
                return Err(ConfigError::Entry { place: place(index, entry), reason });
            }
            proxies.push((proxy, toxics));
        }
        Ok(Self { proxies })
    }

    /// Makes its proxies and their toxics. None takes a connection before it has all its toxics.
    ///
    /// # Errors
    /// At the first proxy that cannot be made; those before it are there.
    pub async fn start(self, registry: &Registry) -> Result<(), ConfigError> {
        for (index, (proxy, toxics)) in self.proxies.into_iter().enumerate() {
            let place = format!("proxy {} (`{}`)", index + 1, proxy.name);
            start_proxy(registry, proxy, toxics, &place).await?;
        }
        Ok(())
    }
}

async fn start_proxy(
    registry: &Registry,
    proxy: ProxySpec,
    toxics: Vec<ToxicSpec>,
    place: &str,
) -> Result<(), ConfigError> {
    let enabled = Some(proxy.enabled);
    let made = registry.create(ProxySpec { enabled: false, ..proxy }).await;
    let entry = made.map_err(|error| refused(place, &error))?;
    for (index, toxic) in toxics.into_iter().enumerate() {
        let place = format!("{place}, toxic {}", index + 1);
        entry.add_toxic(toxic).map_err(|error| refused(&place, &error))?;
    }
    let up = entry.update(ProxyFields { enabled, ..ProxyFields::default() }).await;
    up.map_err(|error| refused(place, &error))
}

fn refused(place: &str, error: &ApiError) -> ConfigError {
    let (place, reason) = (place.to_owned(), error.to_string());
    match error {
        ApiError::Bind(_) => ConfigError::Listen { place, reason },
        _ => ConfigError::Entry { place, reason },
    }
}

fn read_proxy(entry: &Value, place: &str) -> Result<(ProxySpec, Vec<ToxicSpec>), ConfigError> {
    let object = read_object(entry, PROXY, &PROXY_FIELDS, place)?;
    let fields = ProxyFields::read(&object);
    let proxy = fields.and_then(|fields| ProxySpec::new(fields, ""));
    let proxy = proxy.map_err(|error| refused(place, &error))?;
    let toxics = match object.field("toxics") {
        None => &Vec::new(),
        Some(Value::Array(toxics)) => toxics,
        Some(_) => {
            let reason = "toxics is a list".to_owned();
            return Err(ConfigError::Entry { place: place.to_owned(), reason });
        }
    };
    let read = |(index, toxic)| read_toxic(toxic, &format!("{place}, toxic {}", index + 1));
    Ok((proxy, toxics.iter().enumerate().map(read).collect::<Result<_, _>>()?))
}

fn read_toxic(entry: &Value, place: &str) -> Result<ToxicSpec, ConfigError> {
    let object = read_object(entry, TOXIC, &TOXIC_FIELDS, place)?;
    ToxicSpec::read(&object).map_err(|error| refused(place, &error))
}

/// An object that has no fields but these.
fn read_object(
    entry: &Value,
    go_type: &'static str,
    fields: &[&str],
    place: &str,
) -> Result<Object, ConfigError> {
    let object = Object::new(entry.clone(), go_type).map_err(|error| refused(place, &error))?;
    let known = |name: &str| fields.iter().any(|field| field.eq_ignore_ascii_case(name));
    let unknown = object.names().find(|name| !known(name)).map(str::to_owned);
    match unknown {
        None => Ok(object),
        Some(name) => {
            let reason = format!("unknown field `{name}`; fields here: {}", fields.join(", "));
            Err(ConfigError::Entry { place: place.to_owned(), reason })
        }
    }
}

/// Which entry of the file this is, for people.
fn place(index: usize, entry: &Value) -> String {
    let name = entry.get("name").and_then(Value::as_str);
    let name = name.map(|name| format!(" (`{name}`)")).unwrap_or_default();
    format!("proxy {}{name}", index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_mistake_is_said_with_its_entry() {
        for (document, says) in [
            (json!({ "name": "a" }), "a configuration is a list of proxies: "),
            (json!(null), "a configuration is a list of proxies: "),
            (json!([5]), "proxy 1: bad request body: json: cannot unmarshal number"),
            (json!([{ "upstream": "h:1" }]), "proxy 1: missing required field: name"),
            (json!([{ "name": "a" }]), "proxy 1 (`a`): missing required field: upstream"),
            (
                json!([{ "name": "a", "upstream": "h:1" }, { "name": "a", "upstream": "h:2" }]),
                "proxy 2 (`a`): there is another proxy of this name above",
            ),
            (
                json!([{ "name": "a", "upsteam": "h:1" }]),
                "proxy 1 (`a`): unknown field `upsteam`; fields here: name, listen, upstream",
            ),
            (
                json!([{ "name": "a", "upstream": "h:1", "toxics": {} }]),
                "proxy 1 (`a`): toxics is a list",
            ),
            (
                json!([{ "name": "a", "upstream": "h:1", "toxics": [{ "toxiciy": 1 }] }]),
                "proxy 1 (`a`), toxic 1: unknown field `toxiciy`",
            ),
            (
                json!([{ "name": "a", "upstream": "h:1", "toxics": [{ "stream": "both" }] }]),
                "proxy 1 (`a`), toxic 1: stream was invalid",
            ),
        ] {
            let error = Config::read(&document).unwrap_err().to_string();
            assert!(error.starts_with(says), "{error}");
        }
    }

    #[test]
    fn what_the_api_shows_of_a_proxy_is_a_configuration() {
        let shown = json!([{
            "name": "a", "listen": "127.0.0.1:0", "upstream": "h:1", "enabled": true, "Logger": {},
            "toxics": [{
                "attributes": { "latency": 1, "jitter": 0 }, "name": "l", "type": "latency",
                "stream": "upstream", "toxicity": 0.5,
            }],
        }]);
        let config = Config::read(&shown).unwrap();
        let (proxy, toxics) = &config.proxies[0];
        assert_eq!((&*proxy.name, &*proxy.listen), ("a", "127.0.0.1:0"));
        assert_eq!((&*toxics[0].name, toxics[0].toxicity), ("l", 0.5));
    }
}
