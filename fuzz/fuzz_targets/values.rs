//! Fuzzes `seconder_fuzz::values`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| seconder_fuzz::values(data));
