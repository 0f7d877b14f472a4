//! The pictures of approval requests. Each is fetched once by the program that serves the devices: otherwise its host
//! would learn who looks at a request, and when.

use crate::Result;
use crate::engine::core::Engine;
use crate::engine::store::Logo;
use sha2::{Digest, Sha256};
use std::time::Duration;

/// The time for which a picture is kept, and for which one that could not be fetched is not
/// requested again.
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);
const MISSING: Duration = Duration::from_secs(10 * 60);

/// A picture that was fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptLogo {
    /// Its media type, such as `image/png`.
    pub media_type: String,
    /// Its bytes.
    pub content: Vec<u8>,
}

impl Engine {
    /// Returns a picture that was fetched before; `Some(None)` if it could not be, and `None` if it was never tried.
    ///
    /// # Errors
    /// [`Error::Storage`](crate::Error::Storage) if the database cannot be read.
    pub fn kept_logo(&self, url: &str) -> Result<Option<Option<KeptLogo>>> {
        let (key, now) = (hash(url), self.now().steady);
        let row = self.look(move |view| view.get::<Logo>((key.clone(),)))?;
        let row = row.filter(|row| row.forget_at > now);
        Ok(row.map(|row| {
            let content = row.content;
            row.media_type.map(|media_type| KeptLogo { media_type, content })
        }))
    }

    /// Keeps a picture, or that it could not be fetched.
    ///
    /// # Errors
    /// [`Error::Storage`](crate::Error::Storage) if the database cannot be written.
    pub fn keep_logo(&self, url: &str, logo: Option<KeptLogo>) -> Result<()> {
        let (key, now) = (hash(url), self.now().steady);
        let kept = if logo.is_some() { KEPT } else { MISSING };
        let (media_type, content) = match logo {
            Some(KeptLogo { media_type, content }) => (Some(media_type), content),
            None => (None, Vec::new()),
        };
        self.run(move |view| {
            // It is loaded to be replaced.
            view.get::<Logo>((key.clone(),))?;
            view.put(Logo {
                url_hash: key.clone(),
                media_type: media_type.clone(),
                content: content.clone(),
                forget_at: now.plus(kept),
            });
            Ok(())
        })
    }
}

fn hash(url: &str) -> Vec<u8> {
    Sha256::digest(url.as_bytes()).to_vec()
}
