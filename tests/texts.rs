//! The texts of messages: their languages, those of the application, and the line for browsers.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use crate::fresh::{ManualClock, ada, url};
use seconder::calls::{Channel, CreateUser, RequestCall, RequestSms, StartPhoneVerification};
use seconder::engine::{AuditFilter, Deliver, Message, Outcome, Texts};
use seconder::model::UserId;
use seconder::{Error, Handle, Service, Settings, Verdict};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const NOW: u64 = 1_700_006_400;
const OWN: &str = r#"{"de": {"sms": "{{code}} für {{app}}, {{validity}} lang"}}"#;

/// A phone network that is busy as often as a test says.
#[derive(Clone, Default)]
struct Phones {
    busy: Arc<Mutex<u32>>,
    sent: Arc<Mutex<Vec<Message>>>,
}

impl Deliver for Phones {
    fn deliver(&self, _: &Message) -> Result<(), String> {
        unreachable!("attempt is called")
    }

    fn attempt(&self, message: &Message, _: &str) -> Outcome {
        self.sent.lock().unwrap().push(message.clone());
        let mut busy = self.busy.lock().unwrap();
        match busy.checked_sub(1) {
            Some(left) => {
                *busy = left;
                Outcome::Retry { after: None, reason: "busy".to_owned() }
            }
            None => Outcome::Sent(None),
        }
    }
}

impl Phones {
    fn last(&self) -> Message {
        self.sent.lock().unwrap().pop().unwrap()
    }
}

fn settings(path: &Path, clock: &ManualClock, phones: &Phones) -> Settings {
    Settings::new(&url(path)).clock(clock.clone()).deliver(phones.clone())
}

/// A service on a new database, its phones and its clock.
fn world(path: &Path, set: impl FnOnce(Settings) -> Settings) -> (Service, Phones, ManualClock) {
    let (clock, phones) = (ManualClock::at(NOW), Phones::default());
    let service = set(settings(path, &clock, &phones)).open().unwrap();
    (service, phones, clock)
}

fn user(service: &Service, country: &str, number: &str) -> UserId {
    let (phone, country) = (number.parse().unwrap(), country.parse().unwrap());
    let call = CreateUser::new("eve@example.com".parse().unwrap(), phone, country);
    service.handle(&call).unwrap().user_id
}

fn sms(user: UserId, locale: Option<&str>) -> RequestSms {
    let locale = locale.map(str::to_owned);
    RequestSms { force: Some(true), locale, ..RequestSms::new(user) }
}

/// Uses a code up, so that the next message needs no wait.
fn spend(service: &Service, user: UserId, code: &str) {
    let verify = seconder::Verify::new(user, code.parse().unwrap());
    assert_eq!(service.handle(&verify).unwrap().verdict, Verdict::Right);
}

#[test]
fn a_message_is_in_the_language_of_the_call_or_of_the_numbers_country() {
    let folder = tempfile::tempdir().unwrap();
    let (service, phones, clock) =
        world(&folder.path().join("a.db"), |s| s.application_name("Acme"));
    let german = user(&service, "49", "15112345678");
    for (locale, language, words) in [
        (None, "de-DE", "Ihr Code für Acme ist "),
        (Some("fr-CA"), "fr-CA", "Votre code pour Acme est "),
        (Some("xx"), "de-DE", "Er ist 10 Minuten gültig."),
    ] {
        service.handle(&sms(german, locale)).unwrap();
        let message = phones.last();
        assert_eq!(message.language, language);
        assert!(message.text.contains(words), "{}", message.text);
        spend(&service, german, &message.code);
    }
    let call = RequestCall {
        force: Some(true),
        locale: Some("he".to_owned()),
        action: Some("pay".parse().unwrap()),
        action_message: Some("Pay 5".parse().unwrap()),
        ..RequestCall::new(german)
    };
    service.handle(&call).unwrap();
    let message = phones.last();
    assert_eq!((message.language.as_str(), message.via), ("he", Channel::Call));
    assert!(message.text.contains("(Pay 5)"), "{}", message.text);
    clock.set(NOW + 3600);
    let (number, country) = ("555-010-0123".parse().unwrap(), "1".parse().unwrap());
    let start = StartPhoneVerification::new(Channel::Sms, number, country);
    service.handle(&start).unwrap();
    assert_eq!(phones.last().language, "en-US");
    clock.set(NOW + 7200);
    service.handle(&StartPhoneVerification { locale: Some("tr".into()), ..start }).unwrap();
    assert!(phones.last().text.contains("kodunuz"));
}

#[test]
fn an_attempt_that_is_repeated_keeps_the_language_and_says_how_long_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let (service, phones, clock) = world(&path, |s| s.otp_domain("example.com"));
    let user = ada(&service);
    *phones.busy.lock().unwrap() = 1;
    service.handle(&sms(user, Some("pl"))).unwrap();
    let first = phones.last();
    assert!(first.text.contains("Czas na wpisanie: 10 minut."), "{}", first.text);
    // The next attempt is made by another process, after the application has changed its settings.
    drop(service);
    let polish = r#"{"pl": {"sms": "Inny {{code}}"}}"#;
    let service = settings(&path, &clock, &phones).texts(polish).otp_domain("").open().unwrap();
    clock.set(NOW + 480);
    service.engine().unwrap().run_jobs(Duration::from_secs(5)).unwrap();
    let second = phones.last();
    assert_eq!(
        (&second.id, &second.code, &second.language),
        (&first.id, &first.code, &first.language)
    );
    assert!(second.text.contains("Czas na wpisanie: 2 minuty."), "{}", second.text);
    assert!(second.text.ends_with(&format!("\n@example.com #{}", first.code)), "{}", second.text);
}

#[test]
fn the_texts_and_the_domain_of_an_application_are_stored_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let set = |s: Settings| s.application_name("Acme").texts(OWN).otp_domain("Login.Example.com");
    let (service, phones, clock) = world(&path, set);
    let stored = service.engine().unwrap().application_settings();
    assert_eq!(stored.texts.kinds().collect::<Vec<_>>(), [("de", vec!["sms"])]);
    assert_eq!(stored.otp_domain.unwrap().as_str(), "login.example.com");
    drop(service);
    let service = settings(&path, &clock, &phones).open().unwrap();
    let german = user(&service, "49", "15112345678");
    let text_of = |service: &Service, language: &str| {
        service.handle(&sms(german, Some(language))).unwrap();
        let Message { text, code, .. } = phones.last();
        spend(service, german, &code);
        text.replace(&code, "CODE")
    };
    let line = "\n@login.example.com #CODE";
    assert_eq!(text_of(&service, "de"), format!("CODE für Acme, 10 Minuten lang{line}"));
    assert!(text_of(&service, "it").ends_with(line));
    drop(service);
    let service = settings(&path, &clock, &phones).texts("{}").otp_domain("").open().unwrap();
    assert!(text_of(&service, "de").starts_with("Ihr Code für Acme ist CODE."));
    let stored = service.engine().unwrap().application_settings();
    assert!(stored.texts.is_empty() && stored.otp_domain.is_none());
    let filter = AuditFilter { verdict: Some("configured".into()), ..AuditFilter::default() };
    let audit = service.engine().unwrap().audit(&filter, None, 9).unwrap();
    assert_eq!(audit.entries[0].reason.as_deref(), Some("texts otp_domain"));
}

#[test]
fn settings_that_are_wrong_are_rejected_and_nothing_is_created() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("none.db");
    let rejected = |settings: Settings, name: &str| match settings.open().unwrap_err() {
        Error::InvalidArgument { parameter, reason } if parameter == name => reason.into_owned(),
        other => panic!("{other}"),
    };
    let new = || Settings::new(&url(&path));
    let both = r#"{"de": {"sms": "https://a.example/{{code}}"}, "fr": {"call": "{{app}}"}}"#;
    let reason = rejected(new().texts(both), "texts");
    assert!(reason.contains("de.sms has {{code}} in a link"), "{reason}");
    assert!(reason.contains("fr.call lacks {{code}}"), "{reason}");
    assert!(rejected(new().otp_domain("https://a.example"), "otp_domain").contains("example.com"));
    assert!(!path.exists());
}

#[test]
fn the_install_message_is_in_the_language_of_the_country() {
    let folder = tempfile::tempdir().unwrap();
    let set = |s: Settings| s.install_link("https://app.example/get").otp_domain("example.com");
    let (service, phones, _) = world(&folder.path().join("a.db"), set);
    user(&service, "966", "501234567");
    let message = phones.last();
    assert_eq!((message.language.as_str(), message.code.as_str()), ("ar-SA", ""));
    assert!(message.text.ends_with("\nhttps://app.example/get"), "{}", message.text);
}

#[test]
fn the_document_shows_the_texts_that_are_built_in_and_its_example_is_accepted() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/texts.md");
    let document = std::fs::read_to_string(path).unwrap();
    let example = document.split("```json\n").nth(1).unwrap().split("```").next().unwrap();
    let texts: Texts = example.parse().unwrap();
    assert_eq!(texts.kinds().count(), 3);
    let phones = Phones::default();
    let settings = Settings::new("sandbox:").application_name("Example").deliver(phones.clone());
    let service = settings.open().unwrap();
    let user = ada(&service);
    let (_, table) = document.split_once("| language | SMS |\n|---|---|\n").unwrap();
    let rows: Vec<&str> = table.lines().take_while(|line| line.starts_with('|')).collect();
    for row in &rows {
        let (language, shown) = row.trim_matches(['|', ' ']).split_once(" | ").unwrap();
        let language = language.trim_matches('`');
        service.handle(&sms(user, Some(language))).unwrap();
        let Message { text, code, language: chosen, .. } = phones.last();
        assert!(chosen.starts_with(language), "{chosen}");
        let plain = text.replace(['\u{2068}', '\u{2069}'], "").replace(&code, "1234567");
        assert_eq!(plain, shown);
    }
    assert_eq!(rows.len(), 17);
}
