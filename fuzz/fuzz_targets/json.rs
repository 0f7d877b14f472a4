//! Fuzzes `seconder_fuzz::json`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| seconder_fuzz::json(data));
