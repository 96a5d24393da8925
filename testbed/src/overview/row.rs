//! Rows of a time line.

use testbed_core::time::{Nanos, Time};

/// Something that lasts from one instant to another.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Band {
    begin: Time,
    end: Time,
    text: String,
}

impl Band {
    pub(super) fn new(begin: Time, end: Time, text: &str) -> Self {
        Self { begin, end, text: text.to_owned() }
    }
}

/// Where an instant stands on a line: names first, then run time between two bars.
#[derive(Debug)]
pub(super) struct Scale {
    names: usize,
    cells: usize,
    total: Nanos,
}

impl Scale {
    /// For names of so many columns, lines of `columns`, and a run that lasts `total`.
    pub(super) fn new(names: usize, columns: usize, total: Nanos) -> Self {
        // Two blanks in front of a name, one behind it, and a bar on both sides.
        Self { names, cells: columns.saturating_sub(names + 5).max(8), total }
    }

    /// Where time begins and ends.
    pub(super) fn axis(&self) -> String {
        let end = self.total.to_string();
        let gap = self.cells.saturating_sub(end.len());
        format!("{:width$}0s{:gap$}{end}\n", "", "", width = self.names + 3)
    }

    /// A line with bands, filled with one character, each with its text as far as there is room.
    pub(super) fn row(&self, name: &str, bands: &[Band], fill: char) -> String {
        let mut cells = vec![' '; self.cells];
        for band in bands {
            let (begin, end) = (self.cell(band.begin), self.cell(band.end));
            // What is shorter than a cell is seen all the same.
            let begin = begin.min(self.cells - 1);
            let end = end.max(begin + 1);
            draw(&mut cells[begin..end], band, fill);
        }
        let name: String = name.chars().take(self.names).collect();
        let cells: String = cells.into_iter().collect();
        format!("  {name:width$} |{cells}|\n", width = self.names)
    }

    fn cell(&self, at: Time) -> usize {
        let share = at.since(Time::ZERO).as_secs_f64() / self.total.as_secs_f64();
        ((share * self.cells as f64).round() as usize).min(self.cells)
    }
}

fn draw(cells: &mut [char], band: &Band, fill: char) {
    cells.fill(fill);
    let is_blank = fill == ' ';
    if is_blank && band.begin > Time::ZERO {
        cells[0] = '|';
    }
    let text = if is_blank { band.text.clone() } else { format!(" {} ", band.text) };
    let room = cells.len() - 1;
    let fits = text.chars().count() <= room;
    let from = usize::from(band.begin > Time::ZERO || !is_blank);
    if fits {
        cells[from..].iter_mut().zip(text.chars()).for_each(|(cell, c)| *cell = c);
    }
}
