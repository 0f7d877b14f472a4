//! Looks names up in `/etc/hosts`.

use super::Failure;
use crate::remote::deadline::Deadline;
use std::io::{BufRead, BufReader, Read};
use std::net::IpAddr;
use std::path::Path;

/// The number of bytes that are read, which is more than any list of hosts has that is kept by hand
/// or blocks advertisers.
const LONGEST: u64 = 64 * 1024 * 1024;

/// Looks up the addresses of a name. A file that cannot be read has none; of a long file, only the
/// part read before the deadline counts.
pub(super) fn addresses(
    file: &Path,
    name: &str,
    deadline: Deadline,
) -> Result<Vec<IpAddr>, Failure> {
    let Some(file) = super::plain(file)? else { return Ok(Vec::new()) };
    let mut lines = BufReader::new(file.take(LONGEST));
    let (mut found, mut line) = (Vec::new(), Vec::new());
    while !deadline.left().is_zero()
        && lines.read_until(b'\n', &mut line).is_ok_and(|length| length > 0)
    {
        found.extend(address(&String::from_utf8_lossy(&line), name));
        line.clear();
    }
    Ok(found)
}

/// Returns the address of a line, if it contains the name.
fn address(line: &str, name: &str) -> Option<IpAddr> {
    let mut words = line.split('#').next()?.split_whitespace();
    let address = words.next()?.parse().ok()?;
    let same = |word: &str| word.strip_suffix('.').unwrap_or(word).eq_ignore_ascii_case(name);
    words.any(same).then_some(address)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_line_has_an_address_and_its_names() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let text = b"# 192.0.2.9 ada\n192.0.2.1\tADA.example.com. ada # 192.0.2.8 eve\n\
            nonsense ada\n\xff\xff ada\n2001:db8::1 bob ada\n192.0.2.3 adam\n192.0.2.4";
        std::fs::write(file.path(), text).unwrap();
        let in_time = Deadline::within(Duration::from_secs(60));
        let found = |name| addresses(file.path(), name, in_time).unwrap();
        let of = |texts: &[&str]| -> Vec<IpAddr> {
            texts.iter().map(|text| text.parse().unwrap()).collect()
        };
        assert_eq!(found("ada"), of(&["192.0.2.1", "2001:db8::1"]));
        assert_eq!(found("ada.example.com"), of(&["192.0.2.1"]));
        assert_eq!(found("eve"), of(&[]));
        assert_eq!(addresses(Path::new("/nowhere/hosts"), "ada", in_time), Ok(of(&[])));
        let late = Deadline::within(Duration::ZERO);
        assert_eq!(addresses(file.path(), "ada", late), Ok(of(&[])));
    }
}
