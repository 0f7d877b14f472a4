//! The store on a real server, and the forms of its statements.

use super::statements::{COMMON, STATEMENTS};

use crate::postgres::Statement;
use std::collections::BTreeSet;

fn every_statement() -> Vec<&'static Statement> {
    let mut all: Vec<&Statement> = Vec::new();
    for table in STATEMENTS.iter() {
        all.extend(table.select.iter().chain(&table.lock).chain(&table.delete));
        all.extend(table.due.iter().chain(&table.lock_due).chain(&table.update));
        all.extend([&table.insert, &table.add]);
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
