//! Detects that a database file was restored from a copy, by any means.
//!
//! A copy does not know which codes were used after it was made. It is recognised by two marks:
//!
//! - The database knows when its file was made, and which one it is: a copy is another file. A copy
//!   by [`super::backup`] has no such mark, so it is always recognised.
//! - A small file next to the database has a number that grows with the database. If the database
//!   has a lower one, it is an older state of itself, written into the same file. The number is
//!   written after its commit, so it is never too high.

use super::files::beside;
use super::open::sync_folder;
use crate::files::{create_private, open_plain};
use rusqlite::{Connection, OptionalExtension};
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The number of transactions with a change after which the number grows, if the database is not
/// closed.
const EVERY: u64 = 64;
/// More bytes than the file of a mark has.
const LONGEST: u64 = 64;

/// The identity of a file: its creation time in nanoseconds, or its inode if that time is unknown.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Identity {
    born: Option<i64>,
    inode: Option<i64>,
}

impl Identity {
    fn of(path: &Path) -> Identity {
        let file = std::fs::metadata(path).ok();
        let born = file.as_ref().and_then(|file| file.created().ok());
        let born = born.and_then(|born| born.duration_since(std::time::UNIX_EPOCH).ok());
        let born = born.and_then(|born| i64::try_from(born.as_nanos()).ok());
        Identity { born, inode: file.as_ref().and_then(inode) }
    }

    /// Returns whether it can be the same file. An inode alone may have belonged to a removed file, and some file
    /// systems give files others when they are mounted again.
    fn fits(self, other: Identity) -> bool {
        match (self.born, other.born) {
            (Some(ours), Some(theirs)) => ours == theirs,
            _ => self.inode == other.inode,
        }
    }
}

#[cfg(unix)]
fn inode(file: &std::fs::Metadata) -> Option<i64> {
    // A value beyond the range of `i64` still identifies the file.
    Some(std::os::unix::fs::MetadataExt::ino(file) as i64)
}

#[cfg(not(unix))]
fn inode(_: &std::fs::Metadata) -> Option<i64> {
    None
}

/// The number next to an open database.
pub(super) struct Origin {
    database: PathBuf,
    mark: PathBuf,
    /// Distinguishes the database from others that had its name.
    id: String,
    changes: AtomicU64,
    /// True if something was written since the number grew.
    is_behind: AtomicBool,
}

/// The row in which the database knows its file.
struct Known {
    id: String,
    identity: Identity,
    number: i64,
}

impl Known {
    fn read(db: &Connection) -> rusqlite::Result<Option<Known>> {
        let sql = "SELECT hex(id), born, inode, number FROM file";
        let row = db.query_row(sql, [], |row| {
            let identity = Identity { born: row.get(1)?, inode: row.get(2)? };
            Ok(Known { id: row.get(0)?, identity, number: row.get(3)? })
        });
        row.optional()
    }
}

impl Origin {
    /// Looks at a database that is being opened, in a transaction that writes. Returns also whether the
    /// file was put back from a copy; then nothing is changed, and [`Origin::adopt`] has to follow.
    pub(super) fn begin(db: &Connection, path: &Path) -> rusqlite::Result<(Origin, bool)> {
        let (identity, mark) = (Identity::of(path), mark_of(path));
        let known = match Known::read(db)? {
            Some(known) => known,
            None => {
                let sql = "INSERT INTO file (one, id, born, inode, number) \
                           VALUES (1, randomblob(16), ?1, ?2, 0) RETURNING hex(id)";
                let of = (identity.born, identity.inode);
                let id = db.query_row(sql, of, |row| row.get(0))?;
                Known { id, identity, number: 0 }
            }
        };
        let is_behind = read(&mark, &known.id).is_some_and(|number| number > known.number);
        let restored = is_behind || !identity.fits(known.identity);
        let origin = Origin {
            database: path.to_owned(),
            mark,
            id: known.id,
            changes: AtomicU64::new(0),
            is_behind: AtomicBool::new(false),
        };
        Ok((origin, restored))
    }

    /// Makes this file the one that the database knows: see [`adopt`].
    pub(super) fn adopt(&self, db: &Connection) -> rusqlite::Result<()> {
        adopt(db, &self.database, &self.database)
    }

    /// Lets the number grow with the first change and now and then, and not before: a database that is
    /// rejected for its keyring is left as it is. Call this before a commit that changes something.
    pub(super) fn before_commit(&self, db: &Connection) -> rusqlite::Result<Option<i64>> {
        self.is_behind.store(true, Ordering::Relaxed);
        match self.changes.fetch_add(1, Ordering::Relaxed).is_multiple_of(EVERY) {
            true => grow(db).map(Some),
            false => Ok(None),
        }
    }

    /// Writes the number of a transaction that is committed. If that fails, the number stays too low, so
    /// that less is noticed: the program may have dropped its privileges.
    pub(super) fn after_commit(&self, number: Option<i64>) {
        let Some(number) = number else { return };
        if let Some(mut file) = open_mark(&self.mark, File::options().write(true)) {
            let _ = file.write_all(format!("{} {number:020}\n", self.id).as_bytes());
        }
    }

    /// Writes the number of a database that was opened.
    pub(super) fn create(&self, db: &Connection) -> rusqlite::Result<()> {
        let number = Known::read(db)?.map(|known| known.number);
        // Without the file, less is noticed, but the database can be used.
        if let Ok(file) = create_private(&self.mark) {
            keep_owner(&file, &self.database);
            let _ = sync_folder(&self.mark);
        }
        self.after_commit(number);
        Ok(())
    }

    /// Lets the number grow before the database is closed, if anything was written.
    pub(super) fn end(&self, db: &Connection) {
        if self.is_behind.swap(false, Ordering::Relaxed) {
            // If this fails, less is noticed.
            self.after_commit(grow(db).ok());
        }
    }
}

fn grow(db: &Connection) -> rusqlite::Result<i64> {
    let mut statement =
        db.prepare_cached("UPDATE file SET number = number + 1 WHERE one = 1 RETURNING number")?;
    // The statement is only done once it has no further row.
    let numbers = statement.query_map([], |row| row.get(0))?;
    numbers.collect::<rusqlite::Result<Vec<_>>>()?.pop().ok_or(rusqlite::Error::QueryReturnedNoRows)
}

/// Returns the path of the file that recognises a database, next to it.
pub(super) fn mark_of(database: &Path) -> PathBuf {
    beside(database, "-mark")
}

/// Opens the file of a mark. The owner of its folder could have put a link there, or another name of a file
/// of root, who would write into that file.
fn open_mark(mark: &Path, options: &mut OpenOptions) -> Option<File> {
    let file = open_plain(mark, options).ok()?;
    has_one_name(&file).then_some(file)
}

#[cfg(unix)]
fn has_one_name(file: &File) -> bool {
    file.metadata().is_ok_and(|found| std::os::unix::fs::MetadataExt::nlink(&found) == 1)
}

#[cfg(not(unix))]
fn has_one_name(_: &File) -> bool {
    true
}

/// Reads the number in the file next to a database with this id.
fn read(mark: &Path, id: &str) -> Option<i64> {
    let mut text = String::new();
    let file = open_mark(mark, File::options().read(true))?;
    file.take(LONGEST).read_to_string(&mut text).ok()?;
    let (of, number) = text.trim_end().split_once(' ')?;
    (of == id).then(|| number.parse().ok())?
}

/// Gives a file that this process has just created to the owner of the database, as SQLite does with its own.
/// By its name, root could be led to give away another file.
#[cfg(unix)]
pub(super) fn keep_owner(file: &File, like: &Path) {
    use std::os::unix::fs::MetadataExt;
    let (ours, theirs) = (file.metadata(), like.symlink_metadata());
    if let (Ok(ours), Ok(theirs)) = (ours, theirs)
        && (ours.uid(), ours.gid()) != (theirs.uid(), theirs.gid())
    {
        // Only root may.
        let _ = std::os::unix::fs::fchown(file, Some(theirs.uid()), Some(theirs.gid()));
    }
}

#[cfg(not(unix))]
pub(super) fn keep_owner(_: &File, _: &Path) {}

/// Makes this file the one that the database knows, in the transaction that invalidates everything
/// that may have been used since the copy was made. The file may still have another name than the
/// database will.
pub(super) fn adopt(db: &Connection, file: &Path, database: &Path) -> rusqlite::Result<()> {
    let identity = Identity::of(file);
    let known = Known::read(db)?;
    let least = known.and_then(|known| read(&mark_of(database), &known.id)).unwrap_or(0);
    let sql = "UPDATE file SET born = ?1, inode = ?2, number = max(number, ?3) + 1";
    db.execute(sql, (identity.born, identity.inode, least)).map(drop)
}

/// Makes a copy forget which file it was, so that it is recognised wherever it is put.
pub(super) fn forget(db: &Connection) -> rusqlite::Result<()> {
    db.execute("UPDATE file SET born = NULL, inode = -1", []).map(drop)
}
