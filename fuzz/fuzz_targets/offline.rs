//! Fuzzes `seconder_fuzz::offline`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| seconder_fuzz::offline(data));
