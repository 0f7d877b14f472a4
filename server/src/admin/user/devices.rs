//! The commands by which operators give devices to users, and take factors from them.

use super::who::Who;
use crate::admin::database::Database;
use crate::admin::output::qr;
use crate::admin::output::qr::Screen;
use crate::admin::output::table::Json;
use clap::Args;
use seconder::engine::DeviceType;
use seconder::model::{AuthenticatorId, DeviceId, UserId};
use seconder::{Result, Service};
use serde_json::json;
use std::io::IsTerminal;

/// Prints the link by which a user registers a phone.
pub(super) fn invite(service: &Service, user: UserId, invert: bool, json: Json) -> Result<()> {
    let invited = service.invite_device(user)?;
    let (link, code) = (invited.link.expose(), invited.code.expose());
    let minutes = invited.expires_in / 60;
    let mut text = String::new();
    if std::io::stdout().is_terminal() {
        // A link is short enough for every terminal but the narrowest, and is printed below in any case.
        text = qr::draw(link, Screen::of_output(), invert).map_or_else(String::new, |qr| qr + "\n");
    }
    text += &format!("{link}\ncode: {code}\nvalid for {minutes} minutes, for one phone");
    let object = json!({ "link": link, "code": code, "expires_in": invited.expires_in });
    json.print(&object, &text)
}

/// Registers a device, and prints its secret.
pub(super) fn register(database: &Database, who: &Who, kind: &str, json: Json) -> Result<()> {
    database.require_machine()?;
    let service = database.existing()?;
    let (user_id, _) = who.find(&service)?;
    let engine = service.require_engine()?;
    let device = engine.register_device(user_id, DeviceType::named(kind, engine.names())?)?;
    let (id, secret) = (device.device_id, device.secret.expose());
    let text = format!("device_id {id}\nsecret {secret}");
    json.print(&json!({ "device_id": id, "secret": secret }), &text)
}

/// A factor of a user.
#[derive(Args)]
#[group(id = "factor", required = true, multiple = false)]
pub(crate) struct Which {
    /// Id of the app: see `seconder user show`.
    #[arg(long, value_name = "ID")]
    authenticator: Option<AuthenticatorId>,
    /// Id of the device: see `seconder user show`.
    #[arg(long, value_name = "ID")]
    device: Option<DeviceId>,
}

impl Which {
    pub(super) fn remove(&self, service: &Service, user_id: UserId, json: Json) -> Result<()> {
        let mut object = json!({ "user_id": user_id.get() });
        let text = match (&self.authenticator, self.device) {
            (Some(id), _) => {
                let _ = service.remove_authenticator(user_id, id)?;
                object["authenticator_id"] = id.as_str().into();
                format!("authenticator app {id} of user {user_id} is removed")
            }
            (None, Some(id)) => {
                let _ = service.remove_device(user_id, id)?;
                object["device_id"] = json!(id);
                format!("device {id} of user {user_id} is removed")
            }
            (None, None) => String::new(),
        };
        json.print(&object, &text)
    }
}
