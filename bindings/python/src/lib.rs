//! What the Python package `seconder` asks of the library. The package itself is written in
//! Python; here is only what crosses between the two.

mod calls;
mod failure;
mod service;
mod values;

use pyo3::prelude::*;

/// The part of the package that is written in Rust. Programs use the package `seconder`.
#[pymodule(gil_used = false)]
mod _seconder {
    #[pymodule_export]
    use super::service::{Service, open};

    #[pymodule_export]
    use super::{totp_code, verify_callback};

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("CALLS", super::calls::names())
    }
}

/// Checks a callback's signature and gives what it says.
#[pyfunction]
#[pyo3(signature = (*, api_key, url, method, body, query, signature, nonce))]
// Every part of what was received is named, so that no two of them can be mixed up.
#[allow(clippy::too_many_arguments)]
fn verify_callback<'py>(
    py: Python<'py>,
    api_key: &str,
    url: &str,
    method: &str,
    body: &[u8],
    query: &str,
    signature: &str,
    nonce: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let received = seconder::callback::Received { url, method, query, body, signature, nonce };
    let event = failure::detached(py, || calls::callback(api_key, &received))?;
    values::to_python(py, &event)
}

/// The code that an authenticator app shows at a time, in Unix seconds.
#[pyfunction]
fn totp_code(py: Python<'_>, uri: &str, at: u64) -> PyResult<String> {
    failure::detached(py, || {
        let totp = seconder::otp::Totp::from_uri(uri)?;
        Ok(totp.code(at).expose().to_owned())
    })
}
