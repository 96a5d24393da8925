//! Whom the API takes for its own client. A page in a browser can make it send requests to this
//! machine, and a name that the page's owner controls can be made to mean this machine; such a
//! request has a foreign name in its `Host` header.

use super::refusal::Refusal;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::header::HOST;
use axum::middleware::Next;
use axum::response::Response;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;
use std::sync::Arc;

/// The hosts that requests may be for. Clones share it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Hosts {
    /// Any: it listens on other addresses than loopback, and was told none of their names.
    Any,
    /// Those with these names, and those that mean this machine if it listens on loopback.
    Only {
        /// The names that it was told.
        names: Arc<[HostName]>,
        /// Whether it listens on loopback.
        loopback: bool,
    },
}

/// A host as its clients call it, without a port: a name in lower case, or an address.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HostName {
    /// Such as `testbed`.
    Name(String),
    /// Such as `127.0.0.1` or `::1`.
    Address(IpAddr),
}

impl Hosts {
    /// What follows from where the server listens, and from the names that it was told.
    pub(crate) fn of(listen: SocketAddr, names: &[HostName]) -> Self {
        let loopback = listen.ip().is_loopback();
        if names.is_empty() && !loopback {
            Self::Any
        } else {
            Self::Only { names: names.into(), loopback }
        }
    }

    /// Whether a request may have this `Host` header.
    pub(crate) fn allow(&self, host: Option<&str>) -> bool {
        let Self::Only { names, loopback } = self else { return true };
        let host = host.and_then(|host| without_port(host).parse().ok());
        host.is_some_and(|host| names.contains(&host) || *loopback && host.means_loopback())
    }
}

impl HostName {
    fn means_loopback(&self) -> bool {
        match self {
            Self::Name(name) => name == "localhost",
            Self::Address(address) => address.is_loopback(),
        }
    }
}

impl FromStr for HostName {
    type Err = &'static str;

    /// Reads a name, or an address, which may stand in brackets.
    ///
    /// # Errors
    /// What to write in its place.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
        if let Ok(address) = bare.parse() {
            return Ok(Self::Address(address));
        }
        let of_names = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
        if text.is_empty() || !text.bytes().all(of_names) {
            return Err(
                "write a host's name or address without a port, such as testbed or 10.0.0.7",
            );
        }
        Ok(Self::Name(text.to_ascii_lowercase()))
    }
}

/// Lets requests through that are for one of `hosts`.
pub(crate) async fn own_clients(
    State(hosts): State<Hosts>,
    request: Request,
    next: Next,
) -> Result<Response, Refusal> {
    let host = request.headers().get(HOST).and_then(|host| host.to_str().ok());
    if hosts.allow(host) {
        return Ok(next.run(request).await);
    }
    let error = "the Host header does not name this machine; ask for http://127.0.0.1 or \
                 http://localhost, or start the server with --allowed-host NAME";
    Err(Refusal::new(StatusCode::FORBIDDEN, error))
}

/// The colons of an IPv6 address stand in brackets.
fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(listen: &str, names: &[&str]) -> Hosts {
        let names: Vec<_> = names.iter().map(|name| name.parse().unwrap()).collect();
        Hosts::of(listen.parse().unwrap(), &names)
    }

    #[test]
    fn who_listens_on_loopback_is_asked_by_its_own_names_only() {
        for (host, own) in [
            (Some("localhost:9464"), true),
            (Some("LocalHost"), true),
            (Some("127.0.0.1:9464"), true),
            (Some("127.0.0.1"), true),
            (Some("127.8.8.8:1"), true),
            (Some("[::1]:9464"), true),
            (Some("[::1]"), true),
            (Some("evil.example:9464"), false),
            (Some("localhost.evil.example"), false),
            (Some("127.0.0.1.evil.example"), false),
            (Some("10.0.0.1:9464"), false),
            (Some(""), false),
            (None, false),
        ] {
            for listen in ["127.0.0.1:9464", "[::1]:9464"] {
                assert_eq!(hosts(listen, &[]).allow(host), own, "{listen} {host:?}");
            }
            for listen in ["0.0.0.0:9464", "10.0.0.1:9464"] {
                assert!(hosts(listen, &[]).allow(host), "it was told no names: {listen} {host:?}");
            }
        }
    }

    #[test]
    fn who_was_told_its_names_is_asked_by_them_wherever_it_listens() {
        let names = ["Testbed", "10.0.0.7", "fd00::7"];
        for (host, elsewhere, loopback) in [
            (Some("testbed:9464"), true, true),
            (Some("TESTBED"), true, true),
            (Some("10.0.0.7:9464"), true, true),
            (Some("[fd00::7]:9464"), true, true),
            (Some("[fd00:0::7]"), true, true),
            (Some("localhost:9464"), false, true),
            (Some("127.0.0.1"), false, true),
            (Some("testbed.evil.example"), false, false),
            (Some("10.0.0.8"), false, false),
            (Some(""), false, false),
            (None, false, false),
        ] {
            assert_eq!(hosts("0.0.0.0:9464", &names).allow(host), elsewhere, "{host:?}");
            assert_eq!(hosts("127.0.0.1:9464", &names).allow(host), loopback, "{host:?}");
        }
    }

    #[test]
    fn what_is_no_name_is_refused_with_what_to_write() {
        for text in ["", "testbed:9464", "http://testbed", "test bed", "*", "[testbed]", "[::1"] {
            let refused = text.parse::<HostName>().unwrap_err();
            assert!(refused.contains("without a port"), "{text}: {refused}");
        }
    }
}
