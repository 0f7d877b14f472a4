//! Reads and writes of wrong codes in a row.

use super::World;
use crate::calls::RequestSms;
use crate::{Handle, Verdict};

/// Returns the statements on wrong codes that a check executes.
fn checked(world: &World, token: &str, wanted: Verdict) -> Vec<String> {
    let user = world.user("555-010-0123");
    world.statements.0.lock().unwrap().clear();
    assert_eq!(world.check(token, user), wanted);
    let executed = world.statements.0.lock().unwrap();
    let of_wrong = executed.iter().filter(|sql| sql.contains("factor_states"));
    of_wrong.map(|sql| sql.split(' ').next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn a_right_code_writes_nothing_of_wrong_ones_unless_one_came_before() {
    let world = World::new();
    let user = world.user("555-010-0123");
    let code = || {
        world.engine.handle(&RequestSms::new(user)).unwrap();
        world.code()
    };
    assert_eq!(checked(&world, &code(), Verdict::Right), ["SELECT"]);
    let code = code();
    let wrong = if code == "0000000" { "0000001" } else { "0000000" };
    assert_eq!(checked(&world, wrong, Verdict::Wrong), ["INSERT", "SELECT"]);
    assert_eq!(checked(&world, &code, Verdict::Right), ["DELETE", "SELECT"]);
}
