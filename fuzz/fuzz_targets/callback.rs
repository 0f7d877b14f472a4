//! Fuzzes `seconder_fuzz::callback`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| seconder_fuzz::callback(data));
