//! `windtunnel law`: drives one law over recorded round-trip times.

use crate::experiment::document::Document;
use crate::experiment::problem::Report;
use crate::experiment::schema_check;
use csv::{ReaderBuilder, StringRecord, WriterBuilder};
use serde::Deserialize;
use std::io::{BufRead, Read, Write};
use testbed_core::control::ControllerConfig;
use testbed_core::request::{Outcome, Sample};
use testbed_core::time::{Nanos, Time};
use thiserror::Error;

/// Why a law could not be driven over a file.
#[derive(Debug, Error)]
pub enum LawError {
    /// The file is not CSV, or cannot be read or written.
    #[error("{0}")]
    Csv(#[from] csv::Error),
    /// The file cannot be read or written.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// A column is missing.
    #[error("there is no column `{name}`; the header has {header}. {NEEDED}")]
    Column {
        /// The missing column.
        name: &'static str,
        /// What there is.
        header: String,
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

const NEEDED: &str = "Needed: rtt_ns. Optional: op (sample or error), start_ns, inflight, dropped";

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
        kind == std::io::ErrorKind::BrokenPipe
    }
}

/// A law as `law` takes it on the command line.
#[derive(Deserialize)]
struct Wrapped {
    controller: ControllerConfig,
}

/// Reads a law such as `{velox: {window: integer, max: 256}}`.
///
/// # Errors
/// Every mistake in it, with its place.
pub fn parse(text: &str) -> Result<ControllerConfig, Report> {
    let document = Document::parse("LAW", &format!("controller: {text}"))?;
    let schema = schemars::schema_for!(ControllerConfig).to_value();
    let wrapped = wrap_schema(schema);
    let problems = schema_check::check(&document, &wrapped);
    if !problems.is_empty() {
        return Err(Report::new(&document, problems));
    }
    let wrapped: Wrapped =
        document.deserialize().map_err(|problem| Report::new(&document, vec![problem]))?;
    Ok(wrapped.controller)
}

fn wrap_schema(mut law: serde_json::Value) -> serde_json::Value {
    let definitions = law.as_object_mut().and_then(|law| law.remove("$defs"));
    serde_json::json!({
        "type": "object",
        "properties": { "controller": law },
        "required": ["controller"],
        "additionalProperties": false,
        "$defs": definitions.unwrap_or_default(),
    })
}

/// Feeds each row of `input` to a fresh `law`, and writes the row to `output` with the columns
/// `limit` and `window` appended. Lines that begin with `#` before the header are kept.
///
/// # Errors
/// When a column is missing, a cell cannot be read, or a file cannot be read or written.
pub fn drive(
    law: &ControllerConfig,
    mut input: impl BufRead,
    mut output: impl Write,
) -> Result<(), LawError> {
    let comments = copy_comments(&mut input, &mut output)?;
    let mut reader = ReaderBuilder::new().comment(Some(b'#')).flexible(true).from_reader(input);
    let mut writer = WriterBuilder::new().from_writer(output);
    let columns = Columns::find(reader.headers()?)?;
    append(&mut writer, reader.headers()?, ["limit".into(), "window".into()])?;
    let mut controller = law.build();
    let (mut record, mut clock) = (StringRecord::new(), Time::ZERO);
    while reader.read_record(&mut record)? {
        let line = last_line(&record, &reader) + comments;
        columns.check_width(&record, line)?;
        let sample = columns.sample(&record, line, clock)?;
        clock = clock.max(sample.end);
        let _ = controller.on_sample(sample.end, &sample);
        let cells = [controller.limit().to_string(), controller.window().to_string()];
        append(&mut writer, &record, cells)?;
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
fn copy_comments(input: &mut impl BufRead, output: &mut impl Write) -> std::io::Result<u64> {
    let mut lines = 0;
    while input.fill_buf()?.first() == Some(&b'#') {
        let mut line = Vec::new();
        input.read_until(b'\n', &mut line)?;
        output.write_all(&line)?;
        lines += 1;
    }
    Ok(lines)
}

fn append(
    writer: &mut csv::Writer<impl Write>,
    record: &StringRecord,
    cells: [String; 2],
) -> Result<(), csv::Error> {
    let own = cells.iter().map(String::as_str);
    writer.write_record(record.iter().chain(own))
}

/// Where the columns are that a law needs.
struct Columns {
    width: usize,
    rtt_ns: usize,
    op: Option<usize>,
    start_ns: Option<usize>,
    in_flight: Option<usize>,
    dropped: Option<usize>,
}

impl Columns {
    fn find(header: &StringRecord) -> Result<Self, LawError> {
        let find = |name: &str| header.iter().position(|column| column.trim() == name);
        let rtt_ns = find("rtt_ns").ok_or_else(|| LawError::Column {
            name: "rtt_ns",
            header: header.iter().collect::<Vec<_>>().join(", "),
        })?;
        Ok(Self {
            width: header.len(),
            rtt_ns,
            op: find("op"),
            start_ns: find("start_ns"),
            in_flight: find("inflight"),
            dropped: find("dropped"),
        })
    }

    fn check_width(&self, row: &StringRecord, line: u64) -> Result<(), LawError> {
        if row.len() == self.width {
            return Ok(());
        }
        Err(LawError::Width { line, cells: row.len(), header: self.width })
    }

    /// A row as a sample. Without a start it begins when the one before ended, at `clock`.
    fn sample(&self, row: &StringRecord, line: u64, clock: Time) -> Result<Sample, LawError> {
        let start = match self.start_ns {
            Some(column) => Time::from_nanos(number(row, column, line, "start_ns")?.max(0) as u64),
            None => clock,
        };
        // Laws ignore round trips of no time, and the originals those below it.
        let rtt = Nanos::new(number(row, self.rtt_ns, line, "rtt_ns")?.max(0) as u64);
        let in_flight = match self.in_flight {
            Some(column) => {
                number(row, column, line, "inflight")?.clamp(0, i64::from(u32::MAX)) as u32
            }
            None => 1,
        };
        Ok(Sample {
            start,
            sent: start,
            end: start.after(rtt),
            in_flight_at_start: in_flight,
            in_flight_at_end: in_flight,
            limit_at_start: u64::from(in_flight),
            outcome: self.outcome(row, line)?,
            bytes: 0,
        })
    }

    fn outcome(&self, row: &StringRecord, line: u64) -> Result<Outcome, LawError> {
        if let Some(column) = self.dropped {
            let dropped = number(row, column, line, "dropped")? != 0;
            return Ok(if dropped { Outcome::Overload } else { Outcome::Success });
        }
        match self.op.map(|column| row[column].trim()) {
            None | Some("sample") => Ok(Outcome::Success),
            Some("error") => Ok(Outcome::Overload),
            Some(other) => Err(LawError::Cell {
                line,
                cell: other.to_owned(),
                column: "op",
                cure: "is neither sample nor error",
            }),
        }
    }
}

fn number(
    row: &StringRecord,
    index: usize,
    line: u64,
    column: &'static str,
) -> Result<i64, LawError> {
    let cell = row[index].trim();
    cell.parse().map_err(|_| LawError::Cell {
        line,
        cell: cell.to_owned(),
        column,
        cure: "is not a whole number",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn driven(law: &str, input: &str) -> Result<String, String> {
        let law = parse(law).map_err(|report| report.render(false))?;
        let mut output = Vec::new();
        drive(&law, input.as_bytes(), &mut output).map_err(|error| error.to_string())?;
        Ok(String::from_utf8(output).unwrap())
    }

    #[test]
    fn rows_come_back_with_limit_and_window() {
        let input = "# recorded\nrtt_ns,note\n1000,a\n2000,\"b, c\"\n";
        let expected = "# recorded\nrtt_ns,note,limit,window\n1000,a,7,7\n2000,\"b, c\",7,7\n";
        assert_eq!(driven("{fixed: {limit: 7}}", input).unwrap(), expected);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        for (law, input, message) in [
            ("{fixd: {limit: 7}}", "rtt_ns\n1\n", "fixed"),
            ("{fixed: {limit: 7}}", "rtt\n1\n", "no column `rtt_ns`"),
            ("{fixed: {limit: 7}}", "# c\nrtt_ns\n1\nx\n", "line 4: `x`"),
            ("{fixed: {limit: 7}}", "op,rtt_ns\nsend,1\n", "neither sample nor error"),
        ] {
            let error = driven(law, input).unwrap_err();
            assert!(error.contains(message), "{error}");
        }
    }
}
