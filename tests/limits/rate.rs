//! The rate of an API key.

use super::*;

#[test]
fn an_api_key_has_a_rate_on_each_node() {
    let folder = tempfile::tempdir().unwrap();
    let clock = ManualClock::at(NOW);
    let world = world(&folder.path().join("a.db"), "key_rate=1 key_burst=3", &clock);
    let engine = world.service.engine().unwrap();
    let request = || {
        let request = RawRequest::new("GET", "/protected/json/app/details");
        let request = request.header("X-Svc-API-Key", engine.api_key().expose());
        respond(engine, Caller::Network, request)
    };
    (0..3).for_each(|_| assert_eq!(request().status, 200));
    let reply = request();
    assert_eq!((reply.status, reply.header("retry-after")), (503, Some("1")));
    let body = String::from_utf8(reply.body).unwrap();
    assert!(body.contains("60003") && body.contains(r#""limit":"key_rate""#), "{body}");
    // In the process, there is no such limit.
    (0..9).for_each(|_| drop(world.service.app_details().unwrap()));
    world.clock.set(NOW + 1);
    assert_eq!(request().status, 200);
    assert_eq!(request().status, 503);
    assert_eq!(engine.limits_reached()["key_rate"], 2);
    let warned = || world.warnings.lock().unwrap().clone();
    let first = warned();
    assert_eq!(first.len(), 1, "{first:?}");
    assert!(first[0].contains("application 1") && first[0].contains("key_rate"), "{first:?}");
    assert!(!first[0].contains(engine.api_key().expose()), "{first:?}");
    world.clock.set(NOW + 60);
    (0..3).for_each(|_| assert_eq!(request().status, 200));
    assert_eq!(request().status, 503);
    assert!(warned()[1].contains(": 2 were refused"), "{:?}", warned());
    let of_rate = || {
        let findings = world.service.operate(&CheckService {}).unwrap().findings;
        findings.into_iter().find(|finding| finding.check == "rate").unwrap()
    };
    let found = of_rate();
    assert_eq!(found.status, Health::Warning);
    assert!(found.found.ends_with("3 of application 1"), "{found:?}");
    world.clock.set(NOW + 2 * 3600);
    assert_eq!(of_rate().status, Health::Ok);
}

#[test]
fn a_reply_over_the_rate_is_of_the_generation_that_its_application_has() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let open = || Settings::new(&url(&path)).api_key("one").limits("key_rate=1 key_burst=1").open();
    drop(open().unwrap());
    let ring = ring_of(&path);
    let db = rusqlite::Connection::open(&path).unwrap();
    // SHA-256 of "two".
    let copied = "CREATE TEMP TABLE copy AS SELECT * FROM applications; \
                  UPDATE copy SET app_id = 2, replies = 'older'; \
                  INSERT INTO applications SELECT * FROM copy; \
                  INSERT INTO lookups VALUES ('api_key', 0, \
                  '3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3', 2)";
    db.execute_batch(copied).unwrap();
    let sealed =
        |column, plain: &[u8]| sealed::seal(&ring, ("applications", column), &[Of::Int(2)], plain);
    let secrets = (sealed("api_key", b"two"), sealed("secret", &[7; 32]));
    let sql = "UPDATE applications SET api_key = ?, secret = ? WHERE app_id = 2";
    db.execute(sql, secrets).unwrap();
    drop(db);
    let service = open().unwrap();
    for (key, success) in [("one", "false"), ("two", "\"false\"")] {
        let replies = [0, 1].map(|_| {
            let request = RawRequest::new("GET", "/protected/json/users/1/status");
            let request = request.header("X-Svc-API-Key", key);
            respond(service.engine().unwrap(), Caller::Network, request)
        });
        assert_eq!(replies.each_ref().map(|reply| reply.status), [404, 503], "{key}");
        for reply in replies {
            let body = String::from_utf8(reply.body).unwrap();
            assert!(body.contains(&format!("\"success\":{success}")), "{key}: {body}");
        }
    }
}
