//! The configuration's text: what is accepted, and what is reported of everything else.

use crate::stage::{Lines, Script, Stage};
use seconder::Handle;
use seconder::calls::SetLogin;
use seconder_login::config::{Config, KEYS, Needs, Opened, Sources};
use seconder_login::{Login, Outcome, Trouble, log_in_as_configured};
use std::path::Path;

fn problems(text: &str, arguments: &[&str]) -> Vec<String> {
    match Config::parse(text, Path::new("/pam.conf"), arguments) {
        Ok(_) => Vec::new(),
        Err(problems) => problems.iter().map(ToString::to_string).collect(),
    }
}

fn effective(text: &str, arguments: &[&str], wanted: &str) -> Option<(String, String)> {
    let config = Config::parse(text, Path::new("/pam.conf"), arguments).unwrap();
    let mut found = config.effective().filter(|(key, ..)| *key == wanted);
    found.next().map(|(_, value, place)| (value.to_owned(), place.to_owned()))
}

#[test]
fn an_empty_configuration_is_valid_and_every_default_is() {
    assert!(problems("", &[]).is_empty());
    let lines = KEYS
        .iter()
        .filter(|key| key.needs == Needs::Nothing && !key.default.is_empty())
        .map(|key| format!("{} = {}\n", key.name, key.default));
    assert_eq!(problems(&lines.collect::<String>(), &[]), Vec::<String>::new());
}

#[test]
fn every_problem_is_reported_at_once_with_its_place_and_what_is_accepted() {
    let text = "# comment\n\ntrise = 3\ntries = 11\nmethod=telepathy\nmethod = code\nnonsense\n\
                on_trouble = allow\ntimeout = +5\noffer = sms sms\nonly = ../x\npin =\n\
                trusted_networks = 0.0.0.0/0\napproval_message = Is it {name}?\nurl = http://x\n";
    let found = problems(text, &["use_first_pas", "first_pass=maybe"]);
    let expected = [
        "/pam.conf:3: there is no key trise: is it tries?",
        "/pam.conf:6: method is given already, in /pam.conf:5",
        "/pam.conf:7: must be `key = value`, or begin with # as a comment",
        "/pam.conf:12: pin must be sha256/ and the Base64 of a SHA-256, or several of them, \
         separated by spaces",
        "arguments: use_first_pas must be key=value, try_first_pass or use_first_pass",
        "/pam.conf:15: url must be unix:/path/of/a/socket, or https://host",
        "arguments: first_pass must be no, try, use or with_code",
        "/pam.conf:9: timeout must be a number of seconds, 1 to 300",
        "/pam.conf:4: tries must be a number, 1 to 10",
        "/pam.conf:5: method must be ask, code, sms, call or push",
        "/pam.conf:10: offer must be words of push, sms and call, separated by spaces; or none",
        "/pam.conf:8: on_trouble must be deny or ignore",
        "/pam.conf:11: only must be login names and @groups, separated by spaces",
        "/pam.conf:13: trusted_networks must be IP addresses and networks such as 192.0.2.0/24 or \
         2001:db8::/32, separated by spaces",
    ];
    for expected in expected {
        assert!(found.iter().any(|found| found == expected), "{expected}\n{found:#?}");
    }
    assert_eq!(found.len(), expected.len() + 1, "{found:#?}");
}

#[test]
fn a_misspelt_key_is_suggested() {
    for (wrong, right) in [
        ("Tries", "tries"),
        ("api-key-file", "api_key_file"),
        ("ofer", "offer"),
        ("trusted_network", "trusted_networks"),
        ("aprooval_timeout", "approval_timeout"),
    ] {
        let found = problems(&format!("{wrong} = x"), &[]);
        assert_eq!(found, [format!("/pam.conf:1: there is no key {wrong}: is it {right}?")]);
    }
    let found = problems("colour = red", &[]);
    assert_eq!(found, ["/pam.conf:1: there is no key colour: see seconder-pam.conf(5)"]);
}

#[test]
fn a_key_without_effect_is_an_error() {
    for (text, needs) in [
        ("ca_file = /x", "an https: url"),
        ("pin = x", "an https: url"),
        ("names = acme", "an https: url"),
        ("command_timeout = 3", "users = command:"),
        ("code_length = 7", "first_pass = with_code"),
        ("offline_days = 7", "offline = yes"),
    ] {
        let key = text.split(' ').next().unwrap();
        let expected = format!("/pam.conf:1: {key} has no effect: it is for {needs}. Remove it");
        assert!(problems(text, &[]).contains(&expected), "{text}");
    }
    let found = problems("url = https://x\nservice_user = 0\n", &[]);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].contains("it is for a unix: url") && found[1].contains("needs api_key_file"));
    assert!(problems("service_user = root\n", &[]).is_empty());
    assert_eq!(problems("service_user = nobody-has-this\n", &[]).len(), 1);
    assert!(problems("offline = yes\noffline_days = 7\n", &[]).is_empty());
    for (text, accepted) in [("offline_days = 8", "1 to 7"), ("offline_logins = 101", "1 to 100")] {
        let key = text.split(' ').next().unwrap();
        let expected = format!("/pam.conf:2: {key} must be a number, {accepted}");
        assert_eq!(problems(&format!("offline = yes\n{text}\n"), &[]), [expected]);
    }
}

#[test]
fn arguments_override_the_file() {
    let shown = effective("tries = 5\n", &["tries=2"], "tries").unwrap();
    assert_eq!(shown, ("2".into(), "arguments".into()));
    let shown = effective("tries = 5\n", &[], "tries").unwrap();
    assert_eq!(shown, ("5".into(), "/pam.conf:1".into()));
    assert_eq!(effective("", &[], "tries").unwrap(), ("3".into(), "default".into()));
    let shown = effective("first_pass = no\n", &["try_first_pass"], "first_pass").unwrap();
    assert_eq!(shown.0, "try");
    assert_eq!(problems("", &["tries=2", "tries=3"]).len(), 1);
    assert_eq!(problems("", &["tries=2\n"]).len(), 1);
}

#[test]
fn hostile_text_is_bounded_and_does_not_reach_a_log() {
    let found = problems("\x1b[2J = 1\ntries\0= 3\nx = \u{202e}\n", &[]);
    assert_eq!(found.len(), 3);
    assert!(found.iter().all(|line| !line.chars().any(char::is_control)), "{found:?}");
    let found = problems(&format!("tries = {}", "3".repeat(5000)), &[]);
    assert_eq!(found, ["/pam.conf:1: has more than 1024 bytes"]);
    assert!(problems(&"x\n".repeat(10_000), &[]).len() <= 50);
    let found = problems(&format!("{} = 1", "\u{202e}x".repeat(300)), &[]);
    assert!(found[0].len() < 1000 && !found[0].contains('\u{202e}'), "{found:?}");
}

#[test]
fn what_the_library_rejects_is_reported_where_it_was_written() {
    let key = crate::files::private("key", "secret\n");
    let text = format!(
        "url = https://x\napi_key_file = {}\npin = sha256/x\nproxy = ftp://x\nname_server = x y\n",
        key.path().join("key").display()
    );
    let found = problems(&text, &[]);
    let places: Vec<&str> = found.iter().map(|line| line.split(' ').next().unwrap()).collect();
    let lines = ["/pam.conf:3:", "/pam.conf:4:", "/pam.conf:5:", "/pam.conf:5:"];
    assert_eq!(places, lines, "{found:#?}");
    let text = text.replace("x y", "system");
    assert!(
        problems(&text, &[]).iter().any(|line| line.contains("name_server must be IP addresses"))
    );
}

#[test]
fn a_program_that_has_opened_the_service_does_not_say_how_to() {
    let stage = Stage::new();
    let problems = |arguments: &[&str], remote_url: Option<&str>| -> Vec<String> {
        let opened = Some(Opened { backend: &stage.service, remote_url });
        let read = Config::read(&Sources { file: None, arguments, opened });
        read.err().unwrap_or_default().iter().map(ToString::to_string).collect()
    };
    let connects = |needs: Needs| matches!(needs, Needs::Https | Needs::Unix);
    let keys = KEYS.iter().filter(|key| connects(key.needs)).map(|key| key.name);
    let mut rejected = 0;
    for key in keys.chain(["url", "timeout"]) {
        let (argument, expected) = (
            format!("{key}=1"),
            format!(
                "arguments: {key} has no effect: the program has opened the service itself. Remove it"
            ),
        );
        for url in [Some("https://2fa.example.com"), Some("unix:/run/s.sock"), None] {
            assert!(problems(&[&argument], url).contains(&expected), "{argument}");
        }
        rejected += 1;
    }
    assert!(rejected > 8);
    let offline = ["offline=yes", "offline_cache=/var/lib/cache"];
    assert_eq!(problems(&offline, Some("https://2fa.example.com")), Vec::<String>::new());
    let expected = "arguments: offline has no effect: the service is in this process, and always \
                    reached. Remove it";
    assert_eq!(problems(&offline, None), [expected]);
    assert_eq!(problems(&["offline=no"], None), Vec::<String>::new());
}

#[test]
fn arguments_alone_configure_a_login_with_a_service_that_is_open() {
    let stage = Stage::new();
    let log_in = |arguments: &[&str], user: &mut Script| {
        let opened = Some(Opened { backend: &stage.service, remote_url: None });
        let login = Login { user: "ada", ..Login::default() };
        let sources = Sources { file: None, arguments, opened };
        let mut journal = Lines::default();
        let outcome = log_in_as_configured(&sources, &login, user, &mut journal);
        assert_eq!(journal.notices.len(), 1, "{:?}", journal.notices);
        outcome
    };
    let call = SetLogin::new(stage.user, "ada".parse().unwrap());
    let _ = stage.service.handle(&call).unwrap();
    let code = stage.code();
    let mut user = Script::of(&[&code]);
    assert_eq!(log_in(&["users=directory", "method=code"], &mut user), Outcome::Accepted);
    assert_eq!(user.asked, ["Code: "]);
    let mut user = Script::of(&["123456"]);
    let outcome = log_in(&["users=directory", "url=https://2fa.example.com"], &mut user);
    assert_eq!((outcome, user.asked.len()), (Outcome::Trouble(Trouble::Configuration), 0));
}
