//! The numbers of a sentence as they are written: with the unit that [`super::parse`] takes off.

use super::Input;
use super::quantity::{self, Quantity};

/// What a written number counts, by the unit behind it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WrittenUnit {
    /// No unit: the number is in base units.
    None,
    /// A time: `9ms`.
    Seconds,
    /// A share: `70%`.
    Share,
    /// A rate: `600/s`.
    PerSecond,
    /// A size: `16KiB`.
    Bytes,
    /// A byte rate: `4MiB/s`.
    BytesPerSecond,
}

/// A number that something is compared with.
#[derive(Clone, PartialEq, Debug)]
pub struct Written {
    /// Number and unit, as they stand there.
    pub text: String,
    /// The unit.
    pub unit: WrittenUnit,
    /// Whether it stands inside parentheses, as the 9 of `time_to(controller.window >= 9) <= 15s`.
    pub inside: bool,
    /// Where it begins in the sentence, in characters from 1.
    pub column: usize,
}

/// The numbers that stand behind `<`, `<=`, `>`, `>=`, `==`, `within` and `+-`, in their order. For a
/// sentence that [`super::parse`] has read.
pub fn written(sentence: &str) -> Vec<Written> {
    let (mut found, mut depth) = (Vec::new(), 0_usize);
    for (offset, c) in sentence.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        let rest = &sentence[offset..];
        let Some(symbol) = symbol(&sentence[..offset], rest) else { continue };
        let mut input = Input::new(&rest[symbol..]);
        if let Ok(Quantity { text, unit, offset: within, .. }) = quantity::quantity(&mut input) {
            let column = sentence[..offset + symbol + within].chars().count() + 1;
            let unit = unit.into();
            found.push(Written { text: text.to_owned(), unit, inside: depth > 0, column });
        }
    }
    found
}

/// The length of the symbol with which `rest` begins; a `=` belongs to what is in front of it.
fn symbol(before: &str, rest: &str) -> Option<usize> {
    let symbols = ["<=", ">=", "==", "<", ">", "within", "+-", "±"];
    let goes_on = before.ends_with(['<', '>', '=']);
    symbols.into_iter().find(|symbol| rest.starts_with(symbol) && !goes_on).map(str::len)
}

impl From<quantity::Unit> for WrittenUnit {
    fn from(unit: quantity::Unit) -> Self {
        match unit {
            quantity::Unit::None => Self::None,
            quantity::Unit::Seconds => Self::Seconds,
            quantity::Unit::Share => Self::Share,
            quantity::Unit::PerSecond => Self::PerSecond,
            quantity::Unit::Bytes => Self::Bytes,
            quantity::Unit::BytesPerSecond => Self::BytesPerSecond,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::WrittenUnit::{BytesPerSecond, None, Seconds, Share};
    use super::*;

    #[test]
    fn every_number_has_its_unit_and_place() {
        for (sentence, expected) in [
            ("max(controller.window) <= 2", &[("2", None, false, 27)][..]),
            ("max(rpc.rtt)<9ms", &[("9ms", Seconds, false, 14)]),
            ("last(x) within 50% +- 2%", &[("50%", Share, false, 16), ("2%", Share, false, 23)]),
            (
                "time_to(limiter.throughput >= 4MiB/s) <= 15s",
                &[("4MiB/s", BytesPerSecond, true, 31), ("15s", Seconds, false, 42)],
            ),
            ("zero_progress(20 rounds) == 0", &[("0", None, false, 29)]),
        ] {
            let found = written(sentence);
            let found: Vec<_> =
                found.iter().map(|w| (w.text.as_str(), w.unit, w.inside, w.column)).collect();
            assert_eq!(found, expected, "{sentence}");
        }
    }
}
