//! The settings of an application, which belong to its database: what one process stores, every other
//! uses.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic fails the test")]

use crate::fresh::{self, url};
use crate::stub::response;
use crate::tls::{self, Identity, params};
use seconder::calls::InstallMessage;
use seconder::engine::{
    ApplicationSettings, ApprovalResponse, Deliver, DeviceType, Message, Outcome, RespondToApproval,
};
use seconder::model::CallbackMethod;
use seconder::wire::{Generation, Names};
use seconder::{Error, Handle, Service, Settings, calls};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// The message of a new user, which clients compare as a whole.
const CREATED: &str = "User created successfully.";

fn acme() -> Names {
    Names::new("acme").unwrap().push_path("onetouch").unwrap()
}

fn stored(service: &Service) -> ApplicationSettings {
    service.engine().unwrap().application_settings()
}

fn message_of(settings: Settings, parameter: &str) -> String {
    let error = settings.open().unwrap_err();
    assert!(
        matches!(&error, Error::InvalidArgument { parameter: named, .. } if named == parameter),
        "{error}"
    );
    error.to_string()
}

#[test]
fn settings_that_are_not_given_are_those_of_the_database() {
    let folder = tempfile::tempdir().unwrap();
    let at = url(&folder.path().join("seconder.db"));
    let authority = Identity::self_signed(params());
    let (ca_file, _) = authority.files();
    let first = Settings::new(&at)
        .names(acme())
        .application_name("Acme")
        .replies(Generation::Older)
        .callback_url("https://app.example/callback")
        .callback_method(CallbackMethod::Get)
        .callback_ca_file(&ca_file)
        .callback_private(true)
        .install_link("https://app.example/get")
        .token_length(8)
        .offline_days(7)
        .open()
        .unwrap();
    let given = stored(&first);
    assert_eq!((&given.names, given.replies), (&acme(), Generation::Older));
    assert_eq!((given.name.as_str(), given.token_length), ("Acme", 8));
    assert_eq!(given.callback_ca_file.as_ref(), Some(&ca_file));
    assert_eq!((given.callback_method, given.callback_private), (CallbackMethod::Get, true));
    assert_eq!(given.offline_days, 7);
    assert_eq!(given.install_link.as_ref().unwrap().as_str(), "https://app.example/get");
    drop(first);
    let second = seconder::open(&at).unwrap();
    assert_eq!(stored(&second), given);
    assert_eq!(second.engine().unwrap().names(), &acme());
    drop(Settings::new(&at).replies(Generation::Current).open().unwrap());
    assert_eq!(stored(&seconder::open(&at).unwrap()).replies, Generation::Current);
    let fresh = seconder::open(&url(&folder.path().join("fresh.db"))).unwrap();
    let fresh = stored(&fresh);
    assert_eq!((fresh.names, fresh.replies), (Names::default(), Generation::Current));
    assert_eq!((fresh.callback_ca_file, fresh.install_link), (None, None));
    assert_eq!((fresh.callback_method, fresh.callback_private), (CallbackMethod::Post, false));
    assert_eq!(fresh.offline_days, 0, "nothing is prepared unless the operator allows it");
    drop(Settings::new(&at).offline_days(0).open().unwrap());
    assert_eq!(stored(&seconder::open(&at).unwrap()).offline_days, 0);
}

#[test]
fn an_empty_text_removes_a_stored_setting() {
    let folder = tempfile::tempdir().unwrap();
    let at = url(&folder.path().join("settings.db"));
    let authority = Identity::self_signed(params());
    let (ca_file, _) = authority.files();
    let given = Settings::new(&at)
        .callback_url("https://app.example/callback")
        .callback_ca_file(&ca_file)
        .install_link("https://app.example/get");
    drop(given.open().unwrap());
    let removed = Settings::new(&at).callback_url("").callback_ca_file("").install_link("");
    let left = stored(&removed.open().unwrap());
    assert_eq!((left.callback_url, left.callback_ca_file, left.install_link), (None, None, None));
    let again = stored(&Settings::new(&at).open().unwrap());
    assert_eq!((again.callback_url, again.install_link), (None, None));
}

#[test]
fn other_names_than_those_of_the_database_are_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let at = url(&folder.path().join("seconder.db"));
    let _first = Settings::new(&at).names(acme()).open().unwrap();
    assert!(Settings::new(&at).names(acme()).open().is_ok());
    let others = [
        Names::default(),
        Names::new("acme").unwrap(),
        acme().id_field("corp_id").unwrap(),
        acme().chrome_device("browser").unwrap(),
        acme().header_prefix("X-Corp-").unwrap(),
    ];
    for other in others {
        let settings = Settings::new(&at).names(other.clone()).token_length(9);
        let message = message_of(settings, "names");
        for part in [&other.to_string(), &acme().to_string(), "Leave the names out"] {
            assert!(message.contains(part), "{message}");
        }
    }
    assert_eq!(stored(&seconder::open(&at).unwrap()).token_length, 7, "nothing else was stored");
}

#[test]
fn invalid_settings_create_no_database() {
    let folder = tempfile::tempdir().unwrap();
    let at = url(&folder.path().join("seconder.db"));
    std::fs::write(folder.path().join("text"), "no certificate").unwrap();
    for file in [folder.path().join("missing"), folder.path().join("text")] {
        let message = message_of(Settings::new(&at).callback_ca_file(&file), "callback_ca_file");
        assert!(message.contains(&*file.to_string_lossy()), "{message}");
    }
    message_of(Settings::new(&at).install_link("http://app.example/"), "install_link");
    message_of(Settings::new(&at).offline_days(8), "offline_days");
    assert!(!folder.path().join("seconder.db").exists());
}

/// A request by a new user, and the response of the user's device.
fn approve(service: &Service) {
    let engine = service.engine().unwrap();
    let user = fresh::ada(service);
    let device = engine.register_device(user, DeviceType::Ios).unwrap();
    let uuid = service.create_approval(user, "Log in?").unwrap().uuid;
    let response = RespondToApproval {
        uuid,
        device_id: device.device_id,
        device_secret: device.secret,
        response: ApprovalResponse::Approve,
        number: None,
    };
    let approval = engine.respond_to_approval(&response).unwrap();
    assert_eq!(approval.status, calls::ApprovalStatus::Approved);
}

/// What failed in the callbacks of a database.
fn errors(path: &Path) -> Vec<String> {
    let db = rusqlite::Connection::open(path).unwrap();
    let mut errors = db.prepare("SELECT last_error FROM jobs").unwrap();
    errors.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

#[test]
fn a_process_that_was_given_no_ca_file_posts_callbacks_with_the_stored_one() {
    let folder = tempfile::tempdir().unwrap();
    let ours = Identity::self_signed(params());
    let (ca_file, _) = ours.files();
    let receiver =
        tls::start(ours.config(), |mut peer| while peer.respond(&response(200, "", "ok")) {});
    let callback_url = format!("https://{}/callback", receiver.addr);
    let path = |name: &str| folder.path().join(name);
    let at = url(&path("trusted.db"));
    let settings = Settings::new(&at).callback_url(&callback_url).names(acme());
    drop(settings.callback_ca_file(&ca_file).open().unwrap());
    approve(&seconder::open(&at).unwrap());
    let requests = receiver.requests();
    assert_eq!(requests.len(), 1);
    assert!(requests[0].to_lowercase().contains("x-acme-signature: "), "{}", requests[0]);
    assert_eq!(errors(&path("trusted.db")), [""; 0]);

    let at = url(&path("distrusted.db"));
    approve(&Settings::new(&at).callback_url(&callback_url).open().unwrap());
    assert_eq!(receiver.requests().len(), 1);
    assert_eq!(errors(&path("distrusted.db")).len(), 1);

    // The file is read for each callback, so a missing one is an error, never the system's trust.
    std::fs::remove_file(&ca_file).unwrap();
    approve(&seconder::open(&url(&path("trusted.db"))).unwrap());
    let errors = errors(&path("trusted.db"));
    assert!(errors.len() == 1 && errors[0].contains("callback_ca_file"), "{errors:?}");
}

#[test]
fn a_relative_ca_file_is_stored_as_a_whole_path() {
    let folder = tempfile::tempdir_in(".").unwrap();
    let authority = Identity::self_signed(params());
    let file = folder.path().join("ca.pem");
    std::fs::copy(authority.files().0, &file).unwrap();
    let relative = PathBuf::from(folder.path().file_name().unwrap()).join("ca.pem");
    let service = Settings::new("sandbox:").callback_ca_file(&relative).open().unwrap();
    let stored = stored(&service).callback_ca_file.unwrap();
    assert!(stored.is_absolute() && stored.ends_with(&relative), "{}", stored.display());
}

#[test]
fn the_reply_says_what_became_of_the_install_message_in_a_field_of_its_own() {
    struct Busy;
    impl Deliver for Busy {
        fn deliver(&self, _: &Message) -> Result<(), String> {
            unreachable!("it overrides attempt")
        }

        fn attempt(&self, _: &Message, _: &str) -> Outcome {
            Outcome::Retry { after: None, reason: "busy".into() }
        }
    }
    let created = |service: &Service, number: &str, wanted: bool| {
        let (email, country) = ("ada@example.com".parse().unwrap(), "1".parse().unwrap());
        let call = calls::CreateUser {
            send_install_link_via_sms: wanted,
            ..calls::CreateUser::new(email, number.parse().unwrap(), country)
        };
        let created = service.handle(&call).unwrap();
        assert_eq!(created.message.unwrap(), CREATED);
        created.install_message.unwrap()
    };
    let with = Settings::new("sandbox:").install_link("https://app.example/get").open().unwrap();
    let (first, second) = ("555-010-0123", "555-010-0124");
    assert_eq!(created(&with, first, false), InstallMessage::NotRequested);
    assert_eq!(created(&with, first, true), InstallMessage::NotRequested, "enrolled already");
    assert_eq!(created(&with, second, true), InstallMessage::Sent);
    let without = seconder::open("sandbox:").unwrap();
    assert_eq!(created(&without, first, false), InstallMessage::NotRequested);
    assert_eq!(created(&without, first, true), InstallMessage::NotConfigured);
    assert_eq!(created(&without, second, true), InstallMessage::NotConfigured);
    let settings = Settings::new("sandbox:").install_link("https://app.example/get");
    let busy = settings.deliver(Busy).open().unwrap();
    assert_eq!(created(&busy, first, true), InstallMessage::Queued);
}

#[test]
fn the_install_message_has_no_code() {
    let sent: Arc<Mutex<Vec<Message>>> = Arc::default();
    let keep = Arc::clone(&sent);
    let service = Settings::new("sandbox:")
        .application_name("Acme")
        .install_link("https://app.example/get")
        .deliver(move |message: &Message| {
            keep.lock().unwrap().push(message.clone());
            Ok(())
        })
        .open()
        .unwrap();
    fresh::ada(&service);
    let sent = sent.lock().unwrap();
    let [message] = sent.as_slice() else { panic!("{sent:?}") };
    assert_eq!((message.to.as_str(), message.via), ("+15550100123", calls::Channel::Sms));
    assert_eq!(message.text, "Install the app for Acme: https://app.example/get");
    assert_eq!((message.code.as_str(), message.expires_at), ("", 0));
}

#[test]
fn the_spool_folder_takes_an_install_message() {
    let folder = tempfile::tempdir().unwrap();
    let at = url(&folder.path().join("seconder.db"));
    let service = Settings::new(&at).install_link("https://app.example/get").open().unwrap();
    fresh::ada(&service);
    let spool = folder.path().join("seconder.spool");
    let message = std::fs::read_dir(spool).unwrap().next().unwrap().unwrap().path();
    let text = std::fs::read_to_string(message).unwrap();
    assert_eq!(
        text,
        "To: +15550100123\nVia: sms\nLanguage: en-US\n\nInstall the app for Seconder: https://app.example/get\n"
    );
}

#[test]
fn a_user_is_created_even_if_the_install_message_is_not_sent() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seconder.db");
    let settings = Settings::new(&url(&path)).install_link("https://app.example/get");
    let fails = |_: &Message| Err("the gateway at 192.0.2.1 is down".to_owned());
    let service = settings.deliver(fails).open().unwrap();
    let created = service.create_user("ada@example.com", "555-010-0123", "1").unwrap();
    assert_eq!(created.message.unwrap(), CREATED);
    assert_eq!(created.install_message, Some(InstallMessage::Failed));
    assert!(service.user_status(created.user_id).is_ok());
    assert_eq!(service.app_stats().unwrap().stats[11].sms_count, 0);
    drop(service);
    assert_eq!(errors(&path), ["the gateway at 192.0.2.1 is down"], "what failed can be looked at");
}

#[test]
fn nothing_is_sent_where_sms_is_not_enabled() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seconder.db");
    drop(Settings::new(&url(&path)).install_link("https://app.example/get").open().unwrap());
    let db = rusqlite::Connection::open(&path).unwrap();
    db.execute("UPDATE applications SET sms_enabled = 0", []).unwrap();
    drop(db);
    let sends = |_: &Message| panic!("a message was sent");
    let service = Settings::new(&url(&path)).deliver(sends).open().unwrap();
    let created = service.create_user("ada@example.com", "555-010-0123", "1").unwrap();
    assert_eq!(created.message.unwrap(), CREATED);
    assert_eq!(created.install_message, Some(InstallMessage::NotConfigured));
}
