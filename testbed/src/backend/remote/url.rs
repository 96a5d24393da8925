//! Where a control API listens.

use hyper::Uri;
use std::fmt;
use std::str::FromStr;

/// The environment variable that says where a run's backends are made.
pub(crate) const BACKEND_URL: &str = "WINDTUNNEL_BACKEND";

/// Where the control API of a backend listens: `http://host:port`. The host is a name or an address, an
/// IPv6 one in brackets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BackendUrl {
    /// With the brackets of an IPv6 address.
    host: String,
    port: u16,
}

impl BackendUrl {
    /// The host and a port on it, as whoever connects there writes it.
    pub fn with_port(&self, port: u16) -> String {
        format!("{}:{port}", self.host)
    }

    /// Host and port of the API, without the brackets of an IPv6 address.
    pub(super) fn authority(&self) -> (&str, u16) {
        (self.host.trim_matches(['[', ']']), self.port)
    }

    /// What the environment says, if anything; empty is as good as unset.
    ///
    /// # Errors
    /// If that is no URL, with the cure.
    pub fn of_environment() -> Result<Option<Self>, String> {
        let text = std::env::var(BACKEND_URL).ok().filter(|text| !text.is_empty());
        let named = |why| format!("{BACKEND_URL}: {why}");
        text.map(|text| text.parse().map_err(named)).transpose()
    }
}

impl FromStr for BackendUrl {
    type Err = &'static str;

    /// Reads a URL.
    ///
    /// # Errors
    /// What can be written.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const CURE: &str = "write the URL of a backend's control, such as http://127.0.0.1:8081";
        let uri: Uri = text.parse().map_err(|_| CURE)?;
        let bare = uri.scheme_str() == Some("http") && uri.query().is_none() && uri.path() == "/";
        match (uri.host(), uri.port_u16()) {
            (Some(host), Some(port)) if bare && !host.is_empty() && port > 0 => {
                Ok(Self { host: host.to_owned(), port })
            }
            _ => Err(CURE),
        }
    }
}

impl fmt::Display for BackendUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}:{}", self.host, self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_a_host_and_a_port() {
        for (text, reads) in [
            ("http://127.0.0.1:8081", Some(("127.0.0.1", "127.0.0.1:9"))),
            ("http://backend:8081/", Some(("backend", "backend:9"))),
            ("http://[::1]:8081", Some(("::1", "[::1]:9"))),
            ("http://backend", None),
            ("http://backend:0", None),
            ("https://backend:8081", None),
            ("backend:8081", None),
            ("http://backend:8081/arms", None),
            ("", None),
        ] {
            let url = text.parse::<BackendUrl>().ok();
            let read = url.as_ref().map(|url| (url.authority().0, url.with_port(9)));
            assert_eq!(read, reads.map(|(host, nine)| (host, nine.to_owned())), "{text}");
        }
    }
}
