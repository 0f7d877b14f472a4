//! The pictures of approval requests.

use super::api::Reply;
use axum::http::StatusCode;
use seconder::engine::Engine;
use seconder::engine::approver::{KeptLogo, Refused};

/// The largest picture, in bytes.
const LARGEST: usize = 256 * 1024;

/// The picture at a URL, which is fetched if nobody has done so before.
pub(super) fn reply(engine: &Engine, url: Option<String>) -> Result<Reply, Refused> {
    let url = url.ok_or(Refused::NotFound)?;
    let logo = match engine.kept_logo(&url)? {
        Some(kept) => kept,
        None => {
            let fetched = seconder::remote::fetch_picture(&url, LARGEST).ok().and_then(picture);
            engine.keep_logo(&url, fetched.clone())?;
            fetched
        }
    };
    let KeptLogo { media_type, content } = logo.ok_or(Refused::NotFound)?;
    Ok(Reply { status: StatusCode::OK, media_type, body: content, tag: None })
}

/// A picture of a kind that browsers show without running anything, by its content.
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
