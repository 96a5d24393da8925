//! What the toxics of a link have done to it.

/// Numbers of one link over some time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// Bytes that came in and will not leave.
    pub dropped: u64,
    /// 1 if this is when a toxic acted on the link for the first time: toxicity struck.
    pub links_hit: u64,
    /// Ends that a toxic made, before the source ended.
    pub aborts: u64,
    /// Ends by a reset.
    pub resets: u64,
}

impl Tally {
    /// Nothing was done.
    pub const NOTHING: Self = Self { dropped: 0, links_hit: 0, aborts: 0, resets: 0 };

    /// Adds another's numbers.
    pub const fn add(&mut self, other: Self) {
        self.dropped += other.dropped;
        self.links_hit += other.links_hit;
        self.aborts += other.aborts;
        self.resets += other.resets;
    }
}
