//! A curve of bounded size, however many points come: neighbours are merged, and of each group of them the least, the
//! greatest and the last are kept, so that no peak is lost and no level that holds is wrong.

/// Points that a curve has at most.
pub(super) const POINTS_MAX: usize = 2000;
/// Points that are kept of a group.
const KEPT: usize = 3;

/// A value at an instant in seconds.
type Point = (f64, f64);

/// A curve that is added to at its end.
#[derive(Clone, Debug)]
pub(super) struct Thin {
    groups: Vec<Group>,
    groups_max: usize,
    /// Points of a group; it doubles whenever there are too many groups.
    of_group: u64,
}

/// Points that follow each other.
#[derive(Clone, Copy, Debug)]
struct Group {
    count: u64,
    least: Point,
    greatest: Point,
    last: Point,
}

impl Default for Thin {
    fn default() -> Self {
        Self::with_room(POINTS_MAX)
    }
}

impl Thin {
    /// A curve of at most `points`, 6 or more.
    pub(super) fn with_room(points: usize) -> Self {
        Self { groups: Vec::new(), groups_max: points / KEPT, of_group: 1 }
    }

    /// Adds a point, which is not before the last. One that is no number is left out.
    pub(super) fn push(&mut self, t: f64, value: f64) {
        if !value.is_finite() {
            return;
        }
        let new = Group::of((t, value));
        match self.groups.last_mut() {
            Some(last) if last.count < self.of_group => *last = last.with(&new),
            _ => self.groups.push(new),
        }
        if self.groups.len() > self.groups_max {
            self.halve();
        }
    }

    fn halve(&mut self) {
        self.of_group *= 2;
        let pairs = self.groups.chunks(2);
        self.groups = pairs.map(|pair| pair[1..].iter().fold(pair[0], |a, b| a.with(b))).collect();
    }

    /// The points that are kept, in order.
    pub(super) fn points(&self) -> impl Iterator<Item = Point> {
        self.groups.iter().flat_map(Group::points)
    }
}

impl Group {
    const fn of(point: Point) -> Self {
        Self { count: 1, least: point, greatest: point, last: point }
    }

    /// This one and the `next`.
    fn with(&self, next: &Self) -> Self {
        let least = if next.least.1 < self.least.1 { next.least } else { self.least };
        let greatest =
            if next.greatest.1 > self.greatest.1 { next.greatest } else { self.greatest };
        Self { count: self.count + next.count, least, greatest, last: next.last }
    }

    fn points(&self) -> Vec<Point> {
        let mut points = vec![self.least, self.greatest, self.last];
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        points.dedup();
        points
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thin(room: usize, values: impl Iterator<Item = f64>) -> Vec<Point> {
        let mut thin = Thin::with_room(room);
        (0..).zip(values).for_each(|(t, value)| thin.push(f64::from(t), value));
        thin.points().collect()
    }

    #[test]
    fn what_fits_is_kept_as_it_came() {
        let values = [3.0, 1.0, 1.0, 2.0];
        let kept = thin(12, values.into_iter());
        assert_eq!(kept, [(0.0, 3.0), (1.0, 1.0), (2.0, 1.0), (3.0, 2.0)]);
    }

    #[test]
    fn a_group_keeps_its_least_its_greatest_and_its_last() {
        // Two groups of room for 8 points: of 4 each.
        let values = [5.0, 1.0, 9.0, 4.0, 2.0, 2.0, 3.0];
        let kept = thin(6, values.into_iter());
        assert_eq!(kept, [(1.0, 1.0), (2.0, 9.0), (3.0, 4.0), (4.0, 2.0), (6.0, 3.0)]);
    }

    #[test]
    fn however_many_come_they_are_bounded_and_no_peak_is_lost() {
        for (count, peak) in [(1_u32, 0), (1_999, 1_000), (2_001, 2_000), (100_000, 77_777)] {
            let value = |at: u32| if at == peak { 1e9 } else { f64::from(at % 10) };
            let kept = thin(POINTS_MAX, (0..count).map(value));
            assert!(kept.len() <= POINTS_MAX, "{} of {count}", kept.len());
            assert!(kept.contains(&(f64::from(peak), 1e9)), "{count}");
            assert_eq!(kept.last(), Some(&(f64::from(count - 1), value(count - 1))));
            assert!(kept.windows(2).all(|pair| pair[0].0 < pair[1].0), "{count}: in order");
        }
    }

    #[test]
    fn what_is_no_number_is_left_out() {
        let kept = thin(12, [f64::NAN, 1.0, f64::INFINITY].into_iter());
        assert_eq!(kept, [(1.0, 1.0)]);
    }
}
