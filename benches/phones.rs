//! Phones with the approver, for `make bench`.
//!
//! - `phones push TURNS` makes push messages for a phone, all but their text: encrypts them, and says whose they are.
//! - `phones signature FOLDER TURNS` checks who has signed a request, with the search for the device in a database.
//! - `phones prepare FOLDER` makes a database with a user who has a phone and an open approval request. Prints the
//!   key of the phone.
//! - `phones load ADDR CERTIFICATE PROCESS KEY USERS PHONES SECONDS`: see `phones/load.rs`.
//!
//! The first two print the median time of a turn, in nanoseconds.

#![allow(
    clippy::disallowed_methods,
    reason = "the clients have a runtime, and a login process does not load them"
)]

#[path = "phones/load.rs"]
mod load;
/// The library does not publish how it makes push messages, so they are made here by the same text.
#[allow(dead_code, reason = "the engine uses all of it")]
#[path = "../src/webpush.rs"]
mod webpush;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use load::{Load, Owner};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use seconder::calls::{CreateApproval, CreateUser};
use seconder::engine::approver::{PresentedDevice, SignedRequest, hash_of, invitation_code};
use seconder::engine::{DeviceType, Message};
use seconder::model::Secret;
use seconder::{Handle, Service, Settings};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::io::Write;
use std::time::{Duration, Instant, SystemTime};
use webpush::{SubscriptionKeys, VapidKey, VapidTokens};

type Failure = Box<dyn std::error::Error + Send + Sync>;
type Done<T> = std::result::Result<T, Failure>;

/// The public URL of the service.
const SERVICE: &str = "https://login.example";
const QUESTION: &str = "Is it you who is logging in?";
const KEY: &str = "the-key-of-the-benchmark";
/// How many times something is done in a turn.
const EACH: u32 = 10;

fn main() -> Done<()> {
    // Cargo adds an argument of its own.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let printed = match arguments.as_slice() {
        ["push", turns] => push(turns.parse()?)?,
        ["signature", folder, turns] => signature(folder, turns.parse()?)?,
        ["prepare", folder] => {
            let (_, phone) = prepare(folder)?;
            json!({ "key": URL_SAFE_NO_PAD.encode(&phone.pkcs8) })
        }
        ["load", addr, certificate, process, key, users, phones, seconds] => Load {
            addr: addr.parse()?,
            certificate: std::fs::read(certificate)?,
            process: process.parse()?,
            owner: Owner::new(key_of(&URL_SAFE_NO_PAD.decode(key)?)?),
            users: users.parse()?,
            phones: phones.parse()?,
            time: Duration::from_secs_f64(seconds.parse()?),
        }
        .run()?,
        _ => return Err("usage: phones push|signature|prepare|load …, see phones.rs".into()),
    };
    Ok(writeln!(std::io::stdout(), "{printed}")?)
}

/// What `src/webpush.rs` knows of the errors of the library.
#[derive(Debug)]
enum Error {
    Internal { message: Cow<'static, str> },
}

type Result<T> = std::result::Result<T, Error>;

impl Error {
    fn invalid_argument(parameter: &'static str, reason: &'static str) -> Error {
        Error::Internal { message: format!("{parameter} {reason}").into() }
    }

    fn storage(message: &'static str) -> Error {
        Error::Internal { message: message.into() }
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Error::Internal { message } = self;
        f.write_str(message)
    }
}

impl std::error::Error for Error {}

/// The median time of a call in so many turns, as `benches/c/measure.h` measures it.
fn measure(turns: usize, mut once: impl FnMut() -> Done<()>) -> Done<Value> {
    let mut times = Vec::with_capacity(turns);
    let warm_up = turns.div_ceil(10);
    for turn in 0..warm_up + turns {
        let begun = Instant::now();
        for _ in 0..EACH {
            once()?;
        }
        if turn >= warm_up {
            times.push(begun.elapsed());
        }
    }
    times.sort_unstable();
    let median = times.get(turns / 2).ok_or("no turns")?;
    Ok(json!({ "time": median.as_nanos() as f64 / f64::from(EACH) }))
}

fn push(turns: usize) -> Done<Value> {
    // As they are in a database.
    let vapid = VapidKey::generate()?.to_bytes();
    let p256dh = URL_SAFE_NO_PAD.encode(new_key()?.1.public_key());
    let auth = URL_SAFE_NO_PAD.encode([7; 16]);
    let tokens = VapidTokens::default();
    let text = json!({ "web_push": 8030, "notification": {
        "title": "Example", "body": QUESTION,
        "navigate": "https://login.example/-/approver/#r=4b0f2f0c-0f6a-4a35-8a5e-3d0d2c1f7a11",
        "lang": "en", "dir": "auto", "tag": "4b0f2f0c-0f6a-4a35-8a5e-3d0d2c1f7a11", "silent": false,
    }});
    let text = text.to_string();
    measure(turns, || {
        let bytes = |text: &str| URL_SAFE_NO_PAD.decode(text);
        let keys = SubscriptionKeys::new(&bytes(&p256dh)?, &bytes(&auth)?)?;
        let token = tokens.get(&vapid, "https://push.example", SERVICE, now()?)?;
        let body = webpush::encrypt(&keys, text.as_bytes())?;
        let is_whole = token.starts_with("vapid t=") && body.len() > text.len();
        is_whole.then_some(()).ok_or_else(|| "no message".into())
    })
}

fn signature(folder: &str, turns: usize) -> Done<Value> {
    let (service, phone) = prepare(folder)?;
    let engine = service.engine().ok_or("no engine")?;
    let owner = Owner::new(key_of(&phone.pkcs8)?);
    let (method, path, time) = ("GET", "api/requests", now()?);
    let signature = owner.sign(&Owner::call(&phone.device, method, path, time))?;
    measure(turns, || {
        engine.device_that_signed(&SignedRequest {
            device: &phone.device,
            time,
            signature: &signature,
            method,
            path,
            body: b"",
        })?;
        Ok(())
    })
}

/// A phone that was registered.
struct Phone {
    device: String,
    pkcs8: Vec<u8>,
}

/// A database with a user who has a phone and an open approval request.
fn prepare(folder: &str) -> Done<(Service, Phone)> {
    let settings = Settings::new(&format!("sqlite:{folder}/phones.db")).api_key(KEY);
    let service = settings.deliver(|_: &Message| Ok(())).open()?;
    let engine = service.engine().ok_or("no engine")?;
    engine.set_public_url(SERVICE)?;
    let user = CreateUser::new("ada@example.com".parse()?, "2125550100".parse()?, "1".parse()?);
    let user_id = service.handle(&user)?.user_id;
    let link = service.invite_device(user_id)?.link;
    let code = link.expose().rsplit('#').next().and_then(invitation_code).ok_or("no code")?;
    let (pkcs8, pair) = new_key()?;
    let key = pair.public_key().as_ref().to_vec();
    let (key_text, time) = (URL_SAFE_NO_PAD.encode(&key), now()?);
    let hash = hash_of(code.as_bytes());
    let text = format!("seconder-enrol-v1\n{SERVICE}\n{hash}\n{key_text}\n{time}");
    let registered = engine.register_by_invitation(&PresentedDevice {
        code: Secret::new(&**code),
        key,
        key_text,
        kind: DeviceType::Android,
        name: "Ada's phone".to_owned(),
        language: "en".to_owned(),
        time,
        signature: Owner::new(pair).sign(&text)?,
    })?;
    service.handle(&CreateApproval::new(user_id, QUESTION.parse()?))?;
    Ok((service, Phone { device: registered.device, pkcs8 }))
}

fn new_key() -> Done<(Vec<u8>, EcdsaKeyPair)> {
    let random = SystemRandom::new();
    let made = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random);
    let pkcs8 = made.map_err(|_| "no key")?.as_ref().to_vec();
    let pair = key_of(&pkcs8)?;
    Ok((pkcs8, pair))
}

fn key_of(pkcs8: &[u8]) -> Done<EcdsaKeyPair> {
    let pair =
        EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8, &SystemRandom::new());
    pair.map_err(|_| "no key".into())
}

fn now() -> Done<u64> {
    Ok(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?.as_secs())
}
