//! The replies of the library as responses of axum.

use crate::edge::requests::Outcome;
use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::Response;
use seconder::http::RawReply;

/// Returns a reply as a response, with its outcome for the log.
pub(crate) fn response(reply: RawReply) -> Response {
    let outcome = Outcome::of(&reply);
    let mut response = Response::new(Body::from(reply.body));
    response.extensions_mut().insert(outcome);
    let failed = StatusCode::SERVICE_UNAVAILABLE;
    *response.status_mut() = StatusCode::from_u16(reply.status).unwrap_or(failed);
    for (name, value) in reply.headers {
        // The library writes only ASCII, so this fails for no reply; an invalid header is left out.
        if let Ok(value) = HeaderValue::from_str(&value) {
            response.headers_mut().insert(HeaderName::from_static(name), value);
        }
    }
    response
}
