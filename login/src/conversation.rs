//! Channels to the user and to the operator.

use seconder::model::Secret;
use std::time::Duration;

/// Reaches the user who logs in.
pub trait Conversation {
    /// Asks for a line of text. If `echo` is set, the typed text may be seen. An empty text is an
    /// answer: the user pressed Enter.
    ///
    /// # Errors
    /// [`Silent`] if no answer is possible: there is no terminal, or the connection has ended.
    fn ask(&mut self, prompt: &str, echo: bool) -> Typed;

    /// Shows a line of text, at the latest with the next question.
    ///
    /// # Errors
    /// As [`Conversation::ask`].
    fn show(&mut self, text: &str, style: Style) -> Result<(), Silent>;

    /// Waits until the user presses Enter, for at most this long, and returns whether they did. What
    /// was typed is discarded. A conversation that cannot notice this waits, and returns false.
    fn pressed_enter(&mut self, within: Duration) -> bool;

    /// Returns whether text reaches the user only with the next question, as in OpenSSH. Then a user who has to do
    /// something is asked to press Enter afterwards, instead of being waited for.
    fn holds_text_back(&self) -> bool;

    /// Takes the password that the user typed in one field with the code, for the next module: see
    /// `first_pass=with_code`. It is called only where the login goes on. Default: it is discarded.
    ///
    /// # Errors
    /// [`Silent`] if it could not be handed on. The login then fails.
    fn pass_on(&mut self, _password: Secret) -> Result<(), Silent> {
        Ok(())
    }
}

/// The text that a user typed.
pub type Typed = Result<Secret, Silent>;

/// The kind of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// A piece of information.
    Info,
    /// About something that failed.
    Error,
}

/// The error that no answer is possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Silent;

/// A session in which no answer is possible: there is no terminal.
#[derive(Clone, Copy, Debug)]
pub struct Nobody;

impl Conversation for Nobody {
    fn ask(&mut self, _: &str, _: bool) -> Typed {
        Err(Silent)
    }

    fn show(&mut self, _: &str, _: Style) -> Result<(), Silent> {
        Err(Silent)
    }

    fn pressed_enter(&mut self, _: Duration) -> bool {
        true
    }

    fn holds_text_back(&self) -> bool {
        true
    }
}

/// Reaches the operator, such as syslog. No text holds a secret or a line feed.
pub trait Journal {
    /// Reports an error that the operator has to mend.
    fn error(&mut self, text: &str);
    /// Reports the decision and its reason: one line for each login.
    fn notice(&mut self, text: &str);
}
