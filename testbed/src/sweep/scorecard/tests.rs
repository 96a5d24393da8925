//! What becomes of numbers that are missing, or that may be more.

use super::{Cell, Numbers, together};

#[test]
fn a_cell_is_of_the_seeds_that_have_a_number() {
    let seeds = [Some((1.0, false)), None, Some((3.0, true))];
    let cell = Cell::of(&seeds).unwrap();
    assert_eq!((cell.mean, cell.seeds, cell.at_least), (2.0, 2, 1));
    assert_eq!(Cell::of(&[None, None]), None);
    let one = Cell::of(&[Some((1.0, false))]).unwrap();
    assert_eq!((one.mean, one.low, one.high), (1.0, None, None));
}

#[test]
fn all_shapes_together_are_their_mean_seed_by_seed() {
    // One law and one measure, with two seeds, in two shapes.
    let shape = |seeds: [super::Seed; 2]| -> Vec<Numbers> { vec![vec![seeds.to_vec()]] };
    let calm = shape([Some((1.0, false)), Some((2.0, false))]);
    for (step, expected) in [
        ([Some((3.0, false)), Some((6.0, false))], [Some((2.0, false)), Some((4.0, false))]),
        ([Some((3.0, true)), Some((6.0, false))], [Some((2.0, true)), Some((4.0, false))]),
        ([None, Some((6.0, false))], [None, Some((4.0, false))]),
    ] {
        assert_eq!(together(&[calm.clone(), shape(step)]), shape(expected), "{step:?}");
    }
}
