//! Fetches pictures that applications name.

use super::deadline::Deadline;
use super::dialer::Dialer;
use super::outside::{Outside, To};
use super::raw_request::RawRequest;
use crate::{Error, Result};
use std::time::Duration;

/// The time within which a host must send a picture.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Fetches the content at a URL of an application. The URL leads to a host of the public Internet
/// by `https:`, and the content has at most `most` bytes. Redirects are not followed.
///
/// # Errors
/// [`Error::InvalidArgument`] if the URL does not begin with `https:`; [`Error::Unavailable`] and
/// [`Error::InvalidResponse`] if there is no such content.
pub fn fetch_picture(dialer: &Dialer, url: &str, most: usize) -> Result<Vec<u8>> {
    let to = To::url(url)?;
    if !to.https || to.host.as_str().contains('@') {
        let reason = "must begin with https://, and have no user";
        return Err(Error::invalid_argument("logos", reason));
    }
    fetch(dialer, &to, most)
}

fn fetch(dialer: &Dialer, to: &To<'_>, most: usize) -> Result<Vec<u8>> {
    let deadline = Deadline::after(TIMEOUT)?;
    let request = RawRequest::new("GET", to.host.as_str(), &to.target)?;
    let request = request.header("accept", "image/png, image/jpeg, image/webp")?.end(None)?;
    let responded = Outside::new(dialer.clone()).send(to, &request, deadline, TIMEOUT)?;
    match (responded.head.status, responded.body) {
        (200, Some(body)) if body.len() <= most => Ok(body),
        (200, _) => Err(Error::invalid_response(format!("the picture has over {most} bytes"))),
        (status, _) => {
            Err(Error::invalid_response(format!("its host responds with status {status}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::loopback::{Canned, Loopback, ok, reply};
    use super::super::reach::Reach;
    use super::*;
    use std::net::TcpListener;

    /// Fetches from a server on this machine, where no picture of an application may be.
    fn fetched(server: &Loopback, path: &str, most: usize) -> Result<Vec<u8>> {
        let to = To { reach: Reach::ThisMachine, ..To::url(&server.url(path)).unwrap() };
        fetch(&Dialer::default(), &to, most)
    }

    #[test]
    fn a_picture_has_at_most_so_many_bytes() {
        let most = 256 * 1024;
        let server = Loopback::start(move |request| {
            ok(&"x".repeat(if request.contains("large") { most + 1 } else { most }))
        });
        assert_eq!(fetched(&server, "/a.png?b", most).unwrap().len(), most);
        let request = server.request();
        assert!(request.starts_with("GET /a.png?b HTTP/1.1\r\n"), "{request}");
        assert!(request.contains("\r\naccept: image/png, image/jpeg, image/webp\r\n"), "{request}");
        let error = fetched(&server, "/large.png", most).unwrap_err().to_string();
        assert!(error.contains("over 262144 bytes"), "{error}");
        // A response without a length that does not end.
        let endless = Loopback::start(|_| Canned {
            pieces: [b"HTTP/1.1 200 X\r\n\r\n".to_vec(), vec![b'x'; 1 << 20]].to_vec(),
            ..ok("")
        });
        assert!(fetched(&endless, "/a.png", 1000).is_err());
    }

    #[test]
    fn a_picture_is_what_its_host_sends_with_status_200_and_no_redirect_is_followed() {
        let other = Loopback::start(|_| ok("x"));
        let location = format!("Location: {}\r\n", other.url("/a.png"));
        let server = Loopback::start(move |request| {
            let status = request.split(['/', ' ']).nth(2).unwrap().parse().unwrap();
            reply(status, &location, "x")
        });
        for status in [201, 204, 301, 302, 307, 308, 404, 500] {
            assert!(fetched(&server, &format!("/{status}"), 1000).is_err(), "{status}");
        }
        assert!(other.is_untouched());
        assert_eq!(fetched(&server, "/200", 1000).unwrap(), b"x");
    }

    #[test]
    fn pictures_are_fetched_from_the_internet_alone() {
        let server = Loopback::start(|_| ok(""));
        for url in [
            "http://example.com/a.png",
            "https://user@example.com/a.png",
            "a.png",
            "",
            &server.url("/"),
        ] {
            assert!(fetch_picture(&Dialer::default(), url, 1000).is_err(), "{url}");
        }
        assert!(server.is_untouched());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        for host in ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]"] {
            let url = format!("https://{host}:{}/a.png", listener.local_addr().unwrap().port());
            assert!(fetch_picture(&Dialer::default(), &url, 1000).is_err(), "{url}");
            assert!(listener.accept().is_err(), "{url} was connected to");
        }
    }
}
