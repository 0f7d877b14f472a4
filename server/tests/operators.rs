//! Operators on other machines: their tokens, and the commands that they run there.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

mod commands;
mod families;

use crate::command::run;
use crate::common::{KEY, exchange};
use seconder::calls::{ActivityType, CreateApproval, FindUser, RegisterActivity};
use seconder::engine::operator::{
    AddOperator, CreateApp, ListAudit, ListUsers, RemoveOperator, Role, RotateOperatorToken,
    ShowApp,
};
use seconder::engine::{AuditFilter, Message};
use seconder::model::Secret;
use seconder::{Error, Handle, Rejection, Service, Settings};
use seconder_server::{Listeners, Server, Tls};
use serde_json::{Value, json};
use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::Output;
use tempfile::TempDir;

const ANY: SocketAddr = SocketAddr::V4(std::net::SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0));

/// A service with a listener for operators, whose database is `seconder.db` in its folder.
struct World {
    folder: TempDir,
    server: Server,
    service: Service,
}

impl World {
    fn start() -> World {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", folder.path().join("seconder.db").display());
        let settings = Settings::new(&url).api_key(KEY).deliver(|_: &Message| Ok(()));
        let service = settings.open().unwrap();
        for number in ["555-010-0123", "555-010-0124", "555-010-0125"] {
            service.create_user("ada@example.com", number, "1").unwrap();
        }
        service.set_login(1.try_into().unwrap(), &"ada".parse().unwrap()).unwrap();
        service.enrol_authenticator(1.try_into().unwrap()).unwrap();
        service
            .handle(&CreateApproval::new(2.try_into().unwrap(), "Pay?".parse().unwrap()))
            .unwrap();
        service.request_sms(3.try_into().unwrap()).unwrap();
        let listeners =
            Listeners::new().tls(Tls::SelfSigned).https(ANY).unwrap().operators(ANY).unwrap();
        let server = Server::serve(service.clone(), listeners).unwrap();
        fs::write(folder.path().join("ca.pem"), server.certificate_pem()).unwrap();
        World { folder, server, service }
    }

    fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn url(&self) -> String {
        format!("https://{}", self.server.operator_addrs()[0])
    }

    /// Adds an operator, and returns the token.
    fn token(&self, name: &str, role: Role, apps: Option<Vec<i64>>) -> Secret {
        let add = AddOperator { name: name.to_owned(), role, apps, expires_in: None };
        self.service.operate(&add).unwrap().token
    }

    fn settings(&self, url: &str) -> Settings {
        Settings::new(url).ca_file(self.folder().join("ca.pem"))
    }

    fn open(&self, token: &Secret) -> Service {
        self.settings(&self.url()).operator_token(token.expose()).open().unwrap()
    }

    /// Runs a command on another machine.
    fn remotely(&self, arguments: &[&str]) -> Output {
        let url = self.url();
        let options =
            ["--service", &url, "--operator-token-file", "token", "--service-ca-file", "ca.pem"];
        run(self.folder(), &[arguments, &options].concat())
    }

    /// The status and the body of the response to a request at this address.
    fn send(&self, addr: SocketAddr, request: &str) -> (u16, String) {
        let got = exchange(addr, self.server.certificate_pem(), request.as_bytes());
        let got = String::from_utf8(got).unwrap();
        let (head, body) = got.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
    }
}

fn request(method: &str, path: &str, header: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{header}Content-Length: {length}\r\n\r\n{body}"
    )
}

#[track_caller]
fn refused<T: std::fmt::Debug>(result: seconder::Result<T>) -> Rejection {
    match result {
        Err(Error::Rejected(no)) => *no,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_operator_sees_and_does_what_the_role_allows() {
    let world = World::start();
    let reader = world.open(&world.token("rita", Role::Read, None));
    let users = reader.operate(&ListUsers::default()).unwrap().users;
    assert_eq!(users.len(), 3);
    assert_eq!(
        reader.operate_json("user.list", json!({"most": 1}).as_object().unwrap().clone()).unwrap()
            ["users"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    // Calls of the application that only read.
    assert_eq!(reader.handle(&FindUser::new("ada".parse().unwrap())).unwrap().user_id.get(), 1);
    let no = refused(reader.delete_user(2.try_into().unwrap()));
    assert_eq!(
        (no.status, &*no.message),
        (403, "The role read does not include delete_user, which needs support.")
    );
    let no = refused(reader.operate(&RemoveOperator { name: "rita".into() }));
    assert_eq!(
        (no.status, &*no.message),
        (403, "The role read does not include operator.remove, which needs admin.")
    );

    let support = world.open(&world.token("sam", Role::Support, None));
    support.delete_user(2.try_into().unwrap()).unwrap();
    assert_eq!(refused(support.create_recovery_codes(1.try_into().unwrap())).status, 403);
    // With a code it is the code that is wrong; on the operator's word alone, it is for others.
    let number = |extra: Value| {
        let mut parameters =
            json!({"user_id": 1, "phone_number": "555-010-0188", "country_code": 1});
        parameters.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        refused(support.operate_json("user.set_number", parameters.as_object().unwrap().clone()))
    };
    assert_eq!(number(json!({"verification_code": "1234567"})).status, 404);
    for unverified in [json!(true), json!("true"), json!(1)] {
        let no = number(json!({ "unverified": unverified }));
        assert_eq!(
            (no.status, &*no.message),
            (
                403,
                "The role support does not include user.set_number without a code, which needs admin."
            )
        );
    }
    let admin = world.open(&world.token("ada", Role::Admin, None));
    admin.create_recovery_codes(1.try_into().unwrap()).unwrap();
    let banned = RegisterActivity::new(1.try_into().unwrap(), ActivityType::Banned);
    admin.handle(&banned).unwrap();
    for call in [reader.phone_info("555-010-0123", "1").err(), support.handle(&banned).err()] {
        assert!(matches!(call, Some(Error::Rejected(no)) if no.status == 403));
    }
    let audit = world.service.operate(&ListAudit::of(&AuditFilter::default(), None, 100)).unwrap();
    let by = |call: &str| {
        let entry = audit.entries.iter().find(|entry| entry.call == call).unwrap();
        entry.operator_name.clone()
    };
    assert_eq!(by("delete_user").as_deref(), Some("sam"));
    assert_eq!(by("create_recovery_codes").as_deref(), Some("ada"));
    assert_eq!(by("register_activity").as_deref(), Some("ada"));

    // An error is the one that an engine in this process returns.
    let wrong = json!({"most": 100_000}).as_object().unwrap().clone();
    let there = admin.operate_json("user.list", wrong.clone()).unwrap_err();
    assert_eq!(there, world.service.operate_json("user.list", wrong).unwrap_err());
    let unknown = admin.operate_json("user.lost", Default::default()).unwrap_err();
    assert_eq!(unknown, world.service.operate_json("user.lost", Default::default()).unwrap_err());
}

#[test]
fn a_token_of_one_application_is_of_no_use_for_another() {
    let world = World::start();
    let other = world
        .service
        .operate(&CreateApp { name: "Other".into(), ..CreateApp::default() })
        .unwrap()
        .app_id;
    let token = world.token("olga", Role::Admin, Some(vec![other]));
    let olga = world.open(&token);
    // Its application is the default.
    assert_eq!(olga.operate(&ShowApp { app_id: None }).unwrap().name, "Other");
    assert!(olga.operate(&ListUsers::default()).unwrap().users.is_empty());
    assert_eq!(olga.create_user("bob@example.com", "555-010-0126", "1").unwrap().user_id.get(), 4);
    let only = format!("The token is for application {other} only, not for 1.");
    assert_eq!(refused(olga.operate(&ShowApp { app_id: Some(1) })).message, only);
    let first = world.settings(&world.url()).operator_token(token.expose()).operator_app(1);
    let first = first.open().unwrap();
    assert_eq!(refused(first.operate(&ListUsers::default())).message, only);
    assert_eq!(refused(first.app_details()).message, only);
    for (name, parameters) in [
        ("operator.list", json!({})),
        ("keyring.list", json!({})),
        ("jobs.list", json!({})),
        ("app.list", json!({"app_id": other})),
    ] {
        let no = refused(olga.operate_json(name, parameters.as_object().unwrap().clone()));
        assert_eq!(no.status, 403, "{name}");
        assert!(
            no.message.ends_with(&format!("{name} is about the whole service.")),
            "{}",
            no.message
        );
    }
    let add = |apps| {
        world.service.operate(&AddOperator {
            name: "no".into(),
            role: Role::Read,
            apps: Some(apps),
            expires_in: None,
        })
    };
    assert!(add(vec![]).is_err() && add(vec![99]).unwrap_err().to_string().contains("99"));
}

#[test]
fn a_replaced_or_removed_token_ends_at_once() {
    let world = World::start();
    let first = world.token("ada", Role::Admin, None);
    let ada = world.open(&first);
    let rotated =
        ada.operate(&RotateOperatorToken { name: "ada".into(), expires_in: None }).unwrap();
    let no = refused(ada.operate(&ListUsers::default()));
    assert_eq!((no.status, &*no.message), (401, "No operator has this token, or it has expired."));
    let ada = world.open(&rotated.token);
    ada.operate(&RemoveOperator { name: "ada".into() }).unwrap();
    assert_eq!(refused(ada.operate(&ListUsers::default())).status, 401);
}

#[test]
fn a_caller_of_one_family_is_a_stranger_to_the_others() {
    let world = World::start();
    let token = world.token("ada", Role::Admin, None);
    let (calls, operators) = (world.server.addr(), world.server.operator_addrs()[0]);
    let bearer = format!("Authorization: Bearer {}\r\n", token.expose());
    let key = format!("X-Svc-API-Key: {KEY}\r\n");
    let as_key = format!("X-Svc-API-Key: {}\r\n", token.expose());
    let key_as_token = format!("Authorization: Bearer {KEY}\r\n");
    let signature = "Seconder-Device: 1\r\nSeconder-Signature: AAAA\r\n".to_owned();
    let (operation, details) = ("/-/operator/user.list", "/protected/json/app/details");
    // On the listener of calls, an operation is a path that does not exist, with any header.
    let unknown = world.send(calls, &request("POST", "/-/unknown/user.list", "", ""));
    for header in ["", &bearer, &key, &as_key, &signature] {
        assert_eq!(
            world.send(calls, &request("POST", operation, header, "{}")),
            unknown,
            "{header}"
        );
    }
    for header in [&bearer, &as_key, &key_as_token, &signature] {
        assert_eq!(world.send(calls, &request("GET", details, header, "")).0, 401, "{header}");
    }
    let post =
        |path: &str, body: &str| world.send(operators, &request("POST", path, &bearer, body));
    assert_eq!(post(operation, "{}").0, 200);
    assert_eq!(post("/-/operator/../operator/user.list", "{}").0, 400);
    assert_eq!(post("/-/operator/user%2Elist", "{}").0, 400);
    assert_eq!(post("/-/operator/USER.LIST", "{}").0, 400);
    assert_eq!(world.send(operators, &request("GET", operation, &bearer, "")).0, 405);
    assert_eq!(
        world.send(operators, &request("GET", &format!("{details}?api_key={KEY}"), &bearer, "")).0,
        400
    );
    // A request must not act on another application than it names.
    let on = |app: &str, body: &str| {
        world.send(
            operators,
            &request("POST", "/-/operator/app.show", &format!("{bearer}{app}"), body),
        )
    };
    assert_eq!(on("Seconder-App: 1\r\n", "").0, 200);
    for (app, body) in [
        ("Seconder-App: 1\r\nSeconder-App: 1\r\n", ""),
        ("Seconder-App: 99\r\n", ""),
        ("Seconder-App: 99\r\n", "{\"app_id\":null}"),
        ("Seconder-App: one\r\n", ""),
        ("", "{\"app_id\":99}"),
        ("", "{\"app_id\":1.5}"),
    ] {
        assert_eq!(on(app, body).0, 400, "{app} {body}");
    }
    assert_eq!(post("/-/operator/app.show?app_id=2", "").0, 400);
    assert_eq!(post("/-/operator/database.backup", "{\"path\":\"copy.db\"}").0, 403);
    let delete =
        request("POST", "/-/operator/app.delete", &format!("{bearer}Seconder-App: 1\r\n"), "{}");
    assert_eq!(world.send(operators, &delete).0, 400);
    for wrong in ["[]", "{", "1", r#"{"most":1,"most":2}"#, r#"{"least":1}"#] {
        assert_eq!(post(operation, wrong).0, 400, "{wrong}");
    }
    assert_eq!(
        post(operation, &format!("{{\"after\":\"{}\"}}", "a".repeat(2 * 1024 * 1024))).0,
        413
    );
}

#[test]
fn without_a_token_every_path_of_the_listener_of_operators_is_refused() {
    for path in [
        "/-/operator/user.list",
        "/protected/json/app/details",
        "/-/approver/requests",
        "/",
        "/-/sandbox/clock",
        "//-/operator/user.list",
        "/-/Operator/x",
    ] {
        let world = World::start();
        let token = world.token("ada", Role::Admin, None);
        let token = token.expose();
        for header in [
            String::new(),
            format!("X-Svc-API-Key: {KEY}\r\n"),
            format!("X-Svc-API-Key: {token}\r\n"),
            format!("Authorization: Bearer {KEY}\r\n"),
            format!("Authorization: Basic {token}\r\n"),
            format!("Authorization: Bearer {token}\r\nAuthorization: Bearer {token}\r\n"),
            "Seconder-Device: 1\r\nSeconder-Signature: AAAA\r\n".to_owned(),
        ] {
            for method in ["GET", "POST"] {
                let request = request(method, path, &header, "");
                let (status, body) = world.send(world.server.operator_addrs()[0], &request);
                assert_eq!(status, 401, "{method} {path} {header}: {body}");
            }
        }
    }
}

#[test]
fn wrong_tokens_are_limited_by_address_and_keep_no_operator_out() {
    let world = World::start();
    let (ada, bob) = (world.token("ada", Role::Read, None), world.token("bob", Role::Read, None));
    let known = world.open(&ada);
    known.operate(&ListUsers::default()).unwrap();
    let stranger = world.open(&Secret::new("sop_0000000000000000000000000000000000000000000"));
    let statuses: Vec<u16> = (0..40)
        .map(|_| match stranger.operate(&ListUsers::default()) {
            Err(Error::Rejected(no)) => no.status,
            Err(Error::RateLimited { retry_after, .. }) => {
                assert!(retry_after.is_some());
                503
            }
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!((statuses[0], statuses[39]), (401, 503), "{statuses:?}");
    known.operate(&ListUsers::default()).unwrap();
    // A right token that was never used here waits like a guess.
    assert!(world.open(&bob).operate(&ListUsers::default()).is_err());
}

#[test]
fn a_service_for_operators_needs_a_certificate_and_an_engine() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(folder.path(), &["serve", "--unix", "s.sock", "--operator-listen", "0"]);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(errors.contains("certificate is missing"), "{errors}");
    let no_file = run(folder.path(), &["user", "list", "--service", "https://localhost:1"]);
    assert!(String::from_utf8(no_file.stderr).unwrap().contains("--operator-token-file"));
}
