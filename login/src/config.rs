//! The configuration: seconder-pam.conf(5).

use std::path::Path;

/// A configuration that was read and is valid.
#[derive(Debug)]
#[non_exhaustive]
pub struct Config {}

/// What is wrong with a configuration, and what would be accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file, or `arguments`.
    pub file: String,
    /// The line, from 1; 0 for arguments.
    pub line: usize,
    /// What is wrong, and what would be accepted.
    pub text: String,
}

impl Config {
    /// Reads a configuration, with arguments such as `tries=2`, which override it.
    ///
    /// # Errors
    /// Everything that is wrong.
    pub fn read(file: &Path, _arguments: &[&str]) -> Result<Config, Vec<Problem>> {
        let text = "is not implemented".to_owned();
        Err(vec![Problem { file: file.display().to_string(), line: 0, text }])
    }
}
