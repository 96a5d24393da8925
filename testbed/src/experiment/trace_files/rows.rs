//! A trace as CSV: a header, and one row a request.

use csv::{ReaderBuilder, StringRecord};
use testbed_core::service::MAX_BODY;
use testbed_core::time::{Nanos, Time};
use testbed_core::trace::Rows;

/// The most rows of a trace.
pub(crate) const MOST_ROWS: usize = 1_000_000;
/// The most classes: as many as a client may have.
const MOST_CLASSES: usize = 16;
/// The columns that a trace may have.
const COLUMNS: [&str; 5] = ["arrival_s", "service_s", "class", "arm", "body_bytes"];
/// The most seconds in a cell: the longest run, 30 days.
const MOST_SECONDS: f64 = 30.0 * 24.0 * 3600.0;

/// What is wrong with a trace.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Wrong {
    /// The line in the file, from 1.
    pub(super) line: u64,
    pub(super) message: String,
    pub(super) cure: &'static str,
}

impl Wrong {
    fn new(line: u64, message: impl Into<String>, cure: &'static str) -> Self {
        Self { line, message: message.into(), cure }
    }
}

/// Where each of the columns is in a row.
type Places = [Option<usize>; 5];

/// Reads the rows of `arm`, or all.
pub(super) fn read(content: &[u8], arm: Option<&str>) -> Result<Rows, Wrong> {
    let mut reader = ReaderBuilder::new().from_reader(content);
    let unread = |error: csv::Error| {
        let line = error.position().map_or(1, csv::Position::line);
        let cure = "write UTF-8 text, and in each row as many cells as in the header";
        Wrong::new(line, error.to_string(), cure)
    };
    let places = places(reader.headers().map_err(unread)?, arm)?;
    let (mut rows, mut services, mut record) = (Rows::default(), Vec::new(), StringRecord::new());
    for number in 0.. {
        if !reader.read_record(&mut record).map_err(unread)? {
            break;
        }
        // Where the reader began to look for the row is before blank lines.
        let begin = record.position().map_or(0, csv::Position::line);
        let line = (reader.position().line() - 1).max(begin);
        if number >= MOST_ROWS {
            let message = format!("there are more than {MOST_ROWS} rows");
            return Err(Wrong::new(
                line,
                message,
                "take a part of the trace, such as its first rows",
            ));
        }
        let cells = places.map(|place| record.get(place?).map(str::trim));
        if arm.is_none() || cells[3] == arm {
            add(&mut rows, &mut services, cells, line)?;
        }
    }
    Ok(rows.with_services(services))
}

fn places(header: &StringRecord, arm: Option<&str>) -> Result<Places, Wrong> {
    let cure = "the columns of a trace are arrival_s, service_s, body_bytes, class and arm, each at most once";
    for (index, name) in header.iter().map(str::trim).enumerate() {
        let again = header.iter().take(index).any(|other| other.trim() == name);
        if again || !COLUMNS.contains(&name) {
            let what = if again { "there twice" } else { "no column of a trace" };
            return Err(Wrong::new(1, format!("`{name}` is {what}"), cure));
        }
    }
    let places = COLUMNS.map(|column| header.iter().position(|name| name.trim() == column));
    if let (Some(arm), None) = (arm, places[3]) {
        let message = format!("there is no column `arm` to find the rows of `{arm}` by");
        return Err(Wrong::new(1, message, "leave out `arm:`, or give the file that column"));
    }
    Ok(places)
}

/// Adds a row with these cells.
fn add(
    rows: &mut Rows,
    services: &mut Vec<Nanos>,
    [arrival, service, class, _, body]: [Option<&str>; 5],
    line: u64,
) -> Result<(), Wrong> {
    if let Some(cell) = arrival {
        let at = Time::ZERO.after(seconds(cell, "arrival_s", line)?);
        if let Some(last) = rows.arrivals.last().filter(|last| at < **last) {
            let message = format!("{cell} s is before {} s, the arrival above", last.as_secs_f64());
            return Err(Wrong::new(line, message, "sort the rows by arrival_s"));
        }
        rows.arrivals.push(at);
    }
    if let Some(cell) = service {
        services.push(seconds(cell, "service_s", line)?);
    }
    if let Some(cell) = body {
        rows.bodies.push(bytes(cell, line)?);
    }
    if let Some(name) = class {
        rows.classes.push(class_index(&mut rows.class_names, name, line)?);
    }
    Ok(())
}

fn seconds(cell: &str, column: &str, line: u64) -> Result<Nanos, Wrong> {
    let number = cell.parse().ok().filter(|seconds: &f64| (0.0..=MOST_SECONDS).contains(seconds));
    let message =
        || format!("`{cell}` in column `{column}` is not a number of seconds, 0 to 30 days");
    let number =
        number.ok_or_else(|| Wrong::new(line, message(), "write seconds, such as 0.125"))?;
    Ok(Nanos::new((number * 1e9).round() as u64))
}

fn bytes(cell: &str, line: u64) -> Result<u64, Wrong> {
    let number = cell.parse().ok().filter(|bytes: &u64| *bytes <= MAX_BODY.get());
    let message = || {
        format!("`{cell}` in column `body_bytes` is not a whole number of bytes, 0 to {MAX_BODY}")
    };
    number.ok_or_else(|| Wrong::new(line, message(), "write bytes, such as 2048"))
}

fn class_index(names: &mut Vec<String>, name: &str, line: u64) -> Result<u8, Wrong> {
    if let Some(known) = names.iter().position(|known| known == name) {
        return Ok(known as u8);
    }
    if names.len() == MOST_CLASSES {
        let message = format!("`{name}` is a class more than the {MOST_CLASSES} that there may be");
        return Err(Wrong::new(line, message, "give several of them one name"));
    }
    names.push(name.to_owned());
    Ok(names.len() as u8 - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_become_times_to_the_nanosecond() {
        let text = "arrival_s, service_s,class,body_bytes\n0,0.005,gold,0\n1.000000001,1e-3,tin,7\n1.000000001,0,gold,1048576\n";
        let rows = read(text.as_bytes(), None).unwrap();
        assert_eq!(rows.arrivals, [0, 1_000_000_001, 1_000_000_001].map(Time::from_nanos));
        assert_eq!(rows.services(), [5_000_000, 1_000_000, 0].map(Nanos::new));
        assert_eq!(rows.bodies, [0, 7, 1 << 20]);
        assert_eq!(
            (rows.classes, rows.class_names),
            (vec![0, 1, 0], vec!["gold".into(), "tin".into()])
        );
    }

    #[test]
    fn the_rows_of_one_arm_are_in_order_among_themselves() {
        let text = b"arm,arrival_s\na,1\nb,0.5\na,2\nb,0.75\n";
        let seconds = |arm| {
            let rows = read(text, Some(arm)).unwrap();
            rows.arrivals.iter().map(|at| at.as_secs_f64()).collect::<Vec<_>>()
        };
        assert_eq!(
            (seconds("a"), seconds("b"), seconds("c")),
            (vec![1.0, 2.0], vec![0.5, 0.75], vec![])
        );
        assert_eq!(read(text, None).unwrap_err().line, 3, "all of them are not");
    }

    #[test]
    fn a_mistake_is_told_with_its_line() {
        let many = format!("arrival_s\n{}", "1\n".repeat(MOST_ROWS + 1));
        let classes: String = (0..17).map(|class| format!("0,c{class}\n")).collect();
        let classes = format!("arrival_s,class\n{classes}");
        for (text, arm, line, words) in [
            ("arrival_s\n1\n0.5\n", None, 3, "0.5 s is before 1 s"),
            ("arrival_s\n1\n\nx\n", None, 4, "`x` in column `arrival_s`"),
            ("arrival_s\n-1\n", None, 2, "`-1`"),
            ("arrival_s,service_s\n1,NaN\n", None, 2, "`NaN` in column `service_s`"),
            ("arrival_s\n2592001\n", None, 2, "30 days"),
            ("body_bytes\n1\n0.5\n", None, 3, "`0.5` in column `body_bytes`"),
            ("body_bytes\n1048577\n", None, 2, "0 to 1MiB"),
            ("arrival_s,service_s\n1\n", None, 2, "CSV error"),
            ("time\n1\n", None, 1, "`time` is no column"),
            ("arrival_s,arrival_s\n1,1\n", None, 1, "there twice"),
            ("arrival_s\n1\n", Some("a"), 1, "no column `arm`"),
            (&classes, None, 18, "`c16`"),
            (&many, None, MOST_ROWS as u64 + 2, "more than 1000000 rows"),
        ] {
            let wrong = read(text.as_bytes(), arm).unwrap_err();
            assert_eq!(wrong.line, line, "{}", wrong.message);
            assert!(wrong.message.contains(words), "{}: {words}", wrong.message);
        }
    }
}
