//! Fuzzes `seconder_fuzz::xml`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| seconder_fuzz::xml(data));
