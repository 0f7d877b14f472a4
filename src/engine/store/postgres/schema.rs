//! Creates the tables in a schema of their own, so that other programs can use the same database,
//! and rejects unsuitable servers and databases.

use super::statements::{SCHEMA, columns, type_of};
use crate::engine::model::clock::Time;
use crate::engine::store::migrations::{self, Applied, Migration};
use crate::engine::store::restored;
use crate::engine::store::table::{Column, Kind};
use crate::engine::store::tables::TABLES;
use crate::postgres::{Connection, Problem, Returned, Until};
use crate::{Error, Result};
use std::fmt::Write;
use std::time::Duration;

/// The oldest version of PostgreSQL that gets corrections of errors from its makers.
const OLDEST: u32 = 13;
/// The time that a new version of the tables may take, which changes the rows of all users.
const CHANGING: Duration = Duration::from_secs(30 * 60);
/// The pause while another node creates the tables.
const PAUSE: Duration = Duration::from_millis(50);
/// SQLSTATEs that a node gets if another one creates the tables at the same time.
const MEANWHILE: [&str; 7] = ["23505", "40001", "40P01", "42710", "42P06", "42P07", "55P03"];

/// SQLSTATEs of a conflict with another node.
const IN_THE_WAY: [&str; 2] = ["40001", "40P01"];

/// The settings of a session. A statement that takes too long is ended on the server too, and a
/// node that hangs does not keep its locks.
const SESSION: &str = "\
    SET statement_timeout = 8000; \
    SET lock_timeout = 1000; \
    SET idle_in_transaction_session_timeout = 10000";

/// For PostgreSQL alone: a statement is planned once, and always by the index that it is made for,
/// also if the server has not counted the rows yet.
const PLANS: &str = "\
    SET plan_cache_mode = force_generic_plan; \
    SET enable_seqscan = off; \
    SET enable_hashjoin = off; \
    SET enable_mergejoin = off; \
    SET jit = off";

fn failed(problem: Problem) -> Error {
    Error::storage(match problem {
        Problem::Rejected(report) => report.advice(),
        Problem::Lost(why) => why,
    })
}

/// Returns the number in the first column of the first row.
fn number(answers: &[Returned], place: usize) -> Option<i64> {
    answers.get(place)?.rows.first()?.text()?.parse().ok()
}

/// Rejects a server that is too old, or that only reads.
pub(super) fn check_server(connection: &mut Connection) -> Result<()> {
    let number = connection.version.split(|letter: char| !letter.is_ascii_digit()).next();
    if number.and_then(|number| number.parse().ok()).is_some_and(|number: u32| number < OLDEST) {
        return Err(Error::storage(format!(
            "its version {} is too old: this needs PostgreSQL {OLDEST} or later",
            connection.version
        )));
    }
    let answers = connection.simple("SHOW transaction_read_only").map_err(failed)?;
    match answers.first().and_then(|answer| answer.rows.first()?.text()) {
        Some("off") => Ok(()),
        _ => Err(Error::storage(
            "the server only reads, as a standby does, or as default_transaction_read_only says: \
             name the primary in the URL, or both",
        )),
    }
}

/// Sets the parameters that every session of the engine needs.
pub(super) fn set_up(connection: &mut Connection) -> Result<()> {
    connection.simple(SESSION).map_err(failed)?;
    match connection.simple(PLANS) {
        // Relatives of PostgreSQL do not know them.
        Ok(_) | Err(Problem::Rejected(_)) => {}
        Err(problem) => return Err(failed(problem)),
    }
    // Nothing may be acknowledged before it is on disk.
    let answers = connection.simple("SHOW synchronous_commit").map_err(failed)?;
    if answers.first().and_then(|answer| answer.rows.first()?.text()) == Some("off") {
        connection.simple("SET synchronous_commit = on").map_err(failed)?;
    }
    Ok(())
}

/// The columns that version 2 adds, and their values in existing rows.
const ADDED: [(&str, &str, Option<&str>); 14] = [
    ("applications", "force_codes", Some("0")),
    ("applications", "logo", None),
    ("applications", "authenticator_digits", Some("6")),
    ("applications", "authenticator_period", Some("30")),
    ("applications", "approval_seconds", Some("86400")),
    ("operators", "apps", None),
    ("audit", "request_id", None),
    ("users", "locked_at", None),
    ("users", "number_changed_at", None),
    ("invitations", "by_sms", Some("0")),
    ("devices", "used_at", None),
    ("authenticators", "algorithm", Some("'SHA1'")),
    ("codes", "route", None),
    ("open_approvals", "app_id", Some("0")),
];

/// The tables whose index version 2 adds.
const INDEXED: [&str; 2] = ["users", "open_approvals"];

/// Returns the versions of the tables. Their statements are made from the declarations.
fn known() -> [Migration; 2] {
    [Migration { version: 1, sql: first().into() }, Migration { version: 2, sql: second().into() }]
}

/// Returns a column of a table.
fn defined(column: &Column) -> String {
    // By bytes, so that an index does not depend on the sort order of a machine's languages.
    let collation = if column.kind == Kind::Text { " COLLATE \"C\"" } else { "" };
    let null = if column.optional { "" } else { " NOT NULL" };
    format!("{} {}{collation}{null}", column.name, type_of(column.kind))
}

/// Returns the statements of version 2.
fn second() -> String {
    let mut sql = String::new();
    for (name, added, before) in ADDED {
        let tables = TABLES.iter().filter(|table| table.name == name);
        for column in tables.flat_map(|table| table.columns).filter(|column| column.name == added) {
            let default = before.map_or_else(String::new, |value| format!(" DEFAULT {value}"));
            // Writing to a text cannot fail.
            let _ = writeln!(
                sql,
                "ALTER TABLE {SCHEMA}.{name} ADD COLUMN {}{default};",
                defined(column)
            );
        }
    }
    sql + &one_spelling() + &found()
}

/// Returns the statements that index what operators list, and add what users are found by: see
/// `operations/finding.rs`.
fn found() -> String {
    let term = |kind: &str, column: &str| {
        format!(
            "SELECT '{kind}', u.app_id, {column} || ' ' || lpad(u.user_id::text, 20, '0'), u.user_id \
             FROM {SCHEMA}.users AS u"
        )
    };
    let insert = format!("INSERT INTO {SCHEMA}.lookups (kind, app_id, name, id)");
    format!(
        "CREATE INDEX users_due ON {SCHEMA}.users (app_id, user_id);\n\
         UPDATE {SCHEMA}.open_approvals AS o SET app_id = u.app_id FROM {SCHEMA}.users AS u \
         WHERE u.bucket = o.bucket AND u.user_id = o.user_id;\n\
         CREATE INDEX open_approvals_due ON {SCHEMA}.open_approvals (app_id, user_id);\n\
         CREATE INDEX audit_verdict ON {SCHEMA}.audit (app_id, verdict, steady_at, user_id, nonce);\n\
         UPDATE {SCHEMA}.audit SET user_ip = substr(user_ip, 8) WHERE user_ip LIKE '::ffff:%.%';\n\
         CREATE INDEX audit_user_ip ON {SCHEMA}.audit (app_id, user_ip, steady_at, user_id, nonce) \
         WHERE user_ip IS NOT NULL;\n\
         {insert} {} WHERE u.login IS NOT NULL;\n\
         {insert} {} WHERE u.email <> '' UNION {} \
         JOIN {SCHEMA}.emails AS e ON e.bucket = u.bucket AND e.user_id = u.user_id \
         WHERE e.email <> '';\n\
         {insert} {} WHERE u.cellphone <> '';\n",
        term("find_login", "lower(u.login)"),
        term("find_email", "lower(u.email)"),
        term("find_email", "lower(e.email)"),
        term("find_number", "reverse(u.country_code::text || u.cellphone)"),
    )
}

/// Writes the ids of receipts in lower case and without zeros before them, as they are compared: see
/// `operations/jobs/receipts.rs`. If rows become one, the row of a message stays, and if several have a message, the
/// latest one.
fn one_spelling() -> String {
    let key = "coalesce(nullif(ltrim(lower(provider_id), '0'), ''), '0')";
    format!(
        "DELETE FROM {SCHEMA}.receipts WHERE (route, provider_id) IN (\
         SELECT route, provider_id FROM (\
         SELECT route, provider_id, row_number() OVER (PARTITION BY route, {key} \
         ORDER BY subject IS NULL, forget_at DESC, provider_id) AS place \
         FROM {SCHEMA}.receipts) AS placed WHERE place > 1);\n\
         UPDATE {SCHEMA}.receipts SET provider_id = {key} WHERE provider_id <> {key};\n"
    )
}

/// Returns the statements of version 1, with all that is added to the tables of `store/tables.rs`: the
/// fences, and the marks of batches.
fn first() -> String {
    let mut sql = String::new();
    for table in TABLES {
        let columns = columns(table);
        let mut lines = Vec::new();
        let is_later = |column: &Column| {
            ADDED.iter().any(|(of, name, _)| (*of, *name) == (table.name, column.name))
        };
        for column in columns.iter().filter(|column| !is_later(column)) {
            lines.push(format!("    {}", defined(column)));
        }
        let length = table.key + columns.len() - table.columns.len();
        let key: Vec<_> = columns[..length].iter().map(|column| column.name).collect();
        lines.push(format!("    PRIMARY KEY ({})", key.join(", ")));
        let (name, lines) = (table.name, lines.join(",\n"));
        // Writing to a text cannot fail.
        let _ = writeln!(sql, "CREATE TABLE {SCHEMA}.{name} (\n{lines}\n);");
        if let Some(due) = table.due.filter(|_| !INDEXED.contains(&table.name)) {
            let of = table.due_of.map_or_else(String::new, |of| format!("{of}, "));
            let _ = writeln!(sql, "CREATE INDEX {name}_due ON {SCHEMA}.{name} ({of}{due});");
        }
    }
    let _ = write!(
        sql,
        "CREATE TABLE {SCHEMA}.fences (fence int8 PRIMARY KEY);\n\
         INSERT INTO {SCHEMA}.fences (fence) SELECT generate_series(0, 4223);\n\
         CREATE TABLE {SCHEMA}.batches (\n    batch_id bytea PRIMARY KEY,\n    \
         is_done int8 NOT NULL,\n    \
         written_at timestamptz NOT NULL DEFAULT now()\n);\n"
    );
    sql
}

/// The tables that a database has.
struct State {
    has_schema: bool,
    tables: i64,
    /// `None` without a list of them.
    applied: Option<Vec<Applied>>,
}

fn state(connection: &mut Connection) -> Result<State> {
    let damaged = || Error::storage("the server's catalogue could not be read");
    let answers = connection.simple(&format!(
        "SELECT count(*) FROM pg_catalog.pg_namespace WHERE nspname = '{SCHEMA}'; \
         SELECT count(*) FROM pg_catalog.pg_tables WHERE schemaname = '{SCHEMA}'; \
         SELECT count(*) FROM pg_catalog.pg_tables \
         WHERE schemaname = '{SCHEMA}' AND tablename = 'migrations'"
    ));
    let answers = answers.map_err(failed)?;
    let count = |place| number(&answers, place).ok_or_else(damaged);
    let (schemas, tables, lists) = (count(0)?, count(1)?, count(2)?);
    let applied = match lists {
        0 => None,
        _ => Some(applied(connection)?),
    };
    Ok(State { has_schema: schemas > 0, tables, applied })
}

fn applied(connection: &mut Connection) -> Result<Vec<Applied>> {
    let select = format!("SELECT version, encode(hash, 'hex') FROM {SCHEMA}.migrations ORDER BY 1");
    let answers = match connection.simple(&select) {
        Ok(answers) => answers,
        Err(Problem::Rejected(report)) if report.is(&["42703", "42883"]) => return Err(foreign()),
        Err(problem) => return Err(failed(problem)),
    };
    let rows = answers.iter().flat_map(|answer| &answer.rows);
    let versions = rows.map(|row| {
        let mut texts = row.values().map(|bytes| std::str::from_utf8(bytes?).ok());
        let version = texts.next()??.parse().ok()?;
        let hash = texts.next()??.as_bytes().chunks(2);
        let byte = |digits: &[u8]| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok();
        Some(Applied { version, hash: hash.map(byte).collect::<Option<_>>()? })
    });
    versions.collect::<Option<_>>().ok_or_else(foreign)
}

fn foreign() -> Error {
    Error::storage(format!(
        "the schema {SCHEMA} of the database belongs to another program: name another database"
    ))
}

/// Creates missing tables. If several nodes do so at the same time, one does it, and the others wait.
pub(super) fn create(connection: &mut Connection, must_exist: bool, until: Until) -> Result<()> {
    let known = known();
    let changing = Until::within(CHANGING);
    let mut until = until;
    loop {
        let state = state(connection)?;
        let applied = match state.applied {
            Some(applied) => applied,
            None if state.tables > 0 => return Err(foreign()),
            None => Vec::new(),
        };
        let next = migrations::next(&known, &applied)
            .map_err(|problem| Error::storage(format!("the database {problem}")))?;
        let Some(next) = next else { return prune(connection) };
        if must_exist && applied.is_empty() {
            return Err(Error::storage(
                "the database has no tables of the engine, and with must_exist they are not created: \
                 check the URL, or open it once without must_exist, as `seconder serve` does",
            ));
        }
        if !applied.is_empty() {
            until = changing;
            connection.set_deadline(until);
        }
        match connection.simple(&statements(next, state.has_schema)) {
            Ok(_) => {}
            Err(Problem::Rejected(report)) if report.is(&MEANWHILE) && !until.left().is_zero() => {
                connection.simple("ROLLBACK").map_err(failed)?;
                std::thread::sleep(PAUSE.min(until.left()));
            }
            Err(problem) => return Err(failed(problem)),
        }
    }
}

/// Returns all statements that apply a version. Its row comes first, so that another node waits
/// there.
fn statements(migration: &Migration, has_schema: bool) -> String {
    let mut sql = "BEGIN; SET LOCAL statement_timeout = 0; ".to_owned();
    if !has_schema {
        sql += &format!("CREATE SCHEMA {SCHEMA}; ");
    }
    if migration.version == 1 {
        sql += &format!(
            "CREATE TABLE {SCHEMA}.migrations (version int8 PRIMARY KEY, hash bytea NOT NULL); "
        );
    }
    let hash: String = migration.hash().iter().map(|byte| format!("{byte:02x}")).collect();
    sql + &format!(
        "INSERT INTO {SCHEMA}.migrations VALUES ({}, decode('{hash}', 'hex')); {} COMMIT",
        migration.version, migration.sql
    )
}

/// Invalidates everything that may have been used since a copy was made: see `store/restored.rs`.
///
/// A node that has read rows before this and writes them afterwards would undo it. So every lock that decisions take
/// before they read is taken first, in their order: decisions already made are waited for, and later ones read the
/// spent rows. A node may have locked other rows before, in an order of its own, so that the server ends one of the
/// two: this is then done again.
pub(super) fn spend(connection: &mut Connection, now: Time, until: Until) -> Result<()> {
    let statements = restored::statements(now, &format!("{SCHEMA}.")).join("; ");
    let locked = |table: &str, key: &str| {
        format!(
            "SELECT count(*) FROM (SELECT 1 FROM {SCHEMA}.{table} ORDER BY {key} FOR UPDATE) AS locked"
        )
    };
    let (users, fences) = (locked("users", "bucket, user_id"), locked("fences", "fence"));
    let sql = format!(
        "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL statement_timeout = 0; \
         SET LOCAL lock_timeout = 0; {users}; {fences}; {statements}; COMMIT"
    );
    loop {
        let Err(problem) = connection.simple(&sql) else { return Ok(()) };
        // Without an answer the server ends the transaction, when the connection ends.
        let is_over = connection.simple("ROLLBACK").is_ok();
        match problem {
            Problem::Rejected(report)
                if report.is(&IN_THE_WAY) && is_over && !until.left().is_zero() =>
            {
                std::thread::sleep(PAUSE.min(until.left()));
            }
            problem => return Err(failed(problem)),
        }
    }
}

/// Removes the marks of batches that are no longer looked for, such as those by nodes that are
/// gone.
fn prune(connection: &mut Connection) -> Result<()> {
    let delete =
        format!("DELETE FROM {SCHEMA}.batches WHERE written_at < now() - interval '1 day'");
    match connection.simple(&delete) {
        // Another node is at it. The next opening tries again.
        Ok(_) | Err(Problem::Rejected(_)) => Ok(()),
        Err(problem) => Err(failed(problem)),
    }
}
