//! The pictures of approval requests.

use super::reply::Reply;
use axum::http::StatusCode;
use seconder::engine::Engine;
use seconder::engine::approver::{KeptLogo, Refused};
use seconder::remote::Dialer;
use std::collections::HashSet;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The largest picture, in bytes.
const LARGEST: usize = 256 * 1024;

/// The time for which a thread waits for another one that fetches the same picture. Without the picture, a device shows
/// the initial of the application.
const WAIT: Duration = Duration::from_secs(3);

/// Fetches pictures, each by one thread at a time: the first notification of a request has all devices of many users
/// ask for the same one.
#[derive(Default)]
pub(super) struct Logos {
    /// The URLs of the pictures that are being fetched.
    fetching: Mutex<HashSet<String>>,
    fetched: Condvar,
    dialer: Dialer,
}

/// The exclusive right to fetch a picture.
struct Turn<'a> {
    logos: &'a Logos,
    url: &'a str,
}

impl Logos {
    pub(super) fn new(dialer: Dialer) -> Logos {
        Logos { dialer, ..Logos::default() }
    }

    /// Returns the picture at a URL, which is fetched unless it is cached. It blocks.
    pub(super) fn reply(&self, engine: &Engine, url: Option<String>) -> Result<Reply, Refused> {
        let url = url.ok_or(Refused::NotFound)?;
        let fetch = || seconder::remote::fetch_picture(&self.dialer, &url, LARGEST).ok();
        let logo = self.find(engine, &url, fetch)?.ok_or(Refused::NotFound)?;
        let KeptLogo { media_type, content } = logo;
        Ok(Reply { status: StatusCode::OK, media_type, body: content, tag: None })
    }

    fn find(
        &self,
        engine: &Engine,
        url: &str,
        fetch: impl FnOnce() -> Option<Vec<u8>>,
    ) -> seconder::Result<Option<KeptLogo>> {
        if let Some(kept) = engine.kept_logo(url)? {
            return Ok(kept);
        }
        let turn = self.turn(url);
        // Another thread may have fetched it meanwhile.
        let kept = engine.kept_logo(url)?;
        if kept.is_some() || turn.is_none() {
            return Ok(kept.flatten());
        }
        let fetched = fetch().and_then(picture);
        engine.keep_logo(url, fetched.clone())?;
        Ok(fetched)
    }

    /// Returns the right to fetch a picture; `None` for a thread that has waited for another one. A thread waits at
    /// most once: a picture that cannot be cached would be fetched by each in turn.
    fn turn<'a>(&'a self, url: &'a str) -> Option<Turn<'a>> {
        let mut fetching = self.lock();
        if fetching.insert(url.to_owned()) {
            return Some(Turn { logos: self, url });
        }
        let is_being_fetched = |fetching: &mut HashSet<String>| fetching.contains(url);
        let waited = self.fetched.wait_timeout_while(fetching, WAIT, is_being_fetched);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
        None
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<String>> {
        // The data in the lock is complete at all times.
        self.fetching.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.logos.lock().remove(self.url);
        self.logos.fetched.notify_all();
    }
}

/// Returns a picture of a kind that browsers show without running anything, by its content.
fn picture(content: Vec<u8>) -> Option<KeptLogo> {
    let media_type = match content.as_slice() {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => "image/png",
        [0xff, 0xd8, 0xff, ..] => "image/jpeg",
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => "image/webp",
        _ => return None,
    };
    Some(KeptLogo { media_type: media_type.to_owned(), content })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";

    #[test]
    fn a_picture_that_many_ask_for_at_once_is_fetched_once() {
        let service = seconder::open("sandbox:").unwrap();
        let engine = service.engine().unwrap();
        let (logos, fetches) = (Logos::default(), AtomicUsize::new(0));
        let find = |url: &str, content: Option<&[u8]>| {
            let fetch = || {
                fetches.fetch_add(1, Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(50));
                content.map(<[u8]>::to_vec)
            };
            logos.find(engine, url, fetch).unwrap().map(|logo| logo.media_type)
        };
        // A picture that exists, one that does not, and a file that is no picture.
        for (number, content) in [Some(PNG), None, Some(&b"<svg/>"[..])].into_iter().enumerate() {
            let wanted = (content == Some(PNG)).then(|| "image/png".to_owned());
            let url = format!("https://app.example/{number}.png");
            std::thread::scope(|scope| {
                let asking = [(); 16].map(|()| scope.spawn(|| find(&url, content)));
                asking.into_iter().for_each(|one| assert_eq!(one.join().unwrap(), wanted));
            });
            assert_eq!(find(&url, content), wanted);
            assert_eq!(fetches.load(Ordering::Relaxed), number + 1);
        }
        assert!(logos.lock().is_empty());
    }

    #[test]
    fn a_picture_that_hangs_keeps_nobody_from_others_and_a_panic_from_nothing() {
        let service = seconder::open("sandbox:").unwrap();
        let engine = service.engine().unwrap();
        let logos = Logos::default();
        let hanging = logos.turn("https://slow.example/a.png").unwrap();
        // The thread that waits for it gives up, and fetches nothing.
        let waiting = logos.find(engine, "https://slow.example/a.png", || panic!("twice"));
        assert!(waiting.unwrap().is_none());
        let other = logos.find(engine, "https://app.example/a.png", || Some(PNG.to_vec()));
        assert!(other.unwrap().is_some());
        drop(hanging);
        let failed = std::thread::scope(|scope| {
            let url = "https://app.example/b.png";
            scope.spawn(|| logos.find(engine, url, || panic!("a fault"))).join()
        });
        assert!(failed.is_err());
        let again = logos.find(engine, "https://app.example/b.png", || Some(PNG.to_vec()));
        assert!(again.unwrap().is_some());
    }

    #[test]
    fn a_picture_is_recognised_by_its_content() {
        let kind = |content: &[u8]| picture(content.to_vec()).map(|logo| logo.media_type);
        assert_eq!(kind(b"\x89PNG\r\n\x1a\n").as_deref(), Some("image/png"));
        assert_eq!(kind(b"\xff\xd8\xff\xe0").as_deref(), Some("image/jpeg"));
        assert_eq!(kind(b"RIFF\0\0\0\0WEBPVP8 ").as_deref(), Some("image/webp"));
        for other in
            [&b""[..], b"<svg xmlns='http://www.w3.org/2000/svg'/>", b"GIF89a", b"RIFF\0\0\0\0WAVE"]
        {
            assert_eq!(kind(other), None);
        }
    }
}
