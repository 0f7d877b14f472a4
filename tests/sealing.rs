//! A database whose secrets are sealed: what a copy of it gives away, and what happens without the
//! right keyring.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use crate::fresh::{ada, open, url};
use crate::phone::{self, Phone};
#[cfg(feature = "postgres")]
use crate::postgres_server::Server;
use crate::sealed::{self, Of, ring_of};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use seconder::calls::{Channel, StartPhoneVerification};
use seconder::engine::{
    ApprovalResponse, DeviceType, Message, Post, Random, RespondToApproval, SignedCallback,
};
use seconder::keyring::Keyring;
use seconder::model::{Token, UserId};
use seconder::otp::Totp;
use seconder::{Error, Handle, Service, Settings, Verdict};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Random numbers of the system, which it remembers.
#[derive(Clone, Default)]
struct Remembered(Arc<Mutex<Vec<Vec<u8>>>>);

impl Random for Remembered {
    fn fill(&self, buffer: &mut [u8]) -> seconder::Result<()> {
        getrandom::fill(buffer).unwrap();
        self.0.lock().unwrap().push(buffer.to_vec());
        Ok(())
    }
}

/// An application that keeps what is posted to it, and confirms none of it.
struct Closed(Arc<Mutex<Vec<String>>>);

impl Post for Closed {
    fn post(&self, callback: &SignedCallback) -> Result<(), String> {
        self.0.lock().unwrap().push(String::from_utf8(callback.body.clone()).unwrap());
        Err("closed".to_owned())
    }
}

/// The files beside a database, and the database.
fn files(database: &Path) -> Vec<PathBuf> {
    ["", "-wal", "-shm", "-journal"]
        .map(|end| PathBuf::from(format!("{}{end}", database.display())))
        .into_iter()
        .filter(|file| file.exists())
        .collect()
}

fn bytes(database: &Path) -> Vec<u8> {
    files(database).iter().flat_map(|file| fs::read(file).unwrap()).collect()
}

fn has(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

fn base32(bytes: &[u8]) -> String {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    let bits: Vec<u8> =
        bytes.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1)).collect();
    let digits = bits.chunks(5).map(|five| {
        let place = (0..5).fold(0, |sum, bit| sum * 2 + usize::from(*five.get(bit).unwrap_or(&0)));
        char::from(alphabet[place])
    });
    digits.collect()
}

/// The ways in which a secret may be written.
fn forms(secret: &[u8]) -> Vec<Vec<u8>> {
    let hex: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
    let texts = [
        hex.to_uppercase(),
        hex,
        STANDARD_NO_PAD.encode(secret),
        URL_SAFE_NO_PAD.encode(secret),
        base32(secret),
        base32(secret).to_lowercase(),
    ];
    std::iter::once(secret.to_vec()).chain(texts.map(String::into_bytes)).collect()
}

/// A service with everything that has a secret, and the secrets.
fn lively(path: &Path) -> (Service, Vec<Vec<u8>>) {
    lively_with(Settings::new(&url(path)))
}

fn lively_with(settings: Settings) -> (Service, Vec<Vec<u8>>) {
    let (random, sent) = (Remembered::default(), Arc::new(Mutex::new(Vec::new())));
    let keep = Arc::clone(&sent);
    let callbacks: Arc<Mutex<Vec<String>>> = Arc::default();
    let posted = Arc::clone(&callbacks);
    let service = settings
        .random(random.clone())
        .callback_url("https://app.example/callback")
        .deliver(move |message: &Message| {
            keep.lock().unwrap().push(message.code.clone());
            Ok(())
        })
        .post(Closed(posted))
        .open()
        .unwrap();
    let engine = service.engine().unwrap();
    let mut texts = vec![engine.api_key().expose().to_owned()];
    let user = ada(&service);
    service.request_sms(user).unwrap();
    let code: Token = sent.lock().unwrap()[0].parse().unwrap();
    assert_eq!(service.verify(user, &code).unwrap(), Verdict::Right);
    service.request_sms(user).unwrap();
    let call = StartPhoneVerification::new(
        Channel::Sms,
        "555-010-0199".parse().unwrap(),
        "1".parse().unwrap(),
    );
    service.handle(&call).unwrap();
    let uri = service.enrol_authenticator(user).unwrap().uri;
    let secret = uri.expose().split("secret=").nth(1).unwrap().split('&').next().unwrap();
    texts.push(secret.to_owned());
    let code = Totp::from_uri(uri.expose()).unwrap().code(now());
    let code: Token = code.expose().parse().unwrap();
    assert_eq!(service.confirm_authenticator(user, &code).unwrap(), Verdict::Right);
    let recovery = service.create_recovery_codes(user).unwrap().codes;
    texts.extend(recovery.iter().map(|code| code.as_str().to_owned()));
    texts.push(service.remember(user).unwrap().token.as_str().to_owned());
    respond(&service, user, &mut texts);
    register_phone(&service, user, &mut texts);
    texts.extend(callbacks.lock().unwrap().iter().cloned());
    texts.extend(sent.lock().unwrap().iter().cloned());
    // What was drawn and is no id: keys and secrets are longer.
    let drawn = random.0.lock().unwrap().clone();
    let mut secrets: Vec<Vec<u8>> = drawn.into_iter().filter(|d| d.len() > 16).collect();
    assert!(secrets.len() >= 2, "the secrets of the application and of the app");
    secrets.extend(texts.into_iter().map(String::into_bytes));
    (service, secrets)
}

/// An approval request whose callback fails, so that it stays.
fn respond(service: &Service, user: UserId, texts: &mut Vec<String>) {
    let engine = service.engine().unwrap();
    let device = engine.register_device(user, DeviceType::Ios).unwrap();
    texts.push(device.secret.expose().to_owned());
    let uuid = service.create_approval(user, "Log in?").unwrap().uuid;
    let response = RespondToApproval {
        uuid,
        device_id: device.device_id,
        device_secret: device.secret,
        response: ApprovalResponse::Approve,
        number: None,
    };
    let _ = engine.respond_to_approval(&response).unwrap();
}

/// A phone with a subscription, and an invitation that nobody has used.
fn register_phone(service: &Service, user: UserId, texts: &mut Vec<String>) {
    let engine = service.engine().unwrap();
    engine.set_public_url(phone::SERVICE).unwrap();
    let invite = || service.invite_device(user).unwrap().code.expose().to_owned();
    let (code, unused) = (invite(), invite());
    let phone = Phone::register(engine, &code, now()).unwrap();
    let endpoint = "https://fcm.googleapis.com/fcm/send/whoever-has-it-sends";
    let change = phone::world::subscription(endpoint);
    phone.signed(engine, now()).unwrap().change(&change).unwrap();
    let secret = URL_SAFE_NO_PAD.decode(phone.codes.secret.expose()).unwrap();
    texts.extend([code.replace('-', ""), unused.replace('-', ""), code, unused]);
    texts.extend([base32(&secret), phone.codes.secret.expose().to_owned(), endpoint.to_owned()]);
}

fn now() -> u64 {
    #[allow(clippy::disallowed_methods, reason = "the test is a host of the engine")]
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.unwrap().as_secs()
}

fn error(settings: Settings) -> String {
    let error = settings.open().unwrap_err();
    assert!(matches!(error, Error::Storage { .. }), "{error}");
    error.to_string()
}

/// Runs SQL on a database that is closed.
fn change(path: &Path, sql: &str) {
    rusqlite::Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

/// Searches for each secret, however it may be written.
fn search(bytes: &[u8], secrets: &[Vec<u8>]) {
    assert!(has(bytes, b"ada@example.com"), "the search finds what is there");
    for secret in secrets {
        // A code of seven digits: as a number, it could be there by chance.
        for form in forms(secret).iter().filter(|form| form.len() > 6) {
            let shown = String::from_utf8_lossy(secret).into_owned();
            assert!(!has(bytes, form), "{shown} as {}", String::from_utf8_lossy(form));
        }
    }
}

/// Nor does a dump of a database on a server, and it is not opened with another ring.
#[cfg(feature = "postgres")]
#[test]
fn a_dumped_database_gives_no_secret() {
    let server = Server::start();
    let at = server.database("sealing");
    let folder = tempfile::tempdir().unwrap();
    let ring = folder.path().join("ring");
    let settings = || Settings::new(&at).keyring(&ring);
    let missing = Settings::new(&at).open().unwrap_err().to_string();
    assert!(missing.contains("keyring") && missing.contains("is required"), "{missing}");
    assert!(error(settings()).contains("seconder keyring create"));
    Keyring::at(&ring).create().unwrap();
    let (service, secrets) = lively_with(settings());
    search(&server.dump("sealing"), &secrets);
    let second = Keyring::at(&ring).rotate().unwrap();
    let done = service.engine().unwrap().reseal().unwrap();
    assert!(done.values > 10 && done.unreadable == 0, "{done:?}");
    assert_eq!(service.engine().unwrap().sealed_values().unwrap()[&second], done.values);
    search(&server.dump("sealing"), &secrets);
    drop(service);
    fs::remove_file(&ring).unwrap();
    assert!(error(settings()).contains("there is no keyring"));
    Keyring::at(&ring).create().unwrap();
    assert!(error(settings()).contains("is not that of the database"));
}

#[test]
fn a_copied_database_gives_no_secret() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.db");
    let (service, secrets) = lively(&path);
    let searched = |bytes: &[u8]| search(bytes, &secrets);
    let log = fs::metadata(folder.path().join("test.db-wal")).unwrap();
    assert!(log.len() > 0);
    searched(&bytes(&path));
    drop(service);
    searched(&bytes(&path));
    let ring = fs::read_to_string(ring_of(&path)).unwrap();
    let key = ring.lines().find(|line| line.starts_with("key ")).unwrap();
    let key = STANDARD.decode(key.split(' ').nth(3).unwrap()).unwrap();
    assert!(forms(&key).iter().all(|form| !has(&bytes(&path), form)), "nor the key of the ring");
}

#[test]
fn the_format_is_what_is_described() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.db");
    let (service, _) = open(&path);
    let key = service.engine().unwrap().api_key().expose().to_owned();
    drop(service);
    let db = rusqlite::Connection::open(&path).unwrap();
    let sealed: Vec<u8> =
        db.query_row("SELECT api_key FROM applications", [], |row| row.get(0)).unwrap();
    let column = ("applications", "api_key");
    let opened = sealed::open(&ring_of(&path), column, &[Of::Int(1)], &sealed);
    assert_eq!(opened, key.as_bytes());
    let other = sealed::seal(&ring_of(&path), column, &[Of::Int(1)], b"another-key");
    db.execute("UPDATE applications SET api_key = ?", [other]).unwrap();
    drop(db);
    let (service, _) = open(&path);
    assert_eq!(service.engine().unwrap().api_key().expose(), "another-key");
}

#[test]
fn a_database_is_not_opened_without_its_ring() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.db");
    drop(lively(&path));
    let before = fs::read(&path).unwrap();
    let ring = ring_of(&path);
    let kept = folder.path().join("kept");
    let listed = || {
        let mut names: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let rejects = |settings: Settings, words: &str| {
        let there = listed();
        let message = error(settings);
        assert!(message.contains(words), "{message}");
        assert!(fs::read(&path).unwrap() == before, "the database is left unchanged");
        assert_eq!(listed(), there, "no other ring is created");
    };
    fs::rename(&ring, &kept).unwrap();
    rejects(Settings::new(&url(&path)), "restore it from its backup");
    rejects(Settings::new(&url(&path)).must_exist(true), "restore it from its backup");
    rejects(Settings::new(&url(&path)).keyring(folder.path().join("none")), "there is no keyring");
    // That of another database.
    Keyring::at(&ring).create().unwrap();
    rejects(Settings::new(&url(&path)), "is not that of the database");
    fs::write(&ring, "garbage\n").unwrap();
    rejects(Settings::new(&url(&path)), "damaged");
    assert_eq!(fs::read_to_string(&ring).unwrap(), "garbage\n");
    fs::remove_file(&ring).unwrap();
    fs::set_permissions(&kept, fs::Permissions::from_mode(0o644)).unwrap();
    rejects(Settings::new(&url(&path)).keyring(&kept), "chmod 600");
    fs::set_permissions(&kept, fs::Permissions::from_mode(0o600)).unwrap();
    // A copy in another place is as good.
    let service = Settings::new(&url(&path)).keyring(&kept).open().unwrap();
    assert!(service.user_status(1.try_into().unwrap()).is_ok());
}

/// An old copy of the ring lacks a key with which values were sealed since.
#[test]
fn a_database_is_not_opened_with_an_old_ring() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.db");
    drop(open(&path));
    let ring = ring_of(&path);
    let old = fs::read(&ring).unwrap();
    let id = Keyring::at(&ring).rotate().unwrap().to_string();
    let (service, _) = open(&path);
    service.request_sms(ada(&service)).unwrap();
    drop(service);
    fs::write(&ring, old).unwrap();
    let message = error(Settings::new(&url(&path)));
    assert!(message.contains("old copy of it") && message.contains(&id), "{message}");
}

#[test]
fn a_ring_that_cannot_be_created_is_an_error_that_names_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.db");
    let settings = || Settings::new(&url(&path)).keyring(folder.path().join("missing/ring"));
    let message = error(settings());
    assert!(message.contains("missing/ring cannot be"), "{message}");
    // Nothing was sealed in the database, which is as good as new.
    drop(open(&path));
}

#[test]
fn a_damaged_value_fails_the_call_that_needs_it_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.db");
    let (service, sent) = open(&path);
    let ben = service.create_user("ben@example.com", "555-010-0124", "1").unwrap().user_id;
    let ada = ada(&service);
    for user in [ada, ben] {
        service.request_sms(user).unwrap();
    }
    drop(service);
    let codes: Vec<Token> =
        sent.lock().unwrap().iter().map(|message| message.code.parse().unwrap()).collect();
    change(
        &path,
        &format!(
            "UPDATE codes SET code = CAST(substr(code, 1, length(code) - 1) || 'x' AS BLOB)
             WHERE subject = 'user:{ada}'"
        ),
    );
    let (service, _) = open(&path);
    let failed = service.handle(&seconder::Verify::new(ada, codes[0].clone())).unwrap_err();
    assert!(matches!(failed, Error::Storage { .. }), "{failed}");
    assert!(failed.to_string().contains("damaged"), "{failed}");
    assert!(service.user_status(ada).is_ok(), "what does not need the code goes on");
    assert_eq!(service.verify(ben, &codes[1].clone()).unwrap(), Verdict::Right);
    // It can be deleted, too.
    service.delete_user(ada).unwrap();
}

#[test]
fn a_value_that_was_moved_is_not_accepted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.db");
    let (service, _) = open(&path);
    let ben = service.create_user("ben@example.com", "555-010-0124", "1").unwrap().user_id;
    let ada = ada(&service);
    let enrol = |user| Totp::from_uri(service.enrol_authenticator(user).unwrap().uri.expose());
    let apps = [ada, ben].map(|user| enrol(user).unwrap());
    drop(service);
    // The attacker gives the other user the secret of their own app.
    change(
        &path,
        &format!(
            "UPDATE authenticators SET secret = (SELECT secret FROM authenticators \
             WHERE user_id = {ben}) WHERE user_id = {ada}"
        ),
    );
    let (service, _) = open(&path);
    let shown = |app: &Totp| app.code(now()).expose().parse::<Token>().unwrap();
    let failed = service.confirm_authenticator(ada, &shown(&apps[1])).unwrap_err();
    assert!(failed.to_string().contains("damaged"), "{failed}");
    assert_eq!(service.confirm_authenticator(ben, &shown(&apps[1])).unwrap(), Verdict::Right);
    drop(service);
    // Or puts what is in one column into another.
    change(&path, "UPDATE applications SET secret = api_key");
    let message = error(Settings::new(&url(&path)));
    assert!(message.contains("damaged"), "{message}");
}
