//! The URL of a gateway.

use super::Constants;
use super::template::Template;
use crate::Fields;
use std::net::IpAddr;
use ureq::http::Uri;
use ureq::http::uri::Authority;

/// A URL, whose host has no placeholder.
pub(super) struct Url {
    pub(super) origin: String,
    /// The path and the query.
    pub(super) target: Template,
    /// Set if it is without TLS.
    pub(super) is_plain: bool,
}

pub(super) fn url(fields: &mut Fields<'_>, constants: &Constants) -> Option<Url> {
    let allow_http = fields.flag("allow_http", false);
    let text = fields.required_text("url")?;
    let read = read_url(text, constants, allow_http);
    read.map_err(|wrong| fields.problem("url", wrong)).ok()
}

fn read_url(text: &str, constants: &Constants, allow_http: bool) -> Result<Url, String> {
    let (scheme, rest) = text.split_once("://").ok_or("has no scheme")?;
    let is_plain = match scheme.to_ascii_lowercase().as_str() {
        "https" => false,
        "http" => true,
        _ if scheme.contains("{{") => return Err("has a placeholder in its scheme".to_owned()),
        _ => return Err("is neither https: nor http:".to_owned()),
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, target) = rest.split_at(end);
    if authority.contains("{{") || authority.contains("}}") {
        return Err("has a placeholder in its host".to_owned());
    }
    if authority.contains('@') {
        return Err("has a user or a password: set username and password instead".to_owned());
    }
    if target.contains('#') {
        return Err("has a fragment, which is never sent".to_owned());
    }
    let host: Authority = authority.parse().map_err(|_| "has an invalid host".to_owned())?;
    let port = &authority[authority.rfind(']').unwrap_or(0)..];
    if host.host().is_empty()
        || (port.contains(':') && host.port_u16().is_none_or(|port| port == 0))
    {
        return Err("has no host, or an invalid port".to_owned());
    }
    if is_plain && !allow_http && !is_this_machine(host.host()) {
        return Err("is http: for another machine, which allow_http would allow".to_owned());
    }
    let slash = if target.starts_with('/') { "" } else { "/" };
    let target = Template::read(&format!("{slash}{target}"), &constants.names)?;
    let sample = target.sample();
    let origin = format!("{}://{authority}", if is_plain { "http" } else { "https" });
    if !sample.bytes().all(|byte| byte.is_ascii_graphic())
        || format!("{origin}{sample}").parse::<Uri>().is_err()
    {
        return Err("has characters that must be percent-encoded".to_owned());
    }
    Ok(Url { origin, target, is_plain })
}

fn is_this_machine(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(url: &str) -> Option<String> {
        read_url(url, &Constants::default(), false).err()
    }

    #[test]
    fn only_the_path_and_the_query_have_placeholders() {
        for fine in [
            "https://api.example",
            "https://api.example:8443/v1/{{to}}?text={{text}}&x=%20",
            "https://api.example?to={{to}}",
            "HTTPS://[2001:db8::1]:443/",
            "http://127.0.0.1:8080/",
            "http://[::1]/",
            "http://localhost/",
        ] {
            assert_eq!(problem(fine), None, "{fine}");
        }
        for bad in [
            "",
            "api.example/v1",
            "ftp://api.example/",
            "{{to}}://api.example/",
            "https://{{to}}/",
            "https://api.{{to}}.example/",
            "https://api.example:{{code}}/",
            "https://{{to}}",
            "https://",
            "https:///v1",
            "https://api.example:/",
            "https://api.example:0/",
            "https://api.example:70000/",
            "https://user@api.example/",
            "https://user:secret@api.example/",
            "https://api.example/#{{to}}",
            "https://api.example/a b",
            "https://api.example/ä",
            "https://api.example/{{unknown}}",
            "https://api.example/{{to",
            "http://api.example/",
            "http://127.0.0.1.example/",
            "http://localhost.example/",
            "https://api.example\\@127.0.0.1/",
        ] {
            let found = problem(bad);
            assert!(found.is_some(), "{bad}");
            assert!(!found.is_some_and(|wrong| wrong.contains("secret")), "{bad}");
        }
        assert!(read_url("http://api.example/", &Constants::default(), true).is_ok());
    }
}
