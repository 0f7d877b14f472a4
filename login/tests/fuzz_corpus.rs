//! Regression test for the inputs that fuzzing has found: each target of logins runs on its corpus.

#[allow(unreachable_pub, reason = "the targets are a separate crate when they are fuzzed")]
#[path = "../../fuzz/src/login.rs"]
mod targets;

#[path = "../../fuzz/src/corpus.rs"]
mod corpus;

#[test]
fn every_fuzz_target_passes_its_corpus() {
    corpus::run(concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz/corpus"), &targets::TARGETS);
}

/// Otherwise the property that only such a reply lets a user in would hold of nothing.
#[test]
fn replies_that_say_so_let_the_user_in() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus/login");
    for (name, accepted) in [
        ("approved", true),
        ("wrong_then_right", true),
        ("with_code", true),
        ("approved_by_another", false),
        ("not_checked", false),
        ("contradiction", false),
        ("hostile_text", false),
    ] {
        let input = std::fs::read(folder.join(name)).unwrap_or_default();
        let outcome = targets::outcome(&input);
        assert_eq!(
            outcome == Some(seconder_login::Outcome::Accepted),
            accepted,
            "{name}: {outcome:?}"
        );
        assert!(outcome.is_some(), "{name}");
    }
}
