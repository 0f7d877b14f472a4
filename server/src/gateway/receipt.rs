//! What a provider reports of a message that it has accepted.

use std::fmt;

/// The report of a provider on a message that it has accepted. `Debug` shows no number.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Receipt {
    /// The id that the provider gave the message, as in
    /// [`Outcome::Sent`](seconder::engine::Outcome::Sent).
    pub id: String,
    /// What became of the message.
    pub state: Delivery,
}

/// What became of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Delivery {
    /// It is on its way.
    Pending,
    /// It arrived.
    Delivered,
    /// It will not arrive: what the provider calls the state, such as `UNDELIV`, with its error code if
    /// there is one.
    Failed(String),
}

impl fmt::Display for Delivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Delivery::Pending => write!(f, "pending"),
            Delivery::Delivered => write!(f, "delivered"),
            Delivery::Failed(why) => write!(f, "failed: {why}"),
        }
    }
}
