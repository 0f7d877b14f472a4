//! The nouns of the engine, which operations and handlers share: time, limits, phones, texts, records. They know no store.

pub(crate) mod as_written;
pub(super) mod author;
pub(super) mod clock;
pub(super) mod devices;
pub(super) mod factors;
pub(super) mod jobs;
pub(super) mod limits;
pub(super) mod lines;
pub(super) mod phones;
pub(super) mod records;
pub(super) mod rejections;
pub(super) mod texts;
pub(super) mod urls;
