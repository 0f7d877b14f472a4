//! The service as seen by clients that use other names, the older generation, or XML.

mod common;

use common::World;
use seconder::wire::Names;
use serde_json::json;

#[test]
fn replies_use_the_configured_names() {
    let names = Names::new("acme").and_then(|names| names.push_path("onetouch"));
    let world = World::named(names.unwrap_or_default());
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

#[test]
fn the_older_generation_gets_the_older_bodies() {
    let world = World::start();
    let send = |method: &str, path: &str, params: &str| {
        world.request_as(None, method, &format!("{path}?api_key={}&{params}", common::KEY), None)
    };
    let user = "user[email]=ada@example.com&user[cellphone]=555-010-0123&user[country_code]=1";
    let created = send("POST", "/protected/json/users/new", user);
    let id = created.body["user"]["id"].as_u64().unwrap_or_default();
    assert_eq!(created.body, json!({"user": {"id": id}}));
    let sent = send("GET", &format!("/protected/json/sms/{id}"), "");
    assert_eq!(sent.body["success"], json!("SMS token was sent."), "{}", sent.body);
    let wrong = if world.code() == "0000000" { "0000001" } else { "0000000" };
    let wrong = send("GET", &format!("/protected/json/verify/{wrong}/{id}"), "force=true");
    assert_eq!((wrong.status, &wrong.body["errors"]["token"]), (401, &json!("is invalid")));
    for path in ["users/delete/ID", "users/ID/remove"] {
        let again = send("POST", "/protected/json/users/new", user);
        let path = path.replace("ID", &again.body["user"]["id"].to_string());
        let gone = send("POST", &format!("/protected/json/{path}"), "");
        assert_eq!((gone.status, &gone.body["success"]), (200, &json!("true")), "{path}");
    }
    let key = world.request_as(None, "GET", "/protected/json/app/details?api_key=other", None);
    assert_eq!((key.status, &key.body["error_code"]), (401, &json!("60001")));
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
