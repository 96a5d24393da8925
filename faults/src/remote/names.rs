//! Names of proxies, and names in paths.

/// What the names of our proxies begin with; whatever else has it is taken for a leftover.
pub const PREFIX: &str = "windtunnel-";

/// The name of an arm's proxy. `toxiproxy_rust` puts it into paths as it is, so that what a path
/// cannot hold becomes `~` and two digits; no two arms have the same name.
pub(super) fn of_arm(arm: &str) -> String {
    PREFIX.to_owned() + &escaped(arm, '~')
}

/// A name as one segment of a path.
pub(super) fn segment(name: &str) -> String {
    escaped(name, '%')
}

/// Letters and digits, `-`, `.` and `_` as they are, every other byte as `mark` and two digits.
fn escaped(name: &str, mark: char) -> String {
    let escape = |byte: u8| match byte {
        b'-' | b'.' | b'_' => char::from(byte).to_string(),
        byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        byte => format!("{mark}{byte:02X}"),
    };
    name.bytes().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_arms_have_names_of_their_own_that_a_path_holds() {
        for (arm, name) in [
            ("velox_2.0-b", "windtunnel-velox_2.0-b"),
            ("a b", "windtunnel-a~20b"),
            ("a/b", "windtunnel-a~2Fb"),
            ("a~20b", "windtunnel-a~7E20b"),
            ("é", "windtunnel-~C3~A9"),
            ("..", "windtunnel-.."),
        ] {
            assert_eq!(of_arm(arm), name);
            assert_eq!(
                of_arm(arm).strip_prefix(PREFIX).map(|rest| rest.contains('/')),
                Some(false)
            );
        }
        assert_eq!(segment("a %?/é"), "a%20%25%3F%2F%C3%A9");
    }
}
