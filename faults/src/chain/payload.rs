//! What a chunk can be made of.

use bytes::Bytes;

/// A chunk of bytes, real or only counted.
pub trait Payload {
    /// Its length in bytes.
    fn len(&self) -> u64;

    /// Takes the first `n` bytes off and returns them; all of them if it is no longer than that.
    #[must_use]
    fn split_to(&mut self, n: u64) -> Self;

    /// Whether it has no bytes.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Payload for Bytes {
    fn len(&self) -> u64 {
        self.as_ref().len() as u64
    }

    fn split_to(&mut self, n: u64) -> Self {
        Self::split_to(self, n.min(Payload::len(self)) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_split_gives_the_front_and_keeps_the_rest() {
        for (n, front, rest) in [(0, "", "abc"), (2, "ab", "c"), (3, "abc", ""), (9, "abc", "")] {
            let mut chunk = Bytes::from("abc");
            assert_eq!(Payload::split_to(&mut chunk, n), front);
            assert_eq!(chunk, rest);
        }
    }
}
