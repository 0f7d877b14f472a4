//! Keeps an open database usable across forks.
//!
//! A fork copies the memory of SQLite, but neither the threads that hold its mutexes nor the locks
//! that the process has on files. So an operation of a parent's thread at that moment is never
//! finished in the child, and SQLite takes the parent's locks for the child's: it would write
//! without the lock that keeps the parent from removing the log, and so lose committed data.
//!
//! Whether a thread uses a database is therefore counted. If none did, no mutex is held and no
//! transaction is open in the child. The child then closes the connections that it inherited before
//! it opens any, which leaves the files and the parent's locks alone, and makes SQLite forget the
//! parent's locks. If a thread did, the child uses no database.

use super::held;
use crate::{Error, Result};
use rusqlite::Connection;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

/// A process id, and in the lower half how many of its threads use a database. It is not a mutex,
/// because a thread of the parent may have held a mutex at the time of the fork.
static USING: AtomicU64 = AtomicU64::new(0);

/// A process id, and in the lower half how many of its threads are about to fork.
static FORKING: AtomicU64 = AtomicU64::new(0);

/// The process that has closed the connections that it inherited.
static SETTLED: AtomicU32 = AtomicU32::new(0);

/// A connection that a process which did not open it closes before it opens its own.
pub(super) type Owned = Arc<Mutex<Option<Connection>>>;

/// The connections of the services that are open. A forked child never waits for this lock, because
/// only a thread that uses a database takes it.
static CONNECTIONS: Mutex<Vec<Weak<Mutex<Option<Connection>>>>> = Mutex::new(Vec::new());

/// The time that a fork waits for threads that use a database, which may wait for one another
/// process has locked.
const PATIENCE: Duration = Duration::from_secs(6);
const PAUSE: Duration = Duration::from_micros(200);

/// The number of times that long work starts over because this process is forked.
const MOST_FORKS: usize = 20;

/// Does work that takes long and that no forked child may find unfinished. It returns `None` if it was
/// given up because of [`Using::is_waited_for`], and is done again then.
pub(super) fn apart_from_forks<T>(mut work: impl FnMut(&Using) -> Result<Option<T>>) -> Result<T> {
    for _ in 0..MOST_FORKS {
        if let Some(done) = work(&Using::begin()?)? {
            return Ok(done);
        }
    }
    Err(Error::storage(
        "this process was forked again and again meanwhile, so nothing came of it: do it in a process \
         of its own, such as `seconder backup`",
    ))
}

/// Counts this thread as one that uses a database, also one in memory, until this is dropped.
pub(in crate::engine::store) struct Using(u32);

impl Using {
    /// # Errors
    /// [`Error::Storage`] in a child that was forked while a thread used a database, or that has given
    /// the numbers of inherited descriptors to other files.
    pub(in crate::engine::store) fn begin() -> Result<Using> {
        let process = std::process::id();
        loop {
            while count(&FORKING, process) > 0 {
                std::thread::sleep(PAUSE);
            }
            let one_more = |using| match parts(using) {
                (other, 1..) if other != process => None,
                (_, count) => Some(of(process, count + 1)),
            };
            USING.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_more).map_err(|_| {
                Error::storage(
                    "this process was forked while a thread of its parent used a database, and can \
                     use none: fork while no call is in progress, or open services in processes \
                     that are not forked from one with threads",
                )
            })?;
            let using = Using(process);
            // A thread that is about to fork looks at `USING` after it has said so.
            if count(&FORKING, process) == 0 {
                return using.settle().map(|()| using);
            }
        }
    }

    /// Closes inherited connections, once in each process.
    fn settle(&self) -> Result<()> {
        if SETTLED.load(Ordering::Acquire) == self.0 {
            return Ok(());
        }
        let mut connections = connections();
        if SETTLED.load(Ordering::Acquire) == self.0 {
            return Ok(());
        }
        // Closing inherited descriptors would close files of the program.
        if held::inherited_are_reused() {
            return Err(Error::storage(
                "this process was forked from one that had a database open, and has closed its \
                 descriptors and given their numbers to other files, so that it can use no database: \
                 open services before other files, or never close descriptors that the program did \
                 not open",
            ));
        }
        let inherited = std::mem::take(&mut *connections);
        for connection in inherited.iter().filter_map(Weak::upgrade) {
            if let Some(connection) =
                connection.lock().unwrap_or_else(PoisonError::into_inner).take()
            {
                keep_log(&connection);
                drop(connection);
            }
        }
        held::leave_to_parent();
        SETTLED.store(self.0, Ordering::Release);
        Ok(())
    }

    /// Returns whether a thread of this process waits until no other uses a database.
    pub(super) fn is_waited_for(&self) -> bool {
        count(&FORKING, self.0) > 0
    }

    /// The same, for what may outlive this.
    pub(super) fn signal(&self) -> impl FnMut() -> bool + Send + 'static {
        let process = self.0;
        move || count(&FORKING, process) > 0
    }

    /// Shares a connection with the children that this process will fork.
    pub(super) fn own(&self, connection: Connection) -> Owned {
        let connection = Arc::new(Mutex::new(Some(connection)));
        let mut connections = connections();
        connections.retain(|other| other.strong_count() > 0);
        connections.push(Arc::downgrade(&connection));
        connection
    }
}

impl Drop for Using {
    fn drop(&mut self) {
        if std::process::id() == self.0 {
            USING.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

/// Waits until no thread uses a database, and keeps them from it until [`after_fork`], so that the
/// child can use databases. Call this before a fork if other threads may make calls of an engine.
/// It waits for at most 6 seconds.
pub fn before_fork() {
    let process = std::process::id();
    let one_more = |forking| match parts(forking) {
        (owner, count) if owner == process => Some(of(process, count + 1)),
        _ => Some(of(process, 1)),
    };
    // This cannot fail: there is always a next value.
    let _ = FORKING.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_more);
    let mut waited = Duration::ZERO;
    while count(&USING, process) > 0 && waited < PATIENCE {
        std::thread::sleep(PAUSE);
        waited += PAUSE;
    }
}

/// Lets threads use databases again. Call this after a fork, in the parent; the child needs nothing.
pub fn after_fork() {
    let process = std::process::id();
    let one_less = |forking| match parts(forking) {
        (owner, count @ 1..) if owner == process => Some(of(process, count - 1)),
        _ => None,
    };
    // Without a fork that began, there is nothing to do.
    let _ = FORKING.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less);
}

fn connections() -> MutexGuard<'static, Vec<Weak<Mutex<Option<Connection>>>>> {
    CONNECTIONS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn of(process: u32, count: u64) -> u64 {
    u64::from(process) << 32 | count
}

fn parts(value: u64) -> (u32, u64) {
    ((value >> 32) as u32, value & u64::from(u32::MAX))
}

fn count(counter: &AtomicU64, process: u32) -> u64 {
    match parts(counter.load(Ordering::SeqCst)) {
        (owner, count) if owner == process => count,
        _ => 0,
    }
}

/// Makes a connection leave the log alone when it is closed.
pub(super) fn keep_log(connection: &Connection) {
    use rusqlite::config::DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE;
    // This can only fail for a setting that SQLite does not know.
    let _ = connection.set_db_config(SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
}
