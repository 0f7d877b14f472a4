//! Runs targets on the inputs that fuzzing has found. The tests of each crate include this file.

use std::path::Path;

/// Runs each target on the files in the folder of its name.
pub(crate) fn run(corpus: &str, targets: &[(&str, fn(&[u8]))]) {
    for (name, target) in targets {
        let folder = Path::new(corpus).join(name);
        let inputs: Vec<_> = std::fs::read_dir(&folder).into_iter().flatten().flatten().collect();
        assert!(!inputs.is_empty(), "{} has no inputs", folder.display());
        for input in inputs {
            target(&std::fs::read(input.path()).unwrap_or_default());
        }
    }
}
