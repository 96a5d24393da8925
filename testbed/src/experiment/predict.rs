//! Formulas over the axes of a sweep.

use exmex::{Express as _, FlatExVal, Val};

/// A comparison of two terms over variables: `sqrt(w) < w * (1 - g) + 1`.
#[derive(Clone, Debug)]
pub struct Formula(FlatExVal<i32, f64>);

impl Formula {
    /// Reads a formula.
    ///
    /// # Errors
    /// Why it is none, for people.
    pub fn parse(text: &str) -> Result<Self, String> {
        let parsed = exmex::parse_val(text).map_err(|error| format!("`{text}`: {error}"))?;
        let formula = Self(parsed);
        // Any numbers will do to see whether it is a comparison.
        let some = vec![1.0; formula.variables().len()];
        match formula.eval(&some) {
            Val::Bool(_) => Ok(formula),
            _ => Err(format!("`{text}` compares nothing")),
        }
    }

    /// The names in it, in the order in which [`Formula::holds`] takes their values.
    pub fn variables(&self) -> &[String] {
        self.0.var_names()
    }

    /// Whether it is true of these values. What has no value, such as the root of -1, is not true.
    pub fn holds(&self, values: &[f64]) -> bool {
        matches!(self.eval(values), Val::Bool(true))
    }

    fn eval(&self, values: &[f64]) -> Val<i32, f64> {
        let values: Vec<_> = values.iter().copied().map(Val::Float).collect();
        self.0.eval(&values).unwrap_or(Val::None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comparison_is_worked_out_as_by_hand() {
        let formula = Formula::parse("sqrt(w) < w * (1 - g) + 1").unwrap();
        assert_eq!(formula.variables(), ["g", "w"]);
        // sqrt(2) = 1.414 < 2 * 0.3 + 1 = 1.6; sqrt(2) > 2 * 0.2 + 1 = 1.4; 4 < 16 * 0.2 + 1 = 4.2.
        for (g, w, holds) in [(0.7, 2.0, true), (0.8, 2.0, false), (0.8, 16.0, true)] {
            assert_eq!(formula.holds(&[g, w]), holds, "{g} {w}");
        }
    }

    #[test]
    fn what_is_no_comparison_is_refused() {
        for text in ["w + 1", "w <", "", "sqrt(w", "w ~ 2"] {
            assert!(Formula::parse(text).is_err(), "{text}");
        }
        assert!(!Formula::parse("sqrt(w) < 1").unwrap().holds(&[-1.0]));
    }
}
