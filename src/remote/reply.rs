//! Converts an HTTP response to a [`Reply`].

use super::headers::Headers;
use super::http1::Head;
use crate::wire::{Format, Reply};
use crate::{Error, Result};
use http::Uri;
use std::time::Duration;

/// Converts a response that was received to its end.
pub(super) fn read(head: &Head, body: &[u8], format: Format) -> Result<Reply> {
    if head.is_redirect() {
        return Err(redirected(head.status, &head.headers));
    }
    let body = plain(&head.headers).and_then(|()| format.read(body));
    Ok(Reply { retry_after: wait_of(&head.headers), ..Reply::read(head.status, body)? })
}

/// Rejects compressed bodies. Compression was not requested, and a small body could otherwise
/// expand to a huge one.
fn plain(headers: &Headers) -> Result<()> {
    let coded = |value: &[u8]| !value.eq_ignore_ascii_case(b"identity");
    match headers.all("content-encoding").any(coded) {
        true => Err(Error::invalid_response("the body is compressed, which was not requested")),
        false => Ok(()),
    }
}

/// Returns the error for a redirect. Its message includes only the host of the target, because the
/// rest may contain a token.
fn redirected(status: u16, headers: &Headers) -> Error {
    let to = headers.text("location").and_then(|to| to.parse::<Uri>().ok());
    let host = to.as_ref().and_then(Uri::host);
    let to = host.map(|host| format!(" to {host}")).unwrap_or_default();
    Error::invalid_response(format!(
        "it redirects{to} (status {status}), and redirects are not followed"
    ))
}

/// Returns the wait requested by the headers of a response.
pub(super) fn wait_of(headers: &Headers) -> Option<Duration> {
    retry_after(headers.text("retry-after")?, headers.text("date"))
}

/// Returns the wait requested by a header `Retry-After`, in seconds or as a date. A date is
/// compared with the date of the response, so that this machine's clock does not matter.
pub fn retry_after(after: &str, date: Option<&str>) -> Option<Duration> {
    if after.bytes().all(|byte| byte.is_ascii_digit()) {
        return after.parse().ok().map(Duration::from_secs);
    }
    let until = httpdate::parse_http_date(after).ok()?;
    let now = httpdate::parse_http_date(date?).ok()?;
    Some(until.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(given: &[(&str, &str)]) -> Option<u64> {
        let mut headers = Headers::default();
        for (name, value) in given {
            headers.add(name, value.as_bytes());
        }
        wait_of(&headers).map(|time| time.as_secs())
    }

    #[test]
    fn retry_after_is_in_seconds_or_a_date() {
        let (early, late) = ("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:50:07 GMT");
        let wait = |after, date| seconds(&[("Retry-After", after), ("Date", date)]);
        assert_eq!(wait("120", early), Some(120));
        assert_eq!(wait(late, early), Some(30));
        assert_eq!(wait(early, late), Some(0));
        assert_eq!(wait("-1", early), None);
        assert_eq!(seconds(&[("Retry-After", late)]), None);
        assert_eq!(seconds(&[]), None);
    }
}
