//! Credentials of a gateway, and the texts that no reason may repeat.

use super::signed;
use super::template::{Place, Template};
use super::url::Url;
use super::{Body, Constants};
use crate::Fields;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use seconder::model::{ApiKey, Secret};
use seconder::wire::form;

/// A credential is longer, and so is redacted text: shorter texts are parts of words.
const SHORTEST: usize = 4;
/// The length from which on a literal of a header or a query is redacted. Most shorter ones are not
/// credentials.
const SHORTEST_LITERAL: usize = 8;

/// The credentials that are set.
pub(super) struct Credentials {
    username: Option<Secret>,
    password: Option<Secret>,
    token: Option<Secret>,
}

impl Credentials {
    pub(super) fn read(fields: &mut Fields<'_>) -> Credentials {
        let mut read = |name: &str| {
            let value = fields.secret(name)?;
            if value.expose().chars().any(char::is_control) {
                fields.problem(name, "has control characters");
            }
            Some(value)
        };
        let (username, password) = (read("username"), read("password"));
        Credentials { username, password, token: read("token") }
    }

    /// Adds them to the placeholders.
    pub(super) fn add_to(&self, constants: &mut Constants) {
        let named =
            [("username", &self.username), ("password", &self.password), ("token", &self.token)];
        for (name, value) in named {
            if let Some(value) = value {
                constants.names.push(name);
                constants.values.push(value.clone());
            }
        }
    }

    /// Reads the value of the header `Authorization`.
    pub(super) fn authorization(
        &self,
        fields: &mut Fields<'_>,
        headers: &[(String, Template)],
    ) -> Option<Secret> {
        let auth = match fields.one_of("auth", &["basic", "bearer", "none"]) {
            None if self.password.is_some() && self.token.is_some() => {
                fields.problem("auth", "is missing, with both a password and a token");
                return None;
            }
            None if self.password.is_some() => "basic",
            None if self.token.is_some() => "bearer",
            other => other.unwrap_or("none"),
        };
        if auth != "none" && headers.iter().any(|(name, _)| name == "authorization") {
            fields.problem("headers", "has authorization beside the setting auth");
        }
        match auth {
            "basic" => self.basic(fields),
            "bearer" => self.bearer(fields),
            _ => None,
        }
    }

    fn basic(&self, fields: &mut Fields<'_>) -> Option<Secret> {
        let (Some(username), Some(password)) = (&self.username, &self.password) else {
            fields.problem("auth", "is basic, which needs username and password");
            return None;
        };
        if username.expose().contains(':') {
            fields.problem("username", "has a colon, which basic authentication cannot hold");
        }
        let pair = format!("{}:{}", username.expose(), password.expose());
        Some(Secret::new(format!("Basic {}", STANDARD.encode(pair))))
    }

    fn bearer(&self, fields: &mut Fields<'_>) -> Option<Secret> {
        let Some(token) = &self.token else {
            fields.problem("auth", "is bearer, which needs token");
            return None;
        };
        if !token.expose().bytes().all(|byte| byte.is_ascii_graphic()) {
            fields.problem("token", "has characters that no header can hold");
        }
        Some(Secret::new(format!("Bearer {}", token.expose())))
    }
}

/// Reads the key with which bodies are signed.
pub(super) fn signing_key(
    fields: &mut Fields<'_>,
    method: &str,
    body: Option<&(Place, Body)>,
) -> Option<ApiKey> {
    let key = fields.secret("signing_key")?;
    let Ok(key) = key.expose().parse::<ApiKey>() else {
        fields.problem("signing_key", "is not a key");
        return None;
    };
    let sample = match body {
        Some((Place::Json, Body::Template(template))) if method == "POST" => template.sample(),
        _ => String::new(),
    };
    if signed::headers(&key, "https://example.com/", sample.as_bytes()).is_err() {
        fields.problem("signing_key", "is given for a body that cannot be signed");
    }
    Some(key)
}

/// Returns the texts that no reason may repeat: the credentials, as they are written anywhere in
/// the request.
pub(super) fn secrets(
    constants: &Constants,
    headers: &[(String, Template)],
    url: Option<&Url>,
    authorization: Option<&Secret>,
    signing_key: Option<&ApiKey>,
) -> Vec<Secret> {
    let public = ["accept", "content-type", "user-agent"];
    let credentials = constants.values.iter().chain(authorization).map(Secret::expose);
    let credentials = credentials.chain(signing_key.map(ApiKey::expose)).map(str::to_owned);
    let of_headers = headers.iter().filter(|(name, _)| !public.contains(&name.as_str()));
    let of_headers = of_headers.filter_map(|(_, value)| value.literal().map(str::to_owned));
    let target = url.map(|url| url.target.sample()).unwrap_or_default();
    let query = target.split_once('?').map(|(_, query)| query).unwrap_or_default();
    let of_query = query.split('&').filter_map(|pair| pair.split_once('='));
    let of_query = of_query
        .flat_map(|(_, value)| [value.to_owned(), form::unescape(value).unwrap_or_default()]);
    let literals = of_headers.chain(of_query).filter(|word| word.len() >= SHORTEST_LITERAL);
    let whole: Vec<String> = credentials.chain(literals).collect();
    // `Bearer abc` is repeated as `abc` too.
    let last = whole.iter().filter_map(|word| Some(word.rsplit_once(' ')?.1.to_owned()));
    let all = last.chain(whole.iter().cloned()).filter(|word| word.len() >= SHORTEST);
    all.map(Secret::new).collect()
}
