//! Addresses as Go's `net` reads and refuses them.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use tokio::net::lookup_host;

/// The addresses of a text such as `localhost:8080`, IPv4 if it has one. Without a host it is the
/// loopback: the real server would listen on every interface.
///
/// # Errors
/// Go's words on why it is none.
pub(super) async fn resolve(text: &str) -> Result<SocketAddr, String> {
    let (host, port) = if text.is_empty() { ("", 0) } else { split(text)? };
    if host.is_empty() {
        return Ok((Ipv4Addr::LOCALHOST, port).into());
    }
    if let Ok(ip) = host.parse::<IpAddr>() {
        return Ok((ip, port).into());
    }
    let unknown = || format!("lookup {host}: no such host");
    let found: Vec<SocketAddr> = lookup_host((host, port)).await.map_err(|_| unknown())?.collect();
    let v4 = found.iter().find(|address| address.is_ipv4());
    v4.or_else(|| found.first()).copied().ok_or_else(unknown)
}

/// Host and port of an address.
fn split(text: &str) -> Result<(&str, u16), String> {
    let wrong = |why: &str| format!("address {text}: {why}");
    let (host, port) = text.rsplit_once(':').ok_or_else(|| wrong("missing port in address"))?;
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    if bare.is_none() && host.contains(':') {
        return Err(wrong("too many colons in address"));
    }
    let port = if port.is_empty() { "0" } else { port };
    let port = port.parse().map_err(|_| format!("address {port}: invalid port"))?;
    Ok((bare.unwrap_or(host), port))
}

/// Why an address could not be listened on, as Go says it.
pub(super) fn cannot_listen(address: SocketAddr, error: &io::Error) -> String {
    let reason = match error.kind() {
        io::ErrorKind::AddrInUse => "address already in use".to_owned(),
        io::ErrorKind::AddrNotAvailable => "cannot assign requested address".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => error.to_string(),
    };
    format!("listen tcp {address}: bind: {reason}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::runtime::Builder;

    fn resolved(text: &str) -> Result<SocketAddr, String> {
        Builder::new_current_thread().build().unwrap().block_on(resolve(text))
    }

    #[test]
    fn an_address_is_a_host_and_a_port() {
        for (text, address) in [
            ("", "127.0.0.1:0"),
            (":80", "127.0.0.1:80"),
            ("127.0.0.1:", "127.0.0.1:0"),
            ("127.0.0.1:80", "127.0.0.1:80"),
            ("0.0.0.0:80", "0.0.0.0:80"),
            ("localhost:80", "127.0.0.1:80"),
            ("[::1]:80", "[::1]:80"),
        ] {
            assert_eq!(resolved(text), Ok(address.parse().unwrap()), "{text}");
        }
    }

    #[test]
    fn what_is_none_is_refused_in_the_words_of_go() {
        for (text, says) in [
            ("local373", "address local373: missing port in address"),
            ("::1:80", "address ::1:80: too many colons in address"),
            ("127.0.0.1:66000", "address 66000: invalid port"),
            ("127.0.0.1:-1", "address -1: invalid port"),
        ] {
            assert_eq!(resolved(text), Err(says.into()), "{text}");
        }
    }
}
