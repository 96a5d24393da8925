//! How values that are held against each other are written.

use super::{base_unit, in_unit};
use crate::digits::fixed;
use crate::verdict::grammar::Bound;
use testbed_core::vitals::Unit;

/// Decimals in base units that are tried before all digits of a number are written.
const DECIMALS: std::ops::RangeInclusive<usize> = 4..=20;

/// How the values of a unit are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Writing {
    unit: Unit,
    digits: Digits,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Digits {
    /// As people read them.
    Few,
    /// In base units, to so many decimals.
    Decimals(usize),
    /// In base units, with all that there are.
    All,
}

impl Writing {
    /// As people read them: see [`in_unit`].
    pub const fn usual(unit: Unit) -> Self {
        Self { unit, digits: Digits::Few }
    }

    /// As people read them, if a value can be told so from all `others` that are not equal to it; else in base units,
    /// with the fewest decimals by which it can.
    pub fn apart(unit: Unit, value: f64, others: &[f64]) -> Self {
        let decimals = DECIMALS.map(Digits::Decimals);
        let all = std::iter::once(Digits::Few).chain(decimals).map(|digits| Self { unit, digits });
        let tells = |writing: &Self| {
            let alike =
                |other: &f64| *other != value && writing.text(*other) == writing.text(value);
            !others.iter().any(alike)
        };
        let mut all = all.filter(tells);
        all.next().unwrap_or(Self { unit, digits: Digits::All })
    }

    /// For a value beside its bound: a pair that reads alike must not come out as if it were not.
    pub fn beside(unit: Unit, value: f64, bound: &Bound) -> Self {
        let edges = match *bound {
            Bound::Compare(_, limit) => vec![limit],
            Bound::Within { centre, tolerance } => vec![centre - tolerance, centre + tolerance],
        };
        let other = |edge: &f64| bound.holds(*edge) != bound.holds(value);
        Self::apart(unit, value, &edges.into_iter().filter(other).collect::<Vec<_>>())
    }

    /// A value, written so.
    pub fn text(self, value: f64) -> String {
        let number = match self.digits {
            Digits::Few => return in_unit(value, self.unit),
            Digits::Decimals(decimals) => fixed(value, decimals),
            Digits::All => value.to_string(),
        };
        format!("{number}{}", base_unit(self.unit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::grammar::Comparison::{self, Equal, Less, LessOrEqual};
    use proptest::prelude::*;

    #[test]
    fn a_value_has_as_many_digits_as_tell_it_from_its_bound() {
        let [to_60, below_60] = [Equal, Less].map(|comparison| Bound::Compare(comparison, 60.0));
        let about_60 = Bound::Within { centre: 60.0, tolerance: 0.1 };
        let at_most_1e_12 = Bound::Compare(LessOrEqual, 1e-12);
        for (unit, value, bound, text, expected) in [
            (Unit::Seconds, 61.0, to_60, "61s", "== 60s"),
            (Unit::Seconds, 60.0, to_60, "60s", "== 60s"),
            (Unit::Seconds, 60.000_000_001, to_60, "60.000000001s", "== 60s"),
            (Unit::Seconds, 59.999_96, below_60, "59.99996s", "< 60s"),
            (Unit::PerSecond, 59.999_999_999_999_99, to_60, "59.99999999999999/s", "== 60/s"),
            (Unit::Seconds, 60.100_01, about_60, "60.10001s", "within 60s +- 0.1s"),
            // Within it all the same.
            (Unit::Seconds, 60.099_99, about_60, "60.1s", "within 60s +- 100ms"),
            (
                Unit::Bytes,
                16_385.000_1,
                Bound::Compare(LessOrEqual, 16_385.0),
                "16385.0001B",
                "<= 16385B",
            ),
            (Unit::Ratio, 1.1e-12, at_most_1e_12, "0.0000000000011", "<= 0.000000000001"),
        ] {
            let writing = Writing::beside(unit, value, &bound);
            assert_eq!((&*writing.text(value), &*bound.written(writing)), (text, expected));
        }
    }

    proptest! {
        /// Neighbours among floating-point numbers, of any size, in any unit.
        #[test]
        fn what_reads_as_its_limit_holds_if_the_limit_does(
            limit in proptest::num::f64::POSITIVE,
            steps in -9_i64..10,
            comparison in proptest::sample::select(&[Equal, Less, LessOrEqual, Comparison::Greater, Comparison::GreaterOrEqual][..]),
            unit in proptest::sample::select(&[Unit::Seconds, Unit::PerSecond, Unit::Bytes, Unit::BytesPerSecond, Unit::Ratio][..]),
        ) {
            let value = f64::from_bits(limit.to_bits().saturating_add_signed(steps));
            prop_assume!(value.is_finite());
            let bound = Bound::Compare(comparison, limit);
            let writing = Writing::beside(unit, value, &bound);
            prop_assert!(writing.text(value) != writing.text(limit) || bound.holds(value) == bound.holds(limit));
        }
    }
}
