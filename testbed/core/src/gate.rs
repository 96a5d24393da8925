//! The gate: requests in flight against the window.

/// Counts requests in flight against a limit. A lower limit closes the gate and kills nothing that
/// runs: what is in flight drains. A request between two attempts may keep its place, which counts
/// against the limit as well.
#[derive(Debug)]
pub struct Gate {
    in_flight: u32,
    kept: u32,
    /// Permits that nobody will ever give back.
    lost: u32,
    limit: u64,
}

impl Gate {
    /// An empty gate that admits `limit` requests.
    pub const fn new(limit: u64) -> Self {
        Self { in_flight: 0, kept: 0, lost: 0, limit }
    }

    /// Requests in flight.
    pub const fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Places taken: by requests in flight, and by those that keep one.
    pub const fn taken(&self) -> u32 {
        self.in_flight + self.kept
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
        self.taken() as u64 + (self.lost as u64) < self.limit
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

    /// One has ended and keeps its place.
    ///
    /// # Panics
    /// When none is in flight: a ticket ended twice.
    pub const fn keep(&mut self) {
        self.leave();
        self.kept += 1;
    }

    /// One goes on in the place that it has kept.
    ///
    /// # Panics
    /// When none has kept one.
    pub const fn resume(&mut self) {
        assert!(self.kept > 0, "a place that was kept is there");
        self.kept -= 1;
        self.enter();
    }

    /// Takes over the controller's limit.
    pub const fn set_limit(&mut self, limit: u64) {
        self.limit = limit;
    }
}
