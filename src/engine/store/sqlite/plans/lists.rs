//! Reads the lists of operators, for the test of plans.

use super::World;
use crate::Handle;
use crate::calls::{ActivityType, CreateApproval, RegisterActivity, RequestSms};
use crate::engine::operator::{Named, operations};
use crate::model::UserId;
use serde_json::{Value, json};

/// The lists of operators, each with its filters.
fn lists(user: UserId) -> Vec<(&'static str, Value)> {
    let user = user.get();
    vec![
        ("user.list", json!({})),
        ("user.list", json!({ "locked": true })),
        ("user.find", json!({ "text": "+1 555 010 0123" })),
        ("user.find", json!({ "text": "ada" })),
        ("user.activities", json!({ "user_id": user })),
        ("approval.list", json!({})),
        ("approval.list", json!({ "user_id": user })),
        ("audit.list", json!({})),
        ("audit.list", json!({ "user_id": user })),
        ("audit.list", json!({ "verdict": "done" })),
        ("audit.list", json!({ "user_ip": "192.0.2.1" })),
        ("jobs.list", json!({})),
        ("jobs.list", json!({ "state": "failed" })),
    ]
}

/// Reads each list of operators, and its page after the first.
pub(super) fn use_lists(world: &World, user: UserId) {
    let engine = &world.engine;
    world.user("555-010-0199");
    for _ in 0..2 {
        engine.handle(&RegisterActivity::new(user, ActivityType::Banned)).unwrap();
        engine.handle(&CreateApproval::new(user, "Log in?".parse().unwrap())).unwrap();
        let from = Some("192.0.2.1".parse().unwrap());
        world.wait(60);
        engine.handle(&RequestSms { user_ip: from, ..RequestSms::new(user) }).unwrap();
    }
    let lists = lists(user);
    let pages = operations().filter(|operation| operation.parameters.contains(&"after"));
    for list in pages {
        assert!(lists.iter().any(|(name, _)| *name == list.name), "{}", list.name);
    }
    for (name, given) in lists {
        let mut given = given.as_object().unwrap().clone();
        given.insert("most".into(), 1.into());
        let operation = Named::find(name).unwrap();
        let first = operation.carry_out_on(engine, given.clone()).unwrap();
        if first["next"].is_null() {
            continue;
        }
        given.insert("after".into(), first["next"].clone());
        operation.carry_out_on(engine, given).unwrap();
    }
}
