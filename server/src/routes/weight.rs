//! The random order of routes of one priority, by their weights.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

/// Returns a random number by which routes of one priority are sorted: a route of twice the weight
/// is first twice as often. It protects nothing, so the randomness of hash maps is good enough.
pub(super) fn draw(weight: u64) -> f64 {
    let bits = RandomState::new().build_hasher().finish() >> 11;
    // More than 0 and at most 1, so that the logarithm is finite.
    let uniform = (bits as f64 + 1.0) / (1_u64 << 53) as f64;
    -uniform.ln() / weight as f64
}
