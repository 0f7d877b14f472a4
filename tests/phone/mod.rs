//! A phone with the approver, as a test has it in its hand: it signs as the page does.

#![allow(dead_code, reason = "each test file uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

pub(crate) mod world;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use seconder::calls::ApprovalStatus;
use seconder::engine::approver::{
    CodesOfDevice, PresentedDevice, Refused, ShownRequest, SignedDevice, SignedRequest,
    SignedResponse, hash_of,
};
use seconder::engine::{ApprovalResponse, DeviceType, Engine};
use seconder::model::Secret;
use seconder::otp::{Algorithm, Totp};

/// Where the service of the tests is reached.
pub(crate) const SERVICE: &str = "https://login.example";

pub(crate) struct Phone {
    key: EcdsaKeyPair,
    pub(crate) device: String,
    pub(crate) codes: CodesOfDevice,
}

pub(crate) fn new_key() -> EcdsaKeyPair {
    let random = SystemRandom::new();
    let made = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
    EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, made.as_ref(), &random).unwrap()
}

pub(crate) fn sign(key: &EcdsaKeyPair, text: &str) -> Vec<u8> {
    key.sign(&SystemRandom::new(), text.as_bytes()).unwrap().as_ref().to_vec()
}

/// A device that presents the code of an invitation at this time.
pub(crate) fn presented(key: &EcdsaKeyPair, code: &str, time: u64) -> PresentedDevice {
    let point = key.public_key().as_ref().to_vec();
    let key_text = URL_SAFE_NO_PAD.encode(&point);
    let normal: String = code.chars().filter(|letter| *letter != '-').collect();
    let hash = hash_of(normal.to_ascii_uppercase().as_bytes());
    let text = format!("seconder-enrol-v1\n{SERVICE}\n{hash}\n{key_text}\n{time}");
    PresentedDevice {
        code: Secret::new(code),
        key: point,
        signature: sign(key, &text),
        key_text,
        kind: DeviceType::Android,
        name: "Ada's phone".to_owned(),
        language: "de".to_owned(),
        time,
    }
}

impl Phone {
    pub(crate) fn register(engine: &Engine, code: &str, time: u64) -> Result<Phone, Refused> {
        let key = new_key();
        let registered = engine.register_by_invitation(&presented(&key, code, time))?;
        Ok(Phone { key, device: registered.device, codes: registered.codes })
    }

    /// The device, after it has signed a request.
    pub(crate) fn signed(&self, engine: &Engine, time: u64) -> Result<SignedDevice, Refused> {
        let (method, path) = ("GET", "api/requests");
        let text = format!(
            "seconder-call-v1\n{SERVICE}\n{}\n{method} {path}\n{}\n{time}",
            self.device,
            hash_of(b"")
        );
        let signature = sign(&self.key, &text);
        engine.device_that_signed(&SignedRequest {
            device: &self.device,
            time,
            signature: &signature,
            method,
            path,
            body: b"",
        })
    }

    /// A response to a request that it shows.
    pub(crate) fn response(
        &self,
        request: &ShownRequest,
        response: ApprovalResponse,
        number: Option<&str>,
        time: u64,
    ) -> SignedResponse {
        let shown = hash_of(request.shown.as_bytes());
        let text = format!(
            "seconder-response-v1\n{SERVICE}\n{}\n{}\n{}\n{}\n{shown}\n{time}",
            self.device,
            request.uuid,
            response.name(),
            number.unwrap_or("-"),
        );
        SignedResponse {
            device: self.device.clone(),
            uuid: request.uuid.clone(),
            response,
            number: number.map(Secret::new),
            shown,
            time,
            signature: sign(&self.key, &text),
        }
    }

    pub(crate) fn respond(
        &self,
        engine: &Engine,
        request: &ShownRequest,
        response: ApprovalResponse,
        number: Option<&str>,
        time: u64,
    ) -> Result<ApprovalStatus, Refused> {
        engine.respond_signed(&self.response(request, response, number, time))
    }

    /// The code that it shows.
    pub(crate) fn code(&self, time: u64) -> String {
        let secret = URL_SAFE_NO_PAD.decode(self.codes.secret.expose()).unwrap();
        let totp = Totp::new(&secret, Algorithm::Sha1, self.codes.digits, self.codes.period);
        totp.unwrap().code(time).expose().to_owned()
    }
}
