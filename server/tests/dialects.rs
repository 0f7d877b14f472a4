//! The service as clients see it that know other names, the older generation, or XML.

mod common;

use common::World;
use seconder::wire::Names;
use serde_json::json;

#[test]
fn a_client_that_knows_other_names_is_answered_in_those() {
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
fn the_older_generation_gets_its_own_bodies() {
    let world = World::start();
    let ask = |method: &str, path: &str, params: &str| {
        world.ask_as(None, method, &format!("{path}?api_key={}&{params}", common::KEY), None)
    };
    let user = "user[email]=ada@example.com&user[cellphone]=555-010-0123&user[country_code]=1";
    let created = ask("POST", "/protected/json/users/new", user);
    let id = created.body["user"]["id"].as_u64().unwrap_or_default();
    assert_eq!(created.body, json!({"user": {"id": id}}));
    let sent = ask("GET", &format!("/protected/json/sms/{id}"), "");
    assert_eq!(sent.body["success"], json!("SMS token was sent."), "{}", sent.body);
    let wrong = if world.code() == "0000000" { "0000001" } else { "0000000" };
    let wrong = ask("GET", &format!("/protected/json/verify/{wrong}/{id}"), "force=true");
    assert_eq!((wrong.status, &wrong.body["errors"]["token"]), (401, &json!("is invalid")));
    for path in ["users/delete/ID", "users/ID/remove"] {
        let again = ask("POST", "/protected/json/users/new", user);
        let path = path.replace("ID", &again.body["user"]["id"].to_string());
        let gone = ask("POST", &format!("/protected/json/{path}"), "");
        assert_eq!((gone.status, &gone.body["success"]), (200, &json!("true")), "{path}");
    }
    let key = world.ask_as(None, "GET", "/protected/json/app/details?api_key=other", None);
    assert_eq!((key.status, &key.body["error_code"]), (401, &json!("60001")));
}

#[test]
fn xml_is_answered_in_xml() {
    let world = World::start();
    let asked = world.ask("GET", "/protected/xml/app/details", None);
    assert_eq!(asked.header("content-type"), "application/xml; charset=utf-8");
    let no = world.ask("GET", "/protected/xml/users/4711/status", None);
    assert_eq!((no.status, no.header("content-type")), (404, "application/xml; charset=utf-8"));
}
