//! Regression test for the inputs that fuzzing has found: the target of receipts runs on its corpus.

#[allow(unreachable_pub, reason = "the targets are a separate crate when they are fuzzed")]
#[path = "../../fuzz/src/gateways.rs"]
mod targets;

#[test]
fn every_fuzz_target_passes_its_corpus() {
    for (name, target) in targets::TARGETS {
        let folder =
            std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus").join(name);
        let inputs: Vec<_> = std::fs::read_dir(&folder).into_iter().flatten().flatten().collect();
        assert!(!inputs.is_empty(), "{} has no inputs", folder.display());
        for input in inputs {
            target(&std::fs::read(input.path()).unwrap_or_default());
        }
    }
}
