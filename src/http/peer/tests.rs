//! Every call with every right, and the calls that a right for the own account does not allow.

use super::*;
use crate::calls::{Call, Handle, ROUTES, RouteMatch, match_route};
use crate::engine::Engine;
use crate::http::{Backend, Caller, Origin, RawReply, RawRequest, respond};
use crate::model::ApiKey;
use crate::otp::Totp;
use crate::wire::{Generation, Names, Reply};
use crate::{Service, Settings, Verdict, Verify};
use serde_json::{Map, Value, json};
use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};

/// The calls of a login, and those for the own account. A new call is for neither, until it says so
/// and is in this list.
const LOGIN: [&str; 9] = [
    "request_sms",
    "request_call",
    "verify",
    "user_status",
    "create_approval",
    "check_approval",
    "find_user",
    "prepare_offline",
    "report_offline",
];
const OWN_ACCOUNT: [&str; 7] = [
    "verify",
    "user_status",
    "enrol_authenticator",
    "find_user",
    "create_recovery_codes",
    "confirm_authenticator",
    "devices",
];

/// An engine in which `ada` is the login name of user 7.
struct WithLogins(Engine);

impl Backend for WithLogins {
    fn names(&self) -> &Names {
        self.0.names()
    }

    fn replies(&self) -> Generation {
        self.0.replies()
    }

    fn user_with_login(&self, login: &str) -> Result<Option<UserId>> {
        Ok((login == "ada").then(|| 7.try_into().unwrap()))
    }

    fn check_own_account(&self, _call: &MatchedCall, _user_id: UserId) -> Result<()> {
        Ok(())
    }

    fn check_key(&self, key: &ApiKey) -> Result<()> {
        self.0.check_key(key)
    }

    fn had_key(&self, key: &ApiKey) -> bool {
        self.0.had_key(key)
    }

    fn handle_call(
        &self,
        origin: &Origin,
        call: MatchedCall,
        params: Map<String, Value>,
    ) -> Result<Reply> {
        self.0.handle_call(origin, call, params)
    }
}

fn peer(login: Option<&str>, rights: &[Right]) -> Peer {
    let rights = rights.iter().fold(Rights::default(), |rights, right| rights.with(*right));
    Peer::new(1000, login.map(str::to_owned), rights)
}

/// Returns a path of the call about a user, whose login name is `ada` if the id is 7.
fn path(template: &str, id: &str) -> String {
    let uuid = "0a1b2c3d-0000-4000-8000-0123456789ab";
    let login = if id == "7" { "ada" } else { "bob" };
    let fields = [("format", "json"), ("token", "1234567"), ("uuid", uuid), ("login", login)];
    let ids = USER_IDS.map(|name| (name, id));
    let fill = |path: String, (name, value)| path.replace(&format!("{{{name}}}"), value);
    fields.into_iter().chain(ids).fold(template.to_owned(), fill)
}

fn service() -> WithLogins {
    let service: Service = Settings::new("sandbox:").api_key("key").open().unwrap();
    WithLogins(service.require_engine().unwrap().clone())
}

fn send(peer: &Peer, request: RawRequest) -> RawReply {
    respond(&service(), Caller::Peer(peer.clone()), request)
}

fn body(reply: &RawReply) -> Value {
    serde_json::from_slice(&reply.body).unwrap()
}

#[test]
fn every_call_needs_the_right_that_it_is_for() {
    for route in ROUTES {
        let may = |login: Option<&str>, rights: &[Right], id: &str| {
            let request = RawRequest::new(route.method, path(route.path, id));
            let reply = send(&peer(login, rights), request);
            assert_eq!(reply.status == 403, reply.refused.is_some(), "{}", route.name);
            reply.status != 403
        };
        let (login, own) = (LOGIN.contains(&route.name), OWN_ACCOUNT.contains(&route.name));
        let ada = Some("ada");
        assert!(!may(ada, &[], "7"), "{}", route.name);
        assert!(may(None, &[Right::Application], "8"), "{}", route.name);
        assert_eq!(may(None, &[Right::Login], "8"), login, "{}", route.name);
        assert_eq!(may(ada, &[Right::OwnAccount], "7"), own, "{}", route.name);
        for (name, id) in [(ada, "8"), (Some("bob"), "7"), (None, "7")] {
            assert!(!may(name, &[Right::OwnAccount], id), "{} {name:?} {id}", route.name);
        }
        assert_eq!(may(ada, &[Right::Login, Right::OwnAccount], "7"), login || own);
        assert_eq!(may(ada, &[Right::Login, Right::OwnAccount], "8"), login, "{}", route.name);
    }
}

/// A new call for the own account is checked, unless it says that it changes nothing.
#[test]
fn a_call_for_the_own_account_is_checked_unless_it_changes_no_protection() {
    const CHANGES_NO_PROTECTION: [&str; 5] =
        ["verify", "user_status", "find_user", "confirm_authenticator", "devices"];
    for route in ROUTES {
        let path = path(route.path, "7");
        let RouteMatch::Call(call) = match_route(route.method, &path) else { panic!("{path}") };
        let exempt = CHANGES_NO_PROTECTION.contains(&route.name);
        assert_eq!(call.changes_protection(), call.for_own_account() && !exempt, "{}", route.name);
    }
}

#[test]
fn a_refusal_says_who_may_not_do_what_in_the_format_and_generation_of_the_call() {
    let message = "user 1000 may not make create_user over this socket: the rules of the server \
                   give no such right";
    let login = peer(None, &[Right::Login]);
    let reply = send(&login, RawRequest::new("POST", "/protected/json/users/new"));
    assert_eq!((reply.status, reply.refused.as_deref()), (403, Some(message)));
    let said = body(&reply);
    assert_eq!((&said["message"], &said["success"]), (&json!(message), &json!(false)));
    assert_eq!(said["error_code"], json!("60002"));
    let xml = send(&login, RawRequest::new("POST", "/protected/xml/users/new"));
    assert_eq!(xml.header("content-type"), Some("application/xml; charset=utf-8"));
    assert!(String::from_utf8_lossy(&xml.body).contains(message));
    let own = peer(Some("ada"), &[Right::OwnAccount]);
    let other = send(&own, RawRequest::new("GET", "/protected/json/verify/1234567/8"));
    assert_eq!(body(&other)["success"], json!("false"));
    assert!(
        other.refused.unwrap().contains("user 1000 may make verify over this socket for the own")
    );
    let older = Settings::new("sandbox:").api_key("key").replies(Generation::Older).open().unwrap();
    let request = RawRequest::new("GET", "/protected/json/app/details");
    let older = respond(older.require_engine().unwrap(), Caller::Peer(login), request);
    assert_eq!(body(&older)["success"], json!("false"));
}

/// Notes which user each call is about, as its own type reads it.
#[derive(Default)]
struct Noting(Mutex<Vec<Option<UserId>>>);

impl<C: Call> Handle<C> for Noting {
    fn handle(&self, call: &C) -> Result<C::Reply> {
        self.0.lock().unwrap().push(call.user());
        Err(Error::invalid_response("nothing is done"))
    }
}

impl Backend for (Noting, Names) {
    fn names(&self) -> &Names {
        &self.1
    }

    fn replies(&self) -> Generation {
        Generation::Current
    }

    fn user_with_login(&self, login: &str) -> Result<Option<UserId>> {
        Ok((login == "ada").then(|| 7.try_into().unwrap()))
    }

    fn check_own_account(&self, _call: &MatchedCall, _user_id: UserId) -> Result<()> {
        Ok(())
    }

    fn check_key(&self, _key: &ApiKey) -> Result<()> {
        Ok(())
    }

    fn had_key(&self, _key: &ApiKey) -> bool {
        false
    }

    fn handle_call(
        &self,
        _origin: &Origin,
        call: MatchedCall,
        params: Map<String, Value>,
    ) -> Result<Reply> {
        Ok(call.handle(&self.0, params, Generation::Current))
    }
}

#[test]
fn parameters_do_not_lead_to_another_account() {
    let own = peer(Some("ada"), &[Right::OwnAccount]);
    let noting = (Noting::default(), Names::default());
    let has_id = |path: &str| USER_IDS.iter().any(|id| path.contains(&format!("{{{id}}}")));
    let own_account = ROUTES.iter().filter(|route| OWN_ACCOUNT.contains(&route.name));
    for route in own_account.filter(|route| has_id(route.path)) {
        for more in ["", "user_id=8", "svc_id=8", "user_id=8&svc_id=8", "login=bob"] {
            let target = format!("{}?code=123456&{more}", path(route.path, "7"));
            let request = RawRequest::new(route.method, target);
            let reply = respond(&noting, Caller::Peer(own.clone()), request);
            assert_eq!(reply.refused, None, "{} {more}", route.name);
            let users = std::mem::take(&mut *noting.0.0.lock().unwrap());
            let own_user = Some(UserId::try_from(7).unwrap());
            assert!(users == [own_user], "{} {more} {users:?}", route.name);
        }
    }
    // Not the same text as an id, though a reader might take it for one.
    for id in ["07", "+7", "7%20", "7%00", "%37%2e%2e", "7x", "", "8%2F..%2F7"] {
        let path = format!("/protected/json/users/{id}/status");
        let reply = send(&own, RawRequest::new("GET", path.clone()));
        assert!([403, 404].contains(&reply.status), "{path} {}", reply.status);
    }
}

#[test]
fn a_login_name_in_the_path_must_be_the_own() {
    let call = |path: &str| match match_route("GET", path) {
        RouteMatch::Call(call) => call,
        other => panic!("{other:?}"),
    };
    let service = service();
    let permitted = |login: &str, path: &str| {
        let peer = peer(Some(login), &[Right::OwnAccount]);
        peer.permit(&call(path), &service).is_ok()
    };
    assert!(permitted("ada", "/-/json/logins/ada"));
    assert!(!permitted("ada", "/-/json/logins/bob"));
    // The id alone decides where the path has no name.
    assert!(permitted("ada", "/protected/json/users/7/status"));
    assert!(!permitted("bob", "/protected/json/users/7/status"));
    assert!(!permitted("ada", "/protected/json/app/details"));
}

#[test]
#[allow(clippy::disallowed_methods, reason = "the code of an app at the time of the engine")]
fn users_cannot_replace_what_protects_their_account() {
    let service = Settings::new("sandbox:?accept=right").api_key("key").open().unwrap();
    let user = service.create_user("ada@example.com", "555-010-0123", "1").unwrap().user_id;
    service.set_login(user, &"ada".parse().unwrap()).unwrap();
    let ada = Caller::Peer(peer(Some("ada"), &[Right::OwnAccount]));
    let enrol = || {
        let request = RawRequest::new("POST", format!("/protected/json/users/{user}/secret"));
        respond(service.require_engine().unwrap(), ada.clone(), request).status
    };
    assert_eq!(enrol(), 200);
    let uri = service.enrol_authenticator(user).unwrap().uri;
    let app = Totp::from_uri(uri.expose()).unwrap();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let code = app.code(now).expose().parse().unwrap();
    let verify = Verify::new(user, code);
    assert_eq!(service.handle(&verify).unwrap().verdict, Verdict::Right);
    assert_eq!(enrol(), 403);
}

#[test]
fn a_peer_sends_no_key_and_is_not_the_network() {
    let root = peer(None, &[Right::Application]);
    let details = "/protected/json/app/details";
    assert_eq!(send(&root, RawRequest::new("GET", details)).status, 200);
    let header = RawRequest::new("GET", details).header("X-Svc-API-Key", "key");
    for request in [header, RawRequest::new("GET", format!("{details}?api_key=key"))] {
        let reply = send(&root, request);
        assert_eq!((reply.status, reply.refused.as_deref()), (400, None));
        assert!(body(&reply)["errors"]["api_key"].is_string(), "{}", body(&reply));
    }
    // A client that connects over the network needs the key.
    let reply = respond(&service(), Caller::Network, RawRequest::new("GET", details));
    assert_eq!(reply.status, 401);
}

#[test]
fn names_of_rights_are_read_as_they_are_written() {
    for right in Right::ALL {
        assert_eq!(right.name().parse::<Right>().unwrap(), right);
        assert!(Rights::default().with(right).has(right) && !Rights::default().has(right));
    }
    assert!("Login".parse::<Right>().is_err() && "all".parse::<Right>().is_err());
}
