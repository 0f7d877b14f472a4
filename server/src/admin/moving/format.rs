//! The formats of files with users.

use crate::invalid;
use seconder::Result;
use seconder::engine::SourceFormat;
use std::path::Path;

/// The file name that means standard input or output.
pub(super) const STANDARD: &str = "-";

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// One JSON object in each line.
    Jsonl,
    /// Comma-separated values, with the names of the fields in the first row.
    Csv,
}

/// The formats of an import: the one of an export, and the formats of other programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ImportFormat {
    /// One JSON object in each line.
    Jsonl,
    /// Comma-separated values, with the names of the fields in the first row.
    Csv,
    /// Lines of otpauth: and otpauth-migration: URIs, as Google Authenticator exports them.
    Otpauth,
    /// The file ~/.google_authenticator of one user.
    PamGoogleAuthenticator,
    /// The file users.oath of pam_oath.
    PamOath,
    /// The JSON that FreeOTP+ exports.
    Freeotp,
    /// The CSV that pi-tokenjanitor exports.
    Privacyidea,
}

impl ImportFormat {
    /// Returns the format of another program, or else the one that is read line by line.
    pub(super) fn source(self) -> std::result::Result<SourceFormat, Format> {
        match self {
            ImportFormat::Jsonl => Err(Format::Jsonl),
            ImportFormat::Csv => Err(Format::Csv),
            ImportFormat::Otpauth => Ok(SourceFormat::Otpauth),
            ImportFormat::PamGoogleAuthenticator => Ok(SourceFormat::PamGoogleAuthenticator),
            ImportFormat::PamOath => Ok(SourceFormat::PamOath),
            ImportFormat::Freeotp => Ok(SourceFormat::FreeOtp),
            ImportFormat::Privacyidea => Ok(SourceFormat::PrivacyIdea),
        }
    }
}

impl Format {
    /// Returns the format that an option gives, or the name of the file, which may end in .sealed after that.
    pub(super) fn of(given: Option<Format>, file: &Path) -> Result<Format> {
        let is_sealed = file.extension().is_some_and(|extension| extension == "sealed");
        let named = if is_sealed { file.file_stem().map(Path::new) } else { Some(file) };
        let extension = named.and_then(Path::extension).and_then(|extension| extension.to_str());
        let extension = extension.map(str::to_ascii_lowercase);
        match (given, extension.as_deref()) {
            (Some(format), _) => Ok(format),
            (None, Some("csv")) => Ok(Format::Csv),
            (None, Some("jsonl" | "ndjson" | "json")) => Ok(Format::Jsonl),
            (None, _) => {
                let reason = "is missing, and the name of the file shows none: give --format jsonl or \
                              --format csv";
                Err(invalid("format", reason.to_owned()))
            }
        }
    }
}
