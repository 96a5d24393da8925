//! Server-sent events, from pieces of bytes as the network cuts them.

use super::http::ANSWER_LIMIT;

/// Puts events together.
#[derive(Debug, Default)]
pub(super) struct Stream {
    bytes: Vec<u8>,
}

impl Stream {
    /// Takes a piece in. False if an event has become longer than any that a server sends.
    pub(super) fn push(&mut self, piece: &[u8]) -> bool {
        self.bytes.extend_from_slice(piece);
        self.bytes.len() <= ANSWER_LIMIT
    }

    /// The data of the next event that is here in full.
    pub(super) fn next(&mut self) -> Option<String> {
        let end = self.bytes.windows(2).position(|two| two == b"\n\n")?;
        let event: Vec<u8> = self.bytes.drain(..end + 2).collect();
        let event = String::from_utf8_lossy(&event);
        let data = event.lines().filter_map(|line| line.strip_prefix("data:"));
        Some(data.map(str::trim_start).collect::<Vec<_>>().join("\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_the_same_however_they_were_cut() {
        let text = "event: a\ndata: {\"ä\": 1}\n\nevent: b\ndata:2\n\nevent: c\n";
        for size in 1..text.len() {
            let (mut stream, mut events) = (Stream::default(), Vec::new());
            for piece in text.as_bytes().chunks(size) {
                assert!(stream.push(piece));
                events.extend(std::iter::from_fn(|| stream.next()));
            }
            assert_eq!(events, ["{\"ä\": 1}", "2"], "pieces of {size}");
        }
    }

    #[test]
    fn an_event_without_end_is_given_up() {
        let mut stream = Stream::default();
        let piece = vec![b'x'; 1 << 20];
        assert!((0..16).all(|_| stream.push(&piece)));
        assert!(!stream.push(b"x"));
    }
}
