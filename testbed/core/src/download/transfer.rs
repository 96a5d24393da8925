//! What passes between a download and the world: commands one way, progress the other.

/// One attempt at a segment. What belongs to an earlier attempt is ignored.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct TransferId {
    /// The segment: a waiter's id.
    pub segment: u32,
    /// Attempts before this one.
    pub attempt: u32,
}

/// What the world is to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Command {
    /// Ask the backend for bytes of the task's file, from `offset` on.
    Open {
        /// The transfer.
        id: TransferId,
        /// The first byte.
        offset: u64,
        /// How many; `None` for all that follow.
        length: Option<u64>,
    },
    /// Report when so many further bytes are here. A transfer has one read at a time.
    Read {
        /// The transfer.
        id: TransferId,
        /// How many bytes.
        bytes: u64,
    },
    /// Close the transfer; it is done or given up.
    Close {
        /// The transfer.
        id: TransferId,
    },
}

/// What became of a transfer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// It began, or began again after so many attempts.
    Opened {
        /// Attempts before this one.
        attempt: u32,
    },
    /// It ended too early; it begins again after a back-off, or fails.
    Aborted {
        /// Why.
        reason: Reason,
        /// Bytes that had been granted since the last checkpoint.
        lost: u64,
    },
    /// All of its bytes have been granted.
    Done {
        /// Whether its task is done by it.
        task_done: bool,
    },
    /// It has been given up for good.
    Failed,
}

/// Why a transfer ended too early.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// It was too slow for too long.
    LowSpeed,
    /// Its connection broke, or the backend refused.
    Broken,
}

impl Reason {
    /// The reason's name in events and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::LowSpeed => "low_speed",
            Self::Broken => "broken",
        }
    }
}

/// What the world tells of a transfer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    /// The bytes of its read are here.
    Received(u64),
    /// Its connection broke, or the backend refused it.
    Broken,
}
