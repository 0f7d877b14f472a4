//! The calls about remembered browsers.

use super::Service;
use crate::calls::{Done, Forget, Recognise, Recognition, Remember, Remembered};
use crate::model::{BrowserToken, UserId};
use crate::{Handle, Result};

impl Service {
    /// Remembers the browser of a user who has just proven the second factor, and returns a token for
    /// its cookie (interface 4.27). See [`Remember`] for the options.
    ///
    /// # Errors
    /// [`Error::Rejected`](crate::Error::Rejected) if there is no such user; otherwise see
    /// [`Error`](crate::Error).
    pub fn remember(&self, user_id: UserId) -> Result<Remembered> {
        self.handle(&Remember::new(user_id))
    }

    /// Checks the token of a remembered browser (interface 4.28).
    ///
    /// # Errors
    /// See [`Error`](crate::Error). A token that is not recognised is not an error.
    pub fn recognise(&self, user_id: UserId, token: &BrowserToken) -> Result<Recognition> {
        let call = Recognise::new(user_id, token.clone());
        self.handle(&call).map(|checked| checked.recognition)
    }

    /// Forgets the browser with this token, or all browsers of the user (interface 4.29).
    ///
    /// # Errors
    /// [`Error::Rejected`](crate::Error::Rejected) if there is no such user, without a token;
    /// otherwise see [`Error`](crate::Error). A token that is not recognised is not an error.
    pub fn forget(&self, user_id: UserId, token: Option<&BrowserToken>) -> Result<Done> {
        self.handle(&Forget { user_id, token: token.cloned() })
    }
}
