//! Fuzzes `seconder_fuzz::retry_after`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| seconder_fuzz::retry_after(data));
