//! The parts of functions that need an engine in this process. A build without the engine leaves them
//! out, and the macro of the same name in [`super::ffi`] returns an error instead.

pub(super) mod audit;
mod deliver;
pub(super) mod engine;
pub(super) mod jobs;
mod lookup;
pub(super) mod open;
pub(super) mod operate;
mod post;
