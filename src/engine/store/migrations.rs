//! Schema versions, for every store: which of them a database has, and which one comes next.
//!
//! A database has a table `migrations` with a row for each version that was applied, and the hash of the statements
//! that made it. So a database that another build has made is recognised before anything in it is changed, even if the
//! versions have the same number.

use sha2::{Digest, Sha256};
use std::borrow::Cow;

/// The statements that turn the tables of the version before into this version's; version 1 starts
/// from nothing. Once a version is released, its statements stay as they are.
#[derive(Clone)]
pub(super) struct Migration {
    /// From 1 on, without gaps.
    pub(super) version: i64,
    pub(super) sql: Cow<'static, str>,
}

/// A version that a database has.
pub(super) struct Applied {
    pub(super) version: i64,
    pub(super) hash: Vec<u8>,
}

impl Migration {
    /// Returns the SHA-256 hash of the statements. Comments and spaces at the ends of lines are not
    /// among them.
    pub(super) fn hash(&self) -> [u8; 32] {
        let mut hash = Sha256::new();
        for line in self.sql.lines().map(str::trim) {
            if !line.is_empty() && !line.starts_with("--") {
                hash.update(line);
                hash.update("\n");
            }
        }
        hash.finalize().into()
    }
}

/// Returns the version to apply next to a database that has these, in the order of their numbers.
/// `None` if it has all that are known.
///
/// # Errors
/// Why this build must not use the database, to be read after its name.
pub(super) fn next<'a>(
    known: &'a [Migration],
    applied: &[Applied],
) -> Result<Option<&'a Migration>, String> {
    for (ours, theirs) in known.iter().zip(applied) {
        if (ours.version, &ours.hash()[..]) != (theirs.version, &theirs.hash[..]) {
            return Err(format!(
                "has the tables of another build of this library (schema {} differs): use the build \
                 that wrote it, or restore a copy that this one wrote",
                ours.version
            ));
        }
    }
    match applied.last() {
        Some(last) if applied.len() > known.len() => Err(newer(known, last.version)),
        _ => Ok(known.get(applied.len())),
    }
}

/// Explains why a database with this version must not be used.
pub(super) fn newer(known: &[Migration], version: i64) -> String {
    format!(
        "was written by a newer version of this library (schema {version}, known {}): update the \
         library",
        known.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(statements: &[&'static str]) -> Vec<Migration> {
        let numbered = statements.iter().zip(1..);
        numbered.map(|(sql, version)| Migration { version, sql: (*sql).into() }).collect()
    }

    fn applied(of: &[Migration]) -> Vec<Applied> {
        let applied = |m: &Migration| Applied { version: m.version, hash: m.hash().to_vec() };
        of.iter().map(applied).collect()
    }

    #[test]
    fn versions_are_applied_in_their_order_and_another_history_is_refused() {
        let known = list(&["CREATE a", "CREATE b"]);
        let next = |applied: &[Applied]| {
            super::next(&known, applied).map(|next| next.map(|migration| migration.version))
        };
        assert_eq!(next(&[]), Ok(Some(1)));
        assert_eq!(next(&applied(&known[..1])), Ok(Some(2)));
        assert_eq!(next(&applied(&known)), Ok(None));
        let refused = |statements: &[&'static str], words: &str| {
            let problem = next(&applied(&list(statements))).unwrap_err();
            assert!(problem.contains(words), "{problem}");
        };
        refused(&["CREATE a", "CREATE b", "CREATE c"], "schema 3, known 2");
        refused(&["CREATE x"], "schema 1 differs");
        refused(&["CREATE a", "CREATE x"], "schema 2 differs");
        // Its first version is not ours, so an update of the library would not help.
        refused(&["CREATE x", "CREATE b", "CREATE c"], "schema 1 differs");
        let gap = [Applied { version: 2, hash: known[0].hash().to_vec() }];
        assert!(next(&gap).is_err());
    }

    #[test]
    fn comments_are_no_part_of_a_version() {
        let [ours, theirs] = ["-- One.\nCREATE a;\n\n  CREATE b;", "CREATE a;\nCREATE b;\n-- Two."]
            .map(|sql| Migration { version: 1, sql: sql.into() }.hash());
        assert_eq!(ours, theirs);
        let other = Migration { version: 1, sql: "CREATE a;\nCREATE c;".into() };
        assert_ne!(ours, other.hash());
    }
}
