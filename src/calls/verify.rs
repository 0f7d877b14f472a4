//! `GET /protected/{format}/verify/{token}/{svc_id}`

use super::{Call, Route, failure, is_false};
use crate::codes::{TOKEN_REUSED, TOKEN_WRONG};
use crate::model::{Action, Token, UserId};
use crate::wire::{Generation, Reply, has_error, loose, scalar};
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::net::IpAddr;

const VALID: &str = "is valid";
const INVALID: &str = "is invalid";
const INVALID_MESSAGE: &str = "token is invalid";

/// Checks the code that a user typed (interface 4.4).
///
/// If `force` is false, the code of a user who is not confirmed yet is not checked: see
/// [`Verdict::NotChecked`].
///
/// # Errors
/// [`Error::RateLimited`] after wrong codes, until the user may try again.
#[cfg_attr(
    false,
    c = "Checks the code that a user typed (interface 4.4).\n\n\
         Only [`Ok`] means that the code was checked and is correct. [`Status::TokenWrong`], \
         [`Status::TokenReused`] and [`Status::TokenNotChecked`] say why it was not accepted. \
         Without `force`, the code of a user who is not confirmed yet is not checked."
)]
#[cfg_attr(
    false,
    python = "Checks the code that a user typed (interface 4.4). It returns only if the code is right."
)]
#[cfg_attr(
    false,
    python(
        raises = "TokenInvalid: The code is wrong or has expired; `reused` is true if it was right \
                  but has been used before.\n\
                  NotChecked: The user is not confirmed yet, and `force` is false."
    )
)]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verify {
    /// The user to verify.
    #[serde(rename = "svc_id")]
    pub user_id: UserId,
    /// The code that the user typed.
    pub token: Token,
    /// Checks the code even if the user is not confirmed yet. [`Verify::new`] sets it. A request without it (interface
    /// 4.4) has the code of such a user not checked.
    #[cfg_attr(false, c = "Checks the code even if the user is not confirmed yet.")]
    #[cfg_attr(
        false,
        cpp = "Checks the code even if the user is not confirmed yet. If it is false, the code of such a user \
               is not checked, which is Status::token_not_checked."
    )]
    #[cfg_attr(false, cpp(yes))]
    #[cfg_attr(
        false,
        python = "Checks the code even if the user is not confirmed yet. If it is false, the code of such a \
                  user is not checked, and the call raises NotChecked (interface 4.4)."
    )]
    #[cfg_attr(false, python(yes))]
    #[serde(default, skip_serializing_if = "is_false")]
    pub force: bool,
    /// The action that the code was sent for.
    pub action: Option<Action>,
    /// The IP address from which the request originates.
    pub user_ip: Option<IpAddr>,
}

impl Verify {
    /// The call with its defaults, which checks the code in any case.
    pub fn new(user_id: UserId, token: Token) -> Verify {
        Verify { user_id, token, force: true, action: None, user_ip: None }
    }
}

/// The outcome for a login. Only [`Right`](Verdict::Right) lets a user in.
#[must_use = "only Verdict::Right lets anyone in"]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Verdict {
    /// The code is not the user's, or is no longer valid.
    #[default]
    Wrong = 0,
    /// The code is the user's, and was used for the first time.
    Right = 1,
    /// The user is not confirmed yet and `force` was not given, so the code was not checked.
    NotChecked = 2,
}

/// The result of checking a code.
#[cfg_attr(
    false,
    c = "The reply for a code that was checked and is correct. Any other outcome returns none."
)]
#[cfg_attr(false, c(decided, optional))]
#[cfg_attr(
    false,
    python = "A code that was right, and was used for the first time (interface 4.4)."
)]
#[cfg_attr(false, python(handled_by = "check"))]
#[must_use = "only a verdict of Verdict::Right lets anyone in"]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Verification {
    /// The verdict: only [`Verdict::Right`] lets the user in.
    #[cfg_attr(false, c(hidden))]
    #[cfg_attr(false, python(hidden))]
    pub verdict: Verdict,
    /// With [`Verdict::Wrong`]: the code was right once and has been used.
    #[cfg_attr(false, c(hidden))]
    #[cfg_attr(false, python(hidden))]
    pub reused: bool,
    /// With [`Verdict::Wrong`]: the service's error code, as text (`60020`), if it sent one.
    #[cfg_attr(false, c(hidden))]
    #[cfg_attr(false, python(hidden))]
    pub error_code: Option<String>,
    /// The service's message.
    pub message: Option<String>,
    /// The device that generated or received the code, if the service provides it (interface 2.5).
    pub device: Option<Device>,
}

impl Verification {
    /// The type of device in the reply to a right recovery code.
    pub(crate) const RECOVERY_CODE: &str = "recovery_code";

    /// Returns whether the code was one of the user's recovery codes. An application may want to write to the
    /// user then: somebody who has a phone does not need one.
    pub fn by_recovery_code(&self) -> bool {
        let device = self.device.as_ref().and_then(|device| device.os_type.as_deref());
        self.verdict == Verdict::Right && device == Some(Self::RECOVERY_CODE)
    }

    /// A code that was not accepted, with the error code of the interface's practice.
    #[cfg(feature = "engine")]
    pub(crate) fn wrong(reused: bool) -> Verification {
        let error_code = Some(wrong_code(reused).to_owned());
        Verification { reused, error_code, ..Verification::default() }
    }
}

/// The device that generated or received a code, or answered an approval request (interface 2.5).
/// Services omit unknown fields, and a field of an unexpected type, such as a date as text, is left
/// out.
#[cfg_attr(false, c(name = "device_info"))]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Device {
    /// The device's number.
    pub id: Option<u64>,
    /// The IP address at which it was last seen.
    pub ip: Option<String>,
    /// The city of that address.
    pub city: Option<String>,
    /// The region of that address.
    pub region: Option<String>,
    /// The country of that address.
    pub country: Option<String>,
    /// `android`, `ios`, `sms` and similar; `authenticator` or `recovery_code` from this project's
    /// service.
    pub os_type: Option<String>,
    /// The number under which it was registered.
    pub registration_device_id: Option<u64>,
    /// The IP address from which it was registered.
    pub registration_ip: Option<String>,
    /// The city of that address.
    pub registration_city: Option<String>,
    /// The region of that address.
    pub registration_region: Option<String>,
    /// The country of that address.
    pub registration_country: Option<String>,
    /// The way in which the user's number was verified on registration.
    pub registration_method: Option<String>,
    /// When it was registered, in Unix seconds.
    #[cfg_attr(false, python(time))]
    pub registration_date: Option<i64>,
    /// When the account was last recovered, in Unix seconds.
    #[cfg_attr(false, python(time))]
    pub last_account_recovery_at: Option<i64>,
}

impl Call for Verify {
    const ROUTE: Route = Route::get("verify", "/protected/{format}/verify/{token}/{svc_id}");
    const SUCCESS_IS_TEXT: bool = true;
    const FOR_LOGIN: bool = true;
    const FOR_OWN_ACCOUNT: bool = true;
    const CHANGES_PROTECTION: bool = false;
    type Reply = Verification;

    fn user(&self) -> Option<UserId> {
        Some(self.user_id)
    }

    fn verification(reply: &Verification) -> Option<&Verification> {
        Some(reply)
    }

    /// Decides whether a reply lets a user in; nothing else does.
    fn read(reply: Reply) -> Result<Verification> {
        let Value::Object(body) = &reply.body else { return Err(failure::error_of(reply)) };
        let text = |field: &str| body.get(field).and_then(Value::as_str);
        let success = body.get("success").and_then(scalar);
        let code = failure::code(&reply);
        // The older generation may omit `success`; the current one always includes it.
        let older = reply.generation == Generation::Older && !body.contains_key("success");
        let (verdict, reused) = match (reply.status, text("token"), success.as_deref()) {
            (200, Some(VALID), _) if has_error(body) => {
                return Err(Error::invalid_response(
                    "the token is valid, but there is also an error",
                ));
            }
            (200, Some(VALID), Some("true")) => (Verdict::Right, false),
            (200, Some(VALID), None) if older => (Verdict::Right, false),
            (200, Some(token), _) if not_checked(token) => (Verdict::NotChecked, false),
            (200, ..) => {
                return Err(Error::invalid_response("status 200 without a valid token field"));
            }
            (401, ..) if code.as_deref() == Some(TOKEN_REUSED) => (Verdict::Wrong, true),
            (401, ..) if is_wrong(body, code.as_deref()) => (Verdict::Wrong, false),
            (401, ..)
                if reply.generation == Generation::Older
                    && code.is_none()
                    && says_wrong(failure::message(body)) =>
            {
                (Verdict::Wrong, false)
            }
            _ => return Err(failure::error_of(reply)),
        };
        let error_code = code.filter(|_| verdict == Verdict::Wrong);
        let message = text("message").map(str::to_owned);
        let device = body.get("device").and_then(Value::as_object);
        let device = device.map(|device| loose::read_what_fits(device.clone()));
        Ok(Verification { verdict, reused, error_code, message, device })
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
            // With null for what is not known: clients in typed languages require every field.
            body.insert("device".into(), json!(device));
        }
        Reply::new(status, Value::Object(body))
    }
}

fn not_checked(token: &str) -> bool {
    token != VALID && token != INVALID && token.to_ascii_lowercase().contains("force=true")
}

/// Returns whether a 401 rejects the token. Only the body distinguishes it from a 401 for a wrong API key.
fn is_wrong(body: &Map<String, Value>, code: Option<&str>) -> bool {
    let inner = body.get("errors").and_then(|errors| errors.get("token"));
    let says = |field: Option<&Value>| field.and_then(Value::as_str) == Some(INVALID);
    match code {
        Some(code) => code == TOKEN_WRONG,
        None => says(body.get("token")) || says(inner),
    }
}

/// Returns whether a message reports a wrong token. In the older generation, a service was recorded whose
/// 401 had no other sign of it.
fn says_wrong(message: Option<String>) -> bool {
    message.is_some_and(|message| {
        let message = message.strip_suffix('.').unwrap_or(&message);
        message.eq_ignore_ascii_case(INVALID_MESSAGE)
    })
}

fn wrong_code(reused: bool) -> &'static str {
    if reused { TOKEN_REUSED } else { TOKEN_WRONG }
}

fn wrong(body: &mut Map<String, Value>, reused: bool, message: Option<&str>) {
    let usual = if reused { "Token was used already." } else { "Token is invalid" };
    let message = message.unwrap_or(usual);
    body.insert("message".into(), message.into());
    let mut errors = json!({ "message": message });
    if !reused {
        body.insert("token".into(), INVALID.into());
        errors["token"] = INVALID.into();
    }
    body.insert("success".into(), "false".into());
    body.insert("errors".into(), errors);
    body.insert("error_code".into(), wrong_code(reused).into());
}
