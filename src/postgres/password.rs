//! Passwords: of the URL, or of a file in the format of `.pgpass`.

use super::target::Host;
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// The source of the password. A file is read for each connection, because it may change.
pub(crate) struct Password {
    given: Option<Zeroizing<String>>,
    file: Option<PathBuf>,
    /// Set if the file was named, so that one that cannot be used is an error.
    is_named: bool,
}

impl Password {
    pub(super) fn new(
        given: Option<Zeroizing<String>>,
        named: Option<PathBuf>,
        home: Option<PathBuf>,
    ) -> Password {
        let is_named = named.is_some();
        Password { given, file: named.or(home.map(|home| home.join(".pgpass"))), is_named }
    }

    /// Returns the password for this account, or the reason why it has none.
    pub(super) fn of(
        &self,
        host: &Host,
        database: &str,
        user: &str,
    ) -> Result<Zeroizing<String>, String> {
        if let Some(given) = &self.given {
            return Ok(given.clone());
        }
        let advice = "name a file with it by passfile= in the URL, or, where nobody else \
                      sees the URL, write it there (postgres://user:password@host)";
        let Some(file) = &self.file else { return Err(format!("none was given: {advice}")) };
        let shown = file.display();
        let text = match std::fs::read_to_string(file) {
            Ok(text) => Zeroizing::new(text),
            Err(error) if self.is_named => return Err(format!("{shown} cannot be read: {error}")),
            Err(_) => return Err(format!("none was given: {advice}")),
        };
        if is_shared(file) {
            return Err(format!(
                "{shown} is not used because others can read it: chmod 600 {shown}"
            ));
        }
        let (hosts, port) = match host {
            Host::Network { name, port, .. } => (vec![name.clone()], port.to_string()),
            // The file lists a socket as localhost, or by the name of its folder.
            Host::Socket(path) => {
                let folder = path.parent().unwrap_or(Path::new("/")).display().to_string();
                let port = path.extension().unwrap_or_default().to_string_lossy().into_owned();
                (vec!["localhost".to_owned(), folder], port)
            }
        };
        let fits =
            |line| hosts.iter().find_map(|host| password_of(line, [host, &port, database, user]));
        text.lines()
            .find_map(fits)
            .ok_or_else(|| format!("{shown} has none for this host, port, database and user"))
    }
}

#[cfg(unix)]
fn is_shared(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(file).map_or(true, |found| found.permissions().mode() & 0o077 != 0)
}

#[cfg(not(unix))]
fn is_shared(_: &Path) -> bool {
    false
}

/// The password of a line, if its first four fields are these or `*`.
fn password_of(line: &str, wanted: [&str; 4]) -> Option<Zeroizing<String>> {
    if line.starts_with('#') {
        return None;
    }
    let mut fields = vec![Zeroizing::new(String::new())];
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        let is_last = fields.len() == 5;
        let field = fields.last_mut()?;
        match letter {
            '\\' => field.extend(letters.next()),
            ':' if !is_last => fields.push(Zeroizing::default()),
            letter => field.push(letter),
        }
    }
    let password = if fields.len() == 5 { fields.pop()? } else { return None };
    let fits = |(field, wanted): (&Zeroizing<String>, &str)| **field == "*" || **field == wanted;
    fields.iter().zip(wanted).all(fits).then_some(password)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_for_the_account_that_it_names() {
        let wanted = ["db.example", "5432", "seconder", "anna"];
        let found = |line: &str| password_of(line, wanted).map(|found| found.to_string());
        assert_eq!(found("db.example:5432:seconder:anna:a:b"), Some("a:b".into()));
        assert_eq!(found(r"*:*:*:anna:a\:b\\c"), Some(r"a:b\c".into()));
        for other in ["db.example:5433:seconder:anna:x", "*:*:*:bert:x", "*:*:*:anna", "#*:*:*:*:x"]
        {
            assert_eq!(found(other), None, "{other}");
        }
    }
}
