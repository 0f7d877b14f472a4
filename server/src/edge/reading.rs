//! Reads bodies of requests, within limits of their length and of the time that they take.

use crate::edge::bodies::BodyBuffer;
use axum::body::{Body, Bytes};
use http_body_util::BodyExt;
use seconder::http::BodyError;
use std::time::Duration;

/// The most bytes of a body that is no call, such as a receipt.
pub(crate) const LONGEST: usize = 64 * 1024;
/// How many times as many bytes of a larger body are read, so that the sender can finish and read the response.
pub(crate) const DISCARD: usize = 8;
/// The time that a client may take to send a body, so that a slow client cannot hold a connection
/// indefinitely.
pub(crate) const BODY_TIME: Duration = Duration::from_secs(15);

/// The reason why nothing of a body is kept.
#[derive(Debug)]
pub(crate) enum Unread {
    /// It did not arrive, or is too large.
    Body(BodyError),
    /// There is no memory for it now.
    Full,
}

impl From<BodyError> for Unread {
    fn from(error: BodyError) -> Unread {
        Unread::Body(error)
    }
}

/// Reads a body of at most so many bytes within a time limit.
pub(crate) async fn read_body(
    body: Body,
    most: usize,
    buffer: BodyBuffer,
) -> Result<BodyBuffer, Unread> {
    let read = tokio::time::timeout(BODY_TIME, read_to_end(body, most, buffer)).await;
    read.unwrap_or(Err(BodyError::TooSlow.into()))
}

async fn read_to_end(
    mut body: Body,
    most: usize,
    mut buffer: BodyBuffer,
) -> Result<BodyBuffer, Unread> {
    let (mut length, mut is_full) = (0, false);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| BodyError::Incomplete)?;
        let data: Bytes = frame.into_data().unwrap_or_default();
        length += data.len();
        if length > DISCARD * most {
            break;
        }
        is_full = is_full || length <= most && !buffer.extend(&data);
        if is_full || length > most {
            buffer.clear();
        }
    }
    match length <= most {
        true if is_full => Err(Unread::Full),
        true => Ok(buffer),
        false => Err(BodyError::TooLarge.into()),
    }
}

/// Reads a body, at most so many bytes, and keeps nothing of it.
pub(crate) async fn discard(body: &mut Body, most: usize) {
    let mut length = 0;
    while let Some(Ok(frame)) = body.frame().await {
        length += frame.data_ref().map_or(0, Bytes::len);
        if length > most {
            return;
        }
    }
}
