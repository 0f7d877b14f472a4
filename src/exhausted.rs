//! Recognises that the process or the machine has no descriptors or memory left. No argument and no
//! service is to blame for that.

use std::io::{Error, ErrorKind};

/// Returns the message for an error of exhausted resources, or `None` for any other error.
pub(crate) fn exhausted(error: &Error) -> Option<&'static str> {
    match (error.raw_os_error(), error.kind()) {
        (Some(EMFILE), _) => {
            Some("too many open files in this process: raise the limit (ulimit -n), or close some")
        }
        (Some(ENFILE), _) => Some(
            "too many open files on this machine: raise the limit (fs.file-max), or close some",
        ),
        (_, ErrorKind::OutOfMemory) => Some("out of memory"),
        _ => None,
    }
}

/// Returns the message if resources are exhausted now, for libraries that do not return the system's error.
#[cfg(feature = "engine")]
pub(crate) fn now() -> Option<&'static str> {
    std::fs::File::open("/dev/null").err().as_ref().and_then(exhausted)
}

/// Error numbers that are the same on every Unix.
#[cfg(unix)]
const EMFILE: i32 = 24;
#[cfg(unix)]
const ENFILE: i32 = 23;
/// Error numbers of Winsock, and of the system itself.
#[cfg(not(unix))]
const EMFILE: i32 = 10024;
#[cfg(not(unix))]
const ENFILE: i32 = 4;
