//! What the Python package `seconder` asks of the library. The package itself is written in
//! Python; here is only what crosses between the two.

mod callback;
mod calls;
mod failure;
mod service;
mod testing;
mod values;
mod waiting;

use pyo3::prelude::*;

/// The part of the package that is written in Rust. Programs use the package `seconder`.
#[pymodule(gil_used = false)]
mod _seconder {
    #[pymodule_export]
    use super::service::{Service, open};

    #[pymodule_export]
    use super::callback::verify_callback;

    #[pymodule_export]
    use super::testing::{Clock, answer_request, call_of, open_sandbox, share, sign_callback};

    #[pymodule_export]
    use super::totp_code;

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("CALLS", super::calls::names())
    }
}

/// The code that an authenticator app shows at a time, in Unix seconds.
#[pyfunction]
fn totp_code(py: Python<'_>, uri: &str, at: u64) -> PyResult<String> {
    failure::detached(py, || {
        let totp = seconder::otp::Totp::from_uri(uri)?;
        Ok(totp.code(at).expose().to_owned())
    })
}
