//! Conformance of the PostgreSQL store.

use super::*;
use crate::engine::delivery::Delivery;
use crate::engine::handlers::jobs::JobFilter;
use crate::engine::store::Postgres;
use std::sync::OnceLock;

#[path = "../../../../tests/postgres/server.rs"]
mod server;
pub(in crate::engine::store) use server::Server;

/// One server for the tests of this process, which ends with it.
pub(in crate::engine::store) fn server() -> &'static Server {
    static SERVER: OnceLock<Server> = OnceLock::new();
    SERVER.get_or_init(Server::start)
}

#[test]
fn postgresql_decides_like_the_store_in_memory() {
    let url = server().database("conformance");
    let rest = url.strip_prefix("postgres:").unwrap();
    let config = Config { cases: 24, failure_persistence: None, ..Config::default() };
    let history = vec(event(), 1..120);
    let result = TestRunner::new(config).run(&history, |events| {
        let clear = "SET client_min_messages = error; DROP SCHEMA IF EXISTS seconder CASCADE";
        server().sql("conformance", clear);
        let shared = Postgres::open_shard(rest, false, Default::default(), 0).unwrap();
        compare([World::new(memory()), World::new(sealed(shared))], &events);
        Ok(())
    });
    result.unwrap();
}

#[test]
fn postgresql_has_the_jobs_that_the_store_in_memory_has() {
    let url = server().database("jobs");
    let rest = url.strip_prefix("postgres:").unwrap();
    let shared = Postgres::open_shard(rest, false, Default::default(), 0).unwrap();
    assert_eq!(jobs::managed(sealed(shared)), jobs::managed(memory()));
}

#[test]
fn postgresql_notes_receipts_and_keeps_documents_as_the_store_in_memory_does() {
    let url = server().database("receipts");
    let rest = url.strip_prefix("postgres:").unwrap();
    let shared = Postgres::open_shard(rest, false, Default::default(), 0).unwrap();
    assert_eq!(receipts::reported(sealed(shared)), receipts::reported(memory()));
}

#[test]
fn postgresql_pauses_a_country_as_the_store_in_memory_does() {
    let url = server().database("pumping");
    let rest = url.strip_prefix("postgres:").unwrap();
    let shared = Postgres::open_shard(rest, false, Default::default(), 0).unwrap();
    assert_eq!(receipts::pumped(sealed(shared)), receipts::pumped(memory()));
}

/// The receipt and the end of the attempt are written by two nodes at once, again and again: whichever
/// comes first, the receipt is noted.
#[test]
fn a_receipt_is_noted_whichever_node_is_faster() {
    let url = server().database("racing_receipts");
    let rest = url.strip_prefix("postgres:").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let node = || {
        threads::sealed(
            Postgres::open(rest, false, Default::default()).unwrap(),
            &folder.path().join("ring"),
        )
    };
    let [sender, receiver] = [node(), node()];
    let (receiver, clock) = receipts::engine(receiver, receipts::Accepts::default());
    let (ids, accepted) = std::sync::mpsc::channel::<String>();
    let accepts = receipts::Accepts::reporting(ids);
    let (sender, _) = receipts::engine(sender, accepts);
    std::thread::scope(|scope| {
        let receiver = &receiver;
        scope.spawn(move || {
            for id in accepted {
                receiver.receipt("main", &id, &Delivery::Delivered).unwrap();
            }
        });
        for of in 0..40 {
            receipts::send(&sender, of);
        }
        drop(sender);
    });
    clock.0.fetch_add(1, Ordering::Relaxed);
    let jobs = receiver.jobs(&JobFilter::default(), None, 1000).unwrap().entries;
    assert_eq!(jobs.len(), 40);
    assert!(jobs.iter().all(|job| job.receipt.as_deref() == Some("delivered")), "{jobs:?}");
}

#[test]
fn what_threads_see_of_postgresql_by_two_nodes_has_an_order() {
    let folder = tempfile::tempdir().unwrap();
    for round in 0..8 {
        let name = format!("nodes_{round}");
        let url = server().database(&name);
        let rest = url.strip_prefix("postgres:").unwrap();
        let ring = folder.path().join(&name);
        let node =
            || threads::sealed(Postgres::open(rest, false, Default::default()).unwrap(), &ring);
        threads::explained(round, vec![node(), node()], Some(&node));
    }
}
