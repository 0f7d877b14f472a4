//! Files in which other programs keep the secrets of authenticator apps, read as users to import.

pub(super) mod app;
mod freeotp;
mod migration;
mod tables;
pub(super) mod uris;

use crate::engine::model::records::Problem;
use crate::otp::Algorithm;
use crate::{Error, Result};
use app::{SourceApp, named, problem, wrong};
use serde_json::{Map, Value};
use std::collections::{BTreeSet, HashMap};
use std::str::FromStr;

/// The format of a file of another program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SourceFormat {
    /// Lines of `otpauth:` URIs, and of `otpauth-migration:` URIs, which Google Authenticator exports as QR codes.
    Otpauth,
    /// The file `.google_authenticator` of one user, of pam_google_authenticator.
    PamGoogleAuthenticator,
    /// The file `users.oath` of pam_oath.
    PamOath,
    /// The JSON that FreeOTP+ exports from one phone.
    FreeOtp,
    /// The CSV that privacyIDEA's `pi-tokenjanitor` exports.
    PrivacyIdea,
}

/// The facts that a file of another program lacks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceOptions {
    /// The user whose apps are in the file: a login name, an e-mail address, or a number that begins with `+`.
    pub user: Option<String>,
    /// The issuer whose apps are taken from the export of a phone; all others are left out.
    pub issuer: Option<String>,
    /// The hash function of apps of a file that does not name it, by default SHA-1.
    pub algorithm: Option<Algorithm>,
}

/// The number of a line, and the fields of a user for [`UserRecord::read`](super::UserRecord::read). In JSON, entries
/// are counted instead of lines.
pub type SourceLine = (u64, std::result::Result<Map<String, Value>, Problem>);

impl FromStr for SourceFormat {
    type Err = Error;

    /// Reads a name as the option `--format` has it.
    fn from_str(name: &str) -> Result<SourceFormat> {
        let all = SourceFormat::ALL.into_iter();
        let found = all.map(|format| (format, format.name())).find(|(_, known)| *known == name);
        found
            .map(|(format, _)| format)
            .ok_or_else(|| Error::invalid_argument("format", "is no format of another program"))
    }
}

impl SourceFormat {
    /// All formats.
    pub const ALL: [SourceFormat; 5] = [
        SourceFormat::Otpauth,
        SourceFormat::PamGoogleAuthenticator,
        SourceFormat::PamOath,
        SourceFormat::FreeOtp,
        SourceFormat::PrivacyIdea,
    ];

    /// Returns its name.
    pub const fn name(self) -> &'static str {
        match self {
            SourceFormat::Otpauth => "otpauth",
            SourceFormat::PamGoogleAuthenticator => "pam-google-authenticator",
            SourceFormat::PamOath => "pam-oath",
            SourceFormat::FreeOtp => "freeotp",
            SourceFormat::PrivacyIdea => "privacyidea",
        }
    }

    /// Reads the users of a file, each with all apps that the file has of the user. No message repeats a value of it.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for an option that the format needs or does not know, and for a file that is not of
    /// this format at all.
    pub fn read(self, file: &[u8], options: &SourceOptions) -> Result<Vec<SourceLine>> {
        let user = self.check(options)?;
        let text = std::str::from_utf8(file).map_err(|_| wrong("FILE", "is not UTF-8"))?;
        let text = text.trim_start_matches('\u{feff}');
        let found = match self {
            SourceFormat::Otpauth => Ok(uris::read(text, user.as_ref())),
            SourceFormat::PamGoogleAuthenticator => Ok(tables::google_authenticator(text, user)),
            SourceFormat::PamOath => Ok(tables::users_oath(text)),
            SourceFormat::FreeOtp => Ok(freeotp::read(text, user)?),
            SourceFormat::PrivacyIdea => {
                tables::privacyidea(text, options.algorithm.unwrap_or_default())
            }
        };
        Ok(match found.and_then(|found| of_one_issuer(found, options)) {
            Ok(found) => users(found),
            Err(problem) => vec![(1, Err(problem))],
        })
    }

    /// Checks the options, and returns the field and the value that identify the user.
    fn check(self, options: &SourceOptions) -> Result<Option<(&'static str, String)>> {
        use SourceFormat::{FreeOtp, Otpauth, PamGoogleAuthenticator, PrivacyIdea};
        if options.issuer.is_some() && !matches!(self, Otpauth | FreeOtp) {
            return Err(wrong("issuer", "must not be there: the file names no issuers"));
        }
        if options.algorithm.is_some() && self != PrivacyIdea {
            return Err(wrong("algorithm", "must not be there: the file says it of each app"));
        }
        match (&options.user, self) {
            (None, PamGoogleAuthenticator | FreeOtp) => {
                Err(wrong("user", "is missing: the file does not say whose apps it has"))
            }
            (None, _) => Ok(None),
            (Some(user), Otpauth | PamGoogleAuthenticator | FreeOtp) => {
                // An import creates users, and an id alone identifies none.
                match user.is_empty() || user.bytes().all(|byte| byte.is_ascii_digit()) {
                    true => Err(wrong(
                        "user",
                        "must be a login name, an e-mail address or a number that begins with +, and no id",
                    )),
                    false => Ok(Some(named(user))),
                }
            }
            (Some(_), _) => Err(wrong("user", "must not be there: the file names its users")),
        }
    }
}

/// Returns the apps of the issuer that was asked for. The export of a phone has the accounts of its owner everywhere,
/// and the secrets of other services must open no door here.
fn of_one_issuer(
    mut found: Vec<SourceApp>,
    options: &SourceOptions,
) -> std::result::Result<Vec<SourceApp>, Problem> {
    if let Some(issuer) = &options.issuer {
        let is_it = |name: &String| name.to_lowercase() == issuer.to_lowercase();
        found.retain(|app| app.issuer.as_ref().is_some_and(is_it) || is_unread(app));
        return match found.is_empty() {
            true => {
                Err(problem("has no app of this issuer: an export of several QR codes needs all"))
            }
            false => Ok(found),
        };
    }
    // Without a user, too: an account may have the same name at other services.
    let known = found.iter().filter(|app| !is_unread(app));
    let issuers: BTreeSet<_> =
        known.map(|app| app.issuer.as_ref().map(|name| name.to_lowercase())).collect();
    match issuers.len() > 1 {
        true => Err(problem(format!(
            "has apps of {} issuers: choose the one by --issuer NAME whose codes are right here",
            issuers.len()
        ))),
        false => Ok(found),
    }
}

/// Returns whether nothing is known of an app, not even its issuer.
fn is_unread(found: &SourceApp) -> bool {
    found.app.is_err() && found.issuer.is_none()
}

/// Returns the users of these apps, in the order of their first lines, and the apps that are wrong.
fn users(found: Vec<SourceApp>) -> Vec<SourceLine> {
    let (mut places, mut users, mut lines) = (HashMap::new(), Vec::new(), Vec::new());
    for SourceApp { line, owner, user, app, .. } in found {
        match app {
            Ok(app) => {
                let place = *places.entry(owner).or_insert(users.len());
                if place == users.len() {
                    users.push((line, user, Vec::new()));
                }
                let (app, of_user) = (app.fields(), users.get_mut(place));
                let apps = of_user.map(|(_, _, apps): &mut (_, _, Vec<Value>)| apps);
                // A QR code that was read twice is in the file twice.
                if let Some(apps) = apps.filter(|apps| !apps.contains(&app)) {
                    apps.push(app);
                }
            }
            Err(problem) => lines.push((line, Err(problem))),
        }
    }
    let fields = |(line, (field, value), apps): (u64, (&str, String), Vec<Value>)| {
        let fields = Map::from_iter([
            (field.to_owned(), value.into()),
            ("confirmed".to_owned(), true.into()),
            ("authenticators".to_owned(), apps.into()),
        ]);
        (line, Ok(fields))
    };
    lines.extend(users.into_iter().map(fields));
    lines.sort_by_key(|(line, _)| *line);
    lines
}
