//! `seconder import` and `seconder export`.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]
#![allow(clippy::disallowed_methods, reason = "the program has the clock of the system")]

mod files;
pub(crate) mod machine;
mod repeated;
mod sealed;
mod secrets;
mod sources;
mod tables;

use crate::documents;
use crate::postgres_server;
use machine::Machine;
use proptest::prelude::*;
use seconder::Verdict;
use seconder::otp::{Algorithm, Totp};
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::process::Stdio;
use std::time::Duration;

/// Every field that there is.
fn ada() -> Value {
    json!({
        "id": 700, "email": "ada@example.com", "phone": "+15550100123", "confirmed": true,
        "earlier_emails": ["ada@old.example"], "login": "ada", "sms_used": true,
        "created": "2020-05-01T10:00:00.250Z", "locked": ["recovery_codes"],
        "authenticators": [{"secret": "GVVBSK3ZCOYEYVCXJUMMFDKG4Y4VIKFL", "digits": 8, "period": 60,
                            "label": "Ada, at work", "last_step": 20_000_000}],
        "devices": [{"id": 90, "type": "ios", "secret": "the secret of her phone"}],
    })
}

fn lines(users: &[Value]) -> String {
    users.iter().map(|user| format!("{user}\n")).collect()
}

#[test]
fn imported_users_log_in_with_what_they_had() {
    let machine = Machine::new();
    machine.write("users.jsonl", &lines(&[ada()]));
    assert_eq!(machine.ok(&["import", "users.jsonl"]), "created=1 unchanged=0 conflicting=0 bad=0");
    let service = seconder::open(&machine.url()).unwrap();
    let found = service.find_user(&"ada".parse().unwrap()).unwrap();
    assert_eq!((found.user_id.get(), found.confirmed, found.authenticator), (700, true, true));
    let status = service.user_status(found.user_id).unwrap();
    assert_eq!(status.devices, ["ios", "sms"]);
    let factors = status.factors.unwrap();
    assert!(factors.recovery_codes_locked && !factors.codes_locked);
    let secret =
        b"\x35\x6a\x19\x2b\x79\x13\xb0\x4c\x54\x57\x4d\x18\xc2\x8d\x46\xe6\x39\x54\x28\xab";
    let totp = Totp::new(secret, Algorithm::Sha1, 8, 60).unwrap();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let code = totp.code(now.as_secs());
    let verified = service.verify(found.user_id, &code.expose().parse().unwrap());
    assert_eq!(verified.unwrap(), Verdict::Right);
    let again = service.create_user("ada@new.example", "555-010-0123", "1").unwrap();
    assert_eq!((again.user_id.get(), again.created), (700, Some(false)));
    // What was imported has changed since, and is still the same user.
    assert_eq!(machine.ok(&["import", "users.jsonl"]), "created=0 unchanged=1 conflicting=0 bad=0");
}

#[test]
fn csv_of_other_programs_is_read() {
    let machine = Machine::new();
    let csv = "\u{feff}id,email,country_code,phone,confirmed,created,secret,digits,period,algorithm,last_step,note\r\n\
               1,ada@example.com,1,555 010-0123,t,2020-05-01 10:00:00+02:00,gvvb sk3z coye yvcx jumm fdkg 4y4v ikfl,7,10,sha1,,x\r\n\
               2,\"bob@example.com\",44,07400 123456,FALSE,1588327200,,,,,,\"a, \"\"b\"\"\r\nc\"\r\n\r\n";
    machine.write("users.csv", csv);
    let unknown = machine.fails(&["import", "users.csv"]);
    assert!(
        unknown.contains("what is no field: \"note\"") && unknown.contains("--ignore"),
        "{unknown}"
    );
    assert_eq!(
        machine.ok(&["import", "--ignore", "note", "users.csv"]),
        "created=2 unchanged=0 conflicting=0 bad=0"
    );
    machine.write("wrong.csv", &csv.replace(",note", ",label").replace("2,\"bob", "x,\"bob"));
    let (_, errors) = machine.fails_with(&["import", "wrong.csv"]);
    assert!(errors.contains("line 3: id must be") && !errors.contains("line 2"), "{errors}");
    machine.ok(&["export", "--secrets", "out.jsonl"]);
    let users = machine.objects("out.jsonl");
    assert_eq!(users[0]["phone"], "+15550100123");
    assert_eq!(users[0]["created"], "2020-05-01T08:00:00.000Z");
    assert_eq!(users[0]["authenticators"][0]["secret"], "GVVBSK3ZCOYEYVCXJUMMFDKG4Y4VIKFL");
    assert_eq!(users[0]["authenticators"][0]["period"], 10);
    assert_eq!(users[1]["phone"], "+447400123456");
    assert_eq!(users[1]["created"], "2020-05-01T10:00:00.000Z");
    assert_eq!(users[1]["confirmed"], false);
}

/// A line, and what is reported of it.
fn bad_lines() -> Vec<(String, Vec<(&'static str, &'static str)>)> {
    let with = |field: &str, value: Value| {
        let mut user = json!({"id": 5, "email": "bob@example.com", "phone": "+15550100199"});
        user[field] = value;
        user.to_string()
    };
    let app = |field: &str, value: Value| {
        let mut app = json!({"secret": "GVVBSK3ZCOYEYVCXJUMMFDKG4Y4VIKFL"});
        app[field] = value;
        with("authenticators", json!([app]))
    };
    let one =
        |line: String, field: &'static str, reason: &'static str| (line, vec![(field, reason)]);
    vec![
        one("{\"id\": 5, \"email\": \"canary".to_owned(), "", "is not a JSON object"),
        one(r#"{"id": 5, "email": "canary", "id": 6}"#.to_owned(), "id", "is there twice"),
        one(r#"{"devices": [{"canary": 1, "canary": 1}]}"#.to_owned(), "", "has a field twice"),
        one("[1]".to_owned(), "", "is not a JSON object"),
        one(with("id", json!("canary")), "id", "positive whole number"),
        one(with("id", json!(i64::MAX)), "id", "at most 4611686018427387904"),
        one(with("email", json!("canary")), "email", "name@example.com"),
        one(with("phone", json!("+canary")), "phone", "must"),
        one(with("phone", json!("+15550199")), "phone", "its length does not fit its country"),
        one(with("phone", json!("5550100199")), "phone", "or have a country_code"),
        one(with("id", json!("")), "id", "is missing here"),
        one(json!({"id": 5, "phone": null}).to_string(), "email", "a phone, an e-mail address or"),
        one(with("secret_hex", json!("CANARY")), "secret_hex", "must be hexadecimal digits"),
        one(with("country_code", json!(1)), "country_code", "must not be there beside a phone"),
        one(with("confirmed", json!("canary")), "confirmed", "must be true or false"),
        one(with("created", json!("canary")), "created", "2024-05-01T12:30:00Z"),
        one(with("created", json!(-5)), "created", "from 1970 to 9999"),
        one(with("login", json!("-canary")), "login", "beginning with a letter"),
        one(with("locked", json!(["canary"])), "locked[0]", "recovery_codes"),
        one(with("earlier_emails", json!(["a@b", "canary"])), "earlier_emails[1]", "name@example"),
        one(with("confirmd", json!(true)), "confirmd", "is unknown: the fields are id"),
        one(with("digits", json!(6)), "digits", "without secret"),
        one(app("secret", json!("CANARY10")), "authenticators[0].secret", "must be Base32"),
        one(app("secret", json!("GVVBSK3Z")), "authenticators[0].secret", "10 to 128 bytes"),
        one(app("digits", json!(9)), "authenticators[0].digits", "6, 7 or 8"),
        one(app("period", json!(0)), "authenticators[0].period", "1 to 3600"),
        one(
            app("algorithm", json!("MD5")),
            "authenticators[0].algorithm",
            "SHA1, SHA256 or SHA512",
        ),
        one(app("last_step", json!(1_900_000_000)), "last_step", "must not be in the future"),
        one(with("devices", json!([{"id": 1, "type": "ios"}])), "devices[0].secret", "is missing"),
        one(
            with("devices", json!([{"id": 1, "type": "canary", "secret": "canary"}])),
            "devices[0].type",
            "android, android_tablet, ios or svc_chrome",
        ),
        (
            json!({"id": 0, "email": "canary", "confirmed": 7}).to_string(),
            vec![
                ("id", "whole number"),
                ("email", "name@example.com"),
                ("confirmed", "true or false"),
            ],
        ),
    ]
}

#[test]
fn every_bad_line_is_reported_with_all_that_is_wrong_and_the_good_ones_are_imported() {
    let machine = Machine::new();
    let bad = bad_lines();
    let mut text = lines(&[ada()]);
    bad.iter().for_each(|(line, _)| text += &format!("{line}\n"));
    text += &lines(&[json!({"id": 9, "email": "cy@example.com", "phone": "+15550100150"})]);
    machine.write("users.jsonl", &text);
    let import = ["import", "--report", "report", "users.jsonl"];
    for dry_run in [true, false] {
        let arguments = [&import[..3], if dry_run { &["--dry-run"] } else { &[] }, &import[3..]];
        let (printed, errors) = machine.fails_with(&arguments.concat());
        let expected = format!("created=2 unchanged=0 conflicting=0 bad={}", bad.len());
        assert!(printed.starts_with(&expected), "{printed}");
        assert!(errors.contains("line 2: is not a JSON object"), "{errors}");
        assert!(errors.contains("more") && errors.contains("lines that"), "{errors}");
        let report = machine.objects("report");
        let all = format!("{printed}{errors}{report:?}").to_lowercase();
        assert!(!all.contains("canary") && !all.contains("5550100199"), "{all}");
        let mut report = report.iter();
        for ((_, problems), line) in bad.iter().zip(2..) {
            for (field, reason) in problems {
                let found = report.next().unwrap();
                assert_eq!((found["line"].as_u64(), &found["field"]), (Some(line), &json!(field)));
                assert!(found["problem"].as_str().unwrap().contains(reason), "{found}");
            }
        }
        assert_eq!(report.next(), None);
        machine.ok(&["export", &format!("after-{dry_run}.jsonl")]);
        let there = machine.objects(&format!("after-{dry_run}.jsonl")).len();
        assert_eq!(there, if dry_run { 0 } else { 2 });
    }
}

#[test]
fn a_user_who_differs_is_reported_and_left_as_they_are() {
    let machine = Machine::new();
    machine.write("users.jsonl", &lines(&[ada()]));
    machine.ok(&["import", "users.jsonl"]);
    machine.ok(&["export", "--secrets", "before.jsonl"]);
    let other = |field: &str, value: Value| {
        let mut user = ada();
        user[field] = value;
        user
    };
    let mut another_id = ada();
    another_id["id"] = json!(701);
    let bob = |field: &str, value: Value| {
        let mut bob = json!({"id": 702, "email": "bob@example.com", "phone": "+15550100150"});
        bob[field] = value;
        bob
    };
    let app = json!([{"secret": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}]);
    let device = |id: u64| json!([{"id": id, "type": "ios", "secret": "another"}]);
    let conflicting = [
        (other("phone", json!("+15550100124")), "phone"),
        (other("email", json!("eve@example.com")), "email"),
        (other("earlier_emails", json!(["eve@example.com"])), "email"),
        (other("login", json!("eve")), "login"),
        (other("created", json!("2021-05-01T10:00:00Z")), "created"),
        (other("authenticators", app), "authenticators"),
        (other("devices", device(91)), "devices"),
        (another_id, "phone"),
        (bob("login", json!("ada")), "login"),
        (bob("devices", device(90)), "devices"),
    ];
    let users: Vec<_> = conflicting.iter().map(|(user, _)| user.clone()).collect();
    machine.write("other.jsonl", &lines(&users));
    let (printed, errors) = machine.fails_with(&["import", "--report", "report", "other.jsonl"]);
    assert!(printed.starts_with("created=0 unchanged=0 conflicting=10 bad=0"), "{printed}{errors}");
    for ((problem, (_, field)), line) in
        machine.objects("report").iter().zip(&conflicting).zip(1_u64..)
    {
        assert_eq!((&problem["line"], &problem["field"]), (&json!(line), &json!(field)));
    }
    assert!(!errors.contains("555010012"), "{errors}");
    let skipped = machine.ok(&["import", "--on-conflict", "skip", "other.jsonl"]);
    assert_eq!(skipped, "created=0 unchanged=0 conflicting=10 bad=0");
    machine.ok(&["export", "--secrets", "after.jsonl"]);
    assert_eq!(machine.read("before.jsonl"), machine.read("after.jsonl"));
}

#[test]
fn an_import_that_was_killed_is_resumed_by_the_same_command() {
    let machine = Machine::new();
    let user = |id: u64| {
        let phone = format!("+1555{:07}", 100_000 + id);
        json!({"id": id, "email": format!("user{id}@example.com"), "phone": phone,
               "created": "2020-05-01T10:00:00Z", "secret": "GVVBSK3ZCOYEYVCXJUMMFDKG4Y4VIKFL", "last_step": 5})
    };
    let users: Vec<_> = (1..=1800).map(user).collect();
    let all = lines(&users);
    let mut child = machine
        .command(&["import", "--format", "jsonl", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    // The input does not end, so the last batch waits for more.
    input.write_all(lines(&users[..1200]).as_bytes()).unwrap();
    let there = || {
        let service = seconder::open(&machine.url()).unwrap();
        service.engine().unwrap().export_users(None, 10_000, true).unwrap().users.len()
    };
    while there() < 500 {
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    drop(input);
    let before = there();
    assert!((500..=1200).contains(&before), "{before}");
    machine.write("users.jsonl", &all);
    let expected = format!("created={} unchanged={before} conflicting=0 bad=0", 1800 - before);
    assert_eq!(machine.ok(&["import", "users.jsonl"]), expected);
    let none = "created=0 unchanged=1800 conflicting=0 bad=0";
    assert_eq!(machine.ok(&["import", "users.jsonl"]), none);
    assert_eq!(there(), 1800);
}

#[test]
fn a_row_without_end_is_an_error_that_fills_no_memory() {
    let machine = Machine::new();
    let mut text = "id,email,phone\n9,eve@example.com,+15550100129\n2,\"".to_owned();
    text += &"bob@example.com,+15550100124\n".repeat(100_000);
    machine.write("users.csv", &text);
    let (printed, errors) = machine.fails_with(&["import", "users.csv"]);
    assert!(errors.contains("longer than 1 MiB: is a quote missing?"), "{printed}{errors}");
    assert!(printed.starts_with("created=1 "), "what comes before it is imported: {printed}");
    let long = format!("{{\"id\": \"{}\"}}\n", "1".repeat(2_000_000));
    machine.write("users.jsonl", &(long + &lines(&[ada()])));
    let (printed, errors) = machine.fails_with(&["import", "users.jsonl"]);
    assert!(printed.starts_with("created=1 unchanged=0 conflicting=0 bad=1"), "{printed}");
    assert!(errors.contains("line 1: is longer than 1 MiB"), "{errors}");
}

#[test]
fn a_csv_file_without_a_header_is_rejected_without_repeating_its_first_row() {
    let machine = Machine::new();
    let row = "7,ada@example.com,+15550100123,GVVBGVVBGVVBGVVB,true\n";
    machine.write("users.csv", row);
    let (printed, errors) = machine.fails_with(&["import", "users.csv"]);
    assert!(errors.contains("that of column 1, that of column 2"), "{errors}");
    assert!(printed.is_empty() && !errors.contains("ada") && !errors.contains("5550100123"));
    assert!(!errors.contains("GVVB"), "{errors}");
}

#[test]
fn secrets_leave_only_by_request_and_only_for_the_owner() {
    use std::os::unix::fs::PermissionsExt;
    let machine = Machine::new();
    machine.write("users.jsonl", &lines(&[ada()]));
    machine.ok(&["import", "users.jsonl"]);
    let output = machine.run(&["export", "--format", "jsonl", "-"]);
    let (text, notes) = (String::from_utf8(output.stdout).unwrap(), output.stderr);
    let notes = String::from_utf8(notes).unwrap();
    assert!(text.contains("ada@example.com"), "{text}");
    assert!(
        !text.contains("GVVB") && !text.contains("secret") && !text.contains("devices"),
        "{text}"
    );
    assert!(notes.contains("left out: authenticator apps 1, devices 1; --secrets"), "{notes}");
    machine.ok(&["export", "--secrets", "out.jsonl"]);
    let mode = fs::metadata(machine.path("out.jsonl")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let there = machine.fails(&["export", "--secrets", "out.jsonl"]);
    assert!(there.contains("cannot be created"), "{there}");
    let mut to_file = machine.command(&["export", "--secrets", "--format", "jsonl", "-"]);
    let to_file = to_file.stdout(fs::File::create(machine.path("leak")).unwrap()).output().unwrap();
    let refused = String::from_utf8(to_file.stderr).unwrap();
    assert!(!to_file.status.success() && refused.contains("has to be a pipe"), "{refused}");
    assert_eq!(machine.read("leak"), "");
    let piped = machine.run(&["export", "--secrets", "--format", "jsonl", "-"]);
    assert_eq!(String::from_utf8(piped.stdout).unwrap(), machine.read("out.jsonl"));
}

#[test]
fn a_move_from_a_file_to_a_server_and_back_keeps_everybody() {
    let [file, other] = [Machine::new(), Machine::new()];
    let server = postgres_server::Server::start();
    let shared = file.on_server(&server.database("moved"));
    let users = (1..=1500).map(|id: u64| {
        let phone = format!("+1555{:07}", 100_000 + id);
        let app = json!([{"secret": "GVVBSK3ZCOYEYVCXJUMMFDKG4Y4VIKFL", "last_step": id}]);
        json!({"id": id * 5, "email": format!("user{id}@example.com"), "phone": phone,
               "authenticators": app, "devices": [{"id": id, "type": "ios", "secret": "s"}]})
    });
    file.write("users.jsonl", &lines(&users.collect::<Vec<_>>()));
    file.ok(&["import", "users.jsonl"]);
    file.ok(&["export", "--secrets", "file.jsonl"]);
    assert_eq!(
        shared.ok(&["import", "file.jsonl"]),
        "created=1500 unchanged=0 conflicting=0 bad=0"
    );
    assert_eq!(
        shared.ok(&["import", "file.jsonl"]),
        "created=0 unchanged=1500 conflicting=0 bad=0"
    );
    shared.ok(&["export", "--secrets", "server.csv"]);
    other.write("server.csv", &shared.read("server.csv"));
    other.ok(&["import", "server.csv"]);
    other.ok(&["export", "--secrets", "other.jsonl"]);
    assert_eq!(file.read("file.jsonl"), other.read("other.jsonl"));
}

#[test]
fn the_commands_of_the_guide_print_what_it_says() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/migrate.md");
    let page = fs::read_to_string(page).unwrap();
    let machine = Machine::new();
    for heading in ["## Import users", "## Export users"] {
        let steps = documents::steps(&page, heading);
        assert!(steps.len() >= 4, "{heading}");
        for step in steps {
            let output = machine.shell(&step.command);
            assert!(output.status.success(), "{}: {output:?}", step.command);
            assert_eq!(String::from_utf8(output.stdout).unwrap(), step.output, "{}", step.command);
        }
    }
}

fn odd_user(id: u64) -> impl Strategy<Value = Value> {
    let email = "[^\\s@\\pC\"]{1,20}@[^\\s@\\pC]{1,20}";
    let label = "[^\\pC]{1,20}[\n\t]?[^\\pC]{0,5}";
    let login = proptest::option::of("[a-z_][A-Za-z0-9_.@+-]{0,8}");
    let app = (
        proptest::collection::vec(any::<u8>(), 16..64),
        6_u8..=8,
        1_u64..3600,
        label,
        any::<bool>(),
    );
    let flags = proptest::array::uniform4(any::<bool>());
    let created = 0_i64..253_402_300_799;
    let others = proptest::collection::vec(email, 1..4);
    let apps = proptest::collection::vec(app, 0..2);
    (others, login, apps, flags, created, any::<[u8; 32]>()).prop_map(
        move |(mut emails, login, apps, [confirmed, sms, locked, device], created, hash)| {
            let email = emails.remove(0);
            let apps = apps.into_iter().map(|(secret, digits, period, label, pending)| {
                let last_step = (!pending).then_some(period);
                json!({"secret": base32(&secret), "digits": digits, "period": period, "label": label,
                       "pending": pending, "last_step": last_step, "created": created})
            });
            let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
            let device = device.then(|| json!([{"id": id, "type": "svc_chrome", "secret_hash": hash}]));
            json!({
                "id": id, "email": email, "earlier_emails": emails,
                "login": login.map(|login| format!("{login}{id}")),
                "phone": format!("+3906{:07}", 1_000_000 + id), "confirmed": confirmed, "sms_used": sms,
                "locked": if locked { json!(["codes", "authenticators"]) } else { json!(null) },
                "created": created, "authenticators": apps.collect::<Vec<_>>(), "devices": device,
            })
        },
    )
}

fn base32(bytes: &[u8]) -> String {
    let bits: Vec<u8> =
        bytes.iter().flat_map(|b| (0..8).rev().map(move |at| b >> at & 1)).collect();
    let letters = bits.chunks(5).map(|chunk| {
        let value = (0..5).fold(0, |value, at| value << 1 | chunk.get(at).copied().unwrap_or(0));
        char::from(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"[usize::from(value)])
    });
    letters.collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_exported_is_imported_again_to_the_byte(
        users in (1_u64..40).prop_flat_map(|count| (1..=count).map(odd_user).collect::<Vec<_>>()),
    ) {
        let [first, second, third] = [Machine::new(), Machine::new(), Machine::new()];
        first.write("users.jsonl", &lines(&users));
        let created = format!("created={} unchanged=0 conflicting=0 bad=0", users.len());
        prop_assert_eq!(first.ok(&["import", "users.jsonl"]), &*created);
        first.ok(&["export", "--secrets", "out.jsonl"]);
        first.ok(&["export", "--secrets", "out.csv"]);
        for (machine, file) in [(&second, "out.jsonl"), (&third, "out.csv")] {
            machine.write(file, &first.read(file));
            prop_assert_eq!(machine.ok(&["import", file]), &*created);
            machine.ok(&["export", "--secrets", "again.jsonl"]);
            machine.ok(&["export", "--secrets", "again.csv"]);
            prop_assert_eq!(machine.read("again.jsonl"), first.read("out.jsonl"));
            prop_assert_eq!(machine.read("again.csv"), first.read("out.csv"));
        }
    }
}
