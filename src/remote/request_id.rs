//! The id of a request, which a service of Seconder repeats in its response.
//!
//! A service or proxy that sends two responses to one request may send the second one after the next request, which
//! can be for another user. Nothing else in it says that it is not the response to that one.

use super::headers::Headers;
use crate::{Error, Result};

/// The header, in requests and responses.
pub(super) const HEADER: &str = "seconder-request-id";

/// A random id.
pub(super) struct RequestId(String);

/// The request that a response says it belongs to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Named {
    /// The response is for this request.
    This,
    /// The response has no id.
    Nothing,
    /// The response is for another request, or has several ids.
    Another,
}

impl RequestId {
    /// # Errors
    /// [`Error::Internal`] if the system has no random numbers.
    pub(super) fn random() -> Result<RequestId> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(|_| Error::Internal {
            message: "the system's source of randomness failed".into(),
        })?;
        Ok(RequestId(format!("{:032x}", u128::from_ne_bytes(bytes))))
    }

    pub(super) fn text(&self) -> &str {
        &self.0
    }

    /// Compares it with the headers of a response.
    pub(super) fn compare(&self, headers: &Headers) -> Named {
        let mut given = headers.all(HEADER);
        match (given.next(), given.next()) {
            (None, _) => Named::Nothing,
            (Some(id), None) if id == self.0.as_bytes() => Named::This,
            _ => Named::Another,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_names_one_request() {
        let (own, other) = (RequestId::random().unwrap(), RequestId::random().unwrap());
        assert_ne!(own.text(), other.text());
        let compare = |ids: &[&RequestId]| {
            let mut headers = Headers::default();
            ids.iter().for_each(|id| headers.add("Seconder-Request-Id", id.text().as_bytes()));
            own.compare(&headers)
        };
        assert_eq!((compare(&[]), compare(&[&own])), (Named::Nothing, Named::This));
        assert_eq!([compare(&[&other]), compare(&[&own, &own])], [Named::Another, Named::Another]);
    }
}
