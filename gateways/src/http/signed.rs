//! Signs posted bodies, as callbacks are signed (interface 5.5).

use seconder::callback;
use seconder::model::ApiKey;
use std::time::{SystemTime, UNIX_EPOCH};

/// The header with the signature.
pub(super) const SIGNATURE: &str = "X-Svc-Signature";
/// The header with the nonce: the time in Unix seconds, a dot, and digits that make it unique.
pub(super) const NONCE: &str = "X-Svc-Signature-Nonce";

/// Returns the headers for a body in JSON that is posted to a URL. Each attempt has its own nonce.
///
/// # Errors
/// The reason why it cannot be signed.
pub(super) fn headers(
    key: &ApiKey,
    url: &str,
    body: &[u8],
) -> Result<[(&'static str, String); 2], String> {
    let nonce = nonce()?;
    let signature = callback::sign(key, &nonce, url, body)
        .map_err(|_| "the body cannot be signed: it must be a JSON object".to_owned())?;
    Ok([(SIGNATURE, signature), (NONCE, nonce)])
}

#[allow(clippy::disallowed_methods, reason = "the receiver compares it with its own clock")]
fn nonce() -> Result<String, String> {
    let mut random = [0; 8];
    let source = rustls::crypto::ring::default_provider().secure_random;
    source.fill(&mut random).map_err(|_| "the system's source of randomness failed".to_owned())?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Ok(format!("{}.{:020}", now.as_secs(), u64::from_le_bytes(random)))
}
