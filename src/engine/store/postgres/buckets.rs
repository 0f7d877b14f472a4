//! Maps rows to buckets, which decide what has to be locked before rows are read.
//!
//! A row that does not exist cannot be locked. So a conclusion that a decision draws from missing
//! rows, or from all rows of a user, is protected by something that does exist:
//!
//! - rows of a user (their key begins with `user_id`, or with a subject `user:` and the id) by the
//!   row of `users`. It is locked before any of them is read, and before any is written, so one
//!   node at a time decides on a user. No such row means that there is no such user: ids are never
//!   given again, and adding the user inserts the row.
//! - rows of other subjects, such as a number, by one of 4096 fences, which always exist.
//! - applications, and the list of the keyring's keys, by a fence of their own. A decision that
//!   changes any of them locks the fence before it reads any. A decision that only reads them locks
//!   nothing, because nearly every decision may read them.
//! - counts by nothing: they are only added to, and nothing is decided by them. Nor is what the
//!   housekeeping of all nodes has seen: each node sees for itself what it has not read yet.
//! - every other row by itself, and a conclusion from its absence by its key: the node that inserts
//!   it second gets an error and decides again.

use crate::engine::store::table::{Schema, Value};

/// The number of buckets. It never changes, because buckets are stored.
pub(super) const BUCKETS: i64 = 4096;
/// The fence of the lists of applications and of keys, after the fences of the buckets.
pub(super) const LIST: i64 = BUCKETS;

/// The owner of a table's rows, by what their key begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    User,
    Subject,
    /// Applications, routes and keys: read without locks, and changed only after the lists were
    /// locked.
    Listed,
    /// Counts, and the state of the housekeeping: no node waits for another because of them.
    Free,
    /// Rows without an owner: each row is locked by itself.
    Shared,
}

/// The lock that protects the rows of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Guard {
    User(i64),
    Fence(i64),
}

impl Scope {
    pub(super) fn of(table: &Schema) -> Scope {
        match (table.name, table.columns.first().map(|column| column.name)) {
            ("applications" | "routes" | "sealing_keys", _) => Scope::Listed,
            ("statistics" | "retention", _) => Scope::Free,
            (_, Some("user_id")) => Scope::User,
            (_, Some("subject")) => Scope::Subject,
            _ => Scope::Shared,
        }
    }

    /// Returns the number of columns before the declared ones: a bucket, or none.
    pub(super) fn extra(self) -> usize {
        usize::from(matches!(self, Scope::User | Scope::Subject))
    }

    /// Returns the lock that protects the rows whose key begins with this value.
    pub(super) fn guard(self, first: &Value) -> Option<Guard> {
        match (self, first) {
            (Scope::User, Value::Int(user)) => Some(Guard::User(*user)),
            (Scope::Subject, Value::Text(subject)) => Some(match user_of(subject) {
                Some(user) => Guard::User(user),
                None => Guard::Fence(bucket_of(subject)),
            }),
            _ => None,
        }
    }

    /// Returns the bucket of the rows whose key begins with this value.
    pub(super) fn bucket(self, first: &Value) -> i64 {
        match self.guard(first) {
            Some(Guard::User(user)) => user.rem_euclid(BUCKETS),
            Some(Guard::Fence(fence)) => fence,
            None => 0,
        }
    }
}

/// Returns the user that a subject is, in the notation of `Subject::key`.
fn user_of(subject: &str) -> Option<i64> {
    subject.strip_prefix("user:")?.parse().ok()
}

/// FNV-1a, because it is the same everywhere and will not change.
fn bucket_of(subject: &str) -> i64 {
    let hash = subject.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (hash % BUCKETS.unsigned_abs()) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// They are stored, so another hash would not find a row again.
    #[test]
    fn the_bucket_of_a_subject_never_changes() {
        let text = |subject: &str| Value::Text(subject.to_owned());
        assert_eq!(Scope::Subject.bucket(&text("user:4099")), 3);
        assert_eq!(Scope::User.bucket(&Value::Int(4099)), 3);
        assert_eq!(bucket_of(""), 0xcbf2_9ce4_8422_2325_u64 as i64 & 4095);
        assert_eq!(bucket_of("phone:1:+12025550100"), PHONE);
        assert_eq!(Scope::Subject.guard(&text("user:x")), Some(Guard::Fence(bucket_of("user:x"))));
    }

    const PHONE: i64 = 1222;
}
