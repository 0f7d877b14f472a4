//! The tests of the program and of the server that share one process and one program, which is linked once.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic fails the test")]
#![allow(
    clippy::disallowed_methods,
    reason = "clients, providers and services run in threads of the tests"
)]

#[path = "../../tests/cases/mod.rs"]
mod cases;
mod certificate_files;
mod command;
mod common;
mod documents;
#[path = "../../tests/fresh/mod.rs"]
mod fresh;
#[path = "gateways/provider.rs"]
mod http_provider;
mod local_socket;
#[path = "../../tests/name_server/mod.rs"]
mod name_server;
mod node;
mod others;
mod peer;
#[path = "../../tests/postgres/server.rs"]
mod postgres_server;
mod provider;
mod serving;
mod terminal;

mod activation;
mod administration;
mod approver;
mod apps;
mod audit;
mod call;
mod certificates;
mod clock;
mod completions;
mod config;
mod conformance;
mod dialects;
mod enrol;
mod faults;
mod first_users;
mod forwarding;
mod fuzz_corpus;
mod gateway_settings;
mod gateways;
mod helpdesk;
mod http2;
mod https;
mod jobs;
mod kannel;
mod keyring;
mod local;
mod log;
mod lookups;
mod metrics;
mod moving;
mod operators;
mod outgoing;
mod overload;
mod pam;
mod program;
mod proxies;
mod receipts;
mod relay;
mod reload;
mod requests;
mod restarts;
mod routes;
mod sandbox;
mod signals;
mod smpp;
mod smtp;
mod spool;
mod systemd;
mod trust;
mod users;
mod voice;
