//! Fetches pictures that applications name.

use super::deadline::Deadline;
use super::lookup::Lookup;
use super::outside::{Outside, To};
use super::raw_request::RawRequest;
use crate::{Error, Result};
use std::time::Duration;

/// How long a host may take for a picture.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The content at a URL of an application, which leads to a host of the public Internet by `https:`, and has at
/// most so many bytes. Redirects are not followed.
///
/// # Errors
/// [`Error::InvalidArgument`] if the URL is none of `https:`; [`Error::Unavailable`] and
/// [`Error::InvalidResponse`] if there is no such content.
pub fn fetch_picture(url: &str, most: usize) -> Result<Vec<u8>> {
    fetch(&Outside::new(Lookup::new(&[])?), url, most)
}

fn fetch(outside: &Outside, url: &str, most: usize) -> Result<Vec<u8>> {
    let to = To::url(url)?;
    if !to.https || to.host.as_str().contains('@') {
        let reason = "must begin with https://, and have no user";
        return Err(Error::invalid_argument("logos", reason));
    }
    let deadline = Deadline::after(TIMEOUT)?;
    let request = RawRequest::new("GET", to.host.as_str(), &to.target)?;
    let request = request.header("accept", "image/png, image/jpeg, image/webp")?.end(None)?;
    let responded = outside.send(&to, &request, deadline, TIMEOUT)?;
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
    use super::super::loopback::{Loopback, ok};
    use super::*;
    use std::net::TcpListener;

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
            assert!(fetch_picture(url, 1000).is_err(), "{url}");
        }
        assert!(server.is_untouched());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        for host in ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]"] {
            let url = format!("https://{host}:{}/a.png", listener.local_addr().unwrap().port());
            assert!(fetch_picture(&url, 1000).is_err(), "{url}");
            assert!(listener.accept().is_err(), "{url} was connected to");
        }
    }
}
