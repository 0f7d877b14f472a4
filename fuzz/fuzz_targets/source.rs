//! Fuzzes `seconder_fuzz::source`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| seconder_fuzz::source(data));
