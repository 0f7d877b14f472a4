//! The liveness probe of a server.

use tokio::runtime::Handle;

/// Shows whether a server handles connections. Clones show the same.
#[derive(Clone, Debug)]
pub struct Pulse(Handle);

impl Pulse {
    pub(crate) fn of(runtime: Handle) -> Pulse {
        Pulse(runtime)
    }

    /// Waits until one of its threads has done something new, indefinitely if all of them hang. Returns false if it has
    /// stopped. It is for threads of others.
    pub fn beats(&self) -> bool {
        self.0.block_on(self.0.spawn(async {})).is_ok()
    }
}
