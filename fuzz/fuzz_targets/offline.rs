//! Fuzzes `login::offline`.

#![no_main]

#[allow(dead_code, reason = "each target is a program")]
#[path = "../src/login.rs"]
mod login;

libfuzzer_sys::fuzz_target!(|data: &[u8]| login::offline(data));
