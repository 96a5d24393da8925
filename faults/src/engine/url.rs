//! Where a Toxiproxy's API listens.

use std::fmt;
use std::str::FromStr;

/// Where a Toxiproxy's API listens: `http://host:port`, where `http://` may be left out. The host
/// is a name or an address, an IPv6 one in brackets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ToxiproxyUrl {
    /// Without brackets.
    host: String,
    port: u16,
}

impl ToxiproxyUrl {
    /// The host, without the brackets of an IPv6 address.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port.
    pub const fn port(&self) -> u16 {
        self.port
    }
}

impl FromStr for ToxiproxyUrl {
    type Err = &'static str;

    /// Reads a URL.
    ///
    /// # Errors
    /// What it lacks.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.starts_with("https://") {
            return Err("Toxiproxy speaks http only");
        }
        let bare = text.strip_prefix("http://").unwrap_or(text);
        let bare = bare.strip_suffix('/').unwrap_or(bare);
        let (host, port) = bare.rsplit_once(':').ok_or("the port is missing")?;
        let port = port.parse().ok().filter(|port| *port > 0).ok_or("the port is no number")?;
        let address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let host = address.unwrap_or(host);
        let named = |c: char| c.is_alphanumeric() || "-._".contains(c);
        let fits = if address.is_some() {
            host.parse::<std::net::Ipv6Addr>().is_ok()
        } else {
            host.chars().all(named)
        };
        let whole = fits && !host.is_empty();
        whole.then(|| Self { host: host.to_owned(), port }).ok_or("the host is none")
    }
}

impl fmt::Display for ToxiproxyUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (open, close) = if self.host.contains(':') { ("[", "]") } else { ("", "") };
        write!(f, "http://{open}{}{close}:{}", self.host, self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_a_host_and_a_port() {
        for (text, reads) in [
            ("http://127.0.0.1:8474", Ok("http://127.0.0.1:8474")),
            ("http://toxiproxy:1/", Ok("http://toxiproxy:1")),
            ("localhost:8474", Ok("http://localhost:8474")),
            ("http://[::1]:8474", Ok("http://[::1]:8474")),
            ("https://h:1", Err("Toxiproxy speaks http only")),
            ("http://h", Err("the port is missing")),
            ("http://h:0", Err("the port is no number")),
            ("http://h:66000", Err("the port is no number")),
            ("http://:8474", Err("the host is none")),
            ("http://a b:8474", Err("the host is none")),
            ("http://user@h:8474", Err("the host is none")),
            ("http://h:8474/proxies", Err("the port is no number")),
            ("http://::1:8474", Err("the host is none")),
            ("http://[x]:8474", Err("the host is none")),
        ] {
            let read = text.parse::<ToxiproxyUrl>().map(|url| url.to_string());
            assert_eq!(read.as_deref().map_err(|why| *why), reads, "{text}");
        }
    }
}
