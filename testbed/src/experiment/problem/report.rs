//! All problems of one file, placed and shown.

use super::{At, Position, Problem, Source};
use crate::experiment::document::Document;
use miette::{
    GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteDiagnostic, MietteError,
    MietteSpanContents, SourceCode, SourceSpan, SpanContents,
};
use serde_json::{Value, json};
use std::fmt;
use std::ops::Range;

/// Problems that a report keeps; the others are counted.
const KEPT: usize = 50;
/// Columns at which help texts wrap.
const WIDTH: usize = 100;

/// The problems of one file, in the order of the file and without duplicates: the first 50, and
/// the number of all.
///
/// Its `Display` is [`Report::render`] without colour.
#[derive(Clone, Debug)]
pub struct Report {
    source: Source,
    entries: Vec<(Position, Problem)>,
    count: usize,
}

impl Report {
    /// Finds the problems' fields in the document, and adds what is wrong with it as YAML; what stands
    /// where that is, or lacks what may be there, follows from it and is left out. A problem below a field that [`Document::set`]
    /// changed says so.
    pub fn new(document: &Document, problems: impl IntoIterator<Item = Problem>) -> Self {
        let placed = problems.into_iter().map(|mut problem| {
            if let Some(setting) = document.setting(&problem.path) {
                problem.message = format!("in `--set {setting}`: {}", problem.message);
            }
            (document.span(&problem.path, problem.at), problem)
        });
        let slips = document.slips();
        let follows = |(span, problem): &(Range<usize>, Problem)| {
            let whole = document.whole(&problem.path);
            let lacks = |slip: &Range<usize>| problem.at == At::Key && whole.contains(&slip.start);
            slips.iter().any(|(slip, _)| slip.contains(&span.start) || lacks(slip))
        };
        let placed = placed.filter(|entry| !follows(entry)).chain(slips.iter().cloned());
        Self::placed(document.source().clone(), placed.collect())
    }

    /// Problems whose bytes are known already.
    pub(in crate::experiment) fn placed(
        source: Source,
        mut problems: Vec<(Range<usize>, Problem)>,
    ) -> Self {
        problems.sort_by(|(a, p), (b, q)| {
            (a.start, &p.message, &p.path).cmp(&(b.start, &q.message, &q.path))
        });
        problems.dedup_by(|(a, p), (b, q)| a.start == b.start && p.message == q.message);
        let count = problems.len();
        let place = |(span, problem)| (source.position(span), problem);
        let entries = problems.into_iter().take(KEPT).map(place).collect();
        Self { source, entries, count }
    }

    /// Whether there is no problem.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The first problem, in the order of the file.
    pub fn first(&self) -> Option<&Problem> {
        self.entries.first().map(|(_, problem)| problem)
    }

    /// Number of problems, those that are not kept included.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Text for people: a count, then for each problem a line `FILE:LINE:COLUMN: message`, the
    /// source line with the place marked, and the cure.
    pub fn render(&self, colour: bool) -> String {
        let count = self.count;
        let plural = if count == 1 { "" } else { "s" };
        let mut text = format!("{count} problem{plural} in {}\n", self.source.name());
        for (position, problem) in &self.entries {
            text += "\n";
            text += &self.render_one(position, problem, colour);
        }
        if count > KEPT {
            text += &format!("\n... and {} more\n", count - KEPT);
        }
        text
    }

    /// The problems as `[{path, line, column, message, help}]`; `help` may be null. Lines and
    /// columns count from 1, columns in characters.
    pub fn to_json(&self) -> Value {
        let entry = |(position, problem): &(Position, Problem)| {
            json!({
                "path": problem.path,
                "line": position.line,
                "column": position.column,
                "message": problem.message,
                "help": problem.help,
            })
        };
        self.entries.iter().map(entry).collect()
    }

    fn render_one(&self, position: &Position, problem: &Problem, colour: bool) -> String {
        let Position { line, column, .. } = position;
        let mut text = format!("{}:{line}:{column}: {}\n", self.source.name(), problem.message);
        if colour {
            text = format!("\u{1b}[1m{}\u{1b}[0m\n", text.trim_end());
        }
        text + &self.excerpt_and_help(position, problem, colour)
    }

    /// miette's rendering without its first line, which would be the message, and without the
    /// frame, which would double the length.
    fn excerpt_and_help(&self, position: &Position, problem: &Problem, colour: bool) -> String {
        let mut diagnostic = MietteDiagnostic::new("");
        diagnostic.help.clone_from(&problem.help);
        let (line, span) = self.source.excerpt(position);
        if !line.trim().is_empty() {
            diagnostic = diagnostic.with_label(LabeledSpan::new_with_span(None, span));
        }
        let excerpt = Excerpt { line: line.to_owned(), number: position.line };
        let report = miette::Report::new(diagnostic).with_source_code(excerpt);
        let mut text = String::new();
        // Rendering fails only if the label lies outside the excerpt or the text refuses to grow;
        // then the message line above stands alone.
        let _ = handler(colour).render_report(&mut text, report.as_ref());
        let frame = |line: &&str| line.trim_start().starts_with(['╭', '╰']);
        let kept = text.lines().skip(1).filter(|line| !frame(line));
        kept.flat_map(|line| [line, "\n"]).collect()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(false))
    }
}

impl std::error::Error for Report {}

fn handler(colour: bool) -> GraphicalReportHandler {
    let theme = if colour { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
    GraphicalReportHandler::new_themed(theme).with_width(WIDTH).with_links(false)
}

/// One line of a file. miette would show the lines around it too, or cut it at the label.
struct Excerpt {
    line: String,
    number: usize,
}

impl SourceCode for Excerpt {
    fn read_span<'a>(
        &'a self,
        _: &SourceSpan,
        _: usize,
        _: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let all = SourceSpan::from(0..self.line.len());
        Ok(Box::new(MietteSpanContents::new(self.line.as_bytes(), all, self.number - 1, 0, 1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(count: usize) -> Report {
        let text: String = (0..count).map(|i| format!("field_{i}: {i}\n")).collect();
        let document = Document::parse("a.yaml", &text).unwrap();
        let problem = |i| Problem::at_value(format!("/field_{i}"), "too small").with_help("add 1");
        // The wrong way round and each twice.
        Report::new(&document, (0..count).chain(0..count).rev().map(problem))
    }

    #[test]
    fn problems_come_in_order_once_and_bounded() {
        let text = report(52).to_string();
        let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("a.yaml")).collect();
        assert_eq!(lines.len(), 50);
        assert_eq!(lines[11], "a.yaml:12:11: too small");
        assert!(
            text.starts_with("52 problems in a.yaml\n\na.yaml:1:10: too small\n 1 │ field_0: 0")
        );
        assert!(text.ends_with("\n... and 2 more\n"));
        assert!(report(1).to_string().starts_with("1 problem in a.yaml\n"));
        assert!(!report(1).is_empty() && report(3).len() == 3);
    }

    #[test]
    fn colour_is_only_added() {
        let report = report(2);
        let mut plain = String::new();
        for part in report.render(true).split('\u{1b}') {
            let escape = part.starts_with('[').then(|| part.find('m')).flatten();
            plain += escape.map_or(part, |end| &part[end + 1..]);
        }
        assert_ne!(plain, report.render(true));
        assert_eq!(plain, report.render(false));
    }

    #[test]
    fn json_has_a_place_for_each() {
        let help = "add 1";
        assert_eq!(
            report(2).to_json(),
            json!([
                { "path": "/field_0", "line": 1, "column": 10, "message": "too small", "help": help },
                { "path": "/field_1", "line": 2, "column": 10, "message": "too small", "help": help },
            ])
        );
    }
}
