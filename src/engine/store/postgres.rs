//! Store in a PostgreSQL database that several processes and machines, its nodes, share.
//!
//! A batch is one transaction: the rows that its decisions read are locked in one order, with one
//! statement for each table, and all changes are sent together with the commit. `buckets` describes
//! the locks that prevent lost updates. A batch that conflicts with another node's is repeated.

mod buckets;
mod changes;
#[cfg(test)]
mod plans;
mod pool;
mod rows;
mod schema;
mod statements;
#[cfg(test)]
mod tests;
mod unknown;
mod values;

use super::backend::{Backend, Fault, Rows};
use super::batch::broken;
use crate::engine::model::clock::Time;
use crate::postgres::{Connection, Dialer, Problem, Report, Target, Tls, Until};
use crate::{Error, Result, interrupt};
use buckets::Guard;
use pool::Pool;
use rows::{Transaction, Trouble};
use std::any::Any;
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

/// The time that a batch or a read may take, with everything that it repeats. Threads that wait for
/// a batch have more, so that they receive its error.
const PATIENCE: Duration = Duration::from_secs(8);
/// The time that changing every row after a restore may take.
const SPENDING: Duration = Duration::from_secs(30 * 60);
/// The time for which a batch whose commit was not confirmed is looked for.
const SEARCH: Duration = Duration::from_secs(5);
/// The number of times that a batch is repeated because of other nodes, and because a row that it
/// adds exists: that can be due to the row itself.
const TRIES: u32 = 20;
const TRIES_OF_KEY: u32 = 3;
/// The longest pause before a batch is repeated. The shortest is a part of it that differs between
/// nodes.
const PAUSE: Duration = Duration::from_millis(20);
/// The maximum number of connections that read.
const READERS: usize = 4;
/// The number of marks of committed batches that are deleted together.
const MARKS: usize = 32;

/// A database that is shared.
pub(crate) struct Postgres {
    target: Target,
    tls: Option<Tls>,
    writer: Pool<Writer>,
    readers: Pool<Option<Connection>>,
    /// The rows in which this node counts.
    shard: u8,
    process: u32,
    /// The time that a batch or a read may take.
    patience: Duration,
}

#[derive(Default)]
struct Writer {
    /// `None` until the first batch, and after the connection was lost.
    connection: Option<Connection>,
    /// The marks of batches that are known to be committed.
    committed: Vec<[u8; 16]>,
}

/// The next step after an attempt.
enum Next {
    Fail(Fault),
    /// Another node's transaction conflicted.
    Repeat(Error),
    /// More has to be locked first.
    Lock,
    /// A row that is added is there.
    RepeatForKey(Error),
    /// The transaction may or may not be committed.
    Search(String),
}

impl Postgres {
    /// Opens the database at this URL, and creates the tables if they are missing, unless they must
    /// exist. The dialer connects to the server.
    pub(crate) fn open(rest: &str, must_exist: bool, dialer: Dialer) -> Result<Postgres> {
        let mut shard = [0];
        getrandom::fill(&mut shard).map_err(|_| Error::storage("the system has no randomness"))?;
        Postgres::open_shard(rest, must_exist, dialer, shard[0])
    }

    /// Checks a URL without connecting to the database.
    pub(crate) fn check(rest: &str) -> Result<()> {
        Target::parse(rest)?.tls().map(drop)
    }

    pub(super) fn open_shard(
        rest: &str,
        must_exist: bool,
        dialer: Dialer,
        shard: u8,
    ) -> Result<Postgres> {
        let mut target = Target::parse(rest)?;
        target.dialer = dialer;
        let tls = target.tls()?;
        let database = Postgres {
            target,
            tls,
            writer: Pool::new(1),
            readers: Pool::new(READERS),
            shard,
            process: std::process::id(),
            patience: PATIENCE,
        };
        interrupt::without(|| {
            let until = Until::within(database.patience);
            let mut connection = database.connect(until)?;
            schema::create(&mut connection, must_exist, until)?;
            database.writer.take(until)?.item.connection = Some(connection);
            Ok(database)
        })
    }

    /// Opens a new connection to a server that can be used.
    fn connect(&self, until: Until) -> Result<Connection> {
        self.target.connect(self.tls.as_ref(), until, |connection| {
            schema::check_server(connection)?;
            schema::set_up(connection)
        })
    }

    /// Makes sure that there is a connection, and that the server has not closed it.
    fn connected<'a>(
        &self,
        connection: &'a mut Option<Connection>,
        until: Until,
    ) -> Result<&'a mut Connection> {
        if connection.as_mut().is_some_and(|connection| !connection.is_usable()) {
            *connection = None;
        }
        let connection = match connection {
            Some(connection) => connection,
            None => connection.insert(self.connect(until)?),
        };
        connection.set_deadline(until);
        Ok(connection)
    }

    /// Tries to carry out a batch.
    fn attempt(
        &self,
        writer: &mut Writer,
        until: Until,
        guards: &mut BTreeSet<Guard>,
        mark: [u8; 16],
        work: &mut dyn FnMut(&mut dyn Rows) -> Result<(), Fault>,
    ) -> Result<(), Next> {
        let Writer { connection, committed } = writer;
        let connected = self.connected(connection, until);
        let connected = connected.map_err(|error| Next::Fail(Fault::OfStore(error)))?;
        let forget: &[[u8; 16]] = if committed.len() >= MARKS { committed } else { &[] };
        let mut transaction = Transaction::new(connected, true, guards, forget, self.shard, mark);
        let done = work(&mut transaction);
        let (begun, wrote) = (transaction.has_begun(), transaction.wrote);
        let done = match (done, transaction.trouble.take()) {
            (Ok(()), None) => transaction.commit().map_err(|problem| after(problem, wrote)),
            (_, Some(Trouble::Problem(problem))) => Err(after(problem, false)),
            (_, Some(Trouble::Damaged(error))) => Err(Next::Fail(Fault::OfStore(error))),
            (_, Some(Trouble::Unlocked)) => Err(Next::Lock),
            (Err(fault), None) => Err(Next::Fail(fault)),
        };
        match &done {
            Ok(()) if wrote => {
                if !forget.is_empty() {
                    committed.clear();
                }
                committed.push(mark);
            }
            Ok(()) => {}
            // The server may be at work in it, or in the middle of a transaction.
            Err(_) if begun => roll_back(connection, until),
            Err(_) => {}
        }
        done
    }

    fn carry_out(
        &self,
        work: &mut dyn FnMut(&mut dyn Rows) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let until = Until::within(self.patience);
        let mut writer = self.writer.take(until).map_err(Fault::OfStore)?;
        let mut guards = BTreeSet::new();
        let (mut tries, mut tries_of_key) = (0, 0);
        loop {
            let mark = unknown::mark().map_err(Fault::OfStore)?;
            let error = match self.attempt(&mut writer.item, until, &mut guards, mark, work) {
                Ok(()) => return Ok(()),
                Err(Next::Fail(fault)) => return Err(fault),
                Err(Next::Lock) if !until.left().is_zero() => continue,
                Err(Next::Lock) => Error::storage("PostgreSQL was not locked in time"),
                Err(Next::Repeat(error)) => error,
                Err(Next::RepeatForKey(error)) => {
                    tries_of_key += 1;
                    if tries_of_key >= TRIES_OF_KEY {
                        return Err(Fault::OfRow(error));
                    }
                    error
                }
                Err(Next::Search(why)) => {
                    let found = self.is_committed(mark, &why).map_err(Fault::OfStore)?;
                    if found {
                        return Ok(());
                    }
                    Error::storage(format!("PostgreSQL failed before the commit: {why}"))
                }
            };
            tries += 1;
            if tries >= TRIES || until.left().is_zero() {
                return Err(Fault::OfStore(error));
            }
            // Pauses of different nodes differ, so that they do not collide again.
            let part = u32::from(mark[0]) * tries.min(8) / 8;
            std::thread::sleep((PAUSE * part / 255).min(until.left()));
        }
    }

    fn look(&self, work: &mut dyn FnMut(&mut dyn Rows) -> Result<(), Fault>) -> Result<(), Fault> {
        let until = Until::within(self.patience);
        let mut tries = 0;
        loop {
            let mut place = self.readers.take(until).map_err(Fault::OfStore)?;
            let connected = self.connected(&mut place.item, until).map_err(Fault::OfStore)?;
            let mut guards = BTreeSet::new();
            let mut snapshot =
                Transaction::new(connected, false, &mut guards, &[], self.shard, [0; 16]);
            let done = work(&mut snapshot);
            let begun = snapshot.has_begun();
            let done = match (done, snapshot.trouble.take()) {
                (Ok(()), None) => snapshot.commit().map_err(|problem| after(problem, false)),
                (_, Some(Trouble::Problem(problem))) => Err(after(problem, false)),
                (_, Some(Trouble::Damaged(error))) => Err(Next::Fail(Fault::OfStore(error))),
                (_, Some(Trouble::Unlocked)) => Err(Next::Lock),
                (Err(fault), None) => Err(Next::Fail(fault)),
            };
            if done.is_err() && begun {
                roll_back(&mut place.item, until);
            }
            tries += 1;
            match done {
                Ok(()) => return Ok(()),
                Err(Next::Fail(fault)) => return Err(fault),
                Err(Next::Repeat(error) | Next::RepeatForKey(error))
                    if tries >= TRIES || until.left().is_zero() =>
                {
                    return Err(Fault::OfStore(error));
                }
                // Only changes lock, and only their commits are looked for.
                Err(Next::Search(_) | Next::Lock) => return Err(Fault::OfStore(broken())),
                Err(_) => {}
            }
        }
    }
}

/// Decides what follows a problem in the middle of a transaction, or at the end of one that changes
/// rows.
fn after(problem: Problem, commits: bool) -> Next {
    match problem {
        Problem::Lost(why) if commits => Next::Search(why),
        // Nothing is committed.
        Problem::Lost(why) => {
            Next::Repeat(Error::storage(format!("PostgreSQL: {why}; nothing was changed")))
        }
        Problem::Rejected(report) => after_report(&report),
    }
}

fn after_report(report: &Report) -> Next {
    let error = Error::storage(format!("PostgreSQL: {}; nothing was changed", report.advice()));
    match &report.state[..report.state.len().min(2)] {
        // Another node was first, or held a lock for too long; or, in an update, deleted the row.
        _ if report.is(&["40001", "40P01", "55P03", "22012"]) => Next::Repeat(error),
        _ if report.is(&["23505"]) => {
            Next::RepeatForKey(Error::storage("a row with the key of another: nothing was changed"))
        }
        // A value of a row cannot be stored.
        "22" | "23" => Next::Fail(Fault::OfRow(error)),
        _ => Next::Fail(Fault::OfStore(error)),
    }
}

/// Ends a transaction that failed. Without an answer in time, the connection is given up, and the
/// server ends the transaction.
fn roll_back(connection: &mut Option<Connection>, until: Until) {
    let ended = connection.as_mut().is_some_and(|connection| {
        connection.set_deadline(until.sooner(Duration::from_secs(1)));
        connection.forget_pipeline();
        connection.simple("ROLLBACK").is_ok()
    });
    if !ended {
        *connection = None;
    }
}

impl Backend for Postgres {
    /// A forked child has to connect for itself: two processes would mix up their messages.
    fn begin(&self) -> Result<Box<dyn Any>> {
        match std::process::id() == self.process {
            true => Ok(Box::new(())),
            false => Err(Error::storage(
                "the database was opened before this process was forked: open services after the \
                 fork (of a web server: in each worker), or reopen them there",
            )),
        }
    }

    fn write(&self, work: &mut dyn FnMut(&mut dyn Rows) -> Result<(), Fault>) -> Result<(), Fault> {
        // Others wait for the batch too, so the end of one call does not end it.
        interrupt::without(|| self.carry_out(work))
    }

    fn read(&self, work: &mut dyn FnMut(&mut dyn Rows) -> Result<(), Fault>) -> Result<(), Fault> {
        interrupt::without(|| self.look(work))
    }

    /// A restore of a server's database cannot be detected: its operator reports it.
    fn is_restored(&self) -> bool {
        false
    }

    fn spend(&self, now: Time) -> Result<()> {
        interrupt::without(|| {
            let mut writer = self.writer.take(Until::within(self.patience))?;
            let until = Until::within(SPENDING);
            let connection = self.connected(&mut writer.item.connection, until)?;
            schema::spend(connection, now, until)
        })
    }

    fn copy_to(&self, _: &Path, _: &mut dyn FnMut(u64, u64)) -> Result<()> {
        Err(Error::storage("a server's database is backed up by the server's tools, as pg_dump"))
    }
}

impl Drop for Postgres {
    /// In a forked child, the descriptors are closed and nothing is sent: the parent goes on.
    fn drop(&mut self) {
        if std::process::id() != self.process {
            return;
        }
        let writers = self.writer.drain().into_iter().filter_map(|writer| writer.connection);
        let readers = self.readers.drain().into_iter().flatten();
        writers.chain(readers).for_each(Connection::close);
    }
}
