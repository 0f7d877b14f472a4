//! `seconder import` and `seconder export`: users as lines of JSON or rows of CSV.

mod earlier;
mod export;
mod format;
mod import;
mod lines;
mod progress;
mod repeated;
mod report;
mod sealed;
mod text;

pub(crate) use export::{Export, run as export};
pub(crate) use import::{Import, run as import};
