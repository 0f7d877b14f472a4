//! `GET /protected/{format}/verify/{token}/{svc_id}`

use super::{Call, Route, failure, is_false};
use crate::model::{Action, Token, UserId};
use crate::wire::{Generation, Reply, loose, object, scalar};
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

const VALID: &str = "is valid";
const INVALID: &str = "is invalid";
const WRONG_TOKEN: &str = "60020";
const USED_TOKEN: &str = "60019";

/// Checks the code that a user typed (interface 4.4).
///
/// Without `force`, the code of a user who was never confirmed is not checked at all: see
/// [`Verdict::NotChecked`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verify {
    /// What the user typed.
    pub token: Token,
    /// The user who is said to have typed it.
    #[serde(rename = "svc_id")]
    pub user_id: UserId,
    /// Checks the code even of a user who was never confirmed.
    #[serde(default, skip_serializing_if = "is_false")]
    pub force: bool,
    /// The action that the code was sent for.
    pub action: Option<Action>,
}

impl Verify {
    /// The call with its defaults.
    pub fn new(token: Token, user_id: UserId) -> Verify {
        Verify { token, user_id, force: false, action: None }
    }
}

/// What a login must know. Only [`Right`](Verdict::Right) lets anyone in.
#[must_use = "only Verdict::Right lets anyone in"]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Verdict {
    /// The code is not the user's, or no longer.
    #[default]
    Wrong = 0,
    /// The code is the user's, and it was used for the first time.
    Right = 1,
    /// The user was never confirmed and `force` was not given, so the code was not looked at.
    NotChecked = 2,
}

/// What came of a check.
#[must_use = "only a verdict of Verdict::Right lets anyone in"]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Verification {
    /// Whether the user may come in.
    pub verdict: Verdict,
    /// With [`Verdict::Wrong`]: the code was right once and has been used.
    pub reused: bool,
    /// What happened, in the service's words.
    pub message: Option<String>,
    /// What the code was made or received with, where the service tells (interface 2.5).
    pub device: Option<Device>,
}

/// What a code was made or received with (interface 2.5). Services leave out what they do not know.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Device {
    /// The device's number.
    pub id: Option<u64>,
    /// The address it was last seen at.
    pub ip: Option<String>,
    /// The city of that address.
    pub city: Option<String>,
    /// The region of that address.
    pub region: Option<String>,
    /// The country of that address.
    pub country: Option<String>,
    /// `android`, `ios`, `sms`, …
    pub os_type: Option<String>,
    /// The number it was registered under.
    pub registration_device_id: Option<u64>,
    /// The address it was registered from.
    pub registration_ip: Option<String>,
    /// The city of that address.
    pub registration_city: Option<String>,
    /// The region of that address.
    pub registration_region: Option<String>,
    /// The country of that address.
    pub registration_country: Option<String>,
    /// How the user proved the number then.
    pub registration_method: Option<String>,
    /// When it was registered, in Unix seconds.
    pub registration_date: Option<i64>,
    /// When the account was last recovered, in Unix seconds.
    pub last_account_recovery_at: Option<i64>,
}

impl Call for Verify {
    const ROUTE: Route = Route::get("verify", "/protected/{format}/verify/{token}/{svc_id}");
    type Reply = Verification;

    /// The one place that decides whether a reply lets anyone in.
    fn read(reply: Reply) -> Result<Verification> {
        let Value::Object(body) = &reply.body else { return Err(failure::read(reply)) };
        let said = |field: &str| body.get(field).and_then(Value::as_str);
        let success = body.get("success").and_then(scalar);
        let code = failure::code(&reply);
        // The older generation left it out; the current one never does.
        let older = reply.generation == Generation::Older && !body.contains_key("success");
        let (verdict, reused) = match (reply.status, said("token"), success.as_deref()) {
            (200, Some(VALID), _) if failure::has_error(body) => {
                return Err(Error::invalid_response(
                    "the token is said to be valid beside an error",
                ));
            }
            (200, Some(VALID), Some("true")) => (Verdict::Right, false),
            (200, Some(VALID), None) if older => (Verdict::Right, false),
            (200, Some(text), _) if not_checked(text) => (Verdict::NotChecked, false),
            (200, ..) => {
                return Err(Error::invalid_response(
                    "status 200 without a token field that says what it is",
                ));
            }
            (401, ..) if code.as_deref() == Some(USED_TOKEN) => (Verdict::Wrong, true),
            (401, ..) if is_wrong(body, code.as_deref()) => (Verdict::Wrong, false),
            _ => return Err(failure::read(reply)),
        };
        let message = said("message").map(str::to_owned);
        let device = body.get("device").and_then(Value::as_object);
        let device = device.and_then(|device| loose::read(device.clone()).ok());
        Ok(Verification { verdict, reused, message, device })
    }

    fn write(answer: &Verification) -> Reply {
        let message = answer.message.as_deref();
        let mut body = Map::new();
        let status = match answer.verdict {
            Verdict::Right => {
                body.insert("message".into(), message.unwrap_or("Token is valid.").into());
                body.insert("token".into(), VALID.into());
                body.insert("success".into(), "true".into());
                200
            }
            Verdict::NotChecked => {
                let text = "Not checked: the user has not finished registration. \
                            Pass force=true to check the token regardless.";
                body.insert("message".into(), message.unwrap_or("Token was not checked.").into());
                body.insert("token".into(), text.into());
                body.insert("success".into(), "false".into());
                200
            }
            Verdict::Wrong => {
                wrong(&mut body, answer.reused, message);
                401
            }
        };
        if let Some(device) = &answer.device {
            body.insert("device".into(), Value::Object(object(device)));
        }
        Reply::new(status, Value::Object(body))
    }
}

fn not_checked(token: &str) -> bool {
    token != VALID && token != INVALID && token.to_ascii_lowercase().contains("force=true")
}

/// A 401 also says that the API key is wrong; only the body tells.
fn is_wrong(body: &Map<String, Value>, code: Option<&str>) -> bool {
    let inner = body.get("errors").and_then(|errors| errors.get("token"));
    let says = |field: Option<&Value>| field.and_then(Value::as_str) == Some(INVALID);
    match code {
        Some(code) => code == WRONG_TOKEN,
        None => says(body.get("token")) || says(inner),
    }
}

fn wrong(body: &mut Map<String, Value>, reused: bool, message: Option<&str>) {
    let usual = if reused { "Token was used already." } else { "Token is invalid." };
    let message = message.unwrap_or(usual);
    body.insert("message".into(), message.into());
    let mut errors = json!({ "message": message });
    if !reused {
        body.insert("token".into(), INVALID.into());
        errors["token"] = INVALID.into();
    }
    body.insert("success".into(), "false".into());
    body.insert("errors".into(), errors);
    body.insert("error_code".into(), if reused { USED_TOKEN } else { WRONG_TOKEN }.into());
}
