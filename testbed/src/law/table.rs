//! A CSV file in which each row is an input to a law, and gets the law's answer appended.

use csv::{ReaderBuilder, StringRecord, WriterBuilder};
use std::io::{self, BufRead, Read, Write};
use thiserror::Error;

/// Why a law could not be driven over a file.
#[derive(Debug, Error)]
pub enum LawError {
    /// The file is not CSV, or cannot be read or written.
    #[error("{0}")]
    Csv(#[from] csv::Error),
    /// The file cannot be read or written.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// A column is missing.
    #[error("there is no column `{name}`; the header has {header}. {needed}")]
    Column {
        /// The missing column.
        name: &'static str,
        /// What there is.
        header: String,
        /// The columns of such a file.
        needed: &'static str,
    },
    /// A row has too few or too many cells.
    #[error("line {line}: the row has {cells} cells, the header {header}")]
    Width {
        /// The line in the file.
        line: u64,
        /// Cells in the row.
        cells: usize,
        /// Cells in the header.
        header: usize,
    },
    /// A cell cannot be read.
    #[error("line {line}: `{cell}` in column `{column}` {cure}")]
    Cell {
        /// The line in the file.
        line: u64,
        /// Its content.
        cell: String,
        /// Its column.
        column: &'static str,
        /// What it should be.
        cure: &'static str,
    },
}

impl LawError {
    /// Whether it only means that nobody reads the output any more.
    pub fn is_deaf(&self) -> bool {
        let kind = match self {
            Self::Io(error) => error.kind(),
            Self::Csv(error) => match error.kind() {
                csv::ErrorKind::Io(error) => error.kind(),
                _ => return false,
            },
            Self::Column { .. } | Self::Width { .. } | Self::Cell { .. } => return false,
        };
        kind == io::ErrorKind::BrokenPipe
    }
}

/// A column that a law reads.
#[derive(Clone, Copy)]
pub(super) struct Column {
    name: &'static str,
    index: usize,
}

/// The first row.
pub(super) struct Header<'a> {
    record: &'a StringRecord,
    needed: &'static str,
}

/// Any other row.
pub(super) struct Row<'a> {
    record: &'a StringRecord,
    line: u64,
}

impl Header<'_> {
    /// The column called `name`, if there is one.
    pub(super) fn find(&self, name: &'static str) -> Option<Column> {
        let index = self.record.iter().position(|column| column.trim() == name)?;
        Some(Column { name, index })
    }

    /// The column called `name`, which has to be there.
    pub(super) fn need(&self, name: &'static str) -> Result<Column, LawError> {
        let header = || self.record.iter().collect::<Vec<_>>().join(", ");
        let missing = || LawError::Column { name, header: header(), needed: self.needed };
        self.find(name).ok_or_else(missing)
    }
}

impl Row<'_> {
    /// The cell in `column`.
    pub(super) fn text(&self, column: Column) -> &str {
        self.record[column.index].trim()
    }

    /// The cell in `column` as a whole number.
    pub(super) fn number(&self, column: Column) -> Result<i64, LawError> {
        self.text(column).parse().map_err(|_| self.cell(column, "is not a whole number"))
    }

    /// The error that the cell in `column` is something else than `cure` says.
    pub(super) fn cell(&self, column: Column, cure: &'static str) -> LawError {
        let cell = self.text(column).to_owned();
        LawError::Cell { line: self.line, cell, column: column.name, cure }
    }
}

/// Copies `input` to `output` with two columns `appended`, which `answer` fills in for each row.
/// `needed` says what columns such a file has; `columns` looks for them.
pub(super) fn each_row<C>(
    mut input: impl BufRead,
    mut output: impl Write,
    appended: [&str; 2],
    needed: &'static str,
    columns: impl FnOnce(&Header<'_>) -> Result<C, LawError>,
    mut answer: impl FnMut(&C, &Row<'_>) -> Result<[String; 2], LawError>,
) -> Result<(), LawError> {
    let comments = copy_comments(&mut input, &mut output)?;
    let mut reader = ReaderBuilder::new().comment(Some(b'#')).flexible(true).from_reader(input);
    let mut writer = WriterBuilder::new().from_writer(output);
    let header = reader.headers()?.clone();
    let columns = columns(&Header { record: &header, needed })?;
    writer.write_record(header.iter().chain(appended))?;
    let mut record = StringRecord::new();
    while reader.read_record(&mut record)? {
        let line = last_line(&record, &reader) + comments;
        if record.len() != header.len() {
            return Err(LawError::Width { line, cells: record.len(), header: header.len() });
        }
        let answer = answer(&columns, &Row { record: &record, line })?;
        writer.write_record(record.iter().chain(answer.iter().map(String::as_str)))?;
    }
    writer.flush()?;
    Ok(())
}

/// The line on which a row ends. The record's own position is where the reader began to look for it,
/// before blank lines and comments.
fn last_line<R: Read>(record: &StringRecord, reader: &csv::Reader<R>) -> u64 {
    let begin = record.position().map_or(0, csv::Position::line);
    (reader.position().line() - 1).max(begin)
}

/// Copies the lines before the header that begin with `#`, and says how many they are.
fn copy_comments(input: &mut impl BufRead, output: &mut impl Write) -> io::Result<u64> {
    let mut lines = 0;
    while input.fill_buf()?.first() == Some(&b'#') {
        let mut line = Vec::new();
        input.read_until(b'\n', &mut line)?;
        output.write_all(&line)?;
        lines += 1;
    }
    Ok(lines)
}
