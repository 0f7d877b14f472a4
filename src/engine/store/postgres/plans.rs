//! Tests of the query plans of the server: no statement may read a whole table that grows.

use super::statements::{SCHEMA, columns};
use super::tests::{PAGES, connection, every_statement, opened};
use crate::engine::store::sqlite::executed;
use crate::engine::store::table::Kind;
use crate::engine::store::tables::TABLES;
use crate::postgres::{Connection, List};
use std::collections::BTreeSet;

/// The number of rows in each table when the server has statistics.
const ROWS: u32 = 20_000;

/// Returns the statements that would read a whole table, with their plans; also statements that would
/// sort one, if the server knows that it is filled.
fn whole_tables(connection: &mut Connection, is_filled: bool) -> Vec<String> {
    let mut found = Vec::new();
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
        // Statements for a list of keys may sort the few rows that they find. Statements for the
        // first rows have to take them in the order of an index, where only rows of one time are
        // sorted.
        let is_ordered = is_filled && !sql.contains("unnest(") && !sql.contains("count(");
        let sorts = ["Bitmap Heap Scan on", "->  Sort  ("];
        let reads = ["Seq Scan on", "Hash Join", "Merge Join"];
        let does = |steps: &[&str]| steps.iter().any(|step| plan.contains(step));
        let is_sorted = plan.starts_with("Sort  (") || does(&sorts);
        if does(&reads) || is_ordered && is_sorted {
            found.push(format!("{name}: {sql}\n{plan}"));
        }
    }
    found
}

/// Plans as a session of the engine does, on tables without statistics.
#[test]
fn no_statement_reads_a_whole_table() {
    let found = whole_tables(&mut connection(&opened("plans")), false);
    assert!(found.is_empty(), "{}", found.join("\n\n"));
}

/// Plans with the server's statistics of tables with many rows, which it may read in any way.
#[test]
fn no_statement_reads_a_whole_table_where_the_server_may() {
    let mut connection = connection(&opened("filled"));
    for table in TABLES {
        let columns = columns(table);
        let key = table.key + columns.len() - table.columns.len();
        let values = columns.iter().enumerate().map(|(place, column)| {
            // Each beginning of a key has several rows, and many rows become due together.
            let number = match (place, key) {
                _ if Some(column.name) == table.due_of => "g % 3",
                (_, 1) => "g",
                (0, _) if column.name == "bucket" && key == 2 => "g % 4096",
                (0, _) if column.name == "bucket" => "g % 5000 % 4096",
                (place, key) if place + 1 < key => "g % 5000",
                _ => "g",
            };
            match column.kind {
                Kind::Int => number.to_owned(),
                Kind::Text => format!("'a text of ' || {number}"),
                Kind::Blob => format!("convert_to('some bytes of ' || {number}, 'UTF8')"),
            }
        });
        let values: Vec<String> = values.collect();
        let (name, values) = (table.name, values.join(", "));
        let fill = format!(
            "INSERT INTO {SCHEMA}.{name} SELECT {values} FROM generate_series(1, {ROWS}) AS g; \
             ANALYZE {SCHEMA}.{name}"
        );
        connection.simple(&fill).unwrap_or_else(|problem| panic!("{problem:?}: {fill}"));
    }
    let others = format!(
        "INSERT INTO {SCHEMA}.batches (batch_id, is_done) \
         SELECT convert_to('batch ' || g, 'UTF8'), 1 FROM generate_series(1, {ROWS}) AS g; \
         ANALYZE {SCHEMA}.batches; ANALYZE {SCHEMA}.fences"
    );
    connection.simple(&others).unwrap();
    connection
        .simple("RESET enable_seqscan; RESET enable_hashjoin; RESET enable_mergejoin")
        .unwrap();
    let found = whole_tables(&mut connection, true);
    assert!(found.is_empty(), "{}", found.join("\n\n"));
}

/// The plans of pages are looked at for a list of them. Nothing may read one that is not in it.
#[test]
fn every_page_that_is_read_is_planned() {
    /// The table, the conditions and the order of a page, as both stores have them.
    fn page(sql: &str) -> Option<String> {
        let (_, page) = sql.split_once(" FROM ").filter(|_| sql.contains(" DESC"))?;
        let page =
            page.replace("seconder.", "").replace(" AS t", "").replace("t.bucket = $1 AND ", "");
        Some(
            page.replace("t.", "")
                .replace(['?', '$'], "")
                .replace(|c: char| c.is_ascii_digit(), ""),
        )
    }
    let planned: BTreeSet<_> = PAGES.iter().filter_map(|page_of| page(&page_of.sql)).collect();
    let read: BTreeSet<_> = executed().iter().filter_map(|sql| page(sql)).collect();
    let missing: Vec<_> = read.difference(&planned).collect();
    assert!(read.len() > 10 && missing.is_empty(), "{missing:#?}\n{planned:#?}");
}
