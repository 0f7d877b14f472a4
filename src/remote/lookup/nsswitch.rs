//! Other sources of names than those used here, as `nsswitch.conf` lists them.

use std::io::Read;
use std::path::Path;

/// The number of bytes that are read.
const LONGEST: u64 = 64 * 1024;

/// Sources that are used here, or that know only this machine and its containers.
const USED: [&str; 4] = ["files", "dns", "myhostname", "mymachines"];

/// Returns the other sources of hosts, such as `ldap, mdns4_minimal`. Empty if there are none, or the file cannot be
/// read.
pub(super) fn other_sources(file: &Path) -> String {
    let mut text = Vec::new();
    if let Ok(Some(file)) = super::plain(file) {
        // A file that is too long is read in part, which suffices for an error message.
        let _ = file.take(LONGEST).read_to_end(&mut text);
    }
    let text = String::from_utf8_lossy(&text);
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    let Some(sources) = lines.filter_map(|line| line.strip_prefix("hosts:")).next_back() else {
        return String::new();
    };
    // An action such as [NOTFOUND=return], or [!UNAVAIL=continue NOTFOUND=return], follows its source.
    let mut in_action = false;
    let mut others = Vec::new();
    for word in sources.split_whitespace() {
        let is_action = in_action || word.starts_with('[');
        in_action = is_action && !word.ends_with(']');
        // The names are shown in messages, so nothing but plain ones is.
        let is_plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
        if !is_action && !USED.contains(&word) && word.bytes().all(is_plain) {
            others.push(word);
        }
    }
    others.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_sources_are_those_that_are_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("nsswitch.conf");
        let found = |text: &str| {
            std::fs::write(&file, text).unwrap();
            other_sources(&file)
        };
        assert_eq!(found("passwd: files\nhosts: files dns # ldap\n"), "");
        assert_eq!(
            found("hosts:\tmymachines resolve [!UNAVAIL=return] files\u{1b}[2J myhostname dns\n"),
            "resolve"
        );
        let several = "hosts: files mdns4_minimal [NOTFOUND=return UNAVAIL=continue] dns ldap";
        assert_eq!(found(several), "mdns4_minimal, ldap");
        assert_eq!(found("group: ldap"), "");
        assert_eq!(other_sources(&folder.path().join("none")), "");
    }
}
