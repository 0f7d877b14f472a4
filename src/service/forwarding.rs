//! Marks the requests of a service that forwards calls.

use super::Settings;

#[doc(hidden)]
impl Settings {
    /// Marks the requests to a remote service as forwarded. A service that forwards calls itself accepts
    /// none of them, because they would go round in circles.
    pub fn forwarding(mut self) -> Settings {
        self.remote.forwarding = true;
        self
    }
}
