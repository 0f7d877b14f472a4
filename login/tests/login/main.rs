//! Logins from beginning to end, with an engine in this process, a scripted user and hostile files.
#![allow(clippy::unwrap_used, reason = "a test that cannot continue fails")]

mod commands;
mod configuration;
mod connections;
mod decision;
mod files;
mod first_pass;
mod journal;
mod offline;
mod pushes;
mod questions;
mod site;
mod stage;
