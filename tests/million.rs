//! How long it takes to find one of a million users, on both stores.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]
#![allow(clippy::disallowed_methods, reason = "the test measures")]
#![allow(clippy::print_stdout, reason = "the figures are read")]

use crate::fresh;
use seconder::Service;
use seconder::engine::operator::FindUsers;
use std::time::{Duration, Instant};

const USERS: u64 = 1_000_000;
/// The user who is found.
const ADA: u64 = 512_345;
const TURNS: usize = 21;

/// How a database writes what the statements need.
struct Dialect {
    tables: &'static str,
    /// A table `n` of the numbers `i` from 2 on.
    numbers: String,
    /// A number of twenty digits.
    padded: fn(&str) -> String,
    reversed: fn(&str) -> String,
    /// What else is of a row of a user.
    own: &'static str,
}

/// Copies the first user. They differ in id, address, login name and number.
fn statements(dialect: &Dialect) -> String {
    let Dialect { tables, numbers, padded, reversed, own } = dialect;
    let id = padded("user_id");
    let lookups = |kind: &str, name: &str| {
        format!(
            "INSERT INTO {tables}lookups (kind, app_id, name, id) \
             SELECT '{kind}', app_id, {name}, user_id FROM filled;\n"
        )
    };
    let digits = reversed("'1' || cellphone");
    format!(
        "CREATE TEMPORARY TABLE filled AS SELECT u.*, n.i FROM {tables}users AS u, {numbers} WHERE u.user_id = 1;\n\
         UPDATE filled SET user_id = i, cellphone = CAST(2020000000 + i AS TEXT), {own} \
         email = 'user' || i || '@example.com', login = 'login' || i;\n\
         ALTER TABLE filled DROP COLUMN i;\n\
         INSERT INTO {tables}users SELECT * FROM filled;\n"
    ) + &lookups("phone", "'+1' || cellphone")
        + &lookups("login", "login")
        + &lookups("find_login", &format!("login || ' ' || {id}"))
        + &lookups("find_email", &format!("email || ' ' || {id}"))
        + &lookups("find_number", &format!("{digits} || ' ' || {id}"))
}

/// Prints how long it takes to find users by each kind of text.
fn measure(store: &str, service: &Service) {
    for (what, text, is_only) in [
        ("id", "512345".to_owned(), false),
        ("beginning of an e-mail address", "USER512345@".to_owned(), true),
        ("login name", "login512345".to_owned(), true),
        ("last digits", "0512345".to_owned(), true),
        ("whole number", "+1 202 051 2345".to_owned(), true),
        ("e-mail addresses of all", "user".to_owned(), false),
        ("numbers of a tenth", "5".to_owned(), false),
    ] {
        let find = FindUsers { text, after: None, most: Some(100) };
        let mut times: Vec<Duration> = Vec::new();
        for _ in 0..TURNS {
            let begun = Instant::now();
            let found = service.operate(&find).unwrap().users;
            times.push(begun.elapsed());
            let ids: Vec<_> = found.iter().map(|user| user.user_id).collect();
            assert!(!is_only || ids == [ADA], "{what}: {ids:?}");
            assert!(is_only || ids.len() > 90 || ids.first() == Some(&ADA), "{what}: {ids:?}");
        }
        let first = times[0];
        times.sort_unstable();
        println!(
            "{store}: {what}: {:?} in the middle, {:?} at most, {first:?} at first",
            times[TURNS / 2],
            times[TURNS - 1]
        );
    }
}

#[test]
#[ignore = "takes minutes, and measures: run it alone, with --nocapture"]
fn one_of_a_million_users_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seconder.db");
    let service = fresh::open(&path).0;
    fresh::ada(&service);
    drop(service);
    let sqlite = Dialect {
        tables: "main.",
        numbers: format!(
            "(WITH RECURSIVE s(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM s WHERE i < {USERS}) SELECT i FROM s) AS n"
        ),
        padded: |id| format!("printf('%020d', {id})"),
        reversed: |digits| {
            let digit = |at| format!("substr({digits}, -{at}, 1)");
            (1..=11).map(digit).collect::<Vec<_>>().join(" || ")
        },
        own: "",
    };
    let begun = Instant::now();
    rusqlite::Connection::open(&path).unwrap().execute_batch(&statements(&sqlite)).unwrap();
    println!("SQLite: filled in {:?}", begun.elapsed());
    measure("SQLite", &fresh::open(&path).0);
}

#[cfg(feature = "postgres")]
#[test]
#[ignore = "takes minutes, and measures: run it alone, with --nocapture"]
fn one_of_a_million_users_is_found_on_postgresql() {
    use seconder::Settings;
    use seconder::keyring::Keyring;
    let server = crate::postgres_server::Server::start();
    let (url, ring) = (server.database("million"), server.folder().join("ring"));
    Keyring::at(&ring).create().unwrap();
    let open = || Settings::new(&url).keyring(&ring).open().unwrap();
    fresh::ada(&open());
    let postgres = Dialect {
        tables: "seconder.",
        numbers: format!("generate_series(2, {USERS}) AS n(i)"),
        padded: |id| format!("lpad({id}::text, 20, '0')"),
        reversed: |digits| format!("reverse({digits})"),
        own: "bucket = mod(i, 4096), ",
    };
    let begun = Instant::now();
    server.sql("million", &(statements(&postgres) + "ANALYZE"));
    println!("PostgreSQL: filled in {:?}", begun.elapsed());
    measure("PostgreSQL", &open());
}
