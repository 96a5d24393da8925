//! The gate: requests in flight against the window.

/// Counts requests in flight against a limit. A lower limit closes the gate and kills nothing that
/// runs: what is in flight drains.
#[derive(Debug)]
pub struct Gate {
    in_flight: u32,
    /// Permits that nobody will ever give back.
    lost: u32,
    limit: u64,
}

impl Gate {
    /// An empty gate that admits `limit` requests.
    pub const fn new(limit: u64) -> Self {
        Self { in_flight: 0, lost: 0, limit }
    }

    /// Requests in flight.
    pub const fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Requests that may be in flight.
    pub const fn limit(&self) -> u64 {
        self.limit
    }

    /// Permits that were lost: they are taken, and nothing that is in flight has them.
    pub const fn lost(&self) -> u32 {
        self.lost
    }

    /// Whether one more may enter.
    pub const fn is_open(&self) -> bool {
        self.in_flight as u64 + (self.lost as u64) < self.limit
    }

    /// Lets one in.
    pub const fn enter(&mut self) {
        self.in_flight += 1;
    }

    /// A permit is taken by nobody who could give it back.
    pub const fn lose(&mut self) {
        self.lost += 1;
    }

    /// One has ended.
    ///
    /// # Panics
    /// When none is in flight: a ticket ended twice.
    pub const fn leave(&mut self) {
        assert!(self.in_flight > 0, "a ticket ended twice");
        self.in_flight -= 1;
    }

    /// Takes over the controller's limit.
    pub const fn set_limit(&mut self, limit: u64) {
        self.limit = limit;
    }
}
