//! A text with a name, and positions in it.

use std::ops::Range;
use std::sync::Arc;

/// Characters of a line that an excerpt keeps.
const EXCERPT: usize = 160;
/// Characters that an excerpt of a longer line keeps in front of what it points at.
const LEAD: usize = 60;

/// The text of an experiment file and the name it goes by. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Source {
    name: Arc<str>,
    text: Arc<str>,
}

/// A place in a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Position {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// Byte offsets into the text.
    pub span: Range<usize>,
}

impl Source {
    /// A text with the name to show for it, such as its path.
    pub fn new(name: &str, text: &str) -> Self {
        Self { name: name.into(), text: text.into() }
    }

    /// The name given to [`Source::new`].
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The place at `span`; offsets that split a character or lie outside move to the nearest
    /// character in front.
    pub fn position(&self, span: Range<usize>) -> Position {
        let start = self.boundary(span.start);
        let end = self.boundary(span.end).max(start);
        let before = &self.text[..start];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Position {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            span: start..end,
        }
    }

    fn boundary(&self, offset: usize) -> usize {
        let inside = offset.min(self.text.len());
        (0..=inside).rev().find(|&offset| self.text.is_char_boundary(offset)).unwrap_or(0)
    }

    /// The line at `position`, and what of the position's span lies on it, as byte offsets into
    /// the returned text. Only the part around the position, if the line is very long.
    pub(super) fn excerpt(&self, position: &Position) -> (&str, Range<usize>) {
        let start = position.span.start;
        let line_start = self.text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let lead = self.text[line_start..start].char_indices().rev().nth(LEAD);
        let from = match lead {
            Some((offset, _)) if position.column > EXCERPT => line_start + offset,
            _ => line_start,
        };
        let line = self.text[from..].lines().next().unwrap_or_default();
        let shown = line.char_indices().nth(EXCERPT).map_or(line, |(end, _)| &line[..end]);
        let end = position.span.end.min(from + shown.len()).max(start);
        (shown, start - from..end - from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters_and_lines_start_at_one() {
        let source = Source::new("a.yaml", "é: 1\nbü: x\n");
        for (span, expected) in [
            (0..2, (1, 1, 0..2)),
            (4..5, (1, 4, 4..5)),
            (6..7, (2, 1, 6..7)),
            (11..12, (2, 5, 11..12)),
            (1..2, (1, 1, 0..2)),
            (90..99, (3, 1, 13..13)),
        ] {
            let Position { line, column, span: found } = source.position(span.clone());
            assert_eq!((line, column, found), expected, "{span:?}");
        }
    }

    #[test]
    fn an_excerpt_is_one_line_of_bounded_length() {
        let text = format!("a:\n  b: 1\n{}mark{}", "é".repeat(400), "z".repeat(400));
        let source = Source::new("a.yaml", &text);
        let (line, span) = source.excerpt(&source.position(5..100));
        assert_eq!((line, &line[span]), ("  b: 1", "b: 1"));

        let mark = text.find("mark").unwrap();
        let (line, span) = source.excerpt(&source.position(mark..mark + 4));
        assert_eq!(&line[span], "mark");
        assert_eq!(line.chars().count(), EXCERPT);
    }
}
