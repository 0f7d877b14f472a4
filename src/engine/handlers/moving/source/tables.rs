//! Text files of PAM modules and of privacyIDEA.

use super::super::fields::bytes_of_hex;
use super::app::{App, HOTP, SourceApp, named, problem};
use crate::engine::model::records::Problem;
use crate::otp::{Algorithm, decode_secret};
use std::collections::BTreeSet;

/// The steps by which a phone's clock may be off.
const SKEW: i64 = 1;

/// Reads the file of one user: the secret, options in lines that begin with a quotation mark, and scratch codes.
pub(super) fn google_authenticator(
    text: &str,
    user: Option<(&'static str, String)>,
) -> Vec<SourceApp> {
    let Some(user) = user else { return Vec::new() };
    let (owner, app) = (user.1.clone(), of_google_authenticator(text));
    vec![SourceApp { line: 1, owner, user, issuer: None, app }]
}

fn of_google_authenticator(text: &str) -> Result<App, Problem> {
    let mut lines = text.lines();
    let secret = lines.next().and_then(decode_secret);
    let mut app = App::new(secret.ok_or_else(|| problem("must begin with a secret in Base32"))?);
    let mut is_totp = false;
    for option in lines.filter_map(|line| line.strip_prefix("\" ")) {
        let mut words = option.split_ascii_whitespace();
        let name = words.next();
        let mut number = || words.next().and_then(|word| word.parse::<i64>().ok());
        match name {
            Some("TOTP_AUTH") => is_totp = true,
            Some("HOTP_COUNTER") => return Err(problem(HOTP)),
            Some("STEP_SIZE") => app.period = number().and_then(|n| n.try_into().ok()).unwrap_or(0),
            Some("TIME_SKEW") if number().is_none_or(|skew| skew.abs() > SKEW) => {
                return Err(problem(
                    "has a TIME_SKEW: the phone's clock is wrong, so correct it, and run google-authenticator again",
                ));
            }
            // The steps of codes that were used.
            Some("DISALLOW_REUSE") => {
                app.last_step = words.filter_map(|word| word.parse().ok()).max()
            }
            _ => {}
        }
    }
    match is_totp {
        true => Ok(app),
        false => Err(problem("has no line \" TOTP_AUTH, so it is no file of google-authenticator")),
    }
}

/// Reads lines of a type, a user, a PIN, a secret in hexadecimal digits and what was used last. The PIN stays behind.
pub(super) fn users_oath(text: &str) -> Vec<SourceApp> {
    let lines = (1..).zip(text.lines().map(str::trim));
    let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|(line, text)| {
            let mut words = text.split_ascii_whitespace();
            let (kind, login) =
                (words.next().unwrap_or_default(), words.next().unwrap_or_default());
            let secret = words.nth(1);
            let (owner, user) = (login.to_owned(), ("login", login.to_owned()));
            SourceApp { line, owner, user, issuer: None, app: of_users_oath(kind, secret) }
        })
        .collect()
}

fn of_users_oath(kind: &str, secret: Option<&str>) -> Result<App, Problem> {
    let mut parts = kind.split('/');
    if parts.next() != Some("HOTP") {
        return Err(problem("must begin with a type such as HOTP/T30/6"));
    }
    let period = match parts.next() {
        None | Some("E") => return Err(problem(HOTP)),
        Some(period) => period.strip_prefix('T').and_then(|period| period.parse().ok()),
    };
    let digits = parts.next().map_or(Some(6), |digits| digits.parse().ok());
    let (Some(period), Some(digits), None) = (period, digits, parts.next()) else {
        return Err(problem("must begin with a type such as HOTP/T30/6"));
    };
    let secret = secret.and_then(bytes_of_hex);
    let secret = secret.ok_or_else(|| problem("must have a secret in hexadecimal digits"))?;
    Ok(App { digits, period, ..App::new(secret) })
}

/// Reads lines of an owner, a serial number, a secret, a type, the digits and the period. The file does not name the
/// hash function. A file of several realms is rejected: names of different persons may be equal in them.
pub(super) fn privacyidea(text: &str, algorithm: Algorithm) -> Result<Vec<SourceApp>, Problem> {
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    let mut realms = BTreeSet::new();
    let found = lines.map(|(line, text)| {
        let columns: Vec<&str> = text.split(',').map(str::trim).collect();
        let owner = columns.first().copied().unwrap_or_default();
        // An owner is a name and a realm, and the name may be an address.
        let (name, realm) = owner.rsplit_once('@').unwrap_or((owner, ""));
        let app = of_privacyidea(owner, &columns, algorithm);
        if app.is_ok() {
            realms.insert(realm);
        }
        SourceApp { line, owner: owner.to_owned(), user: named(name), issuer: None, app }
    });
    let found: Vec<_> = found.collect();
    match realms.len() > 1 {
        true => Err(problem(format!(
            "has users of {} realms, who may have the same names: import a file with the lines of one realm",
            realms.len()
        ))),
        false => Ok(found),
    }
}

fn of_privacyidea(owner: &str, columns: &[&str], algorithm: Algorithm) -> Result<App, Problem> {
    let [_, serial, secret, kind, rest @ ..] = columns else {
        return Err(problem("must have owner, serial number, secret, type, digits and period"));
    };
    if owner == "n/a" {
        return Err(problem("belongs to no user of privacyIDEA"));
    }
    let (digits, period) = match (kind.to_ascii_lowercase().as_str(), rest) {
        ("hotp", _) => return Err(problem(HOTP)),
        ("totp", [digits, period]) => (digits, period),
        _ => return Err(problem("must be of type totp, with digits and period")),
    };
    let (Ok(digits), Some(period)) = (digits.parse(), seconds(period)) else {
        return Err(problem("must have digits and a period in seconds at its end"));
    };
    // `--b32` writes secrets in Base32.
    let secret = bytes_of_hex(secret).or_else(|| decode_secret(secret));
    let secret = secret.ok_or_else(|| problem("must have a secret in hexadecimal digits"))?;
    let label = Some((*serial).to_owned());
    Ok(App { digits, period, algorithm, label, ..App::new(secret) })
}

/// Reads a period. privacyIDEA before 3.11 writes none, and its default is 30 seconds.
fn seconds(text: &str) -> Option<u64> {
    if text == "None" { Some(30) } else { text.parse().ok() }
}
