//! Requests of providers about messages that they have accepted: delivery receipts, and the documents
//! that a voice reads out. The protocol of each provider is implemented by the sender, not here.

use super::jobs::number_of;
use crate::engine::core::Engine;
use crate::engine::delivery::{Delivery, Message};
use crate::engine::model::clock;
use crate::engine::operations::documents::{self, NewDocument};
use crate::engine::operations::jobs;
use crate::model::Secret;
use crate::{Error, Result};
use sha2::{Digest, Sha256};

/// The ids of providers are shorter.
const LONGEST_ID: usize = 128;
/// The number of characters of a reason that are kept.
const REASON: usize = 100;
/// The characters of a token: 32 bytes in Base64.
const TOKEN: usize = 43;

impl Engine {
    /// Notes a provider's report on a message: `provider_id` is the id that it gave the message or one of
    /// its parts, as in [`Outcome::Sent`](super::Outcome::Sent), and `route` the route by which it was
    /// sent. Zeros before the id, and the case of its letters, make no difference. The job of the message
    /// shows the report from then on, and for one that failed, the audit has a row. A message of several
    /// parts is delivered when all of them are, and has failed when one has. Reports may arrive before the
    /// attempt has ended, several times, and in any order: one that is final stays.
    ///
    /// Returns whether a message with this id is known. A report on another is kept for an hour, because
    /// the attempt may not have ended.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for an id that is empty or has more than 128 bytes; [`Error::Storage`]
    /// if the database cannot be written: then the provider has to report again.
    pub fn receipt(&self, route: &str, provider_id: &str, delivery: &Delivery) -> Result<bool> {
        if provider_id.is_empty() || provider_id.len() > LONGEST_ID {
            return Err(Error::invalid_argument("provider_id", "must have 1 to 128 bytes"));
        }
        let delivery = match delivery {
            Delivery::Failed(why) => {
                let plain = why.chars().map(|c| if c.is_control() { ' ' } else { c });
                Delivery::Failed(plain.take(REASON).collect())
            }
            other => other.clone(),
        };
        let (route, provider_id, now) = (route.to_owned(), provider_id.to_owned(), self.now());
        self.run(move |view| jobs::receipt(view, &route, &provider_id, &delivery, now))
    }

    /// Keeps a document that the provider of this route fetches, such as the text that a voice reads
    /// out, and returns the token for [`Engine::take_document`]. It can be fetched as long as the code
    /// of the message can be used; without a message, for a test, for ten minutes.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the message is not being sent; [`Error::Storage`] if the database
    /// cannot be written.
    pub fn keep_document(
        &self,
        route: &str,
        message: Option<&Message>,
        text: Secret,
    ) -> Result<Secret> {
        let token = clock::secret(self.random())?;
        let job = match message {
            Some(message) => Some((message.subject.clone(), number_of(&message.id)?)),
            None => None,
        };
        let (token_hash, route) = (hash(token.expose()), route.to_owned());
        let new = NewDocument { token_hash, route, job, text };
        let now = self.now();
        match self.run(move |view| documents::keep(view, &new, now))? {
            true => Ok(token),
            false => Err(Error::invalid_argument("message", "is not being sent")),
        }
    }

    /// Returns a document that was kept for this route, if its code is still of use. It is gone
    /// afterwards, and cannot be fetched again.
    ///
    /// # Errors
    /// [`Error::Storage`] if the database cannot be read or written.
    pub fn take_document(&self, route: &str, token: &str) -> Result<Option<Secret>> {
        if token.len() != TOKEN {
            return Ok(None);
        }
        let (token_hash, route, now) = (hash(token), route.to_owned(), self.now());
        // Most missing ones are guesses, which must not delay writers.
        self.look(move |view| documents::take(view, &token_hash, &route, now))
    }
}

fn hash(token: &str) -> Vec<u8> {
    Sha256::digest(token).to_vec()
}
