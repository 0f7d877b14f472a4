//! Converts an HTTP response to a [`Reply`].

use super::error_mapping;
use super::progress::InParts;
use crate::wire::{Format, Reply};
use crate::{Error, Result};
use std::io::Read;
use std::time::Duration;
use ureq::Body;
use ureq::http::{HeaderMap, HeaderValue, Response, Uri, header};

/// The maximum size of a body, which is more than any reply of the interface has.
const LIMIT: u64 = 1024 * 1024;

/// Reads a response to its end.
pub(super) fn read(response: Response<Body>, format: Format, host: &str) -> Result<Reply> {
    let (parts, body) = response.into_parts();
    let status = parts.status.as_u16();
    if (300..400).contains(&status) {
        return Err(redirected(status, &parts.headers));
    }
    let has = |name| parts.headers.contains_key(name);
    if has(header::CONTENT_LENGTH) && has(header::TRANSFER_ENCODING) {
        // A proxy in between may use the other header, and so see the body end at another place.
        return Err(Error::invalid_response(
            "it has both Content-Length and Transfer-Encoding, so it is not HTTP/1.1",
        ));
    }
    let (mut bytes, mut body) =
        (Vec::new(), InParts(body.into_with_config().limit(LIMIT).reader()));
    body.read_to_end(&mut bytes).map_err(|error| error_mapping::from_ureq(error.into(), host))?;
    // Dropped here, so that another call can use the connection.
    drop(body);
    let body = plain(&parts.headers).and_then(|()| format.read(&bytes));
    Ok(Reply { retry_after: wait_of(&parts.headers), ..Reply::read(status, body)? })
}

/// Rejects compressed bodies. Compression was not requested, and a small body could otherwise
/// expand to a huge one.
fn plain(headers: &HeaderMap) -> Result<()> {
    let coded = |value: &HeaderValue| !value.as_bytes().eq_ignore_ascii_case(b"identity");
    match headers.get_all(header::CONTENT_ENCODING).iter().any(coded) {
        true => Err(Error::invalid_response("the body is compressed, which was not requested")),
        false => Ok(()),
    }
}

/// The error for a redirect. Its message includes only the host of the target, because the rest may
/// contain a token.
fn redirected(status: u16, headers: &HeaderMap) -> Error {
    let to = text(headers, header::LOCATION).and_then(|to| to.parse::<Uri>().ok());
    let host = to.as_ref().and_then(Uri::host);
    let to = host.map(|host| format!(" to {host}")).unwrap_or_default();
    Error::invalid_response(format!(
        "it redirects{to} (status {status}), and redirects are not followed"
    ))
}

fn wait_of(headers: &HeaderMap) -> Option<Duration> {
    retry_after(text(headers, header::RETRY_AFTER)?, text(headers, header::DATE))
}

/// The wait requested by a header `Retry-After`, in seconds or as a date. A date is compared with
/// the date of the response, so that this machine's clock does not matter.
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

    fn seconds(headers: &[(header::HeaderName, &str)]) -> Option<u64> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(name, value.parse().unwrap());
        }
        wait_of(&map).map(|time| time.as_secs())
    }

    #[test]
    fn retry_after_is_in_seconds_or_a_date() {
        let (early, late) = ("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:50:07 GMT");
        let wait = |after, date| seconds(&[(header::RETRY_AFTER, after), (header::DATE, date)]);
        assert_eq!(wait("120", early), Some(120));
        assert_eq!(wait(late, early), Some(30));
        assert_eq!(wait(early, late), Some(0));
        assert_eq!(wait("-1", early), None);
        assert_eq!(seconds(&[(header::RETRY_AFTER, late)]), None);
        assert_eq!(seconds(&[]), None);
    }
}
