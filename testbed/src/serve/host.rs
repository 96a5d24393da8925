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

/// The hosts that requests may be for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Hosts {
    /// Those that mean this machine: it listens on loopback.
    Loopback,
    /// Any: it was told to listen on other addresses, and cannot know all their names.
    Any,
}

impl Hosts {
    /// What follows from where the server listens.
    pub(crate) const fn of(listen: SocketAddr) -> Self {
        if listen.ip().is_loopback() { Self::Loopback } else { Self::Any }
    }

    /// Whether a request may have this `Host` header.
    pub(crate) fn allow(self, host: Option<&str>) -> bool {
        self == Self::Any || host.is_some_and(means_loopback)
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
                 http://localhost, or start the server with --listen 0.0.0.0:9464";
    Err(Refusal::new(StatusCode::FORBIDDEN, error))
}

fn means_loopback(host: &str) -> bool {
    let name = without_port(host);
    let address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    name.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
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

    #[test]
    fn only_names_of_this_machine_are_its_own() {
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
            assert_eq!(Hosts::Loopback.allow(host), own, "{host:?}");
            assert!(Hosts::Any.allow(host), "{host:?}");
        }
    }

    #[test]
    fn who_listens_on_loopback_is_asked_by_its_own_names_only() {
        for (listen, hosts) in [
            ("127.0.0.1:9464", Hosts::Loopback),
            ("[::1]:9464", Hosts::Loopback),
            ("0.0.0.0:9464", Hosts::Any),
            ("10.0.0.1:9464", Hosts::Any),
        ] {
            assert_eq!(Hosts::of(listen.parse().unwrap()), hosts, "{listen}");
        }
    }
}
