//! The commands for users, as an operator runs them: on a database, and on a service that runs.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use crate::command::{error_of, printed};
use crate::common::{KEY, World};
use seconder::calls::{EnrolAuthenticator, OfflineLogin, PrepareOffline, ReportOffline};
use seconder::wire::Names;
use seconder::{Handle, Settings, Verdict, Verify};
use serde_json::json;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::TempDir;

type Run<'a> = &'a dyn Fn(&[&'static str]) -> String;

/// Without a number, an address is the name of one user.
fn without_phone(ok: Run<'_>, fails: Run<'_>) {
    let fay = ["user", "create", "--email", "fay@example.com", "--login", "fay"];
    assert_eq!(ok(&fay), "user_id 3");
    let known = fails(&fay[..4]);
    assert!(known.contains("email belongs to a user who is enrolled already"), "{known}");
    assert_eq!(ok(&[&fay[..4], &["--use-known"]].concat()), "user_id 3");
    let shown = ok(&["user", "show", "--login", "fay"]);
    assert!(!shown.contains("phone") && shown.contains("user_id 3\n"), "{shown}");
    let half = [&fay[..4], &["--cellphone", "555-010-0129"]].concat();
    assert!(fails(&half).contains("--country-code"));
}

/// The commands, each with these options that say which service is meant.
fn manage_users(folder: &Path, target: &[&str]) {
    let with = |arguments: &[&'static str]| -> Vec<String> {
        arguments.iter().chain(target).map(|part| (*part).to_owned()).collect()
    };
    let ok = |arguments: &[&'static str]| {
        let arguments = with(arguments);
        printed(folder, &arguments.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let fails = |arguments: &[&'static str]| {
        let arguments = with(arguments);
        error_of(folder, &arguments.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let ada = ["user", "create", "--email", "ada@example.com", "--cellphone", "555-010-0123"];
    let ada = [&ada[..], &["--country-code", "1", "--login", "ada"]].concat();
    assert_eq!(ok(&ada), "user_id 1");
    let bob = ["user", "create", "--email", "bob@example.com", "--cellphone", "555-010-0124"];
    let bob = [&bob[..], &["--country-code", "1"]].concat();
    let taken = fails(&[&bob[..], &["--login", "ada"]].concat());
    assert!(taken.contains("is ada, which user 1 has"), "{taken}");
    assert_eq!(ok(&bob), "user_id 2", "a rejected name creates nobody");
    // Of two people with one phone number, the second does not take the first one's place.
    let cy = ["user", "create", "--email", "cy@example.com", "--cellphone", "555-010-0123"];
    let cy = [&cy[..], &["--country-code", "1", "--login", "cy"]].concat();
    let known = fails(&cy);
    assert!(known.contains("cellphone belongs to a user who is enrolled already"), "{known}");
    assert!(known.contains("--use-known"), "{known}");
    let cy = fails(&[&cy[..], &["--use-known"]].concat());
    assert!(cy.contains("user 1, who has that phone number already"), "{cy}");
    assert!(cy.contains("has the login name ada: remove it first"), "{cy}");
    // Nor does it become that of a user who has no login name.
    let eve = ["user", "create", "--email", "eve@example.com", "--cellphone", "555-010-0124"];
    let eve = [&eve[..], &["--country-code", "1", "--login", "eve"]].concat();
    assert!(fails(&eve).contains("--use-known"));
    assert!(fails(&["user", "show", "--login", "eve"]).contains("nobody has the login name eve"));
    assert!(fails(&eve[..8]).contains("--use-known"), "without a login name");
    assert_eq!(ok(&[&eve[..8], &["--use-known"]].concat()), "user_id 2");
    without_phone(&ok, &fails);
    let renamed = fails(&["user", "set-login", "--user", "1", "--login", "cy"]);
    assert!(renamed.contains("has the login name ada: remove it first"), "{renamed}");
    let taken = fails(&["user", "set-login", "--user", "2", "--login", "ada"]);
    assert!(taken.contains("belongs to another user"), "{taken}");
    let set = ok(&["user", "set-login", "--user", "2", "--login", "bob@example.com"]);
    assert_eq!(set, "user 2 has the login name bob@example.com");
    // Only operators see the address.
    let of_operator = |line: &&str| line.starts_with("email ");
    let shown = ok(&["user", "show", "--login", "ada"]);
    let is_database = target.contains(&"--database");
    assert_eq!(shown.contains("\nemail cy@example.com\n"), is_database, "{shown}");
    let shown: Vec<&str> = shown.lines().filter(|line| !of_operator(line)).collect();
    let expected = "user_id 1\nlogin ada\nconfirmed false\nregistered false\n\
                    phone +1 XXX-XXX-0123\nsms true\nrecovery_codes 0";
    assert_eq!(shown.join("\n"), expected);
    let bob =
        if is_database { "user_id 2\nlogin bob@example.com\n" } else { "user_id 2\nconfirmed" };
    assert!(ok(&["user", "show", "--user", "2"]).starts_with(bob));
    let forgotten = ok(&["user", "forget-browsers", "--login", "ada"]);
    assert_eq!(forgotten, "the remembered browsers of user 1 are forgotten");
    assert!(fails(&["user", "forget-browsers", "--user", "99"]).contains("User not found"));
    let codes = ok(&["user", "recovery-codes", "--login", "ada"]);
    let groups = |line: &str| line.split(' ').map(str::len).collect::<Vec<_>>() == [4, 4, 4];
    assert!(codes.lines().count() == 10 && codes.lines().all(groups), "{codes}");
    assert!(ok(&["user", "show", "--login", "ada"]).ends_with("\nrecovery_codes 10"));
    assert_eq!(ok(&["user", "remove-login", "--login", "ada"]), "the login name ada is removed");
    let gone = fails(&["user", "show", "--login", "ada"]);
    assert!(gone.contains("nobody has the login name ada"), "{gone}");
    let bad = fails(&["user", "set-login", "--user", "1", "--login=-rf"]);
    assert!(bad.contains("beginning with a letter"), "{bad}");
    assert!(fails(&["user", "show"]).contains("--user"), "one of both is needed");
}

#[test]
fn users_are_managed_in_a_database() {
    let folder = TempDir::new().unwrap();
    let url = format!("sqlite:{}", folder.path().join("users.db").display());
    let missing = error_of(folder.path(), &["user", "show", "--user", "1", "--database", &url]);
    assert!(missing.contains("users.db"), "{missing}");
    seconder::open(&url).unwrap();
    manage_users(folder.path(), &["--database", &url]);
}

#[test]
fn apps_are_unlocked_in_a_database_after_the_clock_was_ahead() {
    let folder = TempDir::new().unwrap();
    let create = ["user", "create", "--email", "ada@example.com", "--cellphone", "555-010-0123"];
    seconder::open(&format!("sqlite:{}", folder.path().join("seconder.db").display())).unwrap();
    printed(folder.path(), &[&create[..], &["--country-code", "1"]].concat());
    assert_eq!(
        printed(folder.path(), &["user", "unlock", "--clock", "--user", "1"]),
        "user 1 is unlocked"
    );
    let unknown = error_of(folder.path(), &["user", "unlock", "--clock", "--user", "9"]);
    assert!(unknown.contains("User not found"), "{unknown}");
    let of_service = ["user", "unlock", "--clock", "--user", "1", "--url", "https://localhost"];
    let refused = error_of(folder.path(), &of_service);
    assert!(refused.contains("'--clock' cannot be used with"), "{refused}");
}

#[test]
fn users_are_managed_in_a_service_that_runs() {
    let world = World::start();
    let folder = world.folder.path();
    std::fs::write(folder.join("key"), KEY).unwrap();
    let url = world.server.url();
    manage_users(folder, &["--url", &url, "--api-key-file", "key", "--ca-file", "ca.pem"]);
    let both = ["user", "show", "--user", "1", "--url", &url, "--database", "sqlite:x.db"];
    assert!(error_of(folder, &both).contains("cannot be used with"));
    let other = ["user", "show", "--user", "1", "--url", "sqlite:x.db"];
    assert!(error_of(folder, &other).contains("--database"));
}

#[test]
fn the_service_logs_that_a_recovery_code_let_a_user_in() {
    let folder = TempDir::new().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_seconder"));
    let serve = [
        "serve",
        "--log-format=human",
        "--self-signed",
        "--listen",
        "127.0.0.1:0",
        "--offline-days",
        "1",
    ];
    let mut child =
        command.current_dir(&folder).args(serve).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let url = lines.find_map(|line| Some(line.split_once("listening on ")?.1.to_owned())).unwrap();
    let settings = Settings::new(&url).api_key(printed(folder.path(), &["key"]));
    let service = settings.ca_file(folder.path().join("seconder-certificate.pem")).open().unwrap();
    let user = service.create_user("ada@example.com", "555-010-0123", "1").unwrap().user_id;
    let codes = service.create_recovery_codes(user).unwrap().codes;
    let call = Verify::new(user, codes[0].clone());
    let checked = service.handle(&call).unwrap();
    assert!(checked.verdict == Verdict::Right && checked.by_recovery_code());
    let logged = lines.find(|line| line.contains("recovery code"));
    let offline = report_a_login(&service, user).then(|| lines.find(|l| l.contains("unreachable")));
    child.kill().unwrap();
    child.wait().unwrap();
    let expected = "seconder: user 1 was let in by a recovery code, and has 9 left";
    assert_eq!(logged.as_deref(), Some(expected));
    let expected = "seconder: user 1 was let in while the service was unreachable, by machine \
                    \"do\\nor\" (logins: 1)";
    assert_eq!(offline.flatten().as_deref(), Some(expected));
}

/// What an administrator does for a user who has lost the phone.
#[test]
fn a_lost_phone_is_removed() {
    let folder = TempDir::new().unwrap();
    let url = format!("sqlite:{}", folder.path().join("lost.db").display());
    let service = seconder::open(&url).unwrap();
    let user = service.create_user("ada@example.com", "555-010-0123", "1").unwrap().user_id;
    service.set_login(user, &"ada".parse().unwrap()).unwrap();
    let engine = service.engine().unwrap();
    engine.register_device(user, seconder::engine::DeviceType::Ios).unwrap();
    let label = Some("Ada\u{2019}s phone".parse().unwrap());
    service.handle(&EnrolAuthenticator { label, ..EnrolAuthenticator::new(user) }).unwrap();
    service.create_recovery_codes(user).unwrap();
    let ada = |command: &'static [&'static str]| -> Vec<&str> {
        [&["user"], command, &["--login", "ada", "--database", &url]].concat()
    };
    let shown = printed(folder.path(), &ada(&["show"]));
    let lines: Vec<&str> = shown.lines().skip_while(|line| *line != "sms true").collect();
    assert_eq!((lines[3], lines.len()), ("recovery_codes 10", 4), "{shown}");
    assert!(lines[1].starts_with("authenticator id=1 pending created_at="), "{shown}");
    assert!(lines[1].ends_with(" label=\"Ada\u{2019}s phone\""), "{shown}");
    assert!(lines[2].starts_with("device id=1 \"ios\" created_at="), "{shown}");
    let app = ada(&["remove-factor", "--authenticator", "1"]);
    let device = ada(&["remove-factor", "--device", "1"]);
    for (command, done, nothing) in [
        (app, "authenticator app 1 of user 1 is removed", "no authenticator app with"),
        (device, "device 1 of user 1 is removed", "no device with"),
    ] {
        assert_eq!(printed(folder.path(), &command), done);
        let gone = error_of(folder.path(), &command);
        assert!(gone.contains(nothing), "{gone}");
    }
    let left = printed(folder.path(), &ada(&["show"]));
    assert!(left.ends_with("\nsms true\nrecovery_codes 10"), "{left}");
}

/// Prepares logins without the service on a machine, and reports one.
fn report_a_login(service: &seconder::Service, user: seconder::model::UserId) -> bool {
    let uri = service.enrol_authenticator(user).unwrap().uri;
    #[allow(clippy::disallowed_methods, reason = "the service has the system's clock")]
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let code = seconder::otp::Totp::from_uri(uri.expose()).unwrap().code(now.as_secs());
    let token: seconder::model::Token = code.expose().parse().unwrap();
    let verified = service.handle(&Verify::new(user, token.clone()));
    assert_eq!(verified.unwrap().verdict, Verdict::Right);
    let machine = Some("do\nor".parse().unwrap());
    let prepare = PrepareOffline { machine: machine.clone(), ..PrepareOffline::new(user, token) };
    let prepared = service.handle(&prepare).unwrap();
    let logins = vec![OfflineLogin { step: prepared.first_step, time: now.as_secs() }];
    let report = ReportOffline::new(user, prepared.authenticator_id, logins);
    service.handle(&ReportOffline { machine, ..report }).is_ok()
}

#[test]
fn devices_have_the_names_of_the_application() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let url = format!("sqlite:{}", folder.join("seconder.db").display());
    drop(Settings::new(&url).names(Names::new("acme").unwrap()).open().unwrap());
    let create = ["user", "create", "--email", "ada@example.com", "--cellphone", "555-010-0123"];
    printed(folder, &[&create[..], &["--country-code", "1"]].concat());
    printed(folder, &["user", "register-device", "--user", "1", "--type", "acme_chrome"]);
    for more in [&[][..], &["--json"]] {
        let shown = printed(folder, &[&["user", "show", "--user", "1"], more].concat());
        assert!(shown.contains("acme_chrome") && !shown.contains("svc_chrome"), "{shown}");
    }
    for (id, name) in [(2, "acme_chrome"), (3, "svc_chrome")] {
        let user = json!({"id": id, "email": "b@example.com", "phone": format!("+1555010013{id}"),
            "devices": [{"id": 70 + id, "type": name, "secret": "s"}]});
        std::fs::write(folder.join("users.jsonl"), user.to_string()).unwrap();
        assert!(printed(folder, &["import", "users.jsonl"]).contains("created=1"), "{name}");
    }
}
