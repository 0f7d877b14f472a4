//! Reports of a provider about messages that it has accepted.

pub use seconder::engine::Delivery;

/// The report of a provider on a message that it has accepted. `Debug` shows no number.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Receipt {
    /// The id that the provider gave the message, as in
    /// [`Outcome::Sent`](seconder::engine::Outcome::Sent).
    pub id: String,
    /// The outcome of the message.
    pub state: Delivery,
}

/// A request over HTTP with a receipt. It has no `Debug`, because it may have a number.
#[derive(Clone, Copy)]
pub struct Posted<'a> {
    /// The query of the URL, without `?`.
    pub query: &'a str,
    /// The header `Content-Type`; empty if it is absent.
    pub content_type: &'a str,
    /// The body.
    pub body: &'a [u8],
}

/// Takes receipts: whether it has stored one.
pub type TakeReceipt = std::sync::Arc<dyn Fn(Receipt) -> bool + Send + Sync>;
