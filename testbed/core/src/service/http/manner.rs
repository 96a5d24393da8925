//! The manner in which an answer leaves: what is sent when, and how it ends.
//!
//! Both worlds carry the same description out. It speaks of the body's bytes; the head leaves with
//! the first of them.

use crate::time::{Nanos, Time};

/// How the answers of a rule leave, whatever their length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// At once and whole, as ever.
    Plain,
    /// Whole, but so much later.
    Late(Nanos),
    /// In pieces of so many bytes, a pause after each.
    Pieces {
        /// Bytes of a piece, 1 or more.
        bytes: u64,
        /// From one piece to the next.
        pause: Nanos,
    },
    /// Only so many bytes of the body; then the connection ends.
    Cut {
        /// Bytes of the body that are sent at most.
        after: u64,
        /// Whether it ends by a reset.
        reset: bool,
    },
    /// Whole, but under this length.
    Declared(u64),
    /// Not at all.
    Silent,
}

/// How an answer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It is whole, and the connection is there for the next request.
    KeepAlive,
    /// The connection is closed behind the last byte that is sent.
    Close,
    /// The connection is reset behind the last byte that is sent.
    Reset,
    /// The connection stays, and nothing more is said on it.
    StaysOpen,
}

/// What leaves when, of an answer with a body of a known length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// From the release to the first byte; [`Nanos::MAX`]: never.
    pub delay: Nanos,
    /// Bytes of the body that leave together, 1 or more.
    pub piece: u64,
    /// From one piece to the next.
    pub pause: Nanos,
    /// Bytes of the body that are really sent.
    pub sent: u64,
    /// The length that the head tells.
    pub declared: u64,
    /// How it ends.
    pub end: End,
}

impl Manner {
    /// The schedule of an answer whose body has this many bytes.
    pub fn schedule(self, body: u64) -> Schedule {
        let whole = Schedule {
            delay: Nanos::ZERO,
            piece: u64::MAX,
            pause: Nanos::ZERO,
            sent: body,
            declared: body,
            end: End::KeepAlive,
        };
        match self {
            Self::Plain => whole,
            Self::Late(delay) => Schedule { delay, ..whole },
            Self::Pieces { bytes, pause } => Schedule { piece: bytes.max(1), pause, ..whole },
            Self::Cut { after, reset } => {
                let end = if reset { End::Reset } else { End::Close };
                Schedule { sent: body.min(after), end, ..whole }
            }
            Self::Declared(declared) => {
                Schedule { declared, end: end_of_wrong_length(declared, body), ..whole }
            }
            Self::Silent => Schedule { delay: Nanos::MAX, end: End::StaysOpen, ..whole },
        }
    }
}

/// A client that is promised more waits for it. One that is promised less takes what follows for the
/// next answer, so there must not be one.
fn end_of_wrong_length(declared: u64, body: u64) -> End {
    match declared.cmp(&body) {
        std::cmp::Ordering::Less => End::Close,
        std::cmp::Ordering::Equal => End::KeepAlive,
        std::cmp::Ordering::Greater => End::StaysOpen,
    }
}

impl Schedule {
    /// Bytes of the body that a client takes: no more than were declared.
    pub fn taken(&self) -> u64 {
        self.sent.min(self.declared)
    }

    /// Whether the head must say that no other answer follows on the connection.
    pub const fn is_last(&self) -> bool {
        matches!(self.end, End::Close | End::Reset)
    }

    /// From the release until a byte of the body leaves, by its place.
    fn leaves(&self, place: u64) -> Nanos {
        let pauses = place / self.piece;
        self.delay.plus(Nanos::new(self.pause.get().saturating_mul(pauses)))
    }
}

/// An answer that is leaving.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaving {
    schedule: Schedule,
    released: Time,
    /// Bytes of the body that have left.
    gone: u64,
}

impl Leaving {
    /// An answer that was released at this instant, before its first byte.
    pub const fn new(schedule: Schedule, released: Time) -> Self {
        Self { schedule, released, gone: 0 }
    }

    /// The schedule that it keeps to.
    pub const fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// When the next piece leaves, or, behind the last, when that one left: then the answer ends.
    pub fn due(&self) -> Time {
        let last = self.schedule.sent.saturating_sub(1);
        self.released.after(self.schedule.leaves(self.gone.min(last)))
    }

    /// Bytes of the body that are still to leave.
    pub const fn left(&self) -> u64 {
        self.schedule.sent - self.gone
    }

    /// Lets the next piece go, or its first `at_most` bytes; how many these are.
    pub fn take(&mut self, at_most: u64) -> u64 {
        let of_piece = self.schedule.piece - self.gone % self.schedule.piece;
        let bytes = of_piece.min(self.left()).min(at_most);
        self.gone += bytes;
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// When each piece leaves, in ms, and its bytes; then the end.
    fn pieces(manner: Manner, body: u64) -> (Vec<(u64, u64)>, End) {
        let mut leaving = Leaving::new(manner.schedule(body), Time::ZERO);
        let mut pieces = Vec::new();
        while leaving.left() > 0 {
            let at = leaving.due().as_nanos() / 1_000_000;
            pieces.push((at, leaving.take(u64::MAX)));
        }
        (pieces, leaving.schedule().end)
    }

    #[test]
    fn an_answer_leaves_as_its_manner_says() {
        use End::{Close, KeepAlive, StaysOpen};
        let ms = Nanos::from_millis;
        let drip = |bytes| Manner::Pieces { bytes, pause: ms(10) };
        let cut = |after, reset| Manner::Cut { after, reset };
        for (manner, body, left, end) in [
            (Manner::Plain, 3, &[(0, 3)][..], KeepAlive),
            (Manner::Plain, 0, &[], KeepAlive),
            (Manner::Late(ms(7)), 3, &[(7, 3)], KeepAlive),
            (drip(1), 3, &[(0, 1), (10, 1), (20, 1)], KeepAlive),
            (drip(2), 5, &[(0, 2), (10, 2), (20, 1)], KeepAlive),
            (drip(9), 3, &[(0, 3)], KeepAlive),
            (cut(1, false), 3, &[(0, 1)], Close),
            (cut(0, false), 3, &[], Close),
            (cut(9, false), 3, &[(0, 3)], Close),
            (cut(2, true), 3, &[(0, 2)], End::Reset),
            (Manner::Declared(9), 3, &[(0, 3)], StaysOpen),
            (Manner::Declared(3), 3, &[(0, 3)], KeepAlive),
            (Manner::Declared(1), 3, &[(0, 3)], Close),
        ] {
            assert_eq!(pieces(manner, body), (left.to_vec(), end), "{manner:?} of {body}");
        }
    }

    #[test]
    fn a_client_takes_what_is_sent_and_declared() {
        for (manner, taken, declared) in [
            (Manner::Plain, 3, 3),
            (Manner::Cut { after: 1, reset: false }, 1, 3),
            (Manner::Declared(1), 1, 1),
            (Manner::Declared(9), 3, 9),
        ] {
            let schedule = manner.schedule(3);
            assert_eq!((schedule.taken(), schedule.declared), (taken, declared), "{manner:?}");
        }
    }

    #[test]
    fn what_is_taken_bit_by_bit_keeps_to_its_pieces() {
        let drip = Manner::Pieces { bytes: 4, pause: Nanos::new(1) }.schedule(10);
        let mut leaving = Leaving::new(drip, Time::ZERO);
        for (at, at_most, taken) in [(0, 3, 3), (0, 3, 1), (1, 3, 3), (1, 9, 1), (2, 9, 2)] {
            assert_eq!((leaving.due(), leaving.take(at_most)), (Time::from_nanos(at), taken));
        }
        assert_eq!((leaving.due(), leaving.take(9)), (Time::from_nanos(2), 0), "the end");
        let silent = Leaving::new(Manner::Silent.schedule(3), Time::from_nanos(5));
        assert_eq!((silent.due(), silent.schedule().end), (Time::NEVER, End::StaysOpen));
    }
}
