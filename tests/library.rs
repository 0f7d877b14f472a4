//! The tests of the library that share one process and one program, which is linked once.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic fails the test")]

mod cases;
mod copies;
mod fresh;
#[path = "stub/local.rs"]
mod local_stub;
mod name_server;
mod operated;
mod phone;
#[path = "postgres/server.rs"]
mod postgres_server;
mod sealed;
mod stub;
#[path = "stub/tls.rs"]
mod tls;

mod application;
mod approver;
mod approver_details;
mod approver_pushes;
mod apps;
mod arguments;
mod audit;
mod browsers;
mod call_log;
mod callback_sending;
mod callbacks;
mod cancelling;
mod clock;
mod conformance;
mod connections;
mod database;
mod deadline;
mod descriptors;
mod engine;
mod errors;
mod factors;
mod fuzz_corpus;
mod housekeeping;
mod interrupt;
mod jobs;
mod jobs_listing;
mod jobs_managing;
mod keys;
mod limits;
mod listing;
mod local;
mod local_users;
mod lookup;
mod lookups;
mod million;
mod moving;
mod numbers;
mod operations;
mod postgres;
mod process;
mod proxy;
mod racing;
mod recovery;
mod replies;
mod responses;
mod restore;
mod sandbox;
mod schemes;
mod sealing;
mod secure;
mod texts;
mod verdict;
