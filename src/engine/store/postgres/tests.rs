//! The forms of the statements, and how the server carries them out.

use super::statements::{COMMON, STATEMENTS};
use super::{Postgres, Until};
use crate::engine::store::conformance::postgres::server;
use crate::engine::store::tables::TABLES;
use crate::postgres::{List, Statement};
use std::collections::BTreeSet;
use std::time::Duration;

/// The statements on the tables of the engine, and those on the others.
fn every_statement() -> Vec<&'static Statement> {
    let mut all: Vec<&Statement> = Vec::new();
    for table in STATEMENTS.iter() {
        all.extend(table.select.iter().chain(&table.lock).chain(&table.delete));
        all.extend(table.due.iter().chain(&table.lock_due).chain(&table.update));
        all.extend(table.walk.iter().chain([&table.insert]).chain(&table.add));
    }
    let common = &*COMMON;
    all.extend([&common.begin, &common.begin_reading, &common.commit, &common.soon, &common.fence]);
    all.extend([&common.begin_batch, &common.void_batch, &common.find_batch]);
    all.push(&common.forget_batches);
    all
}

#[test]
fn every_statement_has_a_name_of_its_own() {
    let all = every_statement();
    let names: BTreeSet<&str> = all.iter().map(|statement| &*statement.name).collect();
    assert_eq!(names.len(), all.len());
    assert!(names.iter().all(|name| name.len() < 64));
}

/// PostgreSQL, Citus, CockroachDB and YugabyteDB share these words. What one of them lacks, such as
/// LISTEN, advisory locks, sequences and triggers, cannot slip in.
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

/// Each statement is planned as a session of the engine plans it, on tables of which the server knows
/// nothing yet.
#[test]
fn no_statement_reads_a_whole_table() {
    let url = server().database("plans");
    let database = Postgres::open(url.strip_prefix("postgres:").unwrap(), false).unwrap();
    let until = Until::within(Duration::from_secs(60));
    let mut connection = database.connect(until).unwrap();
    connection.set_deadline(until);
    for statement in every_statement() {
        let whole = ["select_0", "lock_0", "delete_0"];
        let explained = ["SELECT", "INSERT", "UPDATE", "DELETE", "WITH"];
        let is_explained = explained.iter().any(|word| statement.sql.starts_with(word));
        if !is_explained || whole.iter().any(|end| statement.name.ends_with(end)) {
            continue;
        }
        let types = statement.params.iter().map(|kind| match kind {
            List::Ints => "int8[]",
            List::Texts => "text[]",
            List::Blobs => "bytea[]",
            List::Int => "int8",
            List::Text => "text",
            List::Blob => "bytea",
        });
        let types: Vec<_> = types.collect();
        let (types, nulls) = match types.len() {
            0 => (String::new(), String::new()),
            count => {
                (format!("({})", types.join(", ")), format!("({})", vec!["NULL"; count].join(", ")))
            }
        };
        let (name, sql) = (&statement.name, &statement.sql);
        let answers = connection
            .simple(&format!("PREPARE x{name}{types} AS {sql}; EXPLAIN EXECUTE x{name}{nulls}"))
            .unwrap_or_else(|problem| panic!("{problem:?}: {sql}"));
        let plan: Vec<_> =
            answers.iter().flat_map(|a| &a.rows).filter_map(|row| row.text()).collect();
        assert!(!plan.is_empty(), "{name}");
        let plan = plan.join("\n");
        for bad in ["Seq Scan on", "Hash Join", "Merge Join"] {
            assert!(!plan.contains(bad), "{name}: {sql}\n{plan}");
        }
    }
}
