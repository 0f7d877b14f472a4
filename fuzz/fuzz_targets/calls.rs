//! Fuzzes `seconder_fuzz::calls`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| seconder_fuzz::calls(data));
