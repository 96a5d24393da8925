//! Reading a Retry-After header (RFC 9110, section 10.2.3): whole seconds, or an HTTP date.

use hyper::header::{HeaderMap, RETRY_AFTER};
use std::time::SystemTime;
use testbed_clock::wall_clock;
use testbed_core::time::Nanos;

/// How long the answer with these headers asks to wait from now on. A date that has passed asks for
/// no wait; what is neither seconds nor a date is as no header.
pub(super) fn of(headers: &HeaderMap) -> Option<Nanos> {
    read(headers.get(RETRY_AFTER)?.to_str().ok()?, wall_clock())
}

fn read(text: &str, now: SystemTime) -> Option<Nanos> {
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(text.parse().map_or(Nanos::MAX, Nanos::from_secs));
    }
    let date = httpdate::parse_http_date(text).ok()?;
    let wait = date.duration_since(now).unwrap_or_default();
    Some(Nanos::new(u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, UNIX_EPOCH};

    #[test]
    fn seconds_and_dates_are_read_and_nothing_else() {
        // 1994-11-06T08:49:36.5Z, half a second before the date of RFC 9110.
        let now = UNIX_EPOCH + Duration::from_millis(784_111_776_500);
        for (text, ms) in [
            ("0", Some(0)),
            ("120", Some(120_000)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(500)),
            ("Sun, 06 Nov 1994 08:49:30 GMT", Some(0)),
            ("", None),
            ("soon", None),
            ("-1", None),
            ("1.5", None),
            ("+2", None),
        ] {
            assert_eq!(read(text, now), ms.map(Nanos::from_millis), "{text}");
        }
        assert_eq!(read("99999999999999999999999", now), Some(Nanos::MAX));
    }
}
