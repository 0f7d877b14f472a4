//! Text that was typed before, for another module, or in one field with a password.

use super::End;
use super::questions::{Dialogue, Next, lenient_code};
use crate::config::FirstPass;
use crate::outcome::Outcome;
use seconder::model::{Secret, Token};
use std::ops::ControlFlow;

impl Dialogue<'_> {
    /// Uses the text that was typed before, as the configuration directs.
    pub(super) fn first_pass(&mut self) -> Next {
        let typed = self.login.typed_before.as_ref();
        match (self.config.first_pass, typed) {
            (FirstPass::No, _) | (FirstPass::Try, None) => Next::Continue(()),
            // Spaces and dashes count here: a password with them is not sent to the service.
            (FirstPass::Try, Some(typed)) => match typed.expose().parse::<Token>() {
                Ok(token) => self.verify(token),
                Err(_) => Next::Continue(()),
            },
            (FirstPass::Use, typed) => self.use_only(typed),
            (FirstPass::WithCode(digits), Some(typed)) => self.with_code(typed, digits),
            (FirstPass::WithCode(digits), None) => {
                let typed = self.put("Password and code: ")?;
                self.with_code(&typed, digits)
            }
        }
    }

    /// Uses the typed text alone, and never asks.
    fn use_only(&mut self, typed: Option<&Secret>) -> Next {
        let denied = |why: &str| Next::Break(End::new(Outcome::Denied, why));
        let Some(typed) = typed else {
            return denied("first_pass=use, and nothing was typed before");
        };
        let Some(token) = lenient_code(typed) else {
            return denied("first_pass=use, and what was typed before is no code");
        };
        match self.verify(token) {
            ControlFlow::Continue(()) => Next::Break(self.out_of_tries()),
            end => end,
        }
    }

    /// Divides the typed text into the password and the code at its end. Without a code at its end,
    /// it is the password, and the user is asked for the code.
    fn with_code(&mut self, typed: &Secret, digits: usize) -> Next {
        let text = typed.expose();
        let middle = text.len().saturating_sub(digits);
        self.no_code = Some(typed.clone());
        let divided = text.split_at_checked(middle).filter(|_| text.len() >= digits);
        let token = divided.and_then(|(_, code)| code.parse::<Token>().ok());
        match (divided, token) {
            (Some((password, _)), Some(token)) => {
                self.password = Some(Secret::new(password));
                self.verify(token)
            }
            _ => {
                self.password = Some(typed.clone());
                Next::Continue(())
            }
        }
    }
}
