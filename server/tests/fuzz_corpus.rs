//! Regression test for the inputs that fuzzing has found: the target of receipts runs on its corpus.

#[allow(unreachable_pub, reason = "the targets are a separate crate when they are fuzzed")]
#[path = "../../fuzz/src/gateways.rs"]
mod targets;

#[path = "../../fuzz/src/corpus.rs"]
mod corpus;

#[test]
fn every_fuzz_target_passes_its_corpus() {
    corpus::run(concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz/corpus"), &targets::TARGETS);
}
