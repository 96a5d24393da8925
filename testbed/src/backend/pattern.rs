//! The file that ranges are taken from: longer than any run, and with every byte known beforehand,
//! so that a client can tell that it got the bytes that it asked for.

use axum::body::Bytes;
use testbed_core::download::config::MAX_FILE;

/// The size of the file: 1 TiB.
pub const FILE_BYTES: u64 = MAX_FILE.get();

/// Bytes of a word, in which the file is written.
const WORD: u64 = 8;
/// From one word to the next: 2^64 over the golden ratio. It is odd, so that no word comes twice.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// The bytes of the file from `offset` on.
pub fn bytes(offset: u64, length: usize) -> Bytes {
    let skipped = (offset % WORD) as usize;
    let end = skipped + length;
    let mut words = vec![0; end.next_multiple_of(WORD as usize)];
    for (word, bytes) in (offset / WORD..).zip(words.chunks_exact_mut(WORD as usize)) {
        bytes.copy_from_slice(&word.wrapping_mul(STEP).to_le_bytes());
    }
    Bytes::from(words).slice(skipped..end)
}

/// The place in the file of the first byte that is not as it is there; `data` is to begin at
/// `offset`.
pub fn first_wrong(offset: u64, data: &[u8]) -> Option<u64> {
    let right = bytes(offset, data.len());
    if right == data {
        return None;
    }
    let wrong = right.iter().zip(data).position(|(right, byte)| right != byte);
    wrong.map(|place| offset + place as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_is_the_same_in_whatever_piece_it_comes() {
        let whole = bytes(1000, 100);
        for begin in 0..20 {
            for length in 0..20 {
                let piece = bytes(1000 + begin as u64, length);
                assert_eq!(piece, whole[begin..begin + length], "{begin} {length}");
            }
        }
        assert_eq!(whole[..8], (125 * u128::from(STEP)).to_le_bytes()[..8], "the word 1000 / 8");
    }

    #[test]
    fn a_wrong_byte_is_found_and_so_are_bytes_of_another_place() {
        let (offset, mut data) = (FILE_BYTES - 77, bytes(FILE_BYTES - 77, 50).to_vec());
        assert_eq!(first_wrong(offset, &data), None);
        data[33] ^= 1;
        assert_eq!(first_wrong(offset, &data), Some(offset + 33));
        for elsewhere in [1, 8, 256, 2048, 65_536, 1 << 24, 1 << 32] {
            assert!(first_wrong(offset, &bytes(offset - elsewhere, 64)).is_some(), "{elsewhere}");
        }
    }
}
