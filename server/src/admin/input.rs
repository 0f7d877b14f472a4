//! The input of commands: options that many have, files, secrets and lines that are typed.

pub(crate) mod gateway;
pub(crate) mod moment;
pub(crate) mod prompt;
pub(crate) mod secret;

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The heading in the help of the options that most commands have.
pub(crate) const COMMON: &str = "Common options";

/// Opens a file to be read; - is standard input.
pub(crate) fn open(file: &Path) -> std::io::Result<Box<dyn Read>> {
    match file.as_os_str() == "-" {
        true => Ok(Box::new(std::io::stdin())),
        false => File::open(file).map(|file| Box::new(file) as Box<dyn Read>),
    }
}
