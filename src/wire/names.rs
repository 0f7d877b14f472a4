//! The names that differ between services of this interface, in one table.

use crate::{Error, Result};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::fmt;

const PREFIX: &str = "svc";
const PUSH: &str = "push";
/// The end of the field in the application's details that says whether approval requests can be sent;
/// it begins with the first part of their paths.
const ENABLED: &str = "_enabled";
/// Fields next to a user's id, or in the place where it may be.
const TAKEN: [&str; 12] = [
    "id",
    "app_id",
    "uuid",
    "status",
    "message",
    "success",
    "errors",
    "error_code",
    "token",
    "device",
    "name",
    "type",
];

type Name = Cow<'static, str>;

/// The names that differ between services of this interface. The defaults are the names in the
/// interface document. For a service with other names, set them both in the client and when the
/// service's database is created, which keeps them. `Display` shows all of them.
///
/// ```
/// use seconder::wire::Names;
/// let names = Names::new("acme")?;            // acme_id, acme_chrome, X-Acme-API-Key
/// let names = names.push_path("onetouch")?;   // /onetouch/json/users/…
/// assert_eq!(names.api_key(), "X-Acme-API-Key");
/// # Ok::<(), seconder::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    header_prefix: Name,
    push_path: Name,
    id_field: Name,
    chrome_device: Name,
}

impl Default for Names {
    fn default() -> Names {
        Names {
            header_prefix: "X-Svc-".into(),
            push_path: PUSH.into(),
            id_field: "svc_id".into(),
            chrome_device: "svc_chrome".into(),
        }
    }
}

impl Names {
    /// Returns the names of a service that uses `word` where the interface document says `svc`:
    /// headers `X-Word-…`, ids `word_id`, and the device `word_chrome`.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] unless `word` is 1 to 32 lower-case ASCII letters and digits,
    /// beginning with a letter.
    pub fn new(word: &str) -> Result<Names> {
        check("names", word)?;
        let (first, rest) = word.split_at(1);
        Ok(Names {
            header_prefix: format!("X-{}{rest}-", first.to_ascii_uppercase()).into(),
            push_path: PUSH.into(),
            id_field: format!("{word}_id").into(),
            chrome_device: format!("{word}_chrome").into(),
        })
    }

    /// The first part of the paths of approval requests. Default `push`.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] unless `word` is valid for [`Names::new`], and neither `protected`
    /// nor `sms`.
    pub fn push_path(mut self, word: &str) -> Result<Names> {
        check("push_path", word)?;
        if ["protected", "sms"].contains(&word) {
            return Err(Error::invalid_argument(
                "push_path",
                "must not be `protected`, which is the path of the other calls, or `sms`, which has \
                 a field `sms_enabled`",
            ));
        }
        self.push_path = word.to_owned().into();
        Ok(self)
    }

    /// The prefix of the header names. Default `X-Svc-`.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] unless it is 1 to 32 ASCII letters, digits and dashes.
    pub fn header_prefix(mut self, prefix: &str) -> Result<Names> {
        let plain = prefix.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        if !plain || !(1..=32).contains(&prefix.len()) {
            return Err(Error::invalid_argument(
                "header_prefix",
                "must be 1 to 32 letters, digits and dashes",
            ));
        }
        self.header_prefix = prefix.to_owned().into();
        Ok(self)
    }

    /// The field that holds a user's id, in bodies and callbacks. Default `svc_id`.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] unless `name` is 1 to 32 lower-case letters, digits and
    /// underscores, beginning with a letter, and not the name of another field, such as `id`.
    pub fn id_field(mut self, name: &str) -> Result<Names> {
        check("id_field", &name.replace('_', "0"))?;
        if TAKEN.contains(&name) {
            return Err(Error::invalid_argument(
                "id_field",
                "must not be the name of another field of the interface",
            ));
        }
        self.id_field = name.to_owned().into();
        Ok(self)
    }

    /// Returns the field set by [`id_field`](Names::id_field).
    #[cfg(feature = "callbacks")]
    pub(crate) fn user_field(&self) -> &str {
        &self.id_field
    }

    /// The name of the browser as a device type. Default `svc_chrome`.
    ///
    /// # Errors
    /// As for [`Names::id_field`].
    pub fn chrome_device(mut self, name: &str) -> Result<Names> {
        check("chrome_device", &name.replace('_', "0"))?;
        self.chrome_device = name.to_owned().into();
        Ok(self)
    }

    /// Returns the header that carries the API key (interface 5.1).
    pub fn api_key(&self) -> String {
        format!("{}API-Key", self.header_prefix)
    }

    /// Returns the header that carries a callback's signature (interface 5.5).
    pub fn signature(&self) -> String {
        format!("{}Signature", self.header_prefix)
    }

    /// Returns the header that carries a callback's nonce (interface 5.5).
    pub fn nonce(&self) -> String {
        format!("{}Signature-Nonce", self.header_prefix)
    }

    /// Converts a path of the interface document to the one used on the wire.
    pub fn path_to_wire(&self, path: &str) -> String {
        swap(path, PUSH, &self.push_path)
    }

    /// Converts a path used on the wire to the one of the interface document. Returns `None` for
    /// the document's own path if the table has another.
    pub fn path_from_wire(&self, path: &str) -> Option<String> {
        let foreign = self.push_path != PUSH && first_part(path) == Some(PUSH);
        (!foreign).then(|| swap(path, &self.push_path, PUSH))
    }

    /// Renames the fields and devices of a body to those used on the wire. If a body has another
    /// field of that name, the renamed one takes its place: the record of an approval request has
    /// `user_id` for the service's own use.
    pub fn body_to_wire(&self, body: &mut Value) {
        let _ = rename(body, &Names::default(), self, Twice::KeepRenamed);
    }

    /// Renames the fields and devices of a body to the names in the interface document.
    ///
    /// # Errors
    /// [`Error::InvalidResponse`] if a field occurs under both names, and so twice.
    pub fn body_from_wire(&self, body: &mut Value) -> Result<()> {
        match rename(body, self, &Names::default(), Twice::Reject) {
            Some(()) => Ok(()),
            None => Err(Error::invalid_response(format!(
                "a field occurs both as {} and as svc_id",
                self.id_field
            ))),
        }
    }
}

#[cfg(feature = "engine")]
impl Names {
    /// Returns the four names, as they are stored: of headers, paths, the id's field and the
    /// browser.
    pub(crate) fn parts(&self) -> [&str; 4] {
        [&self.header_prefix, &self.push_path, &self.id_field, &self.chrome_device]
    }

    /// Names that were checked before they were stored, in the order of [`Names::parts`].
    pub(crate) fn stored(
        [header_prefix, push_path, id_field, chrome_device]: [String; 4],
    ) -> Names {
        Names {
            header_prefix: header_prefix.into(),
            push_path: push_path.into(),
            id_field: id_field.into(),
            chrome_device: chrome_device.into(),
        }
    }
}

impl fmt::Display for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Names { header_prefix, push_path, id_field, chrome_device } = self;
        write!(
            f,
            "headers {header_prefix}*, id field {id_field}, browser {chrome_device}, \
             push path {push_path}"
        )
    }
}

fn check(parameter: &'static str, word: &str) -> Result<()> {
    let plain = word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    let first = word.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase());
    match plain && first && word.len() <= 32 {
        true => Ok(()),
        false => Err(Error::invalid_argument(
            parameter,
            format!("must be a word of lower-case letters and digits, such as {PREFIX}"),
        )),
    }
}

fn first_part(path: &str) -> Option<&str> {
    path.strip_prefix('/')?.split('/').next()
}

fn swap(path: &str, from: &str, to: &str) -> String {
    match first_part(path) {
        Some(part) if part == from => format!("/{to}{}", &path[1 + from.len()..]),
        _ => path.to_owned(),
    }
}

/// The behaviour if two fields would have the same name.
#[derive(Clone, Copy, PartialEq)]
enum Twice {
    KeepRenamed,
    Reject,
}

/// Renames fields and devices. Returns `None` if two fields would have the same name, and that is
/// rejected.
fn rename(value: &mut Value, from: &Names, to: &Names, twice: Twice) -> Option<()> {
    if from == to {
        return Some(());
    }
    match value {
        Value::String(text) if *text == from.chrome_device => {
            to.chrome_device.as_ref().clone_into(text)
        }
        Value::Array(items) => {
            for item in items {
                rename(item, from, to, twice)?;
            }
        }
        Value::Object(fields) => {
            let mut renamed = Map::new();
            for (name, mut value) in std::mem::take(fields) {
                // These hold data of the application, which is passed on unchanged.
                if !["details", "hidden_details", "data"].contains(&name.as_str()) {
                    rename(&mut value, from, to, twice)?;
                }
                let new = match name.strip_prefix('_').unwrap_or(&name) == from.id_field {
                    true => name.replace(&*from.id_field, &to.id_field),
                    false if name.strip_suffix(ENABLED) == Some(&from.push_path) => {
                        format!("{}{ENABLED}", to.push_path)
                    }
                    false => name.clone(),
                };
                match renamed.contains_key(&new) {
                    true if twice == Twice::Reject => return None,
                    true if new == name => {}
                    _ => drop(renamed.insert(new, value)),
                }
            }
            *fields = renamed;
        }
        _ => {}
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn bodies_and_paths_round_trip() {
        let names = Names::new("acme").unwrap().push_path("onetouch").unwrap();
        let own = json!({"status": {"svc_id": 7, "devices": ["svc_chrome", "ios"]}, "_svc_id": 7,
            "details": {"svc_id": "mine"}, "app": {"push_enabled": true}});
        let wire = json!({"status": {"acme_id": 7, "devices": ["acme_chrome", "ios"]},
            "_acme_id": 7, "details": {"svc_id": "mine"}, "app": {"onetouch_enabled": true}});
        let mut body = own.clone();
        names.body_to_wire(&mut body);
        assert_eq!(body, wire);
        names.body_from_wire(&mut body).unwrap();
        assert_eq!(body, own);
        let mut twice = json!({"a": {"acme_id": 8, "svc_id": 7}});
        assert!(names.body_from_wire(&mut twice).is_err());
        assert_eq!(names.path_to_wire("/push/json/users/7"), "/onetouch/json/users/7");
        assert_eq!(names.path_from_wire("/onetouch/json").as_deref(), Some("/push/json"));
        assert_eq!(names.path_from_wire("/push/json"), None);
        assert_eq!(names.path_to_wire("/protected/push"), "/protected/push");
        // Paths of this project alone, which no names change.
        for own in ["/-/json/logins/onetouch", "/-/json/logins/push", "/-/json/onetouch"] {
            assert_eq!(names.path_to_wire(own), own);
            assert_eq!(names.path_from_wire(own).as_deref(), Some(own));
        }
        assert_eq!(Names::default().path_from_wire("/push/x").as_deref(), Some("/push/x"));
    }

    #[test]
    fn a_users_id_takes_the_place_of_a_field_with_its_name() {
        let names = Names::default().id_field("user_id").unwrap();
        for mut body in [
            json!({"r": {"svc_id": 7, "user_id": "x", "_svc_id": 7}}),
            json!({"r": {"user_id": "x", "_svc_id": 7, "svc_id": 7}}),
        ] {
            names.body_to_wire(&mut body);
            assert_eq!(body, json!({"r": {"user_id": 7, "_user_id": 7}}));
        }
    }

    #[test]
    fn invalid_names_are_rejected() {
        for bad in ["", "-", "Acme", "a-b", "a/b", "1a", "ü", &"a".repeat(33)] {
            assert!(Names::new(bad).is_err(), "{bad}");
            assert!(Names::default().push_path(bad).is_err(), "{bad}");
        }
        assert!(Names::default().id_field("my_corp_id").is_ok());
        assert!(Names::default().id_field("a-b").is_err());
        assert!(Names::default().id_field("uuid").is_err());
        assert!(Names::default().chrome_device("").is_err());
        assert!(Names::default().push_path("protected").is_err());
        assert!(Names::default().push_path("sms").is_err());
        for bad in ["", "X Svc-", "X:\r\n"] {
            assert!(Names::default().header_prefix(bad).is_err(), "{bad:?}");
        }
    }
}
