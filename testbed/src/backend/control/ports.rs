//! The ports on which the backends of arms listen.

use std::str::FromStr;

/// A range of ports, or any free ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ports {
    /// Whatever the system gives.
    Any,
    /// From the first to the last, both included.
    Range(u16, u16),
}

const CURE: &str = "write a first and a last port, such as 18000-18063, or 0 for any that are free";

impl FromStr for Ports {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.trim() == "0" {
            return Ok(Self::Any);
        }
        let (first, last) = text.split_once('-').ok_or(CURE)?;
        match (first.trim().parse(), last.trim().parse()) {
            (Ok(first), Ok(last)) if 0 < first && first <= last => Ok(Self::Range(first, last)),
            _ => Err(CURE),
        }
    }
}

impl Ports {
    /// The ports that one arm may try, those of the range from `next` on.
    pub(super) fn from(self, next: u16) -> std::ops::RangeInclusive<u16> {
        match self {
            Self::Any => 0..=0,
            Self::Range(first, last) => first.max(next)..=last,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_two_ports_in_order() {
        for (text, ports) in [
            ("0", Some(Ports::Any)),
            ("18000-18063", Some(Ports::Range(18000, 18063))),
            (" 1 - 1 ", Some(Ports::Range(1, 1))),
            ("18000", None),
            ("2-1", None),
            ("0-9", None),
            ("1-65536", None),
            ("", None),
        ] {
            assert_eq!(text.parse().ok(), ports, "{text}");
        }
    }
}
