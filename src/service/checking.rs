//! What is known of settings before anything is opened.

use super::Settings;
use crate::Result;

impl Settings {
    /// Whether the URL is that of a database on a server and holds a password. Everybody on a machine can
    /// read one on a command line; there, a file that `passfile=` names keeps it.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if such a URL cannot be read. It does not repeat
    /// the URL.
    pub fn has_password(&self) -> Result<bool> {
        match self.url.split_once(':') {
            #[cfg(feature = "postgres")]
            Some(("postgres" | "postgresql", rest)) => crate::postgres::has_password(rest),
            _ => Ok(false),
        }
    }
}
