//! The header `Range`: which bytes of the file are asked for.

use super::pattern::FILE_BYTES;
use axum::http::HeaderMap;
use axum::http::header::RANGE;

/// One range of the file, not empty and within it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Range {
    /// The first byte.
    pub(super) first: u64,
    /// The last one, which belongs to it.
    pub(super) last: u64,
}

/// Why there is no range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NoRange {
    /// There is none, more than one, or what is there is not a range.
    Malformed,
    /// It has no byte of the file.
    Unsatisfiable,
}

impl Range {
    /// The one range that a request asks for. A last byte behind the end means the end.
    pub(super) fn of(headers: &HeaderMap) -> Result<Self, NoRange> {
        let mut ranges = headers.get_all(RANGE).iter();
        let (Some(range), None) = (ranges.next(), ranges.next()) else {
            return Err(NoRange::Malformed);
        };
        range.to_str().ok().and_then(parse).unwrap_or(Err(NoRange::Malformed))
    }

    /// How many bytes it has.
    pub(super) const fn length(self) -> u64 {
        self.last - self.first + 1
    }
}

/// `None` if it is malformed.
fn parse(text: &str) -> Option<Result<Range, NoRange>> {
    let (unit, range) = text.split_once('=')?;
    let (first, last) = range.split_once('-').filter(|_| unit.eq_ignore_ascii_case("bytes"))?;
    let (first, last) = match (first, last) {
        // The last so many bytes: none of them is none of the file.
        ("", length) => (FILE_BYTES.saturating_sub(number(length)?), u64::MAX),
        (first, "") => (number(first)?, u64::MAX),
        (first, last) => (number(first)?, number(last)?),
    };
    let range = Range { first, last: last.min(FILE_BYTES - 1) };
    if first > last {
        return None;
    }
    Some(if first < FILE_BYTES { Ok(range) } else { Err(NoRange::Unsatisfiable) })
}

/// A number of digits and nothing else; one that is too large for us is behind every end.
fn number(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use NoRange::{Malformed, Unsatisfiable};
    use axum::http::HeaderValue;

    fn range(values: &[&str]) -> Result<(u64, u64), NoRange> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(RANGE, HeaderValue::from_str(value).unwrap());
        }
        Range::of(&headers).map(|range| (range.first, range.last))
    }

    #[test]
    fn a_range_is_what_the_http_standard_says() {
        let end = FILE_BYTES - 1;
        for (value, expected) in [
            ("bytes=0-0", Ok((0, 0))),
            ("bytes=5-99", Ok((5, 99))),
            ("Bytes=007-008", Ok((7, 8))),
            ("bytes=5-", Ok((5, end))),
            ("bytes=5-99999999999999999999999", Ok((5, end))),
            ("bytes=1099511627775-", Ok((end, end))),
            ("bytes=-10", Ok((end - 9, end))),
            ("bytes=-99999999999999999999999", Ok((0, end))),
            ("bytes=-0", Err(Unsatisfiable)),
            ("bytes=1099511627776-", Err(Unsatisfiable)),
            ("bytes=99999999999999999999999-", Err(Unsatisfiable)),
            ("bytes=9-5", Err(Malformed)),
            ("bytes=0-1,5-6", Err(Malformed)),
            ("bytes=-", Err(Malformed)),
            ("bytes=", Err(Malformed)),
            ("bytes 0-1", Err(Malformed)),
            ("bytes=+0-1", Err(Malformed)),
            ("bytes=0x1-2", Err(Malformed)),
            ("bytes= 0-1", Err(Malformed)),
            ("lines=0-1", Err(Malformed)),
            ("", Err(Malformed)),
        ] {
            assert_eq!(range(&[value]), expected, "{value}");
        }
        assert_eq!(range(&[]), Err(Malformed));
        assert_eq!(range(&["bytes=0-1", "bytes=0-1"]), Err(Malformed));
    }
}
