//! The codes of authenticator apps.

use crate::failure::{Failure, invalid};
use crate::values::{bytes, text};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use seconder::model::Token;
use seconder::otp::{self, Algorithm, Match};

const ALGORITHMS: [Algorithm; 3] = [Algorithm::Sha1, Algorithm::Sha256, Algorithm::Sha512];

/// The secret that an authenticator app shares with a service, and the settings of its codes.
#[pyclass(frozen, module = "seconder._seconder")]
pub(crate) struct Totp(otp::Totp);

#[pymethods]
impl Totp {
    #[new]
    fn new(
        py: Python<'_>,
        secret: &Bound<'_, PyAny>,
        algorithm: &Bound<'_, PyAny>,
        digits: u8,
        period: u64,
    ) -> PyResult<Totp> {
        let (secret, algorithm) = (bytes("secret", secret)?, text("algorithm", algorithm)?);
        let algorithm = ALGORITHMS.into_iter().find(|known| known.name() == algorithm);
        let totp = algorithm
            .ok_or_else(|| invalid("algorithm", "be SHA1, SHA256 or SHA512"))
            .and_then(|algorithm| Ok(otp::Totp::new(secret, algorithm, digits, period)?));
        totp.map(Totp).map_err(|failure| failure.raise(py))
    }

    /// Reads an `otpauth:` URI.
    #[staticmethod]
    fn from_uri(uri: &Bound<'_, PyAny>) -> PyResult<Totp> {
        let totp = otp::Totp::from_uri(text("uri", uri)?);
        totp.map(Totp).map_err(|error| Failure::from(error).raise(uri.py()))
    }

    /// The `otpauth:` URI that transfers the secret to an app.
    fn uri(&self, issuer: &Bound<'_, PyAny>, label: &Bound<'_, PyAny>) -> PyResult<String> {
        let uri = self.0.uri(text("issuer", issuer)?, text("label", label)?);
        match uri {
            Ok(uri) => Ok(uri.expose().to_owned()),
            Err(error) => Err(Failure::from(error).raise(issuer.py())),
        }
    }

    #[getter]
    fn secret<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.0.secret())
    }

    #[getter]
    fn algorithm(&self) -> &'static str {
        self.0.algorithm().name()
    }

    #[getter]
    fn digits(&self) -> u8 {
        self.0.digits()
    }

    #[getter]
    fn period(&self) -> u64 {
        self.0.period()
    }

    /// The code that an app shows at a time, in Unix seconds.
    fn code(&self, at: u64) -> String {
        self.0.code(at).expose().to_owned()
    }

    /// Returns the time step of a code that is right at this time and was not used. Any other code
    /// raises `TokenInvalid`.
    fn check(&self, token: &Bound<'_, PyString>, at: u64, last_step: Option<u64>) -> PyResult<u64> {
        let step = text("token", token)?.parse().map_err(Failure::from).and_then(|token: Token| {
            let wrong = |reused| Err(Failure::TokenInvalid { reused, message: None, code: None });
            match self.0.check(&token, at, last_step) {
                Match::Step(step) => Ok(step),
                Match::Used => wrong(true),
                Match::None => wrong(false),
            }
        });
        step.map_err(|failure| failure.raise(token.py()))
    }
}
