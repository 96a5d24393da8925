//! This program, by the hash of its own bytes.

use sha2::{Digest as _, Sha256};
use std::fs::File;
use std::io;
use std::sync::OnceLock;

/// The program does not change while it runs, and a debug build has some hundred megabytes to hash.
static HASH: OnceLock<String> = OnceLock::new();

/// SHA-256 of the program that runs, in hexadecimal digits.
///
/// # Errors
/// When the system does not let the program be read.
pub fn hash() -> io::Result<&'static str> {
    if let Some(known) = HASH.get() {
        return Ok(known);
    }
    let mut hash = Sha256::new();
    io::copy(&mut File::open(std::env::current_exe()?)?, &mut Hashing(&mut hash))?;
    Ok(HASH.get_or_init(|| hex(&hash.finalize())))
}

/// SHA-256 of some bytes, in hexadecimal digits.
pub fn hash_of(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// A hash as something to write to.
struct Hashing<'h>(&'h mut Sha256);

impl io::Write for Hashing<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_sha_256() {
        // FIPS 180-4's example of one block.
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hash_of(b"abc"), abc);
        let program = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert_eq!(hash().unwrap(), hash_of(&program));
    }
}
