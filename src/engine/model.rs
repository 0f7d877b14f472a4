//! The nouns of the engine, which operations and handlers share: time, limits, phones, texts, records. They know no store.

pub(crate) mod as_written;
pub(in crate::engine) mod clock;
pub(in crate::engine) mod limits;
pub(in crate::engine) mod phones;
pub(in crate::engine) mod rejections;
pub(in crate::engine) mod steady;
pub(in crate::engine) mod texts;
pub(in crate::engine) mod urls;
