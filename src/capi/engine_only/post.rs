//! Callbacks of an engine, passed to the program's function.

use crate::capi::ffi::Text;
use crate::capi::jobs::Details;
use crate::capi::post::{seconder_post, seconder_signed_callback};
use crate::capi::userdata::ByFunction;
use crate::engine::{Outcome, Post, SignedCallback};

impl Post for ByFunction<seconder_post> {
    fn post(&self, callback: &SignedCallback) -> Result<(), String> {
        let outcome = self.attempt(callback);
        outcome.reason().map_or(Ok(()), |reason| Err(reason.to_owned()))
    }

    fn attempt(&self, callback: &SignedCallback) -> Outcome {
        let again = |reason| Outcome::Retry { after: None, reason };
        let Some(post) = self.function else { return again("there is no post function".into()) };
        let header = |(name, value): &(String, String)| (Text::new(name), Text::new(value));
        let callback = seconder_signed_callback {
            method: Text::new(callback.method.verb()),
            url: Text::new(callback.url.as_str()),
            query: Text::new(&callback.query),
            body: callback.body.clone(),
            headers: callback.headers.iter().map(header).collect(),
            details: Details::default(),
        };
        // SAFETY: the callback lives until the function returns, and the userdata as long as
        // `self`.
        let returned = unsafe { post(&callback, self.userdata.as_ptr()) };
        callback.details.outcome(returned, "post", again)
    }
}
