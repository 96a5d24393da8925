//! Numbers in words: no more digits than say something, and not so few that something reads as nothing.

/// Decimals at most. What is smaller than half of the last of them reads as 0.
const DECIMALS_MAX: i32 = 9;
/// Significant digits that tell any two numbers apart.
const DIGITS_MAX: i32 = 17;

/// A number to so many significant digits, and nine decimals at most: `250`, `12.3`, `0.04`. Digits before the point
/// all stay; zeros at the end do not.
pub(crate) fn significant(value: f64, digits: i32) -> String {
    fixed(value, decimals(value, digits))
}

/// Two numbers with three significant digits, or as many as it takes that they do not read alike.
pub(crate) fn apart(left: f64, right: f64) -> [String; 2] {
    let written = |digits| [left, right].map(|value| significant(value, digits));
    let differ = |digits: &i32| written(*digits)[0] != written(*digits)[1];
    written((3..=DIGITS_MAX).find(differ).unwrap_or(3))
}

/// The decimals that so many significant digits of a number need.
pub(crate) fn decimals(value: f64, digits: i32) -> usize {
    let before_point = if value == 0.0 { 1 } else { 1 + value.abs().log10().floor() as i32 };
    (digits - before_point).clamp(0, DECIMALS_MAX) as usize
}

/// A number to so many decimals, without zeros at the end.
pub(crate) fn fixed(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    let short = if decimals > 0 { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    short.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_number_has_as_many_digits_as_asked_for_and_all_before_the_point() {
        for (value, digits, text) in [
            (0.0, 3, "0"),
            (250.0, 3, "250"),
            (1234.5, 3, "1234"),
            (100.0, 2, "100"),
            (12.34, 3, "12.3"),
            (1.0, 3, "1"),
            (0.04, 3, "0.04"),
            (0.001_234_5, 3, "0.00123"),
            (-0.000_012_346, 4, "-0.00001235"),
            (1e-10, 3, "0"),
        ] {
            assert_eq!(significant(value, digits), text);
        }
    }

    #[test]
    fn numbers_that_differ_do_not_read_alike() {
        for (left, right, text) in [
            (250.0, 100.0, ["250", "100"]),
            (100.2, 100.0, ["100.2", "100"]),
            (0.040_04, 0.04, ["0.04004", "0.04"]),
            (99.999_999, 100.0, ["99.999999", "100"]),
            (7.0, 7.0, ["7", "7"]),
        ] {
            assert_eq!(apart(left, right), text);
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_as_near_as_its_digits(exponent in -6_i32..12, mantissa in 1.0..10.0_f64, digits in 1..5_i32) {
            let value = mantissa * 10_f64.powi(exponent);
            let written: f64 = significant(value, digits).parse().unwrap();
            prop_assert!((written - value).abs() <= value * 0.500_001 * 10_f64.powi(1 - digits));
        }
    }
}
