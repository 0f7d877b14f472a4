//! Tests of the choice of a database's keyring.

use super::*;
use crate::engine::model::clock::System;
use crate::engine::store::Sqlite;
use std::sync::Barrier;

/// A store in which no transaction writes before all have read.
struct Meeting<B> {
    rows: B,
    all: Arc<Barrier>,
}

impl<B: Backend> Backend for Meeting<B> {
    fn begin(&self) -> Result<Box<dyn Any>> {
        self.rows.begin()
    }

    fn write(&self, work: &mut dyn FnMut(&mut dyn Rows) -> Result<(), Fault>) -> Result<(), Fault> {
        self.all.wait();
        self.rows.write(work)
    }

    fn read(&self, work: &mut dyn FnMut(&mut dyn Rows) -> Result<(), Fault>) -> Result<(), Fault> {
        self.rows.read(work)
    }

    fn is_restored(&self) -> bool {
        self.rows.is_restored()
    }

    fn spend(&self, now: Time) -> Result<()> {
        self.rows.spend(now)
    }

    fn copy_to(&self, to: &Path, progress: &mut dyn FnMut(u64, u64)) -> Result<()> {
        self.rows.copy_to(to, progress)
    }
}

/// Two nodes open a new database at once, each with a ring of its own.
fn one_ring_wins<B: Backend>(nodes: [B; 2]) {
    let all = Arc::new(Barrier::new(2));
    let opened = std::thread::scope(|scope| {
        let threads = nodes.map(|rows| {
            let ring = Arc::new(Ring::in_memory().unwrap());
            let node = Meeting { rows, all: Arc::clone(&all) };
            scope.spawn(move || (Sealing::new(node, Arc::clone(&ring), Arc::new(System)), ring))
        });
        threads.map(|thread| thread.join().unwrap())
    });
    let [one, other] = opened;
    let ((winner, its), (loser, _)) = if one.0.is_ok() { (one, other) } else { (other, one) };
    let winner = winner.ok().unwrap();
    let error = loser.err().expect("the other was opened too");
    let text = error.to_string();
    assert!(matches!(error, Error::Storage { .. }) && text.contains("is not that of the database"));
    assert_eq!(listed(&winner).unwrap(), BTreeSet::from([its.keys().current().unwrap().id]));
}

#[test]
fn of_two_rings_one_becomes_that_of_a_new_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    one_ring_wins([(); 2].map(|()| Sqlite::open(&path, false).unwrap()));
}

#[cfg(feature = "postgres")]
#[test]
fn of_two_rings_one_becomes_that_of_a_new_postgresql_database() {
    use crate::engine::store::{Postgres, conformance::postgres::server};
    let url = server().database("rings");
    let rest = url.strip_prefix("postgres:").unwrap();
    one_ring_wins([(); 2].map(|()| Postgres::open(rest, false, Default::default()).unwrap()));
}
