//! A setting that has no effect with the scheme of the URL is rejected, and named.

#![cfg(all(feature = "client-certificates", feature = "engine", feature = "unix"))]
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use seconder::model::CallbackMethod;
use seconder::remote::Repeats;
use seconder::wire::{Format, Generation, Names};
use seconder::{Error, Settings};
use std::time::Duration;

type Set = fn(Settings) -> Settings;

const OF_A_CLIENT: &[(&str, Set)] = &[
    ("timeout", |s| s.timeout(Duration::from_secs(10))),
    ("repeats", |s| s.repeats(Repeats::Questions)),
    ("format", |s| s.format(Format::Json)),
    ("generation", |s| s.generation(Generation::Current)),
    ("nested_as_json", |s| s.nested_as_json(true)),
];

const OF_THE_NETWORK: &[(&str, Set)] = &[
    ("operator_token", |s| s.operator_token("sop_token")),
    ("ca_file", |s| s.ca_file("/no/such/file")),
    ("pin", |s| s.pin("sha256/47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=")),
    ("client_certificate", |s| s.client_certificate("/no/such/file")),
    ("client_key", |s| s.client_key("/no/such/file")),
    ("allow_loopback_http", |s| s.allow_loopback_http(true)),
];

const OF_WHAT_CONNECTS: &[(&str, Set)] = &[
    ("proxy", |s| s.proxy("http://127.0.0.1:1")),
    ("name_server", |s| s.name_server("192.0.2.1")),
];

const OF_A_SOCKET: &[(&str, Set)] = &[("service_uid", |s| s.service_uid(1000))];

const NETWORK: &[&str] = &["https://2fa.example", "http://127.0.0.1:1"];
const SOCKET: &str = "unix:/no/such.sock";
const CLIENT: &[&str] = &["https://2fa.example", "http://127.0.0.1:1", SOCKET];
const ENGINE: &[&str] = &["sandbox:", "sqlite:/no/such/a.db"];

const OF_AN_ENGINE: &[(&str, Set)] = &[
    ("application_name", |s| s.application_name("Example")),
    ("callback_url", |s| s.callback_url("")),
    ("callback_method", |s| s.callback_method(CallbackMethod::Post)),
    ("callback_ca_file", |s| s.callback_ca_file("")),
    ("callback_private", |s| s.callback_private(false)),
    ("install_link", |s| s.install_link("")),
    ("replies", |s| s.replies(Generation::Current)),
    ("approval_seconds", |s| s.approval_seconds(300)),
    ("token_length", |s| s.token_length(7)),
    ("plan", |s| s.plan("annual")),
    ("white_label", |s| s.white_label(false)),
    ("sms_enabled", |s| s.sms_enabled(true)),
    ("force_codes", |s| s.force_codes(false)),
    ("logo", |s| s.logo("")),
    ("authenticator_digits", |s| s.authenticator_digits(6)),
    ("authenticator_period", |s| s.authenticator_period(30)),
    ("offline_days", |s| s.offline_days(1)),
    ("limits", |s| s.limits("number_day=9")),
    ("texts", |s| s.texts("")),
    ("otp_domain", |s| s.otp_domain("")),
    ("deliver", |s| s.deliver(|_: &seconder::engine::Message| Ok(()))),
];

/// Whether opening rejects the setting because of the URL.
fn rejects(url: &str, name: &str, set: Set) -> bool {
    let settings = Settings::new(url);
    let settings = if url == SOCKET { settings } else { settings.api_key("key") };
    match set(settings).open() {
        Err(Error::InvalidArgument { parameter, reason }) if reason.contains("has no effect") => {
            assert_eq!(parameter, name);
            assert!(reason.contains(url.split_once(':').unwrap().0), "{reason}");
            true
        }
        _ => false,
    }
}

#[test]
fn a_setting_without_effect_is_rejected() {
    for (settings, mine) in [
        (OF_A_CLIENT, CLIENT),
        (OF_THE_NETWORK, NETWORK),
        (OF_A_SOCKET, &[SOCKET]),
        (OF_AN_ENGINE, ENGINE),
        (&[("api_key", |s: Settings| s.api_key("key"))], &[NETWORK, ENGINE].concat()),
        (OF_WHAT_CONNECTS, &[NETWORK, ENGINE].concat()),
    ] {
        for (name, set) in settings {
            for url in [CLIENT, ENGINE].concat() {
                assert_eq!(rejects(url, name, *set), !mine.contains(&url), "{name} with {url}");
            }
        }
    }
}

#[test]
fn only_a_database_can_be_required_to_exist() {
    let must_exist: Set = |s| s.must_exist(true);
    for url in ["https://2fa.example", "http://127.0.0.1:1", SOCKET, "sandbox:"] {
        assert!(rejects(url, "must_exist", must_exist), "{url}");
    }
    assert!(!rejects("sqlite:/no/such/a.db", "must_exist", must_exist));
}

#[test]
fn names_a_key_and_what_asks_for_nothing_are_for_every_url() {
    for url in ["sandbox:", "https://2fa.example", SOCKET] {
        let settings = Settings::new(url).names(Names::default());
        let settings = if url == SOCKET { settings } else { settings.api_key("key") };
        let settings = settings.allow_loopback_http(false).nested_as_json(false).must_exist(false);
        assert!(settings.open().is_ok(), "{url}");
    }
}

#[test]
fn a_wrong_url_is_reported_first() {
    let opened = Settings::new("nonsense:").timeout(Duration::from_secs(1)).open();
    assert!(matches!(opened, Err(Error::InvalidArgument { parameter, .. }) if parameter == "url"));
}
