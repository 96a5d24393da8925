//! How far nodes reach in the text.
//!
//! The parser's spans of what ends in a quote or bracket also cover the blanks and the comment
//! behind it; marks in a report should not.

use saphyr_parser::ScalarStyle;
use std::ops::Range;

/// The span of a scalar, without what follows its closing quote.
pub(super) fn of_scalar(text: &str, span: Range<usize>, style: ScalarStyle) -> Range<usize> {
    let quote = match style {
        ScalarStyle::SingleQuoted => '\'',
        ScalarStyle::DoubleQuoted => '"',
        _ => return span,
    };
    let length = text.get(span.clone()).and_then(|part| quoted_length(part, quote));
    span.start..length.map_or(span.end, |length| span.start + length)
}

/// Bytes up to the closing quote; `None` if the text does not begin with a quoted part.
fn quoted_length(text: &str, quote: char) -> Option<usize> {
    let mut chars = text.strip_prefix(quote)?.char_indices().peekable();
    while let Some((offset, c)) = chars.next() {
        let escapes = if quote == '"' { c == '\\' } else { c == quote };
        let doubled = chars.peek().is_some_and(|(_, next)| *next == quote);
        if escapes && (quote == '"' || doubled) {
            chars.next();
        } else if c == quote {
            return Some(1 + offset + 1);
        }
    }
    None
}

/// The span of a list or mapping: from its start to its closing bracket, or without one to the end
/// of its last entry.
pub(super) fn of_collection(
    start: &Range<usize>,
    last_entry: Option<usize>,
    end: &Range<usize>,
) -> Range<usize> {
    let bracket = (!end.is_empty()).then_some(end.start + 1);
    let end = bracket.or(last_entry).unwrap_or(start.end);
    start.start..end.max(start.start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quoted_scalar_ends_at_its_quote() {
        for (text, quote, length) in [
            ("'it''s' # it's", '\'', Some(7)),
            ("''  # a 'b'", '\'', Some(2)),
            ("\"a \\\" é\" # \"x\"", '"', Some(9)),
            ("\"\\\\\" x", '"', Some(4)),
            ("'open", '\'', None),
            ("plain", '"', None),
        ] {
            assert_eq!(quoted_length(text, quote), length, "{text}");
        }
    }
}
