//! Runs targets on the inputs that fuzzing has found. The tests of each crate include this file.

use std::path::Path;

/// A target, as the modules of targets list it: its name, and what reads an input.
type Target = (&'static str, fn(&[u8]));

/// Runs each target on the files in the folder of its name.
pub(crate) fn run(corpus: &str, targets: &[Target]) {
    for (name, target) in targets {
        let folder = Path::new(corpus).join(name);
        let inputs: Vec<_> = std::fs::read_dir(&folder).into_iter().flatten().flatten().collect();
        assert!(!inputs.is_empty(), "{} has no inputs", folder.display());
        for input in inputs {
            target(&std::fs::read(input.path()).unwrap_or_default());
        }
    }
}
