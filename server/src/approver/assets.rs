//! The files of the page. Browsers keep those in `assets/` for good, because their names carry a hash of all files;
//! the others refer to them, and are asked for again each time. One hash for all, because they refer to each other.

use super::brand::Brand;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use seconder::engine::approver::hash_of;
use std::borrow::Cow;
use std::collections::HashMap;

/// The path of all of them, as the log has it.
pub(super) const PATH: &str = "/-/approver/{file}";
/// The number of hash characters in a name. The hash distinguishes versions of one program, and the names are part of
/// the first load.
const HASH: usize = 8;
const IMMUTABLE: &str = "public, max-age=31536000, immutable";
const REVALIDATED: &str = "no-cache";

/// The content security policy: nothing from other origins, nothing inline, and no frames. A script cannot write HTML.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; \
                      connect-src 'self'; manifest-src 'self'; worker-src 'self'; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
                      trusted-types seconder";
/// The browser features that the page must not use.
const PERMISSIONS: &str =
    "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()";

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        const FILES: &[(&str, &[u8])] =
            &[$(($name, include_bytes!(concat!("../../approver/", $name)))),*];
    };
}

files! {
    "app.webmanifest",
    "assets/api.js",
    "assets/app.css",
    "assets/app.js",
    "assets/ar.json",
    "assets/de.json",
    "assets/en.json",
    "assets/enrol.js",
    "assets/es.json",
    "assets/fr.json",
    "assets/icon-180.png",
    "assets/icon-192.png",
    "assets/icon-512.png",
    "assets/icon.svg",
    "assets/inbox.js",
    "assets/keys.js",
    "assets/maskable-512.png",
    "assets/page.js",
    "assets/pt.json",
    "assets/push.js",
    "assets/requests.js",
    "assets/settings.js",
    "index.html",
    "sw.js",
}

/// The files as they are sent.
pub(super) struct Assets(HashMap<String, File>);

struct File {
    media_type: &'static str,
    content: Vec<u8>,
    tag: String,
    is_immutable: bool,
}

impl Assets {
    /// Gives the files their names, also where they refer to each other, and puts in the name and the icon of the app.
    pub(super) fn new(brand: &Brand) -> Assets {
        let branded: Vec<(&str, Cow<'static, [u8]>)> =
            FILES.iter().map(|(name, content)| (*name, brand.applied(name, content))).collect();
        let all: Vec<u8> =
            branded.iter().flat_map(|(_, content)| content.iter().copied()).collect();
        let version = &hash_of(&all)[..HASH];
        let names: Vec<(&str, String)> =
            FILES.iter().filter_map(|(name, _)| Some((*name, hashed(name, version)?))).collect();
        let files = branded.iter().map(|(name, content)| {
            let content = match std::str::from_utf8(content) {
                Ok(text) => referring(&compact(name, text), &names, version).into_bytes(),
                Err(_) => content.to_vec(),
            };
            let tag = hash_of(&content)[..HASH].to_owned();
            let served = names.iter().find(|(from, _)| from == name).map(|(_, to)| to.clone());
            let is_immutable = served.is_some();
            let served = served.unwrap_or_else(|| (*name).to_owned());
            (served, File { media_type: media_type(name), content, tag, is_immutable })
        });
        Assets(files.collect())
    }

    /// Returns the response with the file of a path, or with the page.
    pub(super) fn response(&self, path: &str, method: &Method, asked: &HeaderMap) -> Response {
        if ![Method::GET, Method::HEAD].contains(method) {
            let mut response = empty(StatusCode::METHOD_NOT_ALLOWED);
            response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
            return response;
        }
        let path = if path.is_empty() { "index.html" } else { path };
        let Some(file) = self.0.get(path) else { return empty(StatusCode::NOT_FOUND) };
        let tag = format!("\"{}\"", file.tag);
        let known = asked.get(header::IF_NONE_MATCH);
        let is_known = known.is_some_and(|known| known.as_bytes() == tag.as_bytes());
        let mut response = match is_known {
            true => empty(StatusCode::NOT_MODIFIED),
            false => Response::new(Body::from(file.content.clone())),
        };
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(file.media_type));
        let cached = if file.is_immutable { IMMUTABLE } else { REVALIDATED };
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(cached));
        if let Ok(tag) = HeaderValue::from_str(&tag) {
            headers.insert(header::ETAG, tag);
        }
        protect(headers);
        response
    }
}

/// Replacements that shorten style sheets. In their selectors, no space follows a colon.
const SHORTER_STYLES: &[(&str, &str)] = &[
    ("\n", ""),
    (" > ", ">"),
    (" {", "{"),
    ("{ ", "{"),
    ("; ", ";"),
    (" }", "}"),
    (";}", "}"),
    (": ", ":"),
    (", ", ","),
];

/// Replacements that shorten scripts. No line of code ends with a comment, and no text has any of these.
const SHORTER_SCRIPTS: &[(&str, &str)] =
    &[("{\n", "{"), (",\n", ","), (";\n", ";"), (" => ", "=>"), (" = ", "=")];

/// Returns a text without the parts that only readers of the source need: indentation, comments in lines of their own,
/// and spaces that mean nothing. No text in these files spans lines, and elements between which a space counts are in
/// one.
fn compact(name: &str, text: &str) -> String {
    let kind = name.rsplit('.').next().unwrap_or_default();
    let is_comment = |line: &&str| match kind {
        "js" => line.starts_with("//"),
        "css" => line.starts_with("/*") && line.ends_with("*/"),
        _ => false,
    };
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !is_comment(line));
    let text = lines.collect::<Vec<_>>().join("\n");
    let shorter: &[(&str, &str)] = match kind {
        "css" => SHORTER_STYLES,
        "html" => &[(">\n<", "><")],
        "js" => SHORTER_SCRIPTS,
        "json" | "webmanifest" => &[("\": \"", "\":\""), (",\n", ",")],
        _ => &[],
    };
    shorter.iter().fold(text, |text, (from, to)| text.replace(from, to))
}

/// Returns the name of a file in `assets/` as it is served.
fn hashed(name: &str, version: &str) -> Option<String> {
    let (stem, end) = name.strip_prefix("assets/")?.rsplit_once('.')?;
    Some(format!("assets/{stem}.{version}.{end}"))
}

/// Returns the text of a file with the names of others as they are served: `"assets/NAME"`, and `"./NAME"` among those
/// in `assets/`. The service worker has the version too, by which it identifies its cache.
fn referring(text: &str, names: &[(&str, String)], version: &str) -> String {
    let text = text.replace("\"VERSION\"", &format!("\"{version}\""));
    names.iter().fold(text, |text, (from, to)| {
        let beside = |name: &str| format!("\".{}\"", &name["assets".len()..]);
        text.replace(&format!("\"{from}\""), &format!("\"{to}\""))
            .replace(&beside(from), &beside(to))
    })
}

fn media_type(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("json") => "application/json; charset=utf-8",
        Some("webmanifest") => "application/manifest+json",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        _ => "application/octet-stream",
    }
}

fn protect(headers: &mut HeaderMap) {
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (HeaderName::from_static("permissions-policy"), PERMISSIONS),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

pub(super) fn empty(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the texts between quotes or backticks. The quotes in a regular expression would be taken for the quotes
    /// of a text: the texts that follow would have line breaks then.
    fn literals(script: &str) -> Vec<String> {
        let code = |line: &&str| !line.trim_start().starts_with("//");
        let code = script.lines().filter(code).collect::<Vec<_>>().join("\n");
        let mut letters = code.chars();
        let mut found = Vec::new();
        while let Some(quote) = letters.find(|letter| "\"'`".contains(*letter)) {
            let mut literal = String::new();
            while let Some(letter) = letters.next().filter(|letter| *letter != quote) {
                literal.push(letter);
                literal.extend((letter == '\\').then(|| letters.next()).flatten());
            }
            found.push(literal);
        }
        found
    }

    #[test]
    fn literals_are_found_between_all_kinds_of_quotes() {
        let script = "// It isn't code.\nf(\"a = b\", `${c} => '`, 'd\\'e');\n";
        assert_eq!(literals(script), ["a = b", "${c} => '", "d\\'e"]);
    }

    #[test]
    fn no_text_of_a_script_is_changed_when_it_is_compacted() {
        let scripts = FILES.iter().filter(|(name, _)| name.ends_with(".js"));
        for (name, content) in scripts {
            let found = literals(std::str::from_utf8(content).unwrap());
            assert!(!found.is_empty(), "{name}");
            for literal in found {
                let is_changed = SHORTER_SCRIPTS.iter().any(|(from, _)| literal.contains(from));
                assert!(!is_changed && !literal.contains('\n'), "{name}: {literal:?}");
            }
        }
    }
}
