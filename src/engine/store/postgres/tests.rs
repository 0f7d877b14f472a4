//! Tests of the PostgreSQL store: the forms of its statements, and how the server carries them out.

use super::statements::{COMMON, STATEMENTS, page};
use super::values::blobs;
use super::{Postgres, Until};
use crate::Error;
use crate::engine::model::clock::{Now, Time};
use crate::engine::operations::housekeeping::delete_expired;
use crate::engine::store::Store;
use crate::engine::store::backend::{Backend, Fault};
use crate::engine::store::change::{Change, ChangeKind};
use crate::engine::store::conformance::postgres::server;
use crate::engine::store::table::{Row as _, Value};
use crate::engine::store::tables::{
    Activity, Audit, Authenticator, Email, Job, Lookup, OpenApproval, Sequence, TABLES, User,
};
use crate::engine::store::which::{Key, Page, Which};
use crate::postgres::{Connection, Problem, Statement};
use std::collections::BTreeSet;
use std::sync::{LazyLock, mpsc};
use std::time::{Duration, Instant};
use zeroize::Zeroizing;

/// The statements of the pages that decisions read. `plans.rs` compares them with those that operators cause.
pub(super) static PAGES: LazyLock<Vec<Statement>> = LazyLock::new(|| {
    let values = |count| vec![Value::Int(0); count];
    let of = |page: Page, count| Page { before: values(count), ..page };
    let of_user = |count| of(Page::below((0_i64,), 1), count);
    let of_app = |count| of(Page::by_due((0_i64,), 1), count);
    let with = |column, count| of(Page::by_due((0_i64,), 1).with(column, 0_i64), count);
    let lane = |count| of(Page::by_due((String::new(),), 1), count);
    let lanes = of(Page::by_due((), 1), 1);
    let names = of(Page::below((String::new(), 0_i64), 1), 1);
    let pages = [
        (Audit::SCHEMA, vec![of_user(1), of_user(2), of_app(1), of_app(3)]),
        (
            Audit::SCHEMA,
            ["verdict", "user_ip"].iter().flat_map(|by| [with(by, 1), with(by, 3)]).collect(),
        ),
        (Job::SCHEMA, vec![lane(1), lane(3), lanes]),
        (User::SCHEMA, vec![of_app(1)]),
        (OpenApproval::SCHEMA, vec![of_user(1), of_app(1), of_app(2)]),
        (Activity::SCHEMA, vec![of_user(1), of_user(2)]),
        (Lookup::SCHEMA, vec![names]),
    ];
    let statements = pages.iter().flat_map(|(schema, of)| of.iter().map(|of| page(schema, of)));
    statements.collect()
});

/// Returns the statements on the tables of the engine, and those on the others.
pub(super) fn every_statement() -> Vec<&'static Statement> {
    let mut all: Vec<&Statement> = Vec::new();
    for table in STATEMENTS.iter() {
        all.extend(table.select.iter().chain(&table.lock).chain(&table.delete));
        all.extend(table.due.iter().chain(&table.lock_due).chain(&table.update));
        all.extend(table.walk.iter().chain([&table.insert]).chain(&table.add));
    }
    let common = &*COMMON;
    all.extend([&common.begin, &common.begin_reading, &common.commit, &common.soon, &common.fence]);
    all.extend([&common.begin_batch, &common.void_batch, &common.find_batch]);
    all.extend([&common.forget_batches, &common.patient]);
    all.extend(PAGES.iter());
    all
}

#[test]
fn every_statement_has_a_name_of_its_own() {
    let all = every_statement();
    let names: BTreeSet<&str> = all.iter().map(|statement| &*statement.name).collect();
    assert_eq!(names.len(), all.len());
    assert!(names.iter().all(|name| name.len() < 64));
}

/// PostgreSQL, Citus, CockroachDB and YugabyteDB share these words. A feature that one of them
/// lacks, such as LISTEN, advisory locks, sequences and triggers, cannot slip in.
#[test]
fn statements_use_only_the_words_that_relatives_of_postgresql_share() {
    const WORDS: &[&str] = &[
        "ADD",
        "AND",
        "AS",
        "BEGIN",
        "BY",
        "CASE",
        "COMMIT",
        "CONFLICT",
        "DELETE",
        "DESC",
        "DO",
        "ELSE",
        "END",
        "FOR",
        "FROM",
        "IN",
        "INSERT",
        "INTO",
        "ISOLATION",
        "JOIN",
        "LEVEL",
        "LIMIT",
        "LOCAL",
        "LOCKED",
        "OF",
        "ON",
        "ONLY",
        "ORDER",
        "READ",
        "COMMITTED",
        "REPEATABLE",
        "RETURNING",
        "SELECT",
        "SET",
        "SKIP",
        "THEN",
        "UPDATE",
        "USING",
        "WHEN",
        "WHERE",
        "WITH",
    ];
    const FUNCTIONS: &[&str] = &["unnest", "count"];
    for statement in every_statement() {
        let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        for word in statement.sql.split(|letter| !is_name(letter)).filter(|word| !word.is_empty()) {
            let is_word = word.bytes().all(|byte| byte.is_ascii_uppercase());
            assert!(!is_word || WORDS.contains(&word), "{word} in {}", statement.sql);
        }
        for (before, _) in
            statement.sql.match_indices('(').map(|(at, _)| statement.sql.split_at(at))
        {
            let function = before.rsplit(|letter| !is_name(letter)).next().unwrap();
            let is_call = !function.is_empty()
                && !["k", "batches"].contains(&function)
                && !TABLES.iter().any(|table| table.name == function);
            assert!(!is_call || FUNCTIONS.contains(&function), "{function} in {}", statement.sql);
        }
        let marks: Vec<usize> = statement
            .sql
            .split('$')
            .skip(1)
            .map(|rest| rest.chars().take_while(char::is_ascii_digit).collect::<String>())
            .map(|digits| digits.parse().unwrap())
            .collect();
        assert_eq!(marks, (1..=statement.params.len()).collect::<Vec<_>>(), "{}", statement.sql);
    }
}

pub(super) fn opened(name: &str) -> Postgres {
    server().database(name);
    opened_again(name)
}

fn opened_again(name: &str) -> Postgres {
    let url = server().url(name);
    Postgres::open(url.strip_prefix("postgres:").unwrap(), false, Default::default()).unwrap()
}

/// Returns a connection of its own, with time for a test.
pub(super) fn connection(database: &Postgres) -> Connection {
    let until = Until::within(Duration::from_secs(30));
    let mut connection = database.connect(until).unwrap();
    connection.set_deadline(until);
    connection
}

fn insert(connection: &mut Connection, mark: [u8; 16]) -> Result<(), Problem> {
    connection.add(&COMMON.begin_batch, &[blobs(&[mark])])?;
    connection.finish().map(drop)
}

#[test]
fn a_commit_that_was_not_confirmed_is_never_guessed() {
    let database = opened("unknown");
    let mut batch = connection(&database);
    insert(&mut batch, [1; 16]).unwrap();
    assert_eq!(database.is_committed([1; 16], "lost"), Ok(true));

    // A batch that was looked for and not found can never be committed afterwards, however often it
    // is asked.
    for _ in 0..2 {
        assert_eq!(database.is_committed([2; 16], "lost"), Ok(false));
    }
    let late = insert(&mut batch, [2; 16]);
    assert!(matches!(late, Err(Problem::Rejected(report)) if report.is(&["23505"])));

    // A batch that is still under way is waited for, however it ends.
    for (mark, end, is_committed) in [([3; 16], "COMMIT", true), ([4; 16], "ROLLBACK", false)] {
        batch.simple("BEGIN").unwrap();
        insert(&mut batch, mark).unwrap();
        std::thread::scope(|scope| {
            let found = scope.spawn(|| database.is_committed(mark, "lost"));
            let mut other = connection(&database);
            let waiting = "SELECT count(*) FROM pg_stat_activity \
                           WHERE datname = 'unknown' AND wait_event_type = 'Lock'";
            let is_waiting = |other: &mut Connection| {
                other.simple(waiting).unwrap()[0].rows[0].text() == Some("1")
            };
            while !is_waiting(&mut other) {
                std::thread::sleep(Duration::from_millis(5));
            }
            batch.simple(end).unwrap();
            assert_eq!(found.join().unwrap(), Ok(is_committed));
        });
    }
}

#[test]
fn a_commit_that_cannot_be_looked_for_is_reported_as_unknown() {
    let database = opened("unreachable");
    let mut batch = connection(&database);
    batch.simple("BEGIN").unwrap();
    insert(&mut batch, [1; 16]).unwrap();
    // It stays under way for as long as it is looked for.
    let error = database.is_committed([1; 16], "it closed the connection").unwrap_err();
    assert!(error.to_string().contains("it is not known whether"), "{error}");
}

/// Rows that become due have any owner; a walk through a table locks the owners of the rows it
/// meets.
#[test]
fn a_walk_that_changes_rows_locks_their_users_first() {
    let database = opened("walk");
    let key = Key { table: Email::TABLE, rows: Which::After(Vec::new(), 10) };
    let email = |user: u64| Email { user_id: user, email: "ada@example.com".into() };
    let change = |kind, row: Email| Change { table: Email::TABLE, kind, values: row.values() };
    let done = database.write(&mut |rows| {
        rows.apply((1..=3).map(|user| change(ChangeKind::Insert, email(user))).collect())
    });
    assert!(done.is_ok());
    let mut tries = 0;
    let done = database.write(&mut |rows| {
        tries += 1;
        let found = rows.load(std::slice::from_ref(&key))?;
        assert_eq!(found[0].len(), 3);
        rows.apply(vec![Change {
            table: Email::TABLE,
            kind: ChangeKind::Delete,
            values: email(2).values(),
        }])
    });
    assert!(done.is_ok());
    assert_eq!(tries, 2, "the second time with the locks");
    let rest = server().sql("walk", "SELECT count(*) FROM seconder.emails");
    assert_eq!(rest, "2");
}

/// Rows that the sweeps of all nodes read are no reason to wait until another one has committed.
#[test]
fn sweeps_of_nodes_do_not_wait_for_each_other() {
    let stores = [opened("sweeps"), opened_again("sweeps")];
    let [node, other] = stores.map(|database| Store::of(Box::new(database), None));
    let now = Now { clock: Time(0), steady: Time(0) };
    // The first one adds it.
    let _ = node.run(move |view| delete_expired(view, now, 9)).unwrap();
    let done = node.run(move |view| {
        let _ = delete_expired(view, now, 9)?;
        Ok(other.run(move |view| delete_expired(view, now, 9)))
    });
    let _ = done.unwrap().expect("it waited");
}

/// An update that no longer finds its row fails as a whole, and is decided again.
#[test]
fn an_update_of_a_row_that_is_gone_is_no_success() {
    let database = opened("gone");
    let row = Sequence { name: "users".into(), last: 1 };
    let update =
        || Change { table: Sequence::TABLE, kind: ChangeKind::Update, values: row.values() };
    let mut tries = 0;
    let done = database.write(&mut |rows| {
        tries += 1;
        rows.apply(vec![update()])
    });
    assert!(matches!(done, Err(Fault::OfStore(_))));
    assert!(tries > 1);
}

/// A thread holds the connection for long if it waits for a server that hangs, or changes all rows
/// after a restore.
#[test]
fn nobody_waits_for_a_connection_that_another_thread_holds_beyond_the_deadline() {
    const PATIENCE: Duration = Duration::from_millis(50);
    let mut database = opened("held");
    let usual = std::mem::replace(&mut database.patience, PATIENCE);
    let (held, is_held) = mpsc::channel();
    let (release, is_released) = mpsc::channel::<()>();
    let (failed, has_failed) = mpsc::channel();
    std::thread::scope(|scope| {
        let database = &database;
        scope.spawn(move || {
            database.write(&mut |_| {
                held.send(()).unwrap();
                // Until the other call has ended, or the test.
                let _ = is_released.recv();
                Ok(())
            })
        });
        is_held.recv().unwrap();
        scope.spawn(move || {
            let begun = Instant::now();
            let done = database.write(&mut |_| Ok(()));
            failed.send((done, begun.elapsed())).unwrap();
        });
        let done = has_failed.recv_timeout(Duration::from_secs(60));
        drop(release);
        let (done, took) = done.expect("it still waits");
        assert!(matches!(done, Err(Fault::OfStore(Error::Storage { .. }))));
        assert!(took >= PATIENCE, "{took:?}");
    });
    // The connection is in order.
    database.patience = usual;
    assert!(database.write(&mut |_| Ok(())).is_ok());
}

#[test]
fn what_is_to_be_spent_after_a_restore_is_tried_again_after_a_deadlock() {
    let database = opened("deadlock");
    server().sql(
        "deadlock",
        "INSERT INTO seconder.browsers SELECT 7, 7, 'id', 1, 0, 0; CREATE SEQUENCE public.tries; \
         CREATE FUNCTION public.fails() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN \
         CASE nextval(''public.tries'') \
         WHEN 1 THEN RAISE EXCEPTION USING ERRCODE = ''40P01''; \
         WHEN 2 THEN RAISE EXCEPTION USING ERRCODE = ''40001''; \
         WHEN 4 THEN RAISE EXCEPTION USING ERRCODE = ''53100''; \
         ELSE RETURN NULL; END CASE; END'; \
         CREATE TRIGGER fails BEFORE DELETE ON seconder.browsers EXECUTE FUNCTION public.fails()",
    );
    let tries = || server().sql("deadlock", "SELECT last_value FROM public.tries");
    assert_eq!(database.spend(Time(0)), Ok(()));
    assert_eq!(tries(), "3");
    assert_eq!(server().sql("deadlock", "SELECT count(*) FROM seconder.browsers"), "0");
    // Any other failure belongs to the call.
    assert!(database.spend(Time(0)).is_err());
    assert_eq!(tries(), "4");
}

/// The node has read the row that it changes before another one spends it.
#[test]
fn what_is_spent_after_a_restore_stays_so_whatever_another_node_decides_meanwhile() {
    let (node, other) = (opened("spend"), opened_again("spend"));
    let app = |last_step| Authenticator {
        user_id: 7,
        authenticator_id: 1,
        label: None,
        secret: Zeroizing::new(Vec::new()).into(),
        digits: 6,
        period: 30,
        last_step: Some(last_step),
        used_at: None,
        prepared_step: None,
        created_at: Time(0),
        device_id: None,
        algorithm: "SHA1".into(),
    };
    let change = |kind, last_step| {
        let mut values = app(last_step).values();
        values[3] = Value::Blob(Vec::new());
        Change { table: Authenticator::TABLE, kind, values }
    };
    server()
        .sql("spend", "INSERT INTO seconder.users SELECT 7, 7, 1, 1, '', '', NULL, 0, 0, 0, 1, 0");
    assert!(node.write(&mut |rows| rows.apply(vec![change(ChangeKind::Insert, 5)])).is_ok());
    let key = Key { table: Authenticator::TABLE, rows: Which::Prefix(vec![Value::Int(7)]) };
    let busy = "SELECT count(*) FROM pg_stat_activity WHERE datname = 'spend' \
                AND state = 'active' AND wait_event_type = 'Lock'";
    std::thread::scope(|scope| {
        let (other, key) = (&other, &key);
        let mut spending = None;
        let done = node.write(&mut |rows| {
            assert_eq!(rows.load(std::slice::from_ref(key))?[0].len(), 1);
            let spending = spending
                .get_or_insert_with(|| scope.spawn(move || other.spend(Time(30_000 * 1_000))));
            // It waits for this node, or has not been hindered by it.
            while !spending.is_finished() && server().sql("postgres", busy) != "1" {
                std::thread::sleep(Duration::from_millis(5));
            }
            rows.apply(vec![change(ChangeKind::Update, 6)])
        });
        assert!(done.is_ok());
        spending.unwrap().join().unwrap().unwrap();
    });
    let step = server().sql("spend", "SELECT last_step FROM seconder.authenticators");
    assert_eq!(step, "1001");
}
