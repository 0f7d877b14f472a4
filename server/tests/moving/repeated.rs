//! Users who are in a file more than once.

use super::machine::Machine;
use super::{ada, lines};
use serde_json::json;

#[test]
fn lines_of_one_user_are_judged_alike_wherever_they_are_and_in_a_dry_run_too() {
    let machine = Machine::new();
    let less = json!({"id": 700, "email": "ada@example.com", "phone": "+15550100123"});
    let other = json!({"id": 700, "email": "eve@example.com", "phone": "+15550100123"});
    let many = (1000..1600).map(|id: u64| {
        let phone = format!("+1555{:07}", 100_000 + id);
        json!({"id": id, "email": format!("user{id}@example.com"), "phone": phone})
    });
    let again = [less, other, ada()];
    // In the same transaction, and in another one.
    let users = [ada()].into_iter().chain(again.clone()).chain(many).chain(again);
    machine.write("users.jsonl", &lines(&users.collect::<Vec<_>>()));
    let import = ["import", "--on-conflict", "skip", "users.jsonl"];
    let counts = "created=601 unchanged=4 conflicting=2 bad=0";
    assert_eq!(
        machine.ok(&[&import[..], &["--dry-run"]].concat()),
        format!("{counts} dry_run=yes")
    );
    assert_eq!(machine.ok(&import), counts);
}
