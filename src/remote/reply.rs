//! From HTTP's response to [`Reply`].

use super::error_mapping;
use crate::wire::{Format, Reply};
use crate::{Error, Result};
use std::time::Duration;
use ureq::Body;
use ureq::http::{HeaderMap, HeaderValue, Response, Uri, header};

/// More bytes than any reply of the interface has.
const LIMIT: u64 = 1024 * 1024;

/// Reads a response to its end.
pub(super) fn read(response: Response<Body>, format: Format, host: &str) -> Result<Reply> {
    let (parts, body) = response.into_parts();
    let status = parts.status.as_u16();
    if (300..400).contains(&status) {
        return Err(redirected(status, &parts.headers));
    }
    let is_there = |name| parts.headers.contains_key(name);
    if is_there(header::CONTENT_LENGTH) && is_there(header::TRANSFER_ENCODING) {
        // What stands between may believe the other, and where it ends is then another place.
        return Err(Error::invalid_response(
            "it says in two ways how long it is, so it is not HTTP/1.1",
        ));
    }
    let bytes = body.into_with_config().limit(LIMIT).read_to_vec();
    let bytes = bytes.map_err(|error| error_mapping::from_ureq(error, host))?;
    let body = plain(&parts.headers).and_then(|()| format.read(&bytes));
    Ok(Reply { retry_after: waits(&parts.headers), ..Reply::read(status, body)? })
}

/// No encoding was asked for and none is undone, so a small body stays small.
fn plain(headers: &HeaderMap) -> Result<()> {
    let coded = |value: &HeaderValue| !value.as_bytes().eq_ignore_ascii_case(b"identity");
    match headers.get_all(header::CONTENT_ENCODING).iter().any(coded) {
        true => Err(Error::invalid_response("the body is compressed, which was not asked for")),
        false => Ok(()),
    }
}

/// Names the host that was pointed to, and nothing else of the address: it may repeat a token.
fn redirected(status: u16, headers: &HeaderMap) -> Error {
    let to = text(headers, header::LOCATION).and_then(|to| to.parse::<Uri>().ok());
    let host = to.as_ref().and_then(Uri::host);
    let to = host.map(|host| format!(" to {host}")).unwrap_or_default();
    Error::invalid_response(format!(
        "it redirects{to} (status {status}), and redirects are not followed"
    ))
}

fn waits(headers: &HeaderMap) -> Option<Duration> {
    retry_after(text(headers, header::RETRY_AFTER)?, text(headers, header::DATE))
}

/// How long a header `Retry-After` asks to wait: in seconds, or as a date that is measured from the
/// date of the response itself, so that no clock of this machine is asked.
pub fn retry_after(after: &str, date: Option<&str>) -> Option<Duration> {
    if after.bytes().all(|byte| byte.is_ascii_digit()) {
        return after.parse().ok().map(Duration::from_secs);
    }
    let until = httpdate::parse_http_date(after).ok()?;
    let now = httpdate::parse_http_date(date?).ok()?;
    Some(until.duration_since(now).unwrap_or_default())
}

fn text(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(headers: &[(header::HeaderName, &str)]) -> Option<u64> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(name, value.parse().unwrap());
        }
        waits(&map).map(|time| time.as_secs())
    }

    #[test]
    fn a_wait_is_told_in_seconds_or_as_a_date() {
        let (early, late) = ("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:50:07 GMT");
        let wait = |after, date| told(&[(header::RETRY_AFTER, after), (header::DATE, date)]);
        assert_eq!(wait("120", early), Some(120));
        assert_eq!(wait(late, early), Some(30));
        assert_eq!(wait(early, late), Some(0));
        assert_eq!(wait("-1", early), None);
        assert_eq!(told(&[(header::RETRY_AFTER, late)]), None);
        assert_eq!(told(&[]), None);
    }
}
