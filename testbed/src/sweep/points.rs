//! The points of a sweep: every combination of values, with every seed.

use crate::experiment::Overrides;
use crate::experiment::predict::Formula;
use crate::experiment::sweep::{Choice, SweepFile};

/// A sweep's axes, spread out.
#[derive(Clone, Debug)]
pub(super) struct Grid {
    sweep: SweepFile,
    axes: Vec<(String, Vec<Choice>)>,
    /// The seed of the first run of each combination.
    seed: u64,
}

/// One combination of values.
#[derive(Clone, Debug)]
pub(super) struct Cell<'g> {
    grid: &'g Grid,
    choices: Vec<&'g Choice>,
}

impl Grid {
    /// The grid of a sweep that passed its check, with seeds from `seed` on.
    pub(super) fn new(sweep: &SweepFile, seed: u64) -> Self {
        let axes = sweep.axes.iter().map(|(name, axis)| (name.clone(), axis.choices()));
        Self { axes: axes.collect(), sweep: sweep.clone(), seed }
    }

    /// The names of its axes.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.axes.iter().map(|(name, _)| name.as_str())
    }

    /// The values of each axis, by their labels.
    pub(super) fn labels(&self) -> Vec<Vec<&str>> {
        self.axes
            .iter()
            .map(|(_, choices)| choices.iter().map(|c| c.label.as_str()).collect())
            .collect()
    }

    /// How many combinations there are.
    pub(super) fn cells(&self) -> usize {
        self.axes.iter().map(|(_, choices)| choices.len()).product()
    }

    /// The seeds of each combination.
    pub(super) fn seeds(&self) -> impl Iterator<Item = u64> + use<> {
        let first = self.seed;
        (0..u64::from(self.sweep.seeds)).map(move |n| first.wrapping_add(n))
    }

    /// The combination of that index, below [`Grid::cells`]; the last axis varies fastest.
    pub(super) fn cell(&self, mut index: usize) -> Cell<'_> {
        let mut choices = Vec::with_capacity(self.axes.len());
        for (_, axis) in self.axes.iter().rev() {
            choices.push(&axis[index % axis.len()]);
            index /= axis.len();
        }
        choices.reverse();
        Cell { grid: self, choices }
    }
}

impl Cell<'_> {
    /// What the run of this combination with `seed` changes of the file.
    pub(super) fn overrides(&self, common: &Overrides, seed: u64) -> Overrides {
        let axes = self.grid.sweep.axes.values().zip(&self.choices);
        let settings = axes.flat_map(|(axis, choice)| axis.settings(choice));
        Overrides { seed: Some(seed), ..common.with(settings) }
    }

    /// Its values, axis by axis.
    pub(super) fn labels(&self) -> Vec<&str> {
        self.choices.iter().map(|choice| choice.label.as_str()).collect()
    }

    /// Whether the formula holds here. Its variables are axes with numbers, as the check has seen.
    pub(super) fn predicted(&self, formula: &Formula) -> bool {
        let value = |name: &String| {
            let axis = self.grid.axes.iter().position(|(axis, _)| axis == name);
            axis.and_then(|axis| self.choices[axis].value.as_f64()).unwrap_or(f64::NAN)
        };
        formula.holds(&formula.variables().iter().map(value).collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> Grid {
        let sweep = "
            axes:
              w: { paths: [arms.a.start, arms.a.min], values: [2, 4] }
              law: { paths: [arms.a.controller], named: { x: { fixed: {} }, y: null } }
            seeds: 2";
        Grid::new(&serde_yaml::from_str(sweep).unwrap(), 7)
    }

    #[test]
    fn every_combination_comes_once_and_the_last_axis_varies_fastest() {
        let grid = grid();
        let labels: Vec<_> = (0..grid.cells()).map(|i| grid.cell(i).labels().join(" ")).collect();
        assert_eq!(labels, ["2 x", "2 y", "4 x", "4 y"]);
        assert_eq!(grid.seeds().collect::<Vec<_>>(), [7, 8]);
    }

    #[test]
    fn a_point_sets_each_path_of_each_axis() {
        let overrides = grid().cell(2).overrides(&Overrides::default(), 8);
        let set: Vec<_> =
            overrides.set.iter().map(|(path, value)| format!("{path}={value}")).collect();
        assert_eq!(set, ["arms.a.start=4", "arms.a.min=4", "arms.a.controller={\"fixed\":{}}"]);
        assert_eq!(overrides.seed, Some(8));
    }

    #[test]
    fn a_formula_is_held_against_the_axes_it_names() {
        let formula = Formula::parse("w > 2").unwrap();
        let held: Vec<_> = (0..4).map(|i| grid().cell(i).predicted(&formula)).collect();
        assert_eq!(held, [false, false, true, true]);
    }
}
