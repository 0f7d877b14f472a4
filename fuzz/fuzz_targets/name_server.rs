//! Fuzzes `seconder_fuzz::name_server`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| seconder_fuzz::name_server(data));
