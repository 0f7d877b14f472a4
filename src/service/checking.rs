//! Properties of settings that are known before a service is opened.

use super::{Scheme, Settings};
use crate::Result;
use crate::model::ApiKey;

impl Settings {
    /// Checks what [`Settings::open`] checks of the URL and of the settings of an engine before it opens or creates
    /// anything. It reads the certificates that the URL names, and no keyring.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) names the first setting that is invalid, or `url`.
    pub fn check(&self) -> Result<()> {
        self.check_uses()?;
        self.api_key.clone().map(ApiKey::try_from).transpose()?;
        #[cfg(feature = "https")]
        self.dialer()?;
        match Scheme::split(&self.url) {
            Some((scheme, rest)) if scheme.is_engine() => self.engine.check(scheme, rest),
            _ => Ok(()),
        }
    }

    /// Returns whether the URL is for a database on a server and contains a password. Every user of a machine can read
    /// a password on a command line; there, a file that `passfile=` names keeps it.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if such a URL cannot be read. It does not repeat
    /// the URL.
    pub fn has_password(&self) -> Result<bool> {
        match Scheme::split(&self.url) {
            #[cfg(feature = "postgres")]
            Some((Scheme::Postgres, rest)) => crate::postgres::has_password(rest),
            _ => Ok(false),
        }
    }
}

#[cfg(test)]
#[cfg(feature = "postgres")]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_found_wherever_a_url_may_have_it() {
        let found = |url: &str| Settings::new(url).has_password().unwrap();
        for url in ["postgres://u:p@h/d", "PostgreSQL://h/d?p%61ssword=p", "postgres:u:p@h"] {
            assert!(found(url), "{url}");
        }
        for url in ["postgres://u@h:5432/d", "postgres://u:@h/d", "sqlite:u:p@h", "sandbox:"] {
            assert!(!found(url), "{url}");
        }
        let error = Settings::new("postgres://u:hidden%@h/d").has_password().unwrap_err();
        assert!(!error.to_string().contains("hidden"), "{error}");
    }

    #[test]
    fn settings_are_checked_without_opening_anything() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}/a.db", folder.path().display());
        Settings::new(&url).check().unwrap();
        assert!(!folder.path().join("a.db").exists());
        let wrong = |settings: Settings| match settings.check() {
            Err(crate::Error::InvalidArgument { parameter, .. }) => parameter.into_owned(),
            other => panic!("{other:?}"),
        };
        assert_eq!(wrong(Settings::new("sqlite:")), "url");
        assert_eq!(wrong(Settings::new("postgres://u@h/d?no=1")), "url");
        assert_eq!(wrong(Settings::new(&url).application_name("")), "application_name");
        assert_eq!(wrong(Settings::new(&url).push_hosts("http://x y")), "push_hosts");
    }
}
