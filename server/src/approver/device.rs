//! A device that is a program: it registers by an invitation, and shows and responds to approval requests, as the
//! page of the approver does.

use crate::{internal, invalid};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use seconder::engine::ApprovalResponse;
use seconder::engine::approver::{APPROVER_PATH, hash_of, invitation_code, origin};
use seconder::model::{ApprovalId, Secret};
use seconder::otp::{Algorithm, Totp};
use seconder::remote::{Dialer, client_tls};
use seconder::{Error, Rejection, Result, Stage};
use seconder_gateways::client::Client;
use seconder_gateways::tls;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use ureq::http::Request;
use zeroize::Zeroizing;

/// The time within which the service has to respond.
const TIMEOUT: Duration = Duration::from_secs(15);

/// A device that is registered.
pub struct ApproverDevice {
    stored: Stored,
    key: EcdsaKeyPair,
    client: Client,
}

/// The stored state of a device.
#[derive(Clone, Serialize, Deserialize)]
struct Stored {
    /// The public URL of the service.
    service: String,
    device: String,
    application: String,
    account: String,
    /// The key as PKCS #8, in Base64.
    key: Secret,
    codes: Codes,
    ca_file: Option<PathBuf>,
}

#[derive(Clone, Serialize, Deserialize)]
struct Codes {
    secret: Secret,
    digits: u8,
    period: u64,
}

/// The reply of the service to a device that has registered.
#[derive(Deserialize)]
struct Registered {
    device: String,
    application: String,
    account: String,
    codes: Codes,
}

/// An approval request as the service sends it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PendingRequest {
    /// Its id.
    pub uuid: ApprovalId,
    /// The text that a device shows and signs.
    pub shown: String,
    /// The time at which it expires, in Unix seconds; `None` means never.
    pub expires: Option<u64>,
    /// The number of digits of the number that has to be given to approve it; 0 for none.
    pub number_digits: usize,
}

impl ApproverDevice {
    /// Registers a device by the link of an invitation.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if it is not an invitation link, [`Error::Rejected`] if the invitation can no longer
    /// be used, [`Error::Unavailable`] if the service is not reached.
    pub fn register(link: &Secret, name: &str, ca_file: Option<&Path>) -> Result<ApproverDevice> {
        let wrong = || invalid("link", "must be that of an invitation: https://…/-/approver/#CODE");
        let (page, code) = link.expose().split_once('#').ok_or_else(wrong)?;
        let service = page.strip_suffix(APPROVER_PATH).ok_or_else(wrong)?.to_owned();
        let pkcs8 =
            EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new());
        let pkcs8 = pkcs8.map_err(|_| internal("no key could be made"))?;
        let key = key_of(pkcs8.as_ref())?;
        let public = URL_SAFE_NO_PAD.encode(key.public_key().as_ref());
        let code = invitation_code(code).ok_or_else(wrong)?;
        let time = now();
        let text = format!(
            "seconder-enrol-v1\n{}\n{}\n{public}\n{time}",
            origin(&service),
            hash_of(code.as_bytes()),
        );
        let body = json!({
            "code": *code,
            "key": public,
            "name": name,
            "language": "en",
            "platform": "other",
            "time": time,
            "signature": sign(&key, &text)?,
        });
        let client = client(&service, ca_file)?;
        let body = Zeroizing::new(body.to_string());
        let request = Request::post(format!("{service}{APPROVER_PATH}api/devices"));
        let reply = send(&client, request, body.as_bytes().to_vec())?;
        let registered: Registered = serde_json::from_value(reply).map_err(|_| unexpected())?;
        let stored = Stored {
            service,
            device: registered.device,
            application: registered.application,
            account: registered.account,
            key: Secret::new(URL_SAFE_NO_PAD.encode(pkcs8.as_ref())),
            codes: registered.codes,
            ca_file: ca_file
                .map(std::path::absolute)
                .transpose()
                .map_err(|_| invalid("ca-file", "is not a path"))?,
        };
        Ok(ApproverDevice { stored, key, client })
    }

    /// Reads a device that was registered before, from its stored state.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if it is something else.
    pub fn read(text: &Secret) -> Result<ApproverDevice> {
        let wrong =
            || invalid("device-file", "is not one that `seconder device register` has written");
        let stored: Stored = serde_json::from_str(text.expose()).map_err(|_| wrong())?;
        let pkcs8 = URL_SAFE_NO_PAD.decode(stored.key.expose()).map(Zeroizing::new);
        let key = key_of(&pkcs8.map_err(|_| wrong())?).map_err(|_| wrong())?;
        let client = client(&stored.service, stored.ca_file.as_deref())?;
        Ok(ApproverDevice { stored, key, client })
    }

    /// Returns the state that has to be stored, which must stay private.
    pub fn written(&self) -> Secret {
        Secret::new(serde_json::to_string(&self.stored).unwrap_or_default())
    }

    /// Returns the id by which the service knows it.
    pub fn id(&self) -> &str {
        &self.stored.device
    }

    /// Returns the name of the application, and the e-mail of the user, masked.
    pub fn account(&self) -> (&str, &str) {
        (&self.stored.application, &self.stored.account)
    }

    /// The code that it shows now.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if its stored state is damaged.
    pub fn code(&self) -> Result<Secret> {
        let Codes { secret, digits, period } = &self.stored.codes;
        let secret = URL_SAFE_NO_PAD.decode(secret.expose()).map(Zeroizing::new);
        let secret = secret.map_err(|_| invalid("device-file", "is damaged"))?;
        let totp = Totp::new(&secret, Algorithm::Sha1, *digits, *period)?;
        Ok(totp.code(now()))
    }

    /// Returns the requests that can be responded to, the oldest first.
    ///
    /// # Errors
    /// [`Error::Rejected`] if the device was removed, [`Error::Unavailable`] if the service is not reached.
    pub fn pending(&self) -> Result<Vec<PendingRequest>> {
        let reply = self.call("GET", "api/requests", Vec::new())?;
        serde_json::from_value(reply["requests"].clone()).map_err(|_| unexpected())
    }

    /// Removes the device from the service.
    ///
    /// # Errors
    /// As [`ApproverDevice::pending`].
    pub fn remove(&self) -> Result<()> {
        self.call("DELETE", "api/device", Vec::new()).map(drop)
    }

    /// Responds to a request that it has shown.
    ///
    /// # Errors
    /// [`Error::Rejected`] if the request can no longer be responded to, or the number is wrong;
    /// [`Error::Unavailable`] if the service is not reached.
    pub fn respond(
        &self,
        request: &PendingRequest,
        response: ApprovalResponse,
        number: Option<&str>,
    ) -> Result<String> {
        let (shown, time) = (hash_of(request.shown.as_bytes()), now());
        let text = format!(
            "seconder-response-v1\n{}\n{}\n{}\n{}\n{}\n{shown}\n{time}",
            origin(&self.stored.service),
            self.stored.device,
            request.uuid,
            response.name(),
            number.unwrap_or("-"),
        );
        let body = json!({
            "device": self.stored.device,
            "response": response.name(),
            "number": number,
            "shown": shown,
            "time": time,
            "signature": sign(&self.key, &text)?,
        });
        let path = format!("api/requests/{}/respond", request.uuid);
        let request = Request::post(self.url(&path));
        let reply = send(&self.client, request, body.to_string().into_bytes())?;
        reply["status"].as_str().map(str::to_owned).ok_or_else(unexpected)
    }

    fn url(&self, path: &str) -> String {
        format!("{}{APPROVER_PATH}{path}", self.stored.service)
    }

    /// Makes a signed request.
    fn call(&self, method: &str, path: &str, body: Vec<u8>) -> Result<Value> {
        let (device, time) = (&self.stored.device, now());
        let text = format!(
            "seconder-call-v1\n{}\n{device}\n{method} {path}\n{}\n{time}",
            origin(&self.stored.service),
            hash_of(&body),
        );
        let signature = sign(&self.key, &text)?;
        let authorization = format!("Seconder device={device}, time={time}, signature={signature}");
        let request = Request::builder().method(method).uri(self.url(path));
        send(&self.client, request.header("authorization", authorization), body)
    }
}

fn client(service: &str, ca_file: Option<&Path>) -> Result<Client> {
    if !service.starts_with("https://") {
        return Err(invalid("link", "must begin with https://"));
    }
    let trusted = client_tls(ca_file).map_err(|error| invalid("ca-file", tls::reason(error)))?;
    Ok(Client::new(TIMEOUT, Some(trusted), &Dialer::default()))
}

fn send(client: &Client, request: ureq::http::request::Builder, body: Vec<u8>) -> Result<Value> {
    let request = request.header("content-type", super::reply::JSON).body(body);
    let request = request.map_err(|_| invalid("link", "is not a URL"))?;
    let response = client.run(request, None).map_err(|failure| Error::Unavailable {
        stage: Stage::Response,
        message: failure.reason(),
        reads: false,
    })?;
    let reply: Value =
        serde_json::from_slice(&response.body.unwrap_or_default()).unwrap_or_default();
    match response.status {
        200..300 => Ok(reply),
        status => Err(rejected(status, &reply)),
    }
}

/// Returns the error that the service has replied with.
fn rejected(status: u16, reply: &Value) -> Error {
    let text = |name: &str| reply[name].as_str().map(str::to_owned);
    let message = text("message").unwrap_or_else(|| format!("status {status}"));
    let code = text("error_code");
    Error::Rejected(Box::new(Rejection { status, code, message, ..Rejection::default() }))
}

fn key_of(pkcs8: &[u8]) -> Result<EcdsaKeyPair> {
    EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8, &SystemRandom::new())
        .map_err(|_| internal("the key cannot be used"))
}

fn sign(key: &EcdsaKeyPair, text: &str) -> Result<String> {
    let signature = key.sign(&SystemRandom::new(), text.as_bytes());
    let signature = signature.map_err(|_| internal("nothing could be signed"))?;
    Ok(URL_SAFE_NO_PAD.encode(signature.as_ref()))
}

#[allow(clippy::disallowed_methods, reason = "a device has a clock of its own")]
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

fn unexpected() -> Error {
    Error::Internal { message: "the service has replied with something else".into() }
}
