//! Chance as an argument: one independent generator per named stream.
//!
//! A stream depends on (seed, name) only. Adding a stream moves no other, and two arms that ask
//! for the same name draw the same numbers: common random numbers.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

/// The generator behind every stream: xoshiro256++ (Blackman and Vigna, 2019), chosen because it
/// is small, fast and specified to the bit, so a recorded run replays on any machine.
pub type Rng = Xoshiro256PlusPlus;

/// The source of all chance in a run.
#[derive(Clone, Copy, Debug)]
pub struct Streams {
    seed: u64,
}

impl Streams {
    /// Streams of a run with this seed.
    pub const fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// The seed of the run.
    pub const fn seed(&self) -> u64 {
        self.seed
    }

    /// The generator named `name`, at its beginning.
    pub fn stream(&self, name: &str) -> Rng {
        Rng::seed_from_u64(self.seed ^ fnv1a(name))
    }
}

/// FNV-1a, 64 bit (draft-eastlake-fnv, section 2): spreads names over seeds. xoshiro's own seeding
/// (SplitMix64) does the rest of the mixing.
fn fnv1a(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngExt as _;

    #[test]
    fn a_stream_depends_on_seed_and_name_only() {
        let draw = |seed, name| Streams::new(seed).stream(name).random::<u64>();
        assert_eq!(draw(7, "service"), draw(7, "service"));
        assert_ne!(draw(7, "service"), draw(7, "arrivals"));
        assert_ne!(draw(7, "service"), draw(8, "service"));
    }

    #[test]
    fn fnv1a_gives_its_published_values() {
        assert_eq!(fnv1a(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a("a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a("foobar"), 0x8594_4171_f739_67e8);
    }
}
