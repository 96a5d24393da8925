//! Mistakes found so far, without those that only follow from what could not be read.

use crate::experiment::problem::Problem;

/// The parts of a file that could not be read, as JSON pointers. What is wrong with them is said
/// already, so nothing more is said of them, nor of their absence.
#[derive(Clone, Debug, Default)]
pub struct Lost(Vec<String>);

impl Lost {
    /// One more.
    pub fn add(&mut self, pointer: impl Into<String>) {
        self.0.push(pointer.into());
    }

    /// Whether everything could be read.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the field at `pointer` is lost, by itself or with what is around it.
    pub fn covers(&self, pointer: &str) -> bool {
        self.0.iter().any(|lost| is_within(pointer, lost))
    }

    /// Whether the field at `pointer` is lost, or a part of it.
    pub fn touches(&self, pointer: &str) -> bool {
        self.covers(pointer) || self.0.iter().any(|lost| is_within(lost, pointer))
    }
}

/// Whether the field at `inner` is the one at `outer`, or a part of it.
fn is_within(inner: &str, outer: &str) -> bool {
    let rest = inner.strip_prefix(outer);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Mistakes found so far.
#[derive(Debug)]
pub(super) struct Problems {
    found: Vec<Problem>,
    pub(super) lost: Lost,
}

impl Problems {
    /// None yet, in a file of which something may be lost.
    pub(super) const fn new(lost: Lost) -> Self {
        Self { found: Vec::new(), lost }
    }

    /// One more, unless it is about what is lost.
    pub(super) fn push(&mut self, problem: Problem) {
        self.extend([problem]);
    }

    /// All of them.
    pub(super) fn into_vec(self) -> Vec<Problem> {
        self.found
    }

    /// Whether the file is as it should be.
    pub(super) fn is_empty(&self) -> bool {
        self.found.is_empty() && self.lost.is_empty()
    }
}

impl Extend<Problem> for Problems {
    fn extend<I: IntoIterator<Item = Problem>>(&mut self, problems: I) {
        let lost = &self.lost;
        self.found.extend(problems.into_iter().filter(|problem| !lost.covers(&problem.path)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lost_is_not_spoken_of_again() {
        let mut lost = Lost::default();
        lost.add("/phases/1/for");
        for (pointer, covered, touched) in [
            ("/phases/1/for", true, true),
            ("/phases/1/for/x", true, true),
            ("/phases/1", false, true),
            ("/phases", false, true),
            ("/phases/10/for", false, false),
            ("/phases/1/fo", false, false),
        ] {
            assert_eq!(
                (lost.covers(pointer), lost.touches(pointer)),
                (covered, touched),
                "{pointer}"
            );
        }
        let mut problems = Problems::new(lost);
        problems.push(Problem::at_value("/phases/1/for", "follows"));
        assert!(problems.found.is_empty() && !problems.is_empty());
        problems.push(Problem::at_value("/phases/0/for", "does not"));
        assert_eq!(problems.into_vec().len(), 1);
    }
}
