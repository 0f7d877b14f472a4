//! Fuzzes `seconder_fuzz::form`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| seconder_fuzz::form(data));
