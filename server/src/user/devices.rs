//! The commands by which operators give devices to users.

use super::Who;
use crate::arguments::Database;
use crate::qr::{self, Screen};
use crate::table::Json;
use seconder::engine::DeviceType;
use seconder::model::UserId;
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
