//! Text from outside, for a terminal or a log.

/// The most characters of a text that are shown.
const LONGEST: usize = 400;
/// The most characters of a name that are shown.
const LONGEST_NAME: usize = 64;

/// Returns the text without anything that could change how a terminal or a log shows the rest:
/// control characters, with which escape sequences begin, line and paragraph separators, and
/// characters that change the direction of text or cannot be seen. Each is shown as `?`. What is
/// longer is cut off.
pub(crate) fn clean(text: &str) -> String {
    clean_to(text, LONGEST)
}

/// Cleans like [`clean`], for the names of users, machines and programs.
pub(crate) fn short(text: &str) -> String {
    clean_to(text, LONGEST_NAME)
}

/// Cleans like [`short`], for a place in a line of the log that programs read: one word, in which only letters, digits
/// and the characters of host names and addresses are shown.
pub(crate) fn word(text: &str) -> String {
    let may_be = |c: char| c.is_ascii_alphanumeric() || "._-+@%/:[]".contains(c);
    short(&text.replace(|c| !may_be(c), "?"))
}

fn clean_to(text: &str, longest: usize) -> String {
    let mut shown: String =
        text.chars().take(longest).map(|c| if is_harmless(c) { c } else { '?' }).collect();
    if text.chars().nth(longest).is_some() {
        shown.push('…');
    }
    shown
}

fn is_harmless(c: char) -> bool {
    let invisible = matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}');
    !c.is_control() && !invisible
}

#[cfg(test)]
mod tests {
    use super::{clean, word};

    #[test]
    fn text_from_outside_cannot_change_a_terminal_or_a_log() {
        assert_eq!(
            clean("Sent to +1-XXX-XXX-XX23 — übermorgen"),
            "Sent to +1-XXX-XXX-XX23 — übermorgen"
        );
        assert_eq!(clean("\x1b[2Ja\r\nb\0c\u{9b}d\u{7f}"), "?[2Ja??b?c?d?");
        assert_eq!(clean("a\u{202e}b\u{2066}c\u{200b}d\u{2028}e"), "a?b?c?d?e");
        assert_eq!(clean(&"x".repeat(500)), format!("{}…", "x".repeat(400)));
        assert_eq!(clean(&"ü".repeat(400)), "ü".repeat(400));
    }

    #[test]
    fn a_word_is_one_word() {
        for same in ["sshd", "systemd-user", "192.0.2.7", "fe80::1%eth0", "[::1]:22", ":0", "pts/1"]
        {
            assert_eq!(word(same), same);
        }
        assert_eq!(word("x by sshd: accepted (by a code)"), "x?by?sshd:?accepted??by?a?code?");
        assert_eq!(word("a\u{a0}b\u{2003}c\td\"e'f=g\u{fc}"), "a?b?c?d?e?f?g?");
    }
}
