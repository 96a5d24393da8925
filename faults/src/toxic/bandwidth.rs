//! `bandwidth`: data passes no faster than a rate.

use super::attribute::{Attribute, AttributeError, Attributes};
use super::{Behaviour, LinkRate};
use crate::chain::{Item, Output, Payload};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use testbed_core::time::Time;

/// The lowest rate but zero, Toxiproxy's unit: it bounds into how many pieces a chunk is cut.
const LOWEST: LinkRate = LinkRate::new(1_000);
/// Pieces a second: data that is slowed down flows, rather than arrive in heaps.
const PIECES_A_SECOND: u64 = 10;
/// One under way and some in line: at 100 MB/s a chunk takes 0.3 ms, and the link should not be idle
/// because a wake is late by some of that.
const PIECES_HELD: usize = 4;

/// Attributes of `bandwidth`. Chunks that take longer than 100 ms are cut, so that they flow.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bandwidth {
    /// The rate of each link. At zero it stalls: what comes in waits until the rate is another or
    /// the toxic is gone.
    pub rate: LinkRate,
}

impl Behaviour for Bandwidth {
    /// Until when the link is busy with what has come in.
    type Memory = Time;

    const ABOUT: &'static str = "lets data pass at a rate; 0 stalls";

    fn attributes(&mut self) -> Attributes<'_> {
        vec![("rate", Attribute::Rate(&mut self.rate))]
    }

    fn check(&self) -> Result<(), AttributeError> {
        if self.rate == LinkRate::ZERO || self.rate >= LOWEST {
            return Ok(());
        }
        let reason = "must be 1kB/s or more, or zero";
        Err(AttributeError::Impossible { attribute: "rate", reason })
    }

    fn capacity(&self) -> usize {
        PIECES_HELD
    }

    fn enter<P: Payload>(
        &self,
        busy: &mut Time,
        now: Time,
        item: Item<P>,
        out: &mut Output<'_, P>,
    ) {
        let mut chunk = match item {
            Item::Data(chunk) if self.rate > LinkRate::ZERO => chunk,
            Item::Data(_) => return out.release(Time::NEVER, item),
            Item::Eof | Item::Reset => return out.release(now, item),
        };
        let longest = (self.rate.per_second() / PIECES_A_SECOND).max(1);
        while !chunk.is_empty() {
            let piece = chunk.split_to(longest);
            *busy = now.max(*busy).after(self.rate.time_for(piece.len()));
            out.release(*busy, Item::Data(piece));
        }
    }
}
