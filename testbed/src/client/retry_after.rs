//! Reading a Retry-After header (RFC 9110, section 10.2.3): whole seconds, or an HTTP date.

use hyper::header::{HeaderMap, RETRY_AFTER};
use std::time::UNIX_EPOCH;
use testbed_clock::unix_now;
use testbed_core::service::Said;
use testbed_core::time::Nanos;

/// How long the answer with these headers asks to wait from now on. What is neither seconds nor a
/// date is as no header.
pub(super) fn of(headers: &HeaderMap) -> Option<Nanos> {
    read(headers.get(RETRY_AFTER)?.to_str().ok()?).wait(unix_now())
}

fn read(text: &str) -> Said<'_> {
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Said::Seconds(text.parse().unwrap_or(u64::MAX));
    }
    let date = httpdate::parse_http_date(text).ok();
    let since = date.and_then(|date| date.duration_since(UNIX_EPOCH).ok());
    since.map_or(Said::Text(text), |since| Said::Date(since.as_secs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_and_dates_are_read_and_nothing_else() {
        for (text, said) in [
            ("0", Said::Seconds(0)),
            ("120", Said::Seconds(120)),
            ("99999999999999999999999", Said::Seconds(u64::MAX)),
            // The date of RFC 9110, section 5.6.7.
            ("Sun, 06 Nov 1994 08:49:37 GMT", Said::Date(784_111_777)),
            ("", Said::Text("")),
            ("soon", Said::Text("soon")),
            ("-1", Said::Text("-1")),
            ("1.5", Said::Text("1.5")),
            ("+2", Said::Text("+2")),
        ] {
            assert_eq!(read(text), said);
        }
    }
}
