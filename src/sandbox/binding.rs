//! Functions for the sandboxes of other languages, which record calls in their own words.

use super::records::without_secrets;
use super::{InProcess, Sandbox, SandboxClock};
use crate::Service;
use crate::engine::DeviceRegistered;
use crate::model::{DeviceId, Secret, UserId};
use serde_json::{Map, Value};

#[doc(hidden)]
impl Sandbox {
    /// Returns a service whose calls are not recorded. With `has_real_waits`, they take the time of the machine.
    pub fn unrecorded_service(&self, has_real_waits: bool) -> Service {
        let in_process = self.in_process();
        Service::in_sandbox(InProcess { is_recorded: false, has_real_waits, ..in_process })
    }

    /// Records a call that has ended, without the secrets in its arguments. Returns the number of calls before it.
    pub fn record(&self, name: &str, arguments: Map<String, Value>, outcome: &str) -> u64 {
        self.world().records.note(name, without_secrets(arguments), outcome, false)
    }

    /// Keeps a device that the application registered.
    pub fn keep_device(&self, user_id: UserId, device_id: DeviceId, secret: Secret) {
        let device = DeviceRegistered { device_id, secret };
        self.world().records.kept().devices.insert(user_id, device);
    }

    /// Forgets the devices and authenticator apps of all users.
    pub fn forget_phones(&self) {
        let world = self.world();
        let mut kept = world.records.kept();
        kept.devices.clear();
        kept.authenticators.clear();
    }

    /// Returns the clock.
    pub fn clock(&self) -> SandboxClock {
        self.world().clock.clone()
    }
}
