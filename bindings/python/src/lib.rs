//! The extension module of the Python package `seconder`. The package itself is written in Python;
//! this module only converts between Python and the library.

mod callback;
mod calls;
mod exit;
mod extra;
mod failure;
mod fields;
mod generated;
mod importing;
mod interrupt;
mod logging;
mod names;
mod sending;
mod service;
mod settings;
mod testing;
mod totp;
mod values;
mod waiting;

use pyo3::prelude::*;

/// The part of the package that is written in Rust. Programs use the package `seconder`.
#[pymodule(gil_used = false)]
mod _seconder {
    #[pymodule_export]
    use super::service::{Service, after_fork, before_fork, open};

    #[pymodule_export]
    use super::callback::{ReceivedEvent, query, sign, signed_parameters, verify_callback};

    #[pymodule_export]
    use super::importing::read_source;

    #[pymodule_export]
    use super::interrupt::TaskCanceller;

    #[pymodule_export]
    use super::names::headers;

    #[pymodule_export]
    use super::testing::{Clock, RoutedRequest, Sandbox};

    #[pymodule_export]
    use super::totp::Totp;

    #[pymodule_export]
    use super::waiting::ApprovalWait;

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("CALLS", super::calls::names())?;
        module.add("QUESTIONS", super::calls::questions())?;
        module.add("CODES", seconder::codes::ALL.to_vec())?;
        module.add("BODY_LIMIT", seconder::http::BODY_LIMIT)?;
        module.add("SANDBOX_API_KEY", seconder::http::SANDBOX_API_KEY)?;
        module.add("SANDBOX_PATH", seconder::http::SANDBOX_PATH)?;
        module.add("SANDBOX_SECRETS", seconder::sandbox::SECRETS.to_vec())?;
        module.add("SANDBOX_FAULTS", seconder::http::SANDBOX_FAULTS.to_vec())?;
        let operations = seconder::http::SANDBOX_OPERATIONS.iter();
        let operations = operations.map(|each| (each.name, each.method, each.params.to_vec()));
        module.add("SANDBOX_OPERATIONS", operations.collect::<Vec<_>>())
    }
}
