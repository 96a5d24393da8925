//! Commands that a reader may paste into a shell.

use std::path::Path;

/// The path as one word of a POSIX shell, in quotes only where it needs them. One that is no UTF-8 text is
/// shown as well as it can be.
pub fn word(path: &Path) -> String {
    let text = path.to_string_lossy();
    // Only a NUL byte has no quotes, and no path has one.
    shlex::try_quote(&text).map_or_else(|_| text.to_string(), |word| word.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_back_the_path_whatever_is_in_it() {
        for path in
            ["runs/1", "a b ü.yaml", "it's.yaml", "$HOME/`x`", "a\"b\\c", "!x", "~", "#", ""]
        {
            let read = shlex::split(&word(Path::new(path)));
            assert_eq!(read, Some(vec![path.to_owned()]), "{path}");
        }
        assert_eq!(word(Path::new("runs/a-1_b.c")), "runs/a-1_b.c");
    }
}
