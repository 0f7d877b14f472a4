//! The service as seen by clients that use other names, the older generation, or XML.

use crate::common::{self, HttpReply, World};
use seconder::wire::{Generation, Names};
use serde_json::json;

#[test]
fn replies_use_the_configured_names() {
    let names = Names::new("acme").and_then(|names| names.push_path("onetouch"));
    let world = World::with(|settings| settings.names(names.unwrap_or_default()));
    let key = common::KEY;
    let get = |path: &str, header: &str| {
        world.send(&format!(
            "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{header}: {key}\r\n\r\n"
        ))
    };
    let form = "user[email]=ada@example.com&user[cellphone]=555-010-0123&user[country_code]=1";
    let created = world.send(&format!(
        "POST /protected/json/users/new?{form} HTTP/1.1\r\nHost: localhost\r\n\
         Connection: close\r\nX-Acme-API-Key: {key}\r\n\r\n"
    ));
    let id = &created.body["user"]["id"];
    let status = get(&format!("/protected/json/users/{id}/status"), "X-Acme-API-Key");
    assert_eq!(status.body["status"]["acme_id"], *id, "{}", status.body);
    assert!(status.body["status"].get("svc_id").is_none(), "{}", status.body);
    assert_eq!(get("/protected/json/app/details", "X-Svc-API-Key").status, 401);

    let request = "approval_requests/3f05a350-4b2c-0136-f779-12c0c2bf9eas";
    let known = get(&format!("/onetouch/json/{request}"), "X-Acme-API-Key");
    assert_eq!((known.status, &known.body["error_code"]), (404, &json!("60049")));
    assert_eq!(known.body["errors"], json!({}));
    let unknown = get(&format!("/push/json/{request}"), "X-Acme-API-Key");
    assert_eq!((unknown.status, &unknown.body["error_code"]), (404, &json!("60002")));
}

const USER: &str = "user[email]=ada@example.com&user[cellphone]=555-010-0123&user[country_code]=1";

/// The three paths that delete a user: the current one and the two older ones.
const DELETE: [&str; 3] = ["users/ID/delete", "users/delete/ID", "users/ID/remove"];

/// Sends a request with the key as a parameter.
fn send(world: &World, method: &str, path: &str, params: &str) -> HttpReply {
    let path = format!("{path}?api_key={}&{params}", common::KEY);
    world.request_as(None, method, &path, None)
}

#[test]
fn a_key_in_the_query_gets_current_bodies() {
    let world = World::start();
    let created = send(&world, "POST", "/protected/json/users/new", USER);
    assert_eq!(created.body["success"], json!(true), "{}", created.body);
    let id = created.body["user"]["id"].as_u64().unwrap_or_default();
    let sent = send(&world, "GET", &format!("/protected/json/sms/{id}"), "");
    assert_eq!(sent.body["success"], json!(true), "{}", sent.body);
    assert!(sent.body["message"].is_string(), "{}", sent.body);
    let unknown = send(&world, "GET", "/protected/json/users/4711/status", "");
    assert_eq!((unknown.status, &unknown.body["success"]), (404, &json!(false)));
    for path in DELETE {
        let again = send(&world, "POST", "/protected/json/users/new", USER);
        let path = path.replace("ID", &again.body["user"]["id"].to_string());
        let gone = send(&world, "POST", &format!("/protected/json/{path}"), "");
        assert_eq!((gone.status, &gone.body["success"]), (200, &json!(true)), "{path}");
    }
}

#[test]
fn an_application_with_older_replies_gets_the_older_bodies() {
    let world = World::with(|settings| settings.replies(Generation::Older));
    let get = |path: &str, params: &str| send(&world, "GET", path, params);
    let created = send(&world, "POST", "/protected/json/users/new", USER);
    let id = created.body["user"]["id"].as_u64().unwrap_or_default();
    assert_eq!(created.body, json!({"user": {"id": id, "created": true}}));
    let sent = get(&format!("/protected/json/sms/{id}"), "");
    assert_eq!(sent.body["success"], json!("SMS token was sent"), "{}", sent.body);
    let wrong = if world.code() == "0000000" { "0000001" } else { "0000000" };
    let wrong = get(&format!("/protected/json/verify/{wrong}/{id}"), "force=true");
    assert_eq!((wrong.status, &wrong.body["errors"]["token"]), (401, &json!("is invalid")));
    let flag = |reply: HttpReply| reply.body["success"].clone();
    for path in ["app/details", "app/stats", &format!("users/{id}/status")] {
        assert_eq!(flag(get(&format!("/protected/json/{path}"), "")), json!("true"), "{path}");
    }
    // The key in the header makes no difference.
    let details = "/protected/json/app/details";
    assert_eq!(flag(world.request("GET", details, None)), json!("true"));
    assert_eq!(flag(get(details, "user_ip=x")), json!("false"));
    assert_eq!(flag(get("/protected/json/users/4711/status", "")), json!("false"));
    let invalid = send(&world, "POST", "/protected/json/users/new", "user[email]=x");
    assert_eq!((invalid.status, flag(invalid)), (400, json!("false")));
    let key = world.request_as(None, "GET", &format!("{details}?api_key=other"), None);
    assert_eq!((key.status, &key.body["error_code"]), (401, &json!("60001")));
    assert_eq!(flag(key), json!("false"));
    let ask = format!("/push/json/users/{id}/approval_requests");
    let asked = send(&world, "POST", &ask, "message=Log+in");
    assert_eq!((asked.status, flag(asked)), (200, json!(true)));
    for path in DELETE {
        let again = send(&world, "POST", "/protected/json/users/new", USER);
        let path = path.replace("ID", &again.body["user"]["id"].to_string());
        let gone = send(&world, "POST", &format!("/protected/json/{path}"), "");
        assert_eq!((gone.status, &gone.body["success"]), (200, &json!("true")), "{path}");
    }
}

#[test]
fn xml_paths_return_xml() {
    let world = World::start();
    let reply = world.request("GET", "/protected/xml/app/details", None);
    assert_eq!(reply.header("content-type"), "application/xml; charset=utf-8");
    let unknown = world.request("GET", "/protected/xml/users/4711/status", None);
    assert_eq!(
        (unknown.status, unknown.header("content-type")),
        (404, "application/xml; charset=utf-8")
    );
}
