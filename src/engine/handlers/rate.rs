//! Rate limits per API key, in requests per second. They are counted in memory, by each node alone,
//! because a count that all of them share would cost each request a write.

mod reached;

use crate::Result;
use crate::engine::core::Engine;
use crate::engine::model::rejections;
pub use reached::CodesOfHour;

impl Engine {
    /// Counts a request with the API key. A server calls this for each, before it handles it; a program
    /// with the engine in its process has no such limit.
    ///
    /// # Errors
    /// [`Error::RateLimited`](crate::Error::RateLimited) over the limits `key_rate` and `key_burst`.
    pub(crate) fn count_request(&self) -> Result<()> {
        if self.is_lenient() {
            return Ok(());
        }
        let limits = &self.app.settings.limits;
        let now = self.shared.steady.now(&*self.shared.clock).steady;
        let taken = self.shared.rates.take(self.app.app_id, limits.key_rate, limits.key_burst, now);
        let message = "Too many requests with this API key";
        taken
            .inspect_err(|_| self.note_over_rate(now))
            .or_else(|wait| rejections::wait(message, Some("key_rate"), Some(wait)))
    }
}
