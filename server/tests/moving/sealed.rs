//! Sealed exports: what changes one, and the wrong key.

use super::lines;
use super::machine::Machine;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// What a file begins with, and the bytes of a chunk of it.
const HEADER: usize = 25;
const CHUNK: usize = 64 * 1024 + 16;
const USERS: u64 = 1800;

fn key(machine: &Machine, name: &str, digit: char) {
    machine.write(name, &format!("{}\n", digit.to_string().repeat(64)));
    fs::set_permissions(machine.path(name), fs::Permissions::from_mode(0o600)).unwrap();
}

fn users() -> String {
    let user = |id: u64| -> Value {
        let phone = format!("+1555{:07}", 100_000 + id);
        json!({"id": id, "email": format!("user{id}@example.com"), "phone": phone,
               "secret": "GVVBSK3ZCOYEYVCXJUMMFDKG4Y4VIKFL", "last_step": 5})
    };
    lines(&(1..=USERS).map(user).collect::<Vec<_>>())
}

/// Another machine with a sealed export of users as `users.jsonl.sealed`, the key of which is `key`, and what
/// is in it.
fn sealed() -> (Machine, Vec<u8>, String) {
    let (from, to) = (Machine::new(), Machine::new());
    from.write("users.jsonl", &users());
    from.ok(&["import", "users.jsonl"]);
    key(&from, "key", '7');
    key(&to, "key", '7');
    let export = ["export", "--secrets", "--seal-key-file", "key", "users.jsonl.sealed"];
    from.ok(&export);
    from.ok(&["export", "--secrets", "plain.jsonl"]);
    let bytes = fs::read(from.path("users.jsonl.sealed")).unwrap();
    assert!(bytes.len() > HEADER + 4 * CHUNK, "{}", bytes.len());
    fs::write(to.path("users.jsonl.sealed"), &bytes).unwrap();
    (to, bytes, from.read("plain.jsonl"))
}

const IMPORT: [&str; 4] = ["import", "--seal-key-file", "key", "users.jsonl.sealed"];

fn exported(machine: &Machine, name: &str) -> String {
    machine.ok(&["export", "--secrets", name]);
    machine.read(name)
}

#[test]
fn a_sealed_export_is_imported_with_its_key() {
    let (machine, bytes, plain) = sealed();
    assert!(bytes.starts_with(b"seconder sealed 1\n"));
    for part in [&b"user1@example.com"[..], b"GVVBSK3Z"] {
        assert!(!bytes.windows(part.len()).any(|window| window == part));
    }
    let counts = format!("created={USERS} unchanged=0 conflicting=0 bad=0");
    let dry = machine.ok(&[&IMPORT[..], &["--dry-run"]].concat());
    assert_eq!(dry, format!("{counts} dry_run=yes"));
    assert_eq!(machine.ok(&IMPORT), counts);
    assert_eq!(machine.ok(&IMPORT), format!("created=0 unchanged={USERS} conflicting=0 bad=0"));
    assert!(exported(&machine, "after.jsonl") == plain);
    // To a file that a shell has made, with another random beginning, and as CSV too.
    let mut export =
        machine.command(&["export", "--secrets", "--format", "csv", "--seal-key-file"]);
    let to = fs::File::create(machine.path("shell.csv.sealed")).unwrap();
    assert!(export.args(["key", "-"]).stdout(to).status().unwrap().success());
    let again = fs::read(machine.path("shell.csv.sealed")).unwrap();
    assert_ne!(again[..HEADER], bytes[..HEADER]);
    let import = ["import", "--seal-key-file", "key", "shell.csv.sealed"];
    assert_eq!(machine.ok(&import), format!("created=0 unchanged={USERS} conflicting=0 bad=0"));
}

#[test]
fn nothing_is_imported_with_another_key_or_of_a_file_that_is_not_sealed() {
    let (machine, bytes, plain) = sealed();
    key(&machine, "other", '8');
    let with =
        |key: &str, file: &str| machine.fails_with(&["import", "--seal-key-file", key, file]);
    let (printed, errors) = with("other", "users.jsonl.sealed");
    assert!(printed.is_empty() && errors.contains("sealed with another key"), "{errors}");
    let errors = machine.fails(&["import", "users.jsonl.sealed"]);
    assert!(errors.contains("seal-key-file is required: the file is sealed"), "{errors}");
    machine.write("plain.jsonl", &plain);
    let (printed, errors) = with("key", "plain.jsonl");
    assert!(printed.is_empty() && errors.contains("is not sealed"), "{errors}");
    // What every chunk is authenticated with.
    let mut changed = bytes.clone();
    changed[HEADER - 1] ^= 1;
    for changed in [&changed[..], &bytes[..HEADER], &bytes[..20], &bytes[..HEADER + 100]] {
        fs::write(machine.path("changed.jsonl.sealed"), changed).unwrap();
        let (printed, errors) = with("key", "changed.jsonl.sealed");
        let is_clear = errors.contains("was changed since") || errors.contains("is cut off");
        assert!(printed.is_empty() && is_clear, "{errors}");
    }
    machine.write("short", "777\n");
    fs::set_permissions(machine.path("short"), fs::Permissions::from_mode(0o600)).unwrap();
    assert!(with("short", "users.jsonl.sealed").1.contains("openssl rand -hex 32"));
    fs::set_permissions(machine.path("key"), fs::Permissions::from_mode(0o640)).unwrap();
    let (_, errors) = with("key", "users.jsonl.sealed");
    assert!(errors.contains("chmod 600") && !errors.contains("777777"), "{errors}");
    assert_eq!(exported(&machine, "after.jsonl"), "");
}

#[test]
fn of_a_file_that_was_cut_off_changed_or_added_to_the_part_before_it_is_imported() {
    let (_, bytes, plain) = sealed();
    // But for the last one, which has less.
    let all = (bytes.len() - HEADER) / CHUNK;
    let chunk = |at: usize| HEADER + at * CHUNK..HEADER + (at + 1) * CHUNK;
    let mut swapped = bytes.clone();
    let (second, third) = (bytes[chunk(1)].to_vec(), bytes[chunk(2)].to_vec());
    swapped[chunk(1)].copy_from_slice(&third);
    swapped[chunk(2)].copy_from_slice(&second);
    let mut repeated = bytes[..HEADER + CHUNK].to_vec();
    repeated.extend_from_slice(&bytes[chunk(0)]);
    let mut flipped = bytes.clone();
    flipped[HEADER + 2 * CHUNK - 17] ^= 1;
    let without = [&bytes[..HEADER + CHUNK], &bytes[HEADER + 2 * CHUNK..]].concat();
    let damaged = [
        ("swapped", swapped, 1),
        ("repeated", repeated, 1),
        ("flipped", flipped, 1),
        ("without a chunk", without, 1),
        ("cut off between chunks", bytes[..HEADER + 2 * CHUNK].to_vec(), 1),
        ("cut off in a chunk", bytes[..HEADER + 2 * CHUNK + 50].to_vec(), 2),
        ("cut off by a byte", bytes[..bytes.len() - 1].to_vec(), all),
        ("added to", [&bytes[..], b"x"].concat(), all),
        ("twice", [&bytes[..], &bytes[..]].concat(), all),
    ];
    for (name, damaged, whole_chunks) in damaged {
        let machine = Machine::new();
        key(&machine, "key", '7');
        fs::write(machine.path("users.jsonl.sealed"), damaged).unwrap();
        let (printed, errors) = machine.fails_with(&[&IMPORT[..], &["--dry-run"]].concat());
        assert!(errors.contains("it is not what was sealed"), "{name}: {printed}{errors}");
        assert_eq!(exported(&machine, "nothing.jsonl"), "", "{name}");
        let (printed, errors) = machine.fails_with(&IMPORT);
        assert!(errors.contains("it is not what was sealed"), "{name}: {printed}{errors}");
        let there = exported(&machine, "after.jsonl");
        // The lines that are complete in the chunks before that.
        let before = &plain[..whole_chunks * 64 * 1024];
        let before = &before[..=before.rfind('\n').unwrap()];
        assert!(there == before, "{name}");
        // The whole file goes on from there.
        fs::write(machine.path("users.jsonl.sealed"), &bytes).unwrap();
        let known = before.lines().count() as u64;
        let counts = format!("created={} unchanged={known} conflicting=0 bad=0", USERS - known);
        assert_eq!(machine.ok(&IMPORT), counts, "{name}");
    }
}
