//! The JSON that FreeOTP+ exports. Its secrets are lists of signed bytes.

use super::app::{App, HOTP, SourceApp, problem, wrong};
use crate::engine::model::records::Problem;
use crate::otp::Algorithm;
use crate::{Error, Result};
use serde::Deserialize;
use serde_json::Value;
use zeroize::Zeroizing;

#[derive(Deserialize)]
struct Export {
    tokens: Vec<Value>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Token {
    #[serde(rename = "type")]
    kind: Option<String>,
    secret: Option<Vec<i16>>,
    algo: Option<String>,
    digits: Option<u64>,
    period: Option<u64>,
    issuer_alt: Option<String>,
    issuer_ext: Option<String>,
    issuer_int: Option<String>,
    label_alt: Option<String>,
    label: Option<String>,
}

/// Reads the apps of a phone.
pub(super) fn read(text: &str, user: Option<(&'static str, String)>) -> Result<Vec<SourceApp>> {
    let Some(user) = user else { return Ok(Vec::new()) };
    // The parser's own message may repeat a value.
    let export: Export = serde_json::from_str(text)
        .map_err(|_| wrong("FILE", "is no JSON of FreeOTP+: its export has a list tokens"))?;
    let found = (1..).zip(export.tokens).map(|(line, token)| {
        // Without a type, it is reported.
        let token: Token = serde_json::from_value(token).unwrap_or_default();
        let name = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        let issuer =
            name(&token.issuer_alt).or(name(&token.issuer_ext)).or(name(&token.issuer_int));
        let (owner, user) = (user.1.clone(), user.clone());
        SourceApp { line, owner, user, issuer, app: app(token) }
    });
    Ok(found.collect())
}

fn app(token: Token) -> std::result::Result<App, Problem> {
    match token.kind.as_deref() {
        Some("HOTP") => return Err(problem(HOTP)),
        Some("TOTP") => {}
        _ => return Err(problem("is no app with a type, TOTP, and bytes as its secret")),
    }
    let bytes = Zeroizing::new(token.secret.unwrap_or_default());
    let bytes = bytes.iter().map(|byte| match byte {
        -128..=255 => Some((byte & 0xff) as u8),
        _ => None,
    });
    let secret = bytes.collect::<Option<Vec<u8>>>().map(Zeroizing::new);
    let secret = secret.ok_or_else(|| problem("must have bytes from -128 to 127 as its secret"))?;
    let algorithm = token.algo.map_or(Ok(Algorithm::Sha1), |name| name.parse());
    let algorithm = algorithm.map_err(|error: Error| Problem::of(&error, "algo"))?;
    let (digits, period) = (token.digits.unwrap_or(6), token.period.unwrap_or(30));
    let label = token.label_alt.or(token.label).filter(|label| !label.is_empty());
    Ok(App { digits, period, algorithm, label, ..App::new(secret) })
}
