//! Messages of an engine, passed to the program's function.

use crate::capi::deliver::{seconder_deliver, seconder_message};
use crate::capi::ffi::Text;
use crate::capi::jobs::Details;
use crate::capi::userdata::ByFunction;
use crate::engine::{Deliver, Message, Outcome};

impl Deliver for ByFunction<seconder_deliver> {
    fn deliver(&self, message: &Message) -> Result<(), String> {
        let outcome = self.attempt(message, "");
        outcome.reason().map_or(Ok(()), |reason| Err(reason.to_owned()))
    }

    fn attempt(&self, message: &Message, _route: &str) -> Outcome {
        let Some(deliver) = self.function else {
            return Outcome::Permanent("there is no deliver function".into());
        };
        let message = seconder_message {
            id: Text::new(&message.id),
            to: Text::new(&message.to),
            via: Text::new(message.via.name()),
            text: Text::new(&message.text),
            language: Text::new(&message.language),
            code: Text::new(&message.code),
            expires_at: message.expires_at,
            details: Details::default(),
        };
        // SAFETY: the message lives until the function returns, and the userdata as long as `self`.
        let returned = unsafe { deliver(&message, self.userdata.as_ptr()) };
        message.details.outcome(returned, "deliver", Outcome::Permanent)
    }
}
