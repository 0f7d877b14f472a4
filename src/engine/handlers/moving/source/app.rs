//! An app in a file of another program.

use crate::Error;
use crate::engine::model::records::Problem;
use crate::otp::Algorithm;
use serde_json::Value;
use zeroize::Zeroizing;

/// The reason why an app is left out whose codes come from a counter.
pub(in super::super) const HOTP: &str = "is HOTP, whose codes come from a counter: only TOTP is supported, so this user enrols a new app";

/// An app of a file.
pub(super) struct SourceApp {
    pub(super) line: u64,
    /// The text by which apps belong to the same user.
    pub(super) owner: String,
    /// The field and the value that identify the user.
    pub(super) user: (&'static str, String),
    pub(super) issuer: Option<String>,
    pub(super) app: std::result::Result<App, Problem>,
}

pub(super) struct App {
    pub(super) secret: Zeroizing<Vec<u8>>,
    pub(super) digits: u64,
    pub(super) period: u64,
    pub(super) algorithm: Algorithm,
    pub(super) label: Option<String>,
    pub(super) last_step: Option<u64>,
}

impl App {
    /// Returns an app with these values, and the defaults of all others.
    pub(super) fn new(secret: Zeroizing<Vec<u8>>) -> App {
        let algorithm = Algorithm::default();
        App { secret, digits: 6, period: 30, algorithm, label: None, last_step: None }
    }

    pub(super) fn fields(self) -> Value {
        let hex: String = self.secret.iter().map(|byte| format!("{byte:02x}")).collect();
        let fields: [(&str, Value); 6] = [
            ("secret_hex", hex.into()),
            ("digits", self.digits.into()),
            ("period", self.period.into()),
            ("algorithm", self.algorithm.name().into()),
            ("label", self.label.into()),
            ("last_step", self.last_step.into()),
        ];
        fields.map(|(name, value)| (name.to_owned(), value)).into_iter().collect()
    }
}

/// Returns the field of a text that identifies a user.
pub(super) fn named(text: &str) -> (&'static str, String) {
    let field = match text {
        text if text.starts_with('+') => "phone",
        text if text.contains('@') => "email",
        _ => "login",
    };
    (field, text.to_owned())
}

pub(super) fn problem(reason: impl Into<String>) -> Problem {
    Problem::new("", reason)
}

pub(super) fn wrong(parameter: &'static str, reason: &'static str) -> Error {
    Error::invalid_argument(parameter, reason)
}
