//! The requests of devices and the replies to them, as JSON.

use super::logo::Logos;
use super::reply::{JSON, Reply};
use crate::edge::reading::LONGEST;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode, header};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use seconder::calls::ApprovalStatus;
use seconder::engine::approver::{
    APPROVER_PATH, DeviceOverview, DeviceSettings, PresentedDevice, Refused, ShownRequest,
    SignedDevice, SignedRequest, SignedResponse, Subscription,
};
use seconder::engine::{DeviceType, Engine};
use seconder::model::{ApprovalId, Secret};
use seconder::{Error, Result};
use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer};
use serde_json::{Value, json};
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

/// The resource that a path names.
pub(super) enum Resource {
    /// The registration of a device.
    Devices,
    Device,
    Requests,
    Request(String),
    Respond(String),
    Logo(String),
    Nothing,
}

impl Resource {
    /// Returns the resource at a path below the path of the approver; `None` if it is the path of a
    /// file.
    pub(super) fn of(path: &str) -> Option<Resource> {
        let steps: Vec<&str> = path.strip_prefix("api/")?.split('/').collect();
        Some(match steps.as_slice() {
            ["devices"] => Resource::Devices,
            ["device"] => Resource::Device,
            ["requests"] => Resource::Requests,
            ["requests", uuid] => Resource::Request((*uuid).to_owned()),
            ["requests", uuid, "respond"] => Resource::Respond((*uuid).to_owned()),
            ["requests", uuid, "logo"] => Resource::Logo((*uuid).to_owned()),
            _ => Resource::Nothing,
        })
    }

    /// Returns the path, as the log has it.
    pub(super) fn path(&self) -> &'static str {
        match self {
            Resource::Devices => "/-/approver/api/devices",
            Resource::Device => "/-/approver/api/device",
            Resource::Requests => "/-/approver/api/requests",
            Resource::Request(_) => "/-/approver/api/requests/{uuid}",
            Resource::Respond(_) => "/-/approver/api/requests/{uuid}/respond",
            Resource::Logo(_) => "/-/approver/api/requests/{uuid}/logo",
            Resource::Nothing => "/-/approver/api/",
        }
    }

    /// Returns the methods that it has, in the form of the header `Allow`.
    pub(super) fn allowed(&self) -> &'static str {
        match self {
            Resource::Devices | Resource::Respond(_) => "POST",
            Resource::Device => "GET, POST, DELETE",
            Resource::Requests | Resource::Request(_) | Resource::Logo(_) => "GET",
            Resource::Nothing => "",
        }
    }

    pub(super) fn allows(&self, method: &Method) -> bool {
        let mut allowed = self.allowed().split(", ");
        matches!(self, Resource::Nothing) || allowed.any(|allowed| method == allowed)
    }

    /// Returns the most bytes of a body. Anybody can send one in order to register a device.
    pub(super) fn longest_body(&self) -> usize {
        match self {
            Resource::Respond(_) | Resource::Device => LONGEST,
            _ => 4 * 1024,
        }
    }

    /// Returns whether a request lacks the header with the device's signature, without which its body is not read.
    pub(super) fn lacks_signature(&self, headers: &HeaderMap) -> bool {
        let is_signed =
            !matches!(self, Resource::Devices | Resource::Respond(_) | Resource::Nothing);
        is_signed && authorization(headers).is_none()
    }

    pub(super) fn waits_for_others(&self) -> bool {
        matches!(self, Resource::Logo(_))
    }
}

/// Returns the reply to a device. It blocks.
pub(super) fn reply(
    engine: &Engine,
    logos: &Logos,
    asked: &Resource,
    head: &Parts,
    body: &[u8],
) -> Result<Reply, Refused> {
    match asked {
        Resource::Devices => register(engine, body),
        Resource::Respond(uuid) => respond(engine, uuid, body),
        Resource::Nothing => Err(Refused::NotFound),
        signed => {
            let device = signer(engine, head, body)?;
            match signed {
                Resource::Requests => requests(&device),
                Resource::Request(uuid) => {
                    Ok(object(StatusCode::OK, &shown(&device.request(&id(uuid)?)?)))
                }
                Resource::Logo(uuid) => logos.reply(engine, device.logo(&id(uuid)?)?),
                _ => of_itself(device, &head.method, body),
            }
        }
    }
}

/// Bytes in Base64 with the URL alphabet.
struct Bytes(Vec<u8>);

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Bytes, D::Error> {
        let text = String::deserialize(from)?;
        URL_SAFE_NO_PAD.decode(text).map(Bytes).map_err(serde::de::Error::custom)
    }
}

#[derive(Deserialize)]
struct NewDevice {
    code: Secret,
    key: String,
    name: String,
    language: String,
    platform: String,
    time: u64,
    signature: Bytes,
}

#[derive(Deserialize)]
struct Responded {
    device: String,
    response: String,
    number: Option<String>,
    shown: String,
    time: u64,
    signature: Bytes,
}

#[derive(Deserialize)]
struct Changed {
    name: Option<String>,
    language: Option<String>,
    #[serde(default, deserialize_with = "given")]
    subscription: Option<Option<Subscription>>,
}

/// Reads a value that may be absent, which differs from `null`.
fn given<'de, D: Deserializer<'de>>(
    from: D,
) -> std::result::Result<Option<Option<Subscription>>, D::Error> {
    Option::deserialize(from).map(Some)
}

/// Reads a body. An error about it repeats nothing of it.
fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, Refused> {
    serde_json::from_slice(body).map_err(|error| {
        let reason = format!("is not the JSON of this request, at column {}", error.column());
        Error::InvalidArgument { parameter: "body".into(), reason: reason.into() }.into()
    })
}

fn id(text: &str) -> Result<ApprovalId, Refused> {
    text.parse().map_err(|_| Refused::NotFound)
}

fn register(engine: &Engine, body: &[u8]) -> Result<Reply, Refused> {
    let new: NewDevice = read(body)?;
    let kind = match new.platform.as_str() {
        "ios" => DeviceType::Ios,
        "android" => DeviceType::Android,
        _ => DeviceType::Chrome,
    };
    let registered = engine.register_by_invitation(&PresentedDevice {
        code: new.code,
        key: URL_SAFE_NO_PAD.decode(&new.key).unwrap_or_default(),
        key_text: new.key,
        kind,
        name: new.name,
        language: new.language,
        time: new.time,
        signature: new.signature.0,
    })?;
    let reply = json!({
        "device": registered.device,
        "application": registered.application,
        "account": registered.account,
        "codes": {
            "secret": registered.codes.secret.expose(),
            "digits": registered.codes.digits,
            "period": registered.codes.period,
        },
        "push_key": URL_SAFE_NO_PAD.encode(registered.push_key),
    });
    Ok(object(StatusCode::CREATED, &reply))
}

fn respond(engine: &Engine, uuid: &str, body: &[u8]) -> Result<Reply, Refused> {
    let responded: Responded = read(body)?;
    let status = engine.respond_signed(&SignedResponse {
        device: responded.device,
        uuid: id(uuid)?,
        response: responded.response.parse()?,
        number: responded.number.map(Secret::new),
        shown: responded.shown,
        time: responded.time,
        signature: responded.signature.0,
    })?;
    Ok(object(StatusCode::OK, &json!({ "status": status })))
}

/// Returns the device that has signed a request with its header `Authorization`.
fn signer(engine: &Engine, head: &Parts, body: &[u8]) -> Result<SignedDevice, Refused> {
    let (device, time, signature) = authorization(&head.headers).ok_or(Refused::Unauthorized)?;
    let target = head.uri.path_and_query().map_or("", |target| target.as_str());
    engine.device_that_signed(&SignedRequest {
        device,
        time,
        signature: &signature,
        method: head.method.as_str(),
        path: target.strip_prefix(APPROVER_PATH).unwrap_or_default(),
        body,
    })
}

/// Parses the header `Authorization`: `Seconder device=1.12, time=1790000000, signature=…`
fn authorization(headers: &HeaderMap) -> Option<(&str, u64, Vec<u8>)> {
    let mut all = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(one), None) = (all.next(), all.next()) else { return None };
    let parameters = one.to_str().ok()?.strip_prefix("Seconder ")?;
    let (mut device, mut time, mut signature) = (None, None, None);
    for parameter in parameters.split(',') {
        let (name, value) = parameter.trim().split_once('=')?;
        let place = match name {
            "device" => &mut device,
            "time" => &mut time,
            "signature" => &mut signature,
            _ => return None,
        };
        if place.replace(value).is_some() {
            return None;
        }
    }
    let signature = URL_SAFE_NO_PAD.decode(signature?).ok()?;
    Some((device?, time?.parse().ok()?, signature))
}

fn requests(device: &SignedDevice) -> Result<Reply, Refused> {
    let open = device.requests()?;
    let open: Vec<Value> = open.iter().map(shown).collect();
    let mut reply = object(StatusCode::OK, &json!({ "requests": open }));
    let mut hasher = DefaultHasher::new();
    reply.body.hash(&mut hasher);
    reply.tag = Some(format!("\"{:016x}\"", hasher.finish()));
    Ok(reply)
}

fn shown(request: &ShownRequest) -> Value {
    json!({
        "uuid": request.uuid,
        "shown": request.shown,
        "expires": request.expires,
        "number_digits": request.number_digits,
        "status": match request.status {
            ApprovalStatus::Unknown => "expired",
            status => status.name(),
        },
        "decided": request.decided,
        "by_this_device": request.by_this_device,
    })
}

/// Handles the calls by which a device reads, changes and removes itself.
fn of_itself(device: SignedDevice, method: &Method, body: &[u8]) -> Result<Reply, Refused> {
    if method == Method::DELETE {
        device.remove()?;
        return Ok(Reply {
            status: StatusCode::NO_CONTENT,
            media_type: JSON.to_owned(),
            body: Vec::new(),
            tag: None,
        });
    }
    if method == Method::POST {
        let Changed { name, language, subscription } = read(body)?;
        device.change(&DeviceSettings { name, language, subscription })?;
    }
    Ok(object(StatusCode::OK, &overview(&device.overview()?)))
}

fn overview(overview: &DeviceOverview) -> Value {
    let devices = overview.devices.iter().map(|device| {
        json!({
            "device": device.device,
            "name": device.name,
            "created": device.created,
            "this": device.this,
            "push": device.push,
        })
    });
    json!({
        "device": overview.device,
        "name": overview.name,
        "application": overview.application,
        "account": overview.account,
        "language": overview.language,
        "push": overview.devices.iter().any(|device| device.this && device.push),
        "push_key": URL_SAFE_NO_PAD.encode(&overview.push_key),
        "created": overview.devices.iter().find(|device| device.this).map(|device| device.created),
        "devices": devices.collect::<Vec<_>>(),
    })
}

fn object(status: StatusCode, body: &Value) -> Reply {
    let body = body.to_string().into_bytes();
    Reply { status, media_type: JSON.to_owned(), body, tag: None }
}
