//! Fuzzes `gateways::receipt`.

#![no_main]

#[allow(dead_code, reason = "each target is a program")]
#[path = "../src/gateways.rs"]
mod gateways;

libfuzzer_sys::fuzz_target!(|data: &[u8]| gateways::receipt(data));
