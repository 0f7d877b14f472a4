//! Lines of `otpauth:` URIs, of one user or of the user in the label.

use super::app::{App, HOTP, SourceApp, named, problem};
use super::migration::{self, Entry, Kind};
use crate::engine::model::records::Problem;
use crate::otp::Totp;
use crate::wire::form;

const MIGRATION: &str = "otpauth-migration:";
const COUNTER: &str = "otpauth://hotp/";

/// Reads the apps of a file.
pub(super) fn read(text: &str, user: Option<&(&'static str, String)>) -> Vec<SourceApp> {
    let lines = (1..).zip(text.lines().map(str::trim)).filter(|(_, line)| !line.is_empty());
    lines.flat_map(|(line, uri)| of_line(line, uri, user)).collect()
}

fn of_line(line: u64, uri: &str, user: Option<&(&'static str, String)>) -> Vec<SourceApp> {
    if !begins(uri, MIGRATION) {
        let (issuer, account) = names(uri);
        return vec![found(line, user, issuer, &account, of_uri(uri, &account))];
    }
    match migration::read(uri) {
        Ok(entries) => entries.into_iter().map(|entry| of_entry(line, user, entry)).collect(),
        Err(reason) => vec![found(line, user, None, "", Err(problem(reason)))],
    }
}

/// Returns whether the codes of a URI come from a counter.
pub(in crate::engine::handlers::moving) fn is_hotp(uri: &str) -> bool {
    begins(uri.trim(), COUNTER)
}

fn begins(uri: &str, start: &str) -> bool {
    uri.get(..start.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(start))
}

/// Returns an app of the user, or else of the one whom its label names.
fn found(
    line: u64,
    user: Option<&(&'static str, String)>,
    issuer: Option<String>,
    account: &str,
    app: Result<App, Problem>,
) -> SourceApp {
    let user = user.cloned().unwrap_or_else(|| named(account));
    let app = match user.1.is_empty() {
        true => app.and(Err(problem("has a label that names no user: give --user"))),
        false => app,
    };
    SourceApp { line, owner: user.1.clone(), user, issuer, app }
}

fn of_uri(uri: &str, account: &str) -> Result<App, Problem> {
    if is_hotp(uri) {
        return Err(problem(HOTP));
    }
    let totp = Totp::from_uri(uri).map_err(|error| Problem::of(&error, ""))?;
    let label = Some(account.to_owned()).filter(|account| !account.is_empty());
    let secret = totp.secret().to_vec().into();
    let (digits, period) = (totp.digits().into(), totp.period());
    Ok(App { digits, period, algorithm: totp.algorithm(), label, ..App::new(secret) })
}

fn of_entry(line: u64, user: Option<&(&'static str, String)>, entry: Entry) -> SourceApp {
    let (prefix, account) = split(&entry.name);
    let issuer = Some(entry.issuer).filter(|issuer| !issuer.is_empty()).or(prefix);
    let app = match (entry.kind, entry.algorithm, entry.digits) {
        (Kind::Counter, ..) => Err(problem(HOTP)),
        (Kind::Time, Some(algorithm), Some(digits)) => {
            let label = Some(account.clone()).filter(|account| !account.is_empty());
            Ok(App { digits, algorithm, label, ..App::new(entry.secret) })
        }
        _ => Err(problem("has a type, an algorithm or a number of digits that is not known")),
    };
    found(line, user, issuer, &account, app)
}

/// Returns the account in the label of an `otpauth:` URI.
pub(in crate::engine::handlers::moving) fn account(uri: &str) -> String {
    names(uri).1
}

/// Returns the issuer and the account in a URI.
pub(super) fn names(uri: &str) -> (Option<String>, String) {
    let (path, query) = uri.split_once('?').unwrap_or((uri, ""));
    let label = path.splitn(4, '/').nth(3).unwrap_or_default();
    // Only in a query, a plus is a space.
    let label = form::unescape(&label.replace('+', "%2B"));
    let (prefix, account) = split(&label.unwrap_or_default());
    let params = form::read(query).unwrap_or_default();
    let issuer = params.get("issuer").and_then(|issuer| issuer.as_str()).map(str::to_owned);
    (issuer.filter(|issuer| !issuer.is_empty()).or(prefix), account)
}

/// Divides a label into the issuer before the colon, if there is one, and the account.
fn split(label: &str) -> (Option<String>, String) {
    match label.split_once(':') {
        Some((issuer, account)) => {
            let issuer = Some(issuer.trim().to_owned()).filter(|issuer| !issuer.is_empty());
            (issuer, account.trim().to_owned())
        }
        None => (None, label.trim().to_owned()),
    }
}
