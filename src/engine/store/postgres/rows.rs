//! Reads the rows of a transaction or a snapshot, and locks them.

use super::buckets::{Guard, LIST, Scope};
use super::statements::{COMMON, STATEMENTS, Statements, columns, page};
use super::values::{arrays, each, ints, values_of};
use crate::engine::store::backend::{Fault, Rows};
use crate::engine::store::change::Change;
use crate::engine::store::table::{Row as _, Value, sort};
use crate::engine::store::tables::{TABLES, User};
use crate::engine::store::which::{Due, Key, Which};
use crate::postgres::{Connection, Param, Problem, Returned};
use crate::{Error, Result};
use std::collections::{BTreeMap, BTreeSet};

/// The reason why a transaction came to nothing.
pub(super) enum Trouble {
    /// An error that the server or the connection reported.
    Problem(Problem),
    /// A stored value is invalid.
    Damaged(Error),
    /// Something has to be locked before anything is read.
    Unlocked,
}

impl From<Problem> for Trouble {
    fn from(problem: Problem) -> Trouble {
        Trouble::Problem(problem)
    }
}

/// A transaction, which begins with the first statement.
pub(super) struct Transaction<'a> {
    connection: &'a mut Connection,
    /// True if rows may be changed, and so are locked.
    writes: bool,
    begun: bool,
    /// The locks of the transaction. They are taken again at once if it is repeated, in one order,
    /// and so without a deadlock with another node that has taken the same ones in another order.
    pub(super) guards: &'a mut BTreeSet<Guard>,
    pub(super) locked: BTreeSet<Guard>,
    has_locked: bool,
    /// The users that were locked, or are not there.
    users: BTreeMap<i64, Option<Vec<Value>>>,
    /// The number of statements in the pipeline being written whose results are ignored.
    pub(super) unread: usize,
    /// The mark of this batch, and marks of earlier batches that are known to be committed.
    pub(super) mark: [u8; 16],
    pub(super) forget: &'a [[u8; 16]],
    pub(super) shard: i64,
    pub(super) wrote: bool,
    pub(super) trouble: Option<Trouble>,
}

pub(super) type Values = Vec<Vec<Value>>;

/// The purpose of a statement in a pipeline.
pub(super) enum Part {
    /// The users with these ids.
    Users,
    Fences(usize),
    /// The rows of a table whose keys begin with so many values.
    Prefix(usize, usize),
    /// The rows that are due, or follow on a key, for the request at this place.
    Due(usize, usize),
    After(usize, usize),
    Page(usize, usize),
}

impl<'a> Transaction<'a> {
    pub(super) fn new(
        connection: &'a mut Connection,
        writes: bool,
        guards: &'a mut BTreeSet<Guard>,
        forget: &'a [[u8; 16]],
        shard: u8,
        mark: [u8; 16],
    ) -> Transaction<'a> {
        Transaction {
            connection,
            writes,
            begun: false,
            guards,
            locked: BTreeSet::new(),
            has_locked: false,
            users: BTreeMap::new(),
            unread: 0,
            mark,
            forget,
            shard: shard.into(),
            wrote: false,
            trouble: None,
        }
    }

    pub(super) fn has_begun(&self) -> bool {
        self.begun
    }

    pub(super) fn quietly(
        &mut self,
        statement: &crate::postgres::Statement,
        params: &[Param],
    ) -> Result<(), Problem> {
        self.connection.add(statement, params)?;
        self.unread += 1;
        Ok(())
    }

    pub(super) fn begin(&mut self) -> Result<(), Problem> {
        if self.begun {
            return Ok(());
        }
        self.begun = true;
        let begin = if self.writes { &COMMON.begin } else { &COMMON.begin_reading };
        self.quietly(begin, &[])
    }

    /// Adds the statements that take these locks, unless that was done. The protected rows are read
    /// by later statements, which see everything that was committed before the lock was had.
    pub(super) fn lock(
        &mut self,
        wanted: BTreeSet<Guard>,
        parts: &mut Vec<Part>,
    ) -> Result<(), Problem> {
        let mut wanted = wanted;
        wanted.retain(|guard| !self.locked.contains(guard));
        if !std::mem::replace(&mut self.has_locked, true) {
            wanted.extend(self.guards.iter());
        } else if !wanted.is_empty() {
            // A transaction that holds these may wait for the locks held here: rather begin again.
            self.quietly(&COMMON.soon, &[])?;
        }
        let users = wanted.iter().filter_map(|guard| match guard {
            Guard::User(user) => {
                Some(vec![Value::Int(Scope::User.bucket(&Value::Int(*user))), Value::Int(*user)])
            }
            Guard::Fence(_) => None,
        });
        let users: Values = users.collect();
        if !users.is_empty() {
            let key = &columns(User::SCHEMA)[..2];
            self.connection.add(&STATEMENTS[User::TABLE].lock[1], &arrays(key, &users))?;
            parts.push(Part::Users);
            let ids = users.iter().filter_map(|key| match key[1] {
                Value::Int(user) => Some((user, None)),
                _ => None,
            });
            self.users.extend(ids);
        }
        let fences = wanted.iter().filter_map(|guard| match guard {
            Guard::Fence(fence) => Some(*fence),
            Guard::User(_) => None,
        });
        let fences: Vec<i64> = fences.collect();
        if !fences.is_empty() {
            self.connection.add(&COMMON.fence, &[ints(&fences)])?;
            parts.push(Part::Fences(fences.len()));
        }
        self.guards.extend(&wanted);
        self.locked.extend(wanted);
        Ok(())
    }

    /// Returns the locks that are needed before the rows of these keys are read.
    fn guards_of(keys: &[Key]) -> Result<BTreeSet<Guard>, Trouble> {
        let mut guards = BTreeSet::new();
        for key in keys {
            let Which::Prefix(prefix) = &key.rows else { continue };
            let scope = STATEMENTS[key.table].scope;
            match prefix.first().and_then(|first| scope.guard(first)) {
                Some(guard) => drop(guards.insert(guard)),
                None if prefix.len() == TABLES[key.table].key => {}
                None if matches!(scope, Scope::Listed | Scope::Free) => {}
                // Rows that other nodes insert meanwhile would not be noticed.
                None => {
                    let message = format!("a list of {} is not protected", TABLES[key.table].name);
                    return Err(Trouble::Damaged(Error::Internal { message }));
                }
            }
        }
        Ok(guards)
    }

    fn fetch(&mut self, keys: &[Key]) -> Result<Vec<Values>, Trouble> {
        self.begin()?;
        let mut parts = Vec::new();
        if self.writes {
            self.lock(Self::guards_of(keys)?, &mut parts)?;
        }
        // All keys of one kind in one statement.
        let mut groups: BTreeMap<(usize, usize), BTreeSet<&Vec<Value>>> = BTreeMap::new();
        for (place, key) in keys.iter().enumerate() {
            match &key.rows {
                Which::Prefix(prefix) if self.is_known(key.table, prefix) => {}
                Which::Prefix(prefix) => {
                    groups.entry((key.table, prefix.len())).or_default().insert(prefix);
                }
                Which::Due(Due { of, until, most }) => {
                    let statements = &STATEMENTS[key.table];
                    let due = match self.writes {
                        true => &statements.lock_due,
                        false => &statements.due,
                    };
                    let Some(due) = due else { continue };
                    let mut params = each(of.as_slice());
                    params.extend([Param::int(*until), Param::int((*most).into())]);
                    self.connection.add(due, &params)?;
                    parts.push(Part::Due(key.table, place));
                }
                Which::Page(of) => {
                    let statements = &STATEMENTS[key.table];
                    let prefix = of.prefix.clone();
                    let mut params = match of.by_due {
                        true => each(&prefix),
                        false => each(&with_bucket(statements, prefix)),
                    };
                    params.extend(each(&of.before));
                    params.push(Param::int(of.most.into()));
                    self.connection.add(&page(TABLES[key.table], of), &params)?;
                    parts.push(Part::Page(key.table, place));
                }
                Which::After(after, most) => {
                    let statements = &STATEMENTS[key.table];
                    let mut params = each(&with_bucket(statements, after.clone()));
                    params.push(Param::int((*most).into()));
                    let walk = &statements.walk[usize::from(!after.is_empty())];
                    self.connection.add(walk, &params)?;
                    parts.push(Part::After(key.table, place));
                }
            }
        }
        for ((table, length), prefixes) in groups {
            self.select(table, length, &prefixes)?;
            parts.push(Part::Prefix(table, length));
        }
        let mut answers = self.connection.finish()?;
        answers.drain(..std::mem::take(&mut self.unread).min(answers.len()));
        self.sort(keys, &parts, &answers)
    }

    /// Returns whether a row was already read when its user was locked.
    fn is_known(&self, table: usize, prefix: &[Value]) -> bool {
        match prefix {
            [Value::Int(user)] if table == User::TABLE => self.users.contains_key(user),
            _ => false,
        }
    }

    fn select(
        &mut self,
        table: usize,
        length: usize,
        prefixes: &BTreeSet<&Vec<Value>>,
    ) -> Result<(), Problem> {
        let statements = &STATEMENTS[table];
        let rows: Values =
            prefixes.iter().map(|prefix| with_bucket(statements, (*prefix).clone())).collect();
        let params = match length {
            0 => Vec::new(),
            _ => arrays(&columns(TABLES[table])[..length + statements.scope.extra()], &rows),
        };
        // Rows that become due are changed by any decision that finds them due, regardless of their
        // owner.
        let is_shared = statements.scope == Scope::Shared;
        let locks = self.writes && (is_shared || statements.due.is_some());
        let of = if locks { &statements.lock } else { &statements.select };
        self.connection.add(&of[length], &params)
    }

    /// Assigns rows to the keys that they belong to.
    fn sort(
        &mut self,
        keys: &[Key],
        parts: &[Part],
        answers: &[Returned],
    ) -> Result<Vec<Values>, Trouble> {
        let mut found: BTreeMap<(usize, Vec<Value>), Values> = BTreeMap::new();
        let mut due: BTreeMap<usize, Values> = BTreeMap::new();
        for (part, answer) in parts.iter().zip(answers) {
            match part {
                Part::Users => {
                    for row in read(User::TABLE, answer)? {
                        if let Some(Value::Int(user)) = row.first() {
                            self.users.insert(*user, Some(row));
                        }
                    }
                }
                Part::Fences(count) if answer.rows.len() < *count => {
                    return Err(Trouble::Damaged(Error::storage(
                        "rows of the table fences are missing: restore the database from a copy",
                    )));
                }
                Part::Fences(_) => {}
                Part::Prefix(table, length) => {
                    for row in read(*table, answer)? {
                        let prefix = row[..*length].to_vec();
                        found.entry((*table, prefix)).or_default().push(row);
                    }
                }
                Part::Due(table, place) | Part::Page(table, place) => {
                    due.insert(*place, read(*table, answer)?);
                }
                Part::After(table, place) => {
                    let rows = read(*table, answer)?;
                    self.expect_locked(*table, &rows)?;
                    due.insert(*place, rows);
                }
            }
        }
        let rows = keys.iter().enumerate().map(|(place, key)| match &key.rows {
            Which::After(..) | Which::Page(..) => due.remove(&place).unwrap_or_default(),
            Which::Due(..) => {
                let mut rows = due.remove(&place).unwrap_or_default();
                let schema = TABLES[key.table];
                let column = schema.place(schema.due);
                sort(&mut rows, &|a, b| {
                    (column.map(|c| &a[c]), a).cmp(&(column.map(|c| &b[c]), b))
                });
                rows
            }
            Which::Prefix(prefix) => {
                if let [Value::Int(user)] = &prefix[..]
                    && key.table == User::TABLE
                    && let Some(known) = self.users.get(user)
                {
                    return known.iter().cloned().collect();
                }
                let of = found.get(&(key.table, prefix.clone()));
                let mut rows = of.cloned().unwrap_or_default();
                sort(&mut rows, &Ord::cmp);
                rows
            }
        });
        Ok(rows.collect())
    }

    /// Checks that the owners of the rows that a walk meets are locked, because they are known only
    /// then. To change such rows, the transaction begins again, and locks their owners first.
    fn expect_locked(&mut self, table: usize, rows: &[Vec<Value>]) -> Result<(), Trouble> {
        let scope = STATEMENTS[table].scope;
        let guards = rows.iter().filter_map(|row| match scope {
            Scope::Listed => Some(Guard::Fence(LIST)),
            scope => row.first().and_then(|first| scope.guard(first)),
        });
        let unlocked = guards.filter(|guard| self.writes && !self.locked.contains(guard));
        let before = self.guards.len();
        self.guards.extend(unlocked);
        if self.guards.len() > before { Err(Trouble::Unlocked) } else { Ok(()) }
    }

    /// Commits, and returns once that is on disk.
    pub(super) fn commit(self) -> Result<(), Problem> {
        if self.begun {
            if self.wrote {
                // A server that ends a COMMIT that waits for a standby confirms it all the same.
                self.connection.add(&COMMON.patient, &[])?;
            }
            self.connection.add(&COMMON.commit, &[])?;
            self.connection.finish()?;
        }
        Ok(())
    }

    fn fails(&mut self, trouble: Trouble) -> Fault {
        self.trouble = Some(trouble);
        Fault::OfStore(Error::storage("the transaction failed"))
    }
}

/// Returns the values of a row or a key, with the bucket before them if the table has one.
pub(super) fn with_bucket(statements: &Statements, mut values: Vec<Value>) -> Vec<Value> {
    if let (1, Some(first)) = (statements.scope.extra(), values.first()) {
        let bucket = statements.scope.bucket(first);
        values.insert(0, Value::Int(bucket));
    }
    values
}

fn read(table: usize, answer: &Returned) -> Result<Values, Trouble> {
    let schema = TABLES[table];
    let rows = answer.rows.iter().map(|row| values_of(row, schema.columns));
    rows.collect::<Option<_>>()
        .ok_or_else(|| Trouble::Damaged(crate::engine::store::table::damaged(schema.name, "value")))
}

impl Rows for Transaction<'_> {
    fn load(&mut self, keys: &[Key]) -> Result<Vec<Values>, Fault> {
        self.fetch(keys).map_err(|trouble| self.fails(trouble))
    }

    fn apply(&mut self, changes: Vec<Change>) -> Result<(), Fault> {
        self.write(changes).map_err(|trouble| self.fails(trouble))
    }
}
